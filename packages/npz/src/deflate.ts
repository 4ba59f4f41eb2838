import { Deflate } from "fflate";
import { native, through } from "./streams.js";

export type DeflateLevel = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** The raw deflate stream (RFC 1951) of what `pieces` hold together, at a level from 0 to 9. */
export function deflateSync(pieces: readonly Uint8Array[], level: DeflateLevel): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const deflater = new Deflate({ level }, (part) => parts.push(part));
  for (const data of pieces) deflater.push(data);
  deflater.push(new Uint8Array(0), true);
  return parts;
}

/**
 * The same without blocking for long, by the engine's own deflater where it has the level. Measured in Chromium 156 on
 * 16 MiB of float32 at level 6: 0.5 to 1.5 of the time of fflate.
 */
export async function deflate(
  pieces: readonly Uint8Array[],
  level: DeflateLevel,
): Promise<Uint8Array[]> {
  const deflater = level === 6 ? native("CompressionStream") : undefined;
  if (deflater === undefined) return deflateSync(pieces, level);
  const parts: Uint8Array[] = [];
  for await (const part of through(deflater, pieces)) parts.push(part);
  return parts;
}
