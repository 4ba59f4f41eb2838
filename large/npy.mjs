// Reads 1,000 rows in the middle of a 6 GiB .npy, streams one in Fortran order that is larger than its blocks, and
// appends rows past 4 GiB, which NumPy then maps and reads (where interop/setup.mjs has made its environment).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createNpyWriter,
  encodeNpy,
  fileSink,
  fileSource,
  openNpy,
  tensor,
} from "@tensorjar/npy/node";
import { counted } from "./support/counted.mjs";
import { folder } from "./support/folder.mjs";

const GiB = 2 ** 30;
const MiB = 2 ** 20;

// Rows in the middle of 6 GiB: the file is a hole but for the rows that are read.
{
  const [rowCount, width, first, count] = [1_572_864, 1024, 800_000, 1_000];
  const path = join(folder, "sparse.npy");
  const header = encodeNpy(tensor(new Float32Array(), [0, width])).slice();
  const text = Buffer.from(header)
    .toString("latin1")
    .replace(`(0, ${width}), }      `, `(${rowCount}, ${width}), }`);
  const wanted = Float32Array.from({ length: count * width }, (_, at) => at * 0.5);
  const fd = fs.openSync(path, "w");
  fs.writeSync(fd, Buffer.from(text, "latin1"), 0, header.length, 0);
  fs.ftruncateSync(fd, header.length + rowCount * width * 4);
  fs.writeSync(fd, wanted, 0, wanted.byteLength, header.length + first * width * 4);
  fs.closeSync(fd);

  const source = counted(await fileSource(path));
  assert.equal(source.size, 128 + 6 * GiB);
  const npy = await openNpy(source, { dtype: "float32" });
  assert.deepEqual(npy.header.shape, [rowCount, width]);
  assert.equal(
    source.reads.reduce((sum, [, length]) => sum + length, 0),
    128,
  );
  const headerReads = source.reads.length;
  assert.ok(headerReads <= 2);
  const before = process.memoryUsage().arrayBuffers;
  const rows = await npy.rows(first, first + count);
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.deepEqual(source.reads.slice(headerReads), [[128 + first * width * 4, wanted.byteLength]]);
  assert.deepEqual(rows.shape, [count, width]);
  assert.equal(Buffer.compare(Buffer.from(rows.data.buffer), Buffer.from(wanted.buffer)), 0);
  assert.ok(grown <= wanted.byteLength + MiB, `${grown} bytes for ${wanted.byteLength}`);
  const last = await npy.rows(rowCount - 1, rowCount);
  assert.equal(last.data.length, width);
  await npy.close();
  fs.rmSync(path);
  console.log(
    `rows in the middle of 6 GiB: ${headerReads} reads for the header, 1 for ${count} rows`,
  );
}

// Fortran order in blocks of C order: rows do not end where blocks do.
{
  const shape = [70, 3, 400_000];
  const path = join(folder, "fortran.npy");
  const text = `{'descr': '|u1', 'fortran_order': True, 'shape': (${shape.join(", ")}), }`;
  const prefix = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, text.length, 0);
  const columns = shape[1] * shape[2];
  const data = new Uint8Array(shape[0] * columns);
  for (let at = 0; at < data.length; at++) data[at] = (at * 7 + (at >> 9)) & 255;
  fs.writeFileSync(path, Buffer.concat([prefix, Buffer.from(text), data]));
  const npy = await openNpy(fileSource(path));
  let at = 0;
  let longest = 0;
  for await (const chunk of npy.chunks("")) {
    longest = Math.max(longest, chunk.length);
    for (const byte of chunk) {
      const row = Math.floor(at / columns);
      const [middle, last] = [Math.floor((at % columns) / shape[2]), at % shape[2]];
      const item = row + shape[0] * (middle + shape[1] * last);
      if (byte !== ((item * 7 + (item >> 9)) & 255)) assert.fail(`byte ${at} is ${byte}`);
      at++;
    }
  }
  assert.equal(at, data.length);
  assert.ok(longest <= 64 * MiB);
  await npy.close();
  fs.rmSync(path);
  console.log(`Fortran order in chunks of at most ${longest} bytes`);
}

// Rows appended past 4 GiB.
{
  const [width, batch, batches] = [4096, 4096, 66];
  const path = join(folder, "appended.npy");
  const writer = createNpyWriter(fileSink(path, { durable: false }), {
    dtype: "float32",
    rowShape: [width],
  });
  const data = new Float32Array(batch * width);
  for (let number = 0; number < batches; number++) {
    for (let row = 0; row < batch; row++) data[row * width] = number * batch + row;
    await writer.append(tensor(data, [batch, width]));
  }
  await writer.close();
  assert.equal(fs.statSync(path).size, 128 + batches * batch * width * 4);
  const npy = await openNpy(fileSource(path), { dtype: "float32" });
  assert.deepEqual(npy.header.shape, [batches * batch, width]);
  const [at] = (await npy.rows(270_000, 270_001)).data;
  assert.equal(at, 270_000);
  await npy.close();
  const python = fileURLToPath(new URL("../interop/.venv/bin/python", import.meta.url));
  if (fs.existsSync(python)) {
    const script = `
import numpy as np
a = np.load(${JSON.stringify(path)}, mmap_mode="r")
assert a.shape == (${batches * batch}, ${width}) and a.dtype == np.float32, (a.shape, a.dtype)
assert (a[:, 0] == np.arange(len(a))).all() and not a[-1, 1:].any()
print("NumPy", np.__version__, "maps", a.nbytes, "bytes")`;
    const { status, stdout, stderr } = spawnSync(python, ["-c", script], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    console.log(stdout.trim());
  } else console.log("NumPy is not there: node interop/setup.mjs makes its environment");
}
