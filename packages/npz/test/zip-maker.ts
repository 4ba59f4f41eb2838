/** A writer of zip archives that does as it is told: every field can lie. */
import { crc32 } from "@tensorjar/core/codec";
import { encodeNpy, type Tensor, tensor } from "@tensorjar/npy";
import { concat } from "../../../tooling/testing.js";

export interface MadeMember {
  readonly name: string | Uint8Array;
  /** Bytes as they lie in the archive. */
  readonly raw: Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  readonly crc?: number;
  readonly size?: number;
  readonly compressedSize?: number;
  readonly offset?: number;
  readonly disk?: number;
  readonly extra?: Uint8Array;
  readonly localExtra?: Uint8Array;
  readonly localName?: string;
  readonly localMethod?: number;
  readonly localFlags?: number;
  readonly localSize?: number;
  readonly localCompressedSize?: number;
  /** Bytes between the member's data and what follows. */
  readonly after?: Uint8Array;
}

export interface MadeEnd {
  readonly before?: Uint8Array;
  readonly comment?: Uint8Array;
  readonly after?: Uint8Array;
  readonly disk?: number;
  readonly countHere?: number;
  readonly count?: number;
  readonly directorySize?: number;
  readonly directoryOffset?: number;
  /** Added to every offset, as if something stood before the archive. */
  readonly shift?: number;
  /** Values of the zip64 end record, which is written when this is given. */
  readonly zip64?: {
    readonly count?: number;
    readonly directorySize?: number;
    readonly directoryOffset?: bigint;
    readonly recordOffset?: number;
    readonly disks?: number;
    readonly extended?: number;
  };
}

const text = new TextEncoder();

export function latin(value: string): Uint8Array {
  return Uint8Array.from(value, (char) => char.charCodeAt(0));
}

/** Little-endian fields, each `[bytes, value]`. */
export function fields(...values: readonly (readonly [number, number | bigint])[]): Uint8Array {
  const bytes: number[] = [];
  for (const [length, value] of values) {
    for (let i = 0; i < length; i++) bytes.push(Number((BigInt(value) >> BigInt(8 * i)) & 255n));
  }
  return Uint8Array.from(bytes);
}

export function makeZip(
  members: readonly MadeMember[],
  end: MadeEnd = {},
): Uint8Array<ArrayBuffer> {
  const { before = new Uint8Array(0), comment = new Uint8Array(0), shift = 0, zip64 } = end;
  const parts: Uint8Array[] = [before];
  const directory: Uint8Array[] = [];
  let at = before.length + shift;
  for (const m of members) {
    const name = typeof m.name === "string" ? text.encode(m.name) : m.name;
    const localName = m.localName === undefined ? name : text.encode(m.localName);
    const { raw, method = 0, flags = 0, crc = crc32(raw), size = raw.length } = m;
    const {
      compressedSize = raw.length,
      extra = new Uint8Array(0),
      localExtra = new Uint8Array(0),
    } = m;
    const local = concat(
      fields(
        [4, 0x04034b50],
        [2, 20],
        [2, m.localFlags ?? flags],
        [2, m.localMethod ?? method],
        [2, 0],
        [2, 0x21],
        [4, crc],
        [4, m.localCompressedSize ?? compressedSize],
        [4, m.localSize ?? size],
        [2, localName.length],
        [2, localExtra.length],
      ),
      localName,
      localExtra,
      raw,
      m.after ?? new Uint8Array(0),
    );
    directory.push(
      fields(
        [4, 0x02014b50],
        [2, 20],
        [2, 20],
        [2, flags],
        [2, method],
        [2, 0],
        [2, 0x21],
        [4, crc],
        [4, compressedSize],
        [4, size],
        [2, name.length],
        [2, extra.length],
        [2, 0],
        [2, m.disk ?? 0],
        [2, 0],
        [4, 0],
        [4, m.offset ?? at],
      ),
      name,
      extra,
    );
    parts.push(local);
    at += local.length;
  }
  const central = concat(...directory);
  parts.push(central);
  if (zip64) {
    const extended = zip64.extended ?? 0;
    parts.push(
      fields(
        [4, 0x06064b50],
        [8, 44 + extended],
        [2, 45],
        [2, 45],
        [4, 0],
        [4, 0],
        [8, zip64.count ?? members.length],
        [8, zip64.count ?? members.length],
        [8, zip64.directorySize ?? central.length],
        [8, zip64.directoryOffset ?? at],
      ),
      new Uint8Array(extended),
      fields(
        [4, 0x07064b50],
        [4, 0],
        [8, zip64.recordOffset ?? at + central.length],
        [4, zip64.disks ?? 1],
      ),
    );
  }
  parts.push(
    fields(
      [4, 0x06054b50],
      [2, end.disk ?? 0],
      [2, 0],
      [2, end.countHere ?? end.count ?? members.length],
      [2, end.count ?? members.length],
      [4, end.directorySize ?? central.length],
      [4, end.directoryOffset ?? at],
      [2, comment.length],
    ),
    comment,
    end.after ?? new Uint8Array(0),
  );
  return concat(...parts);
}

/** A stored member that is an array of the given numbers. */
export function npyMember(
  name: string | Uint8Array,
  values: readonly number[] = [1, 2, 3],
  more: Partial<MadeMember> = {},
): MadeMember {
  return { name, raw: npyBytes(values), ...more };
}

export function npyBytes(values: readonly number[]): Uint8Array<ArrayBuffer> {
  return encodeNpy(tensor(Float32Array.from(values)));
}

export function float32(values: readonly number[]): Tensor {
  return tensor(Float32Array.from(values));
}
