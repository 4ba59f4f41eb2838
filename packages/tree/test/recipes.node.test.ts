// The adapters of docs/recipes.md against the real libraries; tooling/test/documents.node.test.ts compares the two texts.
import { type Tensor, tensor } from "@tensorjar/core";
import { flattenTree, loadTree } from "@tensorjar/tree";
import ndarray from "ndarray";
import { Tensor as OnnxTensor } from "onnxruntime-common";
import { BufferAttribute, BufferGeometry } from "three";
import { describe, expect, test } from "vitest";
import { ndarrays } from "./recipes/ndarray.js";
import { onnxTensors } from "./recipes/onnxruntime.js";
import { threeAttributes } from "./recipes/three.js";

describe("ONNX Runtime tensors", () => {
  const adapters = [onnxTensors];

  test("every dtype that both have is saved and loaded bit by bit", () => {
    const feeds: Record<string, OnnxTensor> = {
      f32: new OnnxTensor("float32", Float32Array.of(1, -0, Number.NaN, 4), [2, 2]),
      f16: new OnnxTensor("float16", Uint16Array.of(0x3c00, 0x7e01), [2]),
      i64: new OnnxTensor("int64", BigInt64Array.of(-(2n ** 63n)), []),
      mask: new OnnxTensor("bool", Uint8Array.of(1, 0), [2]),
    };
    const flat = flattenTree(feeds, { adapters });
    expect([...flat].map(([name, { dtype, shape }]) => [name, dtype, shape])).toEqual([
      ["f32", "float32", [2, 2]],
      ["f16", "float16", [2]],
      ["i64", "int64", []],
      ["mask", "bool", [2]],
    ]);
    expect(flat.get("f16")?.data).toEqual(Uint16Array.of(0x3c00, 0x7e01));
    const old = feeds["f32"];
    loadTree(feeds, flat, { adapters });
    expect(feeds["f32"]).not.toBe(old);
    expect(feeds["f32"]).toBeInstanceOf(OnnxTensor);
    expect(flattenTree(feeds, { adapters })).toEqual(flat);
  });

  test("strings are refused by name", () => {
    const words = new OnnxTensor("string", ["a"], [1]);
    expect(() => flattenTree({ words }, { adapters })).toThrow(/string/);
  });
});

describe("ndarray", () => {
  const adapters = [ndarrays];
  const numbers = () => Float32Array.from({ length: 6 }, (_, i) => i);

  test("views of any strides are saved in C order and filled in place", () => {
    const whole = ndarray(numbers(), [2, 3]);
    const turned = ndarray(numbers(), [2, 3]).transpose(1, 0);
    const reversed = ndarray(numbers()).step(-2);
    const tree = { whole, turned, reversed };
    const flat = flattenTree(tree, { adapters });
    expect(flat.get("whole")).toEqual(tensor(numbers(), [2, 3]));
    expect(flat.get("turned")).toEqual(tensor(Float32Array.of(0, 3, 1, 4, 2, 5), [3, 2]));
    expect(flat.get("reversed")).toEqual(tensor(Float32Array.of(5, 3, 1)));
    const given = { ...Object.fromEntries(flat), turned: tensor(numbers(), [3, 2]) };
    loadTree(tree, given, { adapters });
    expect(turned.get(2, 1)).toBe(5);
    expect(turned.data).toEqual(Float32Array.of(0, 2, 4, 1, 3, 5));
  });

  test("without the adapter a transposed view is refused, never read in the wrong order", () => {
    expect(flattenTree({ x: ndarray(numbers(), [2, 3]) }).size).toBe(1);
    expect(() => flattenTree({ x: ndarray(numbers(), [2, 3]).transpose(1, 0) })).toThrow(/C order/);
  });
});

describe("three.js attributes", () => {
  const adapters = [threeAttributes];

  test("a geometry's attributes are saved as (count, itemSize) and filled in place, also undone", () => {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(Float32Array.of(1, 2, 3, 4, 5, 6), 3));
    geometry.setAttribute("color", new BufferAttribute(Uint8Array.of(255, 0), 1));
    const tree = geometry.attributes;
    const { position } = tree;
    const flat = flattenTree(tree, { adapters });
    expect(flat.get("position")).toEqual(tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]));
    const given: Record<string, Tensor> = {
      position: tensor(new Float32Array(6), [2, 3]),
      color: tensor(Uint8Array.of(7, 8), [2, 1]),
    };
    loadTree(tree, given, { adapters });
    expect(geometry.attributes["position"]).toBe(position);
    expect([position?.array[0], position?.version]).toEqual([0, 1]);
    const failing = {
      ...threeAttributes,
      write: (x: BufferAttribute, t: Tensor) => {
        if (x === tree["color"]) throw new Error("lost");
        return threeAttributes.write(x, t);
      },
    };
    expect(() => loadTree(tree, flat, { adapters: [failing] })).toThrow("lost");
    expect(position?.array).toEqual(new Float32Array(6));
  });
});
