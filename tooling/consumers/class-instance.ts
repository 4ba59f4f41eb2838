// Loads into a class instance, in place, and into a new tree of the same type.
import {
  flattenTree,
  type LoadReport,
  loadTree,
  rebuildTree,
  type Tensor,
  type TensorOf,
  zeros,
} from "tensorjar";

class Linear {
  weight: TensorOf<"float32">;
  bias: TensorOf<"float32">;
  readonly inputs: number;
  constructor(inputs: number, outputs: number) {
    this.inputs = inputs;
    this.weight = zeros([outputs, inputs], "float32");
    this.bias = zeros([outputs]);
  }
}

class Model {
  readonly layers: Linear[] = [new Linear(784, 128), new Linear(128, 10)];
  readonly name = "mnist";
}

export function load(flat: Map<string, Tensor>): { model: Model; report: LoadReport; copy: Model } {
  const model = new Model();
  const report = loadTree(model, flat, {
    dtype: "cast",
    assign: "copy",
    ignore: (path) => path === "layers.9",
  });
  const bias: Float32Array | undefined = model.layers[1]?.bias.data;
  console.log(bias?.length, report.loaded, report.missing, report.unexpected);
  const copy: Model = rebuildTree(model, flattenTree(model));
  return { model, report, copy };
}
