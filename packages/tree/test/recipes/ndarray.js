import { tensor } from "@tensorjar/core";

/** Where the elements of a view are in its memory, in C order. */
function* positions({ shape, stride, offset, size }) {
  for (let i = 0; i < size; i++) {
    let at = offset;
    for (let axis = shape.length - 1, rest = i; axis >= 0; axis--) {
      at += (rest % shape[axis]) * stride[axis];
      rest = Math.floor(rest / shape[axis]);
    }
    yield at;
  }
}

const gather = (x) => x.data.constructor.from(positions(x), (at) => x.data[at]);
const scatter = (x, values) => {
  let i = 0;
  for (const at of positions(x)) x.data[at] = values[i++];
};

/** Views of any strides: saved in C order, filled in place. */
export const ndarrays = {
  is: (x) => ArrayBuffer.isView(x?.data) && Array.isArray(x.stride),
  shape: (x) => x.shape,
  dtype: (x) => tensor(x.data).dtype,
  read: (x) => tensor(gather(x), x.shape),
  write(x, { data }) {
    const before = gather(x);
    scatter(x, data);
    return { undo: () => scatter(x, before) };
  },
};
