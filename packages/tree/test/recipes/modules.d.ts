/** What the tests call of packages that ship no types, and the recipes, which are plain JavaScript. */
declare module "ndarray" {
  interface NdArray {
    readonly shape: number[];
    readonly data: Float32Array;
    get(...index: number[]): number;
    transpose(...axes: number[]): NdArray;
    step(...steps: number[]): NdArray;
  }
  export default function ndarray(data: ArrayBufferView, shape?: number[]): NdArray;
}

declare module "three" {
  export class BufferAttribute {
    constructor(array: ArrayBufferView, itemSize: number);
    readonly array: Float32Array;
    readonly version: number;
  }
  export class BufferGeometry {
    readonly attributes: { [name: string]: BufferAttribute };
    setAttribute(name: string, attribute: BufferAttribute): this;
  }
}

declare module "*/onnxruntime.js" {
  export const onnxTensors: import("@tensorjar/tree").LeafAdapter;
}

declare module "*/ndarray.js" {
  export const ndarrays: import("@tensorjar/tree").LeafAdapter;
}

declare module "*/three.js" {
  export const threeAttributes: import("@tensorjar/tree").LeafAdapter;
}
