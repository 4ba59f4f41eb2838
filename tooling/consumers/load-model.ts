// Loads a model from bytes and hands what comes out to the platform: no cast anywhere.
import { decodeSafetensors, encodeSafetensors, ofType, type Tensor, tensor } from "tensorjar";

export function load(bytes: ArrayBuffer, gl: WebGL2RenderingContext): Map<string, Tensor> {
  const { tensors, metadata } = decodeSafetensors(bytes);
  const format: string | undefined = metadata.get("format");
  for (const [name, { dtype, shape, data }] of tensors)
    console.log(format, name, dtype, shape, data.length);

  const positions = ofType(tensors.get("positions"), "float32");
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, positions.data, gl.STATIC_DRAW);

  const weight = tensors.get("weight");
  if (weight?.dtype === "int64") {
    const first: bigint | undefined = weight.data[0];
    console.log(first);
  }
  return tensors;
}

export async function upload(): Promise<Blob> {
  const bytes = encodeSafetensors({ weight: tensor(new Float32Array(6), [2, 3]) });
  await fetch("/models/latest", { method: "PUT", body: bytes });
  await crypto.subtle.digest("SHA-256", bytes);
  await new Response(bytes).arrayBuffer();
  return new Blob([bytes], { type: "application/octet-stream" });
}
