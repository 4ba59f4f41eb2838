import { halfWasm } from "./half-wasm.js";
import { wasmExports } from "./wasm.js";

/** Numbers converted at a call: as many as the module has room for. */
const block = 8192;

/** Where `half.wat` has the codes. */
const codesStart = 32768;

type Decode = (codes: Uint16Array, to: Int32Array) => void;
type Encode = (bits: Int32Array, to: Uint16Array) => void;

/** Conversions between float32 bits and codes of 16 bits, of any number of elements. */
export interface VectorHalves {
  readonly decodeFloat16: Decode;
  readonly decodeBfloat16: Decode;
  readonly encodeFloat16: Encode;
  readonly encodeBfloat16: Encode;
}

/** What `half.wat` exports. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly decodeFloat16: (count: number) => void;
  readonly decodeBfloat16: (count: number) => void;
  readonly encodeFloat16: (count: number) => void;
  readonly encodeBfloat16: (count: number) => void;
}

let made: VectorHalves | undefined;
let tried = false;

/**
 * Conversions by vector instructions: measured, two to three times as fast as any loop. `undefined` where there are
 * none: engines without WebAssembly or its vectors, pages that forbid it.
 */
export function vectorHalves(): VectorHalves | undefined {
  if (tried) return made;
  tried = true;
  try {
    made = conversions(wasmExports(halfWasm) as Module); // as the interface says
  } catch {}
  return made;
}

function conversions(module: Module): VectorHalves {
  const { buffer } = module.memory;
  const words = new Int32Array(buffer, 0, block);
  const codes = new Uint16Array(buffer, codesStart, block);
  const decode = through<Uint16Array, Int32Array>(codes, words);
  const encode = through<Int32Array, Uint16Array>(words, codes);
  return {
    decodeFloat16: decode(module.decodeFloat16),
    decodeBfloat16: decode(module.decodeBfloat16),
    encodeFloat16: encode(module.encodeFloat16),
    encodeBfloat16: encode(module.encodeBfloat16),
  };
}

interface Elements<T> {
  readonly length: number;
  subarray(start: number, end: number): T;
  set(from: T, at?: number): void;
}

/** Makes conversions of any number of elements out of those of what lies in `input` to `output`. */
function through<From extends Elements<From>, To extends Elements<To>>(
  input: From,
  output: To,
): (convert: (count: number) => void) => (from: From, to: To) => void {
  return (convert) => (from, to) => {
    for (let at = 0; at < from.length; at += block) {
      const part = from.subarray(at, at + block);
      input.set(part);
      convert(part.length);
      to.set(part.length === block ? output : output.subarray(0, part.length), at);
    }
  };
}
