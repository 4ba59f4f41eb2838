import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { node, numpy } from "../contestants.mjs";
import { weights } from "../data.mjs";

const float8 = [
  "float8_e4m3fn",
  "float8_e5m2",
  "float8_e4m3fnuz",
  "float8_e5m2fnuz",
  "float8_e8m0fnu",
];

export default (scale) => {
  const count = scale * 2 ** 22;
  const prepare = async (folder) => {
    const path = join(folder, "numbers.bin");
    writeFileSync(path, weights(count));
    return { path, count };
  };
  const to = (source, others, rows) => ({
    title: `numbers: ${source} to float32, 4 Mi elements`,
    prepare,
    contestants: (args) => ({
      tensorjar: node("numbers/toFloat32", { ...args, source }),
      ...others({ ...args, source, target: "float32" }),
    }),
    rows,
    warmUps: 3,
    warmMs: 300,
    pairs: 21,
  });
  const from = (target, rows, major) => ({
    title: `numbers: float32 to ${target}, 4 Mi elements${major ? `, Node ${major}` : ""}`,
    prepare,
    contestants: (args) => ({
      tensorjar: node("numbers/fromFloat32", { ...args, target }, { major }),
      NumPy: numpy("convert", { ...args, source: "float32", target }),
    }),
    rows,
    warmUps: 3,
    warmMs: 300,
    pairs: 21,
  });
  const byNumpy = (args) => ({ NumPy: numpy("convert", args) });
  return [
    to("float16", byNumpy, [{ part: "15 float16", by: "NumPy" }]),
    to("bfloat16", () => ({ copy: node("raw/copy", { bytes: count * 4 }) }), [
      { part: "15 bfloat16", by: "copy" },
    ]),
    // float8_e8m0fnu is a shift in ml_dtypes as well: no part of the target.
    ...float8.map((dtype) =>
      to(dtype, byNumpy, [
        { ...(dtype === "float8_e8m0fnu" ? {} : { part: "15 float8" }), by: "NumPy" },
      ]),
    ),
    from("float16", [{ part: "16 float16", by: "NumPy" }], 20),
    from("float16", [{ part: "16 Float16Array", by: "NumPy" }], 24),
    from("bfloat16", [{ part: "16 bfloat16", by: "NumPy" }]),
    ...float8.map((dtype) => from(dtype, [{ by: "NumPy" }])),
  ];
};
