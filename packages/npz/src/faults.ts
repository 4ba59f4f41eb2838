import {
  type ErrorCode,
  type ErrorDetails,
  isTensorjarError,
  TensorjarError,
} from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

export function invalidArchive(message: string, details?: ErrorDetails): TensorjarError {
  return new TensorjarError("invalid-archive", message, details);
}

/** An error about one member: `what` is told of it. */
export function memberFault(
  code: ErrorCode,
  { name, offset }: { readonly name: string; readonly offset: number },
  what: string,
  details: ErrorDetails = {},
  cause?: unknown,
): TensorjarError {
  const all = { name, offset, ...details };
  return new TensorjarError(code, `member ${quote(name)} ${what}`, all, { cause });
}

/** Runs `work` and names the member in what it throws, and where in the archive its local header stands, if it does. */
export function inMember<T>(
  { name, offset }: { readonly name: string; readonly offset?: number },
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    const { hint: _, ...details } = error.details; // the message ends with it already
    const message = `member ${quote(name)}: ${error.message}`;
    const place = { name, ...(offset !== undefined && { offset }) };
    throw new TensorjarError(error.code, message, { ...details, ...place }, { cause: error });
  }
}
