// The same work by the libraries that one would use instead, as their documentation tells.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

export async function jaxLoad({ path }) {
  const { safetensors } = await import("@jax-js/loaders");
  return { run: async () => safetensors.parse(new Uint8Array(await readFile(path))) };
}

export async function jaxParse({ path }) {
  const { safetensors } = await import("@jax-js/loaders");
  const bytes = new Uint8Array(readFileSync(path));
  return { run: () => safetensors.parse(bytes) };
}

/** TensorFlow.js keeps its specification apart from the weights; its backend here keeps what it is given. */
export async function tensorflow({ path, count, elements }) {
  const { io, KernelBackend, registerBackend, setBackend, disposeVariables } = await import(
    "@tensorflow/tfjs-core"
  );
  class Memory extends KernelBackend {
    write(values) {
      return { values };
    }
    numDataIds() {
      return 0;
    }
    floatPrecision() {
      return 32;
    }
    disposeData() {
      return true;
    }
  }
  registerBackend("memory", () => new Memory());
  setBackend("memory");
  const specs = Array.from({ length: count }, (_, i) => ({
    name: `layers.${i}.weight`,
    shape: [elements],
    dtype: "float32",
  }));
  return {
    before: () => disposeVariables(),
    async run() {
      const file = await readFile(path);
      const data = file.subarray(file.length - count * elements * 4);
      return io.decodeWeights(
        data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength),
        specs,
      );
    },
  };
}

/** A file of the hub whose requests are answered from memory. */
function hub(path) {
  const bytes = new Uint8Array(readFileSync(path));
  return async (_url, options) => {
    const [, from, to] = /bytes=(\d+)-(\d*)/.exec(new Headers(options?.headers).get("range"));
    const end = to === "" ? bytes.length : Math.min(Number(to) + 1, bytes.length);
    return new Response(bytes.subarray(Number(from), end), {
      status: 206,
      headers: { "content-range": `bytes ${from}-${end - 1}/${bytes.length}`, etag: '"1"' },
    });
  };
}

export async function hubHeader({ path }) {
  const { parseSafetensorsMetadata } = await import("@huggingface/hub");
  const fetch = hub(path);
  return {
    run: () => parseSafetensorsMetadata({ repo: "some/model", path: "model.safetensors", fetch }),
  };
}

export async function ourHubHeader({ path }) {
  const { httpSource, openSafetensors } = await import("@tensorjar/safetensors");
  const fetch = hub(path);
  return {
    run: () =>
      openSafetensors(httpSource("https://huggingface.co/some/model/model.safetensors", { fetch })),
  };
}

export async function npyjsLoad({ path }) {
  const { load } = await import("npyjs");
  return { run: async () => load(await readFile(path)) };
}

export async function npyjsDump({ path, out }) {
  const { dump, load } = await import("npyjs");
  const { data, shape } = await load(readFileSync(path));
  return {
    after: () => rmSync(out, { force: true }),
    run: () => writeFileSync(out, new Uint8Array(dump(data, shape))),
  };
}

export async function npyz({ path }) {
  const { load } = (await import("npyz")).default;
  return { run: () => load(path) };
}

export async function numpyTsLoad({ path }) {
  const { loadNpy } = await import("numpy-ts/node");
  return { run: () => loadNpy(path) };
}

export async function numpyTsSave({ path, out }) {
  const { loadNpy, saveNpy } = await import("numpy-ts/node");
  const array = await loadNpy(path);
  return { after: () => rmSync(out, { force: true }), run: () => saveNpy(out, array) };
}

export async function numpyTsLoadNpz({ path }) {
  const { loadNpzFile } = await import("numpy-ts/node");
  return { run: () => loadNpzFile(path) };
}

export async function numpyTsSaveNpz({ path, out, compress }) {
  const { loadNpzFile, saveNpzFile } = await import("numpy-ts/node");
  const { arrays } = await loadNpzFile(path);
  return {
    after: () => rmSync(out, { force: true }),
    run: () => saveNpzFile(out, arrays, { compress }),
  };
}

/** The archive unpacked by fflate; each member becomes a typed array, as aligned as it must be. */
export async function fflateUnzip({ path }) {
  const { unzipSync } = await import("fflate");
  return {
    async run() {
      const members = unzipSync(new Uint8Array(await readFile(path)));
      return new Map(
        Object.entries(members).map(([name, npy]) => {
          const start = 10 + new DataView(npy.buffer, npy.byteOffset).getUint16(8, true);
          const data =
            (npy.byteOffset + start) % 4 === 0
              ? new Float32Array(npy.buffer, npy.byteOffset + start, (npy.length - start) / 4)
              : new Float32Array(npy.slice(start).buffer);
          return [name, data];
        }),
      );
    },
  };
}
