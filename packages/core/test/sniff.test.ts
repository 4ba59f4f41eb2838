import { type SniffedFormat, sniff } from "@tensorjar/core";
import { notThisFormat } from "@tensorjar/core/codec";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadCases } from "../../../tooling/cases.js";

/** Bytes of a text in which each character is one byte. */
function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function utf16(text: string): Uint8Array<ArrayBuffer> {
  return latin1(`\xff\xfe${[...text].map((char) => `${char}\0`).join("")}`);
}

/** A zip archive's first local header. */
function zip(name: string, content = "content"): Uint8Array<ArrayBuffer> {
  const length = String.fromCharCode(name.length & 255, name.length >> 8);
  return latin1(`PK\x03\x04${"\0".repeat(22)}${length}\0\0${name}${content}`);
}

const html = "<!DOCTYPE html><title>Sign in</title>";
const torchLegacy = "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.";

const samples: [title: string, SniffedFormat, Uint8Array<ArrayBuffer>][] = [
  ["nothing", "empty", latin1("")],
  ["an .npy file", "npy", latin1("\x93NUMPY\x01\0v\0{'descr'")],
  ["a cut .npy magic", "unknown", latin1("\x93NUM")],
  ["numpy.savez", "npz", zip("weight.npy")],
  ["an .npz with a long name", "npz", zip(`${"layer.".repeat(100)}weight.npy`)],
  ["an empty archive", "zip", latin1(`PK\x05\x06${"\0".repeat(18)}`)],
  ["a Keras archive", "zip", zip("metadata.json")],
  ["a text in an archive that mentions .npy", "zip", zip("a.txt", "see b.npy")],
  ["torch.save, the pickle first", "pytorch-zip", zip("archive/data.pkl")],
  ["torch.save, named after its file", "pytorch-zip", zip("model_final/data.pkl")],
  ["torch.save, another member first", "pytorch-zip", zip("archive/data/0")],
  ["torch.save, its format version first", "pytorch-zip", zip("archive/.format_version")],
  ["torch.save, its byte order first", "pytorch-zip", zip("archive/byteorder")],
  ["torch.save, its alignment first", "pytorch-zip", zip("m/.storage_alignment")],
  ["torch.save, its identity first", "pytorch-zip", zip("m/.data/serialization_id")],
  ["an archive from a Mac", "zip", zip(".DS_Store")],
  ["an archive of a folder from a Mac", "zip", zip("d/.DS_Store")],
  ["an archive of a repository", "zip", zip(".gitattributes")],
  ["a member called version", "zip", zip("version")],
  ["a member called byteorder", "zip", zip("byteorder")],
  ["numbered data", "zip", zip("data/0")],
  ["a folder of code", "zip", zip("code/readme")],
  ["TorchScript", "pytorch-zip", zip("model/code/__torch__.py")],
  ["an array called version", "npz", zip("archive/version.npy")],
  ["safetensors", "safetensors", latin1('\x08\0\0\0\0\0\0\0{"a":{}}')],
  ["safetensors whose length looks like a pickle", "safetensors", latin1("\x80\x02]\0\0\0\0\0{")],
  ["safetensors whose length looks like gzip", "safetensors", latin1("\x1f\x8b\x08\0\0\0\0\0{")],
  ["safetensors whose length looks like UTF-16", "safetensors", latin1("\xff\xfe\0\0\0\0\0\0{")],
  ["safetensors whose length looks like a zip", "safetensors", latin1("PK\x03\x04\0\0\0\0{")],
  ["safetensors with space before the header", "safetensors", latin1("\x10\0\0\0\0\0\0\0 \n\t{")],
  ["a cut safetensors file", "unknown", latin1("\x10\0\0\0\0\0\0\0")],
  ["gzip", "gzip", latin1("\x1f\x8b\x08\0")],
  ["HDF5", "hdf5", latin1("\x89HDF\r\n\x1a\n\0")],
  ["HDF5 after a user block", "hdf5", latin1(`${"\0".repeat(512)}\x89HDF\r\n\x1a\n\0`)],
  ["GGUF", "gguf", latin1("GGUF\x03\0\0\0")],
  ["a Git LFS pointer", "git-lfs-pointer", latin1("version https://git-lfs.github.com/spec/v1\n")],
  ["a page", "html", latin1(html)],
  ["a page after a byte order mark", "html", latin1(`\xef\xbb\xbf${html}`)],
  ["a page after white space", "html", latin1(`\r\n\t  ${html.toLowerCase()}`)],
  ["a page without a doctype", "html", latin1("<html lang=en>")],
  ["a page as PowerShell saves it", "html", utf16(html)],
  ["the XML of an S3 error", "html", latin1('<?xml version="1.0"?>\n<Error><Code>AccessDenied')],
  ["the XML of an S3 error, bare", "html", latin1("<Error><Code>NoSuchKey</Code>")],
  ["a sharded model's index", "json", latin1('{\n  "metadata": {"total_size": 5}')],
  ["a server's error", "json", latin1('{"error":"Repository not found"}')],
  ["JSON lists", "json", latin1(" [[1, 2], [3]]")],
  ["a list of booleans", "json", latin1("[true]")],
  ["a torch.save of old", "pickle", latin1(torchLegacy)],
  ["protocol 0", "pickle", latin1("(dp0\nS'a'\np1\n")],
  ["protocol 0 of an array", "pickle", latin1("cnumpy.core.multiarray\n_reconstruct\np0\n")],
  ["protocol 1", "pickle", latin1("}q\0X\x01\0\0\0aq\x01")],
  ["protocol 2", "pickle", latin1("\x80\x02}q\0(X\x01\0\0\0")],
  ["protocol 3", "pickle", latin1("\x80\x03cnumpy\n")],
  ["protocol 4", "pickle", latin1("\x80\x04\x95\x1a\0\0\0\0\0\0\0}\x94")],
  ["protocol 5", "pickle", latin1("\x80\x05K\x01.")],
  ["zstd", "unknown", latin1("\x28\xb5\x2f\xfd\x24\0")],
  ["text", "unknown", latin1("Entry not found")],
  ["noise", "unknown", latin1("\xfe\x01\xc0\x11\0\xaa\xbb\xcc\xdd\xee")],
];

