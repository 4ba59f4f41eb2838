import type { DType, Tensor, TensorjarError, TensorOf } from "@tensorjar/core";
import {
  checkTensor,
  classTag,
  dataConstructor,
  describe,
  nativeDType,
  toBytes,
} from "@tensorjar/core/codec";
import { treeError } from "./path.js";

/** What a leaf is to a model: any array, a parameter that training updates, or state that is only saved and loaded. */
export type LeafKind = "array" | "parameter" | "buffer";

/** Makes another library's arrays leaves of a tree. `shape` and `dtype` tell without reading from a device. */
// biome-ignore lint/suspicious/noExplicitAny: a list holds adapters of unlike leaves, and each is given only what its own `is` claims
export interface LeafAdapter<L = any> {
  is(x: unknown): x is L;
  shape(x: L): readonly number[];
  dtype(x: L): DType;
  /** The values; the leaf must stay usable. */
  read(x: L): Tensor | Promise<Tensor>;
  /** Either writes into the leaf and returns how to take that back, or returns a leaf to put in its place. */
  write(x: L, tensor: Tensor): { replace: L } | { undo(): void };
  trainable?(x: L): boolean;
}

interface Mark {
  readonly kind: LeafKind;
  readonly trainable: boolean;
}

/** Registered, so that two copies of this package understand each other's leaves. */
const mark: unique symbol = Symbol.for("tensorjar.leaf");
const noMark: Mark = { kind: "array", trainable: true };

/**
 * A leaf on the same memory that is a model's parameter: trainable unless `frozen`, and left out by
 * `only: "trainable"` when it is not. Throws what {@link checkTensor} throws.
 */
export function parameter<D extends DType>(
  tensor: TensorOf<D>,
  options: { frozen?: boolean } = {},
): TensorOf<D> {
  return marked(tensor, { kind: "parameter", trainable: options.frozen !== true });
}

/** A leaf on the same memory that is saved and loaded but never trained, such as a running mean. */
export function buffer<D extends DType>(tensor: TensorOf<D>): TensorOf<D> {
  return marked(tensor, { kind: "buffer", trainable: false });
}

function marked<T extends { readonly dtype: DType }>(tensor: T, value: Mark): T {
  checkTensor(tensor);
  return Object.defineProperty({ ...tensor }, mark, { value });
}

/** `tensor` as the same kind of leaf that `leaf` is, a bare typed array or a tensor; itself when both are plain arrays. */
export function likeLeaf(tensor: Tensor, leaf: unknown): Tensor | ArrayBufferView {
  if (ArrayBuffer.isView(leaf)) return bareLike(tensor, leaf);
  const own = markOf(leaf);
  return own === markOf(tensor) ? tensor : marked(tensor, own);
}

export function leafMark(leaf: unknown, adapter: LeafAdapter | undefined): Mark {
  if (adapter?.trainable !== undefined)
    return { kind: "parameter", trainable: adapter.trainable(leaf) };
  return markOf(leaf);
}

function markOf(leaf: unknown): Mark {
  const { [mark]: own = noMark }: { [mark]?: Mark } = Object(leaf);
  return own;
}

/** A bare typed array as a tensor on the same memory. Throws `invalid-argument` for a DataView. */
function typedTensor(view: ArrayBufferView, path: string): Tensor {
  const dtype = nativeDType(classTag(view));
  if (dtype === undefined) throw notATree(view, path);
  const Data = dataConstructor(dtype);
  const length = view.byteLength / Data.BYTES_PER_ELEMENT;
  if (length === 0) toBytes(view); // throws for memory that was transferred
  const data = view.constructor === Data ? view : new Data(view.buffer, view.byteOffset, length);
  const tensor: unknown = { dtype, shape: [length], data };
  return tensor as Tensor; // `nativeDType` ties the class of the data to the dtype
}

/** What stands in for the bare typed array `old`: another of its class or of the dtype's, else, where neither tells dtype and shape, the tensor. */
function bareLike(tensor: Tensor, old: ArrayBufferView): Tensor | ArrayBufferView {
  const { dtype, shape, data } = tensor;
  if (shape.length !== 1) return tensor;
  const oldClass = classTag(old);
  if (oldClass !== classTag(data) && nativeDType(oldClass) === dtype) {
    const View = Reflect.get(globalThis, oldClass);
    return new View(data.buffer, data.byteOffset, data.length);
  }
  return nativeDType(classTag(data)) === dtype ? data : tensor;
}

/**
 * The tensor that `x` is: itself, or a view of a typed array; `undefined` for anything else.
 * Throws what {@link checkTensor} throws for what claims to be a tensor and is none.
 */
export function asTensor(x: unknown, path: string): Tensor | undefined {
  if (typeof x !== "object" || x === null) return undefined;
  if (ArrayBuffer.isView(x)) return typedTensor(x, path);
  const claim: Claim = x;
  return typeof claim.dtype === "string" ? claimedTensor(claim, path) : undefined;
}

/** Apart from {@link asTensor}, which nodes pass too: their fields would make those of leaves slow to read. */
function claimedTensor(x: Claim, path: string): Tensor | undefined {
  const { shape, data } = x;
  if ((shape === undefined || data === undefined) && !("shape" in x && "data" in x))
    return undefined;
  if (!ArrayBuffer.isView(data)) {
    // A node may have such fields too, if `data` is a node.
    if (!Array.isArray(shape) || (typeof data === "object" && !Array.isArray(data)))
      return undefined;
    if (!isPlain(x)) {
      throw treeError(
        "invalid-argument",
        path,
        `is ${describe(x)} with a dtype and a shape, but no typed array`,
        "give an adapter for it in `adapters`",
      );
    }
  }
  checkTensor(x, path);
  return x as Tensor; // as checkTensor has seen
}

/** What may say that an object is a tensor; then it must be a right one. */
interface Claim {
  readonly dtype?: unknown;
  readonly shape?: unknown;
  readonly data?: unknown;
}

/** Whether an object is a literal or has no prototype, in this realm or another. */
export function isPlain(x: object): boolean {
  const proto: unknown = Object.getPrototypeOf(x);
  return (
    proto === Object.prototype ||
    proto === null ||
    (Object.getPrototypeOf(proto) === null && Object.hasOwn(Object(proto), "isPrototypeOf"))
  );
}

const opaque =
  /^(Date|RegExp|Error|Boolean|Number|String|Symbol|BigInt|(Weak)?Set|Weak(Map|Ref)|Promise|(Shared)?ArrayBuffer|DataView|(Async)?Generator|.* Iterator)$/;

/** Whether an object keeps what it holds out of its own fields, as a `Set`, a `Date` or a `Blob` does. */
export function isOpaque(x: object): boolean {
  const tag = classTag(x);
  if (tag === "Map") return false;
  if (opaque.test(tag)) return true;
  // Such as `URL` and `WebAssembly.Memory`.
  const builtIn = tag
    .split(".")
    .reduce((scope: unknown, key) => Reflect.get(Object(scope), key), globalThis);
  return typeof builtIn === "function" && Object.getPrototypeOf(x) === builtIn.prototype;
}

export function notATree(x: unknown, path: string): TensorjarError {
  return treeError(
    "invalid-argument",
    path,
    `is ${describe(x)}, neither an array nor a node`,
    "give objects, arrays and Maps, with tensors or typed arrays as leaves",
  );
}
