import { tensor } from "@tensorjar/core";

const fill = (attribute, values) => {
  attribute.array.set(values);
  attribute.needsUpdate = true; // sends it to the GPU at the next frame
};

/** Attributes of a `BufferGeometry`: (count, itemSize), filled in place. Their tree is `geometry.attributes`. */
export const threeAttributes = {
  is: (x) => x?.isBufferAttribute === true,
  shape: (x) => [x.count, x.itemSize],
  dtype: (x) => tensor(x.array).dtype,
  read: (x) => tensor(x.array.slice(), [x.count, x.itemSize]),
  write(x, { data }) {
    const before = x.array.slice();
    fill(x, data);
    return { undo: () => fill(x, before) };
  },
};