test.each(samples)("%s is %s", (_, kind, bytes) => {
  expect(sniff(bytes)).toBe(kind);
  const padded = new Uint8Array([1, 2, 3, ...bytes, 9]);
  expect(sniff(padded.subarray(3, 3 + bytes.length))).toBe(kind);
  expect(sniff(new DataView(padded.buffer, 3, bytes.length))).toBe(kind);
});

describe("notThisFormat", () => {
  const wanted = "an .npz archive";
  const message = (bytes: Uint8Array): string | undefined =>
    notThisFormat(bytes, "npz", wanted)?.message;

  test("says nothing about what may be the wanted format, or nothing known", () => {
    expect(message(zip("a.npy"))).toBeUndefined();
    expect(message(zip("readme.txt"))).toBeUndefined(); // its arrays may come later
    expect(message(latin1("\xfe\x01\xc0\x11\0\xaa\xbb\xcc\xdd\xee"))).toBeUndefined();
    for (const [, kind, bytes] of samples) {
      if (kind === "unknown" || kind === "empty") continue;
      expect(notThisFormat(bytes, kind, "it")).toBeUndefined();
    }
  });

  test.each([
    ["pickle", latin1(torchLegacy), /pickle.*safetensors/i],
    ["pytorch", zip("archive/data.pkl"), /PyTorch.*safetensors/i],
    ["gzip", latin1("\x1f\x8b\x08"), /gzip.*decompress/i],
    ["zstd", latin1("\x28\xb5\x2f\xfd"), /zstd.*decompress/i],
    ["bzip2", latin1("BZh91AY"), /bzip2.*decompress/i],
    ["xz", latin1("\xfd7zXZ\0"), /xz.*decompress/i],
    ["7z", latin1("7z\xbc\xaf\x27\x1c"), /7z.*decompress/i],
    ["lfs", latin1("version https://git-lfs.github.com/spec/v1\n"), /Git LFS.*git lfs pull/i],
    ["hdf5", latin1("\x89HDF\r\n\x1a\n"), /HDF5.*Python/i],
    ["gguf", latin1("GGUF\x03"), /GGUF.*safetensors/i],
    ["npy", latin1("\x93NUMPY\x01\0"), /npy.*openNpy/i],
    ["safetensors", latin1("\x02\0\0\0\0\0\0\0{}"), /safetensors.*openSafetensors/i],
    ["a page", latin1(html), /HTML.*Sign in/i],
    ["json", latin1('{"error":"Invalid username"}'), /JSON.*Invalid username.*openSharded/i],
    ["text", latin1("Entry not found"), /text.*Entry not found/i],
  ])("names %s, and the way out", (_, bytes, pattern) => {
    const error = notThisFormat(bytes, "npz", wanted);
    expect(error?.code).toBe("not-this-format");
    expect(error?.message).toMatch(pattern);
    expect(error?.message).toContain(`not ${wanted}`);
    expect(error?.message.length).toBeLessThan(300);
    expect(error?.details.offset).toBe(0);
  });

  test("calls nothing truncated", () => {
    expect(notThisFormat(new Uint8Array(0), "npz", wanted)).toMatchObject({ code: "truncated" });
    expect(message(new Uint8Array(0))).toContain("empty");
  });

  test("tells what is of no wanted format, when none is wanted in particular", () => {
    expect(notThisFormat(latin1("Entry not found"), "unknown", "a tensor file")?.message).toMatch(
      /text/,
    );
  });

  test.each([
    ["npy", ["npy-empty-file", "npy-gzip"]],
    ["npz", ["npz-is-npy"]],
    ["safetensors", ["st-git-lfs-pointer", "st-html-page", "st-zero-bytes"]],
  ] as const)("agrees with the manifest of %s", async (kind, atLeast) => {
    const { cases, read } = await loadCases(kind);
    const named: string[] = [];
    for (const { id, file, error } of cases) {
      const told = file ? notThisFormat(await read(file), kind, `a ${kind} file`) : undefined;
      if (told === undefined) continue;
      named.push(id);
      expect([error?.code].flat(), `${id}: ${told.message}`).toContain(told.code);
      for (const name of error?.names ?? []) expect(told.message).toMatch(new RegExp(name, "i"));
    }
    expect(named).toEqual(expect.arrayContaining([...atLeast]));
  });
});

test("no bytes make it throw", () => {
  const starts = samples.map(([, , bytes]) => bytes);
  const bytes = fc
    .tuple(fc.constantFrom(...starts), fc.nat(600), fc.uint8Array({ maxLength: 600 }))
    .map(([start, cut, rest]) => Uint8Array.from([...start.subarray(0, cut), ...rest]));
  fc.assert(
    fc.property(bytes, (given) => {
      expect(typeof sniff(given)).toBe("string");
      for (const kind of ["npy", "npz", "safetensors"] as const) {
        const error = notThisFormat(given, kind, "it");
        expect([undefined, "truncated", "not-this-format"]).toContain(error?.code);
      }
    }),
  );
});
