import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { concat } from "../../../tooling/testing.js";
import {
  cast,
  decodeNpy,
  decodeNpz,
  decodeSafetensors,
  type ErrorCode,
  encodeNpy,
  encodeNpz,
  encodeSafetensors,
  fileSink,
  fileSource,
  httpSource,
  isTensorjarError,
  loadCheckpoint,
  loadInto,
  open,
  openCheckpoints,
  openSafetensors,
  save,
  tensor,
  unflattenTree,
  zeros,
} from "../src/index.js";

/** What each code means, what to do, and a call that shows it. */
const errors: Record<ErrorCode, { means: string; todo: string; show(): unknown }> = {
  "not-this-format": {
    means: "The first bytes are those of another format, or of none that is known.",
    todo: "Do what the message says: it names the real format and the way out.",
    show: () =>
      decodeSafetensors(ascii("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
  },
  truncated: {
    means: "The file ends before what its header declares.",
    todo: "Fetch or copy it again; a download was cut short.",
    show: () => decodeNpy(encodeNpy(numbers).subarray(0, -4)),
  },
  "trailing-bytes": {
    means: "There are bytes after the end that the header declares.",
    todo: 'Find out what appended them; `trailing: "ignore"` reads the file all the same.',
    show: () =>
      decodeSafetensors(concat(encodeSafetensors({ weight: numbers }), new Uint8Array(6))),
  },
  "limit-exceeded": {
    means: "Something is larger than a limit that protects memory or time.",
    todo: "When you trust the file, raise the limit by the option that the message names.",
    show: () =>
      decodeNpz(encodeNpz({ weight: numbers }, { compression: "deflate" }), {
        maxInflatedBytes: 16,
      }),
  },
  "invalid-header": {
    means: "A header breaks the grammar or the rules of its format.",
    todo: "The file is damaged or its writer is faulty: make it again.",
    show: () => decodeSafetensors(safetensors('{"weight":{"dtype":"F32","shape":[1]}}', 4)),
  },
  "invalid-utf8": {
    means: "Text that must be UTF-8 is not.",
    todo: "The file is damaged or its writer is faulty: make it again.",
    show: () => {
      const bytes = safetensors('{"__metadata__":{"a":"?"}}', 0);
      bytes[8 + '{"__metadata__":{"a":"'.length] = 0xff;
      return decodeSafetensors(bytes);
    },
  },
  "invalid-shape": {
    means:
      "A shape has a negative or fractional dimension, is past 2^53−1, or does not fit its data.",
    todo: "Give a shape whose product is the number of elements.",
    show: () => tensor(new Float32Array(6), [2, 4]),
  },
  "invalid-dtype": {
    means: "A dtype is not known, or not the one that was asked for.",
    todo: "Name a dtype of the table in the README of core; `cast` converts numbers.",
    show: () =>
      decodeSafetensors(
        safetensors('{"weight":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}', 4),
      ),
  },
  "invalid-offsets": {
    means: "Ranges of a safetensors file overlap, leave a hole, or do not fit their shape.",
    todo: "The file is damaged or its writer is faulty: make it again.",
    show: () =>
      decodeSafetensors(
        safetensors('{"weight":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', 8),
      ),
  },
  "duplicate-name": {
    means: "One name stands for two things.",
    todo: "Rename one of them.",
    show: () => save(nowhere, { "a.b": numbers, a: { b: zeros([1]) } }),
  },
  "invalid-name": {
    means: "A name cannot be written in this format, or would escape from where it belongs.",
    todo: "Choose another name; the message says which part is at fault.",
    show: () => encodeNpz({ "../weight": numbers }),
  },
  "invalid-archive": {
    means: "The records of a zip archive contradict each other.",
    todo: "The file is damaged or not made by a zip writer: make it again.",
    show: () => decodeNpz(concat(encodeNpz({ weight: numbers }), new Uint8Array(4))),
  },
  "checksum-mismatch": {
    means: "The data is not what was written.",
    todo: "Use another copy; the checkpoint manager goes back to the last good one by itself.",
    show: () => {
      const bytes = encodeNpz({ weight: numbers });
      const at = bytes.length - 200;
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return decodeNpz(bytes);
    },
  },
  encrypted: {
    means: "A member of a zip archive is encrypted.",
    todo: "Decrypt the archive first.",
    show: () => {
      const bytes = encodeNpz({ weight: numbers });
      const directory = find(bytes, [0x50, 0x4b, 1, 2]);
      bytes[6] = (bytes[6] ?? 0) | 1;
      bytes[directory + 8] = (bytes[directory + 8] ?? 0) | 1;
      return decodeNpz(bytes);
    },
  },
  unsupported: {
    means: "The input is valid, but nothing here can hold or compute it.",
    todo: "Do what the message says: it names the way out where there is one.",
    show: () => encodeNpy(zeros([2], "bfloat16")),
  },
  "unsupported-version": {
    means: "The file is of a newer version of its format.",
    todo: "Update the package.",
    show: () => {
      const bytes = encodeNpy(numbers);
      bytes[6] = 4;
      return decodeNpy(bytes);
    },
  },
  "path-conflict": {
    means: "A path is both a leaf and the way to others, or a tree contains itself.",
    todo: "Rename one of them, or keep the names flat.",
    show: () => unflattenTree({ a: numbers, "a.b": numbers }),
  },
  "tree-mismatch": {
    means: "A file and a tree or a training state do not fit. Nothing was changed.",
    todo: "`details.problems` lists every difference; the message names the option that accepts each kind.",
    show: () =>
      loadInto(encodeSafetensors({ weight: numbers }), { weight: zeros([3]), bias: zeros([1]) }),
  },
  "invalid-checkpoint": {
    means: "A file of tensors is not a checkpoint, or its parts contradict each other.",
    todo: "`load` reads it as a plain file of tensors.",
    show: () => loadCheckpoint(encodeSafetensors({ weight: numbers })),
  },
  "not-found": {
    means: "There is no such file, tensor, member or key.",
    todo: "Look at the names that the file has.",
    show: async () => (await openSafetensors(encodeSafetensors({ weight: numbers }))).get("wieght"),
  },
  "already-exists": {
    means: 'The target exists, and `ifExists: "error"` was asked for.',
    todo: "Choose another name, or let it be replaced.",
    show: async () => {
      await writeFile(join(folder, "a.npy"), "");
      const sink = fileSink(join(folder, "a.npy"), { ifExists: "error" });
      await save(sink, numbers, { format: "npy" });
    },
  },
  locked: {
    means: "Another process writes to these checkpoints.",
    todo: "Wait for it or stop it; the lock of a process that is gone is taken over by itself.",
    show: async () => {
      const state = { params: {}, optimizers: {}, step: 1 };
      const first = openCheckpoints(join(folder, "runs"));
      const second = openCheckpoints(join(folder, "runs"));
      try {
        await first.save(state);
        await second.save(state);
      } finally {
        await first.close();
        await second.close().catch(() => {});
      }
    },
  },
  "source-changed": {
    means: "A file changed while it was being read.",
    todo: "Open it again.",
    show: async () => {
      const path = join(folder, "b.npy");
      await save(path, numbers);
      const source = await fileSource(path);
      try {
        await writeFile(path, "something else");
        await source.read(0, 8);
      } finally {
        await source.close?.();
      }
    },
  },
  http: {
    means: "A server answered with a failure, or not with what was asked for.",
    todo: "`details.status` is the status; look at the URL and the rights.",
    show: () => httpSource(`${url}/403`),
  },
  io: {
    means: "A disk, a device or a stream failed.",
    todo: "`details.errno` is the system's code, such as `ENOSPC`.",
    show: () => open(folder),
  },
  "invalid-argument": {
    means: "A call was made with something that it does not take.",
    todo: "Do what the message says.",
    show: () => cast(tensor([1, 300], [2], "float32"), "uint8"),
  },
};

const numbers = tensor([1, 2, 3, 4, 5, 6, 7, 8], [8], "float32");
const nowhere = { write: () => {}, close: () => {} };
let folder = "";
let url = "";
const server = createServer((_, response) => response.writeHead(403).end());

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tensorjar-errors-"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

function ascii(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function safetensors(header: string, dataLength: number): Uint8Array<ArrayBuffer> {
  const length = new DataView(new ArrayBuffer(8));
  length.setUint32(0, header.length, true);
  return concat(new Uint8Array(length.buffer), ascii(header), new Uint8Array(dataLength));
}

function find(bytes: Uint8Array, signature: readonly number[]): number {
  return bytes.findIndex((_, at) => signature.every((byte, i) => bytes[at + i] === byte));
}

async function messageOf(code: string, show: () => unknown): Promise<string> {
  try {
    await show();
  } catch (error) {
    if (isTensorjarError(error) && error.code === code) {
      const { details } = error;
      expect(structuredClone({ code, details })).toEqual({ code, details }); // as another thread gets it
      return error.message
        .replaceAll(folder, "FOLDER")
        .replaceAll(url, "http://HOST")
        .replace(`process ${process.pid} on ${hostname()}`, "process 4321 on HOST");
    }
    throw new Error(`${code} was not shown, but: ${error}`, { cause: error });
  }
  throw new Error(`${code} was not shown`);
}

// `npx vitest run --project node packages/tensorjar/test/errors.node.test.ts -u` writes the page anew.
test("docs/errors.md says of each code what it means, what to do, and what is really printed", async () => {
  const sections: string[] = [];
  for (const [code, { means, todo, show }] of Object.entries(errors)) {
    const message = await messageOf(code, show);
    sections.push(`## \`${code}\`\n\n${means} ${todo}\n\n> ${message.replaceAll("\n", "\n> ")}\n`);
  }
  await expect(`${intro}\n${sections.join("\n")}`).toMatchFileSnapshot("../../../docs/errors.md");
});

const intro = `# Errors

tensorjar throws one error, \`TensorjarError\`. Its \`code\` is stable and one of those below; its message says what was
found, what was expected, where, and what to do; \`details\` holds the same as data (\`path\`, \`name\`, \`offset\`,
\`expected\`, \`actual\`, \`hint\`, \`status\`, \`errno\`, \`problems\`). Recognise it with \`isTensorjarError(error)\` or
\`isTensorjarError(error, "tree-mismatch", …)\`, which also narrows \`code\`; \`instanceof\` fails when two copies of the
package are loaded. Cancelling is the one exception: it rejects with the signal's own reason.

Of an error that goes through \`postMessage\`, to or from a worker, only the message arrives, as of every class of errors:
send \`{ code, message, details }\` of it.

Under each code stands a message as it is printed today.
`;
