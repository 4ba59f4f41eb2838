import { type Bytes, type Named, type Tensor, TensorjarError } from "@tensorjar/core";
import { allocate, quote, tensorBytes } from "@tensorjar/core/codec";
import { isProducer, planWrite, type SafetensorsWriteOptions } from "./write-plan.js";

/**
 * Encodes tensors as a safetensors file, byte for byte as the reference does (metadata keys are sorted): tensors by
 * dtype, then by the UTF-8 bytes of their names. The result is owned memory.
 * Throws `invalid-name`, `duplicate-name`, `invalid-dtype`, `invalid-shape`, `unsupported` (complex128),
 * `limit-exceeded`, and `invalid-argument` for what is no tensor, for metadata that is not text and for tensors that
 * share memory unless `aliases` says what to do.
 */
export function encodeSafetensors(
  tensors: Named<Tensor>,
  options?: SafetensorsWriteOptions,
): Bytes {
  const plan = planWrite(tensors, options);
  const file = allocate(plan.byteLength);
  file.set(plan.header);
  let begin = plan.header.length;
  for (const { name, source, bytes } of plan.tensors) {
    if (isProducer(source)) {
      throw new TensorjarError(
        "invalid-argument",
        `tensor ${quote(name)} has a producer, not data`,
        {
          name,
          hint: "write it with writeSafetensors or safetensorsChunks",
        },
      );
    }
    file.set(tensorBytes(source), begin);
    begin += bytes;
  }
  return file;
}
