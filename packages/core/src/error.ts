/** Every way in which a call of tensorjar can fail; what each means and what to do is in `docs/errors.md`. */
export type ErrorCode =
  | "not-this-format"
  | "truncated"
  | "trailing-bytes"
  | "limit-exceeded"
  | "invalid-header"
  | "invalid-utf8"
  | "invalid-shape"
  | "invalid-dtype"
  | "invalid-offsets"
  | "duplicate-name"
  | "invalid-name"
  | "invalid-archive"
  | "checksum-mismatch"
  | "encrypted"
  | "unsupported"
  | "unsupported-version"
  | "path-conflict"
  | "tree-mismatch"
  | "invalid-checkpoint"
  | "not-found"
  | "already-exists"
  | "locked"
  | "source-changed"
  | "http"
  | "io"
  | "invalid-argument";

/** One reason why a tree, a model or a checkpoint cannot be loaded. */
export interface Problem {
  readonly kind: "missing" | "unexpected" | "shape" | "dtype" | "read-only";
  readonly path: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
}

export interface ErrorDetails {
  /** The path of a file or of a leaf in a tree. */
  readonly path?: string;
  /** The tensor, member, key or option at fault. */
  readonly name?: string;
  /** Byte offset in the file where the fault stands. */
  readonly offset?: number;
  readonly expected?: unknown;
  readonly actual?: unknown;
  /** What to do about it; the message ends with it. */
  readonly hint?: string;
  /** HTTP status. */
  readonly status?: number;
  /** The system's own code, such as `ENOSPC`. */
  readonly errno?: string;
  /** Everything that does not fit, in a stable order. */
  readonly problems?: readonly Problem[];
}

const brand: unique symbol = Symbol.for("tensorjar.error");

/**
 * The one error that tensorjar throws. Tell it by {@link isTensorjarError}, not by `instanceof`:
 * two copies of this package may live in one program.
 */
export class TensorjarError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name: "TensorjarError" = "TensorjarError";
  declare readonly code: C;
  declare readonly details: ErrorDetails;

  constructor(code: C, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(details.hint === undefined ? message : `${message}: ${details.hint}`, options);
    this.code = code;
    this.details = details;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether `e` is an error of tensorjar and, when codes are given, has one of them. */
export function isTensorjarError<C extends ErrorCode = ErrorCode>(
  e: unknown,
  ...codes: C[]
): e is TensorjarError<C> {
  const error: { [brand]?: unknown; code: C } = Object(e);
  return error[brand] === true && (codes.length === 0 || codes.includes(error.code));
}

/** An error about the tensor of that name, of which the message begins with it; without a name about the one at hand. */
export function tensorError(
  name: string | undefined,
  code: ErrorCode,
  message: string,
  details?: ErrorDetails,
): TensorjarError {
  return name
    ? new TensorjarError(code, `tensor ${quote(name)}: ${message}`, { name, ...details })
    : new TensorjarError(code, message, details);
}

/** A name from a file or a caller as it stands in messages: quoted, escaped and never longer than a line. */
export function quote(name: string): string {
  if (typeof name !== "string") return describe(name); // callers in JavaScript give anything
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 97)}...` : name);
}

/** A value as it stands in messages: its kind, never its whole content. */
export function describe(value: unknown): string {
  if (typeof value === "string") return `the string ${quote(value)}`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const tag = classTag(value);
  const name = tag === "Object" ? value.constructor?.name : tag;
  return typeof name === "string" && !/^(Object)?$/.test(name)
    ? `a value of type ${name}`
    : "an object";
}

/** The class name of a built-in object, also from another realm: `Float32Array`, `Map`, `ArrayBuffer`. */
export function classTag(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}
