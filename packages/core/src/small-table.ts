import { dtypeInfo } from "./dtype.js";
import { narrow } from "./float32.js";
import { bitsOf } from "./numbers.js";
import { decodeSmall, formats, type SmallFloat } from "./small-float.js";

const tables = new Map<SmallFloat, Int32Array>();

/** The float32 bits of every code; made when first asked for. */
export function decodingTable(dtype: SmallFloat): Int32Array {
  let table = tables.get(dtype);
  if (table === undefined) {
    const numbers = new Float64Array(2 ** dtypeInfo(dtype).bits);
    const words = bitsOf(numbers);
    for (let code = 0; code < numbers.length; code++)
      words[2 * code + 1] = decodeSmall(formats[dtype], code);
    const singles = new Float32Array(numbers.length);
    narrow(numbers, singles);
    table = bitsOf(singles);
    tables.set(dtype, table);
  }
  return table;
}

const single = new Float32Array(1);
const double = new Float64Array(1);
const singleBits = bitsOf(single);
const doubleBits = bitsOf(double);

/** A float32 number given as bits, as `encodeSmall` takes it. */
export function upperWord(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits & 0x80000000) | 0x7ff80000;
  singleBits[0] = bits;
  double[0] = single[0] as number; // of one element, like all here
  return (doubleBits[1] as number) | (doubleBits[0] === 0 ? 0 : 1);
}
