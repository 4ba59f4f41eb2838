import { tensor } from "@tensorjar/core";
import { Tensor } from "onnxruntime-common"; // also exported by onnxruntime-node and onnxruntime-web

/** ONNX Runtime calls its dtypes as we do; a tensor on a GPU is read after `await x.getData()`. */
export const onnxTensors = {
  is: (x) => x instanceof Tensor,
  shape: (x) => x.dims,
  dtype: (x) => x.type,
  read: (x) => tensor(x.data.slice(), x.dims, x.type),
  write: (_, { dtype, data, shape }) => ({ replace: new Tensor(dtype, data.slice(), shape) }),
};
