// A network of one hidden layer that reads 8 x 8 digits, and Adam, both written out plainly.
import { elementCount, load, mapTree, ofType, zeros } from "tensorjar";

export const pixels = 64;
export const classes = 10;
const batchSize = 64;

export async function loadDigits(path) {
  const { tensors } = await load(path);
  const images = ofType(tensors.get("images"), "uint8");
  const labels = ofType(tensors.get("labels"), "uint8");
  return { count: elementCount(labels.shape), images: images.data, labels: labels.data };
}

/** A random number in [0, 1) that depends on nothing but its two arguments. */
function random(seed, counter) {
  let x = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(counter, 0x85ebca6b)) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

function layer(inputs, outputs, seed) {
  const weight = zeros([inputs, outputs]);
  const scale = Math.sqrt(6 / (inputs + outputs));
  for (let i = 0; i < weight.data.length; i++) weight.data[i] = (2 * random(seed, i) - 1) * scale;
  return { weight, bias: zeros([outputs]) };
}

/** Everything a run needs to go on: this object is what a checkpoint saves and what it is restored into. */
export function freshState(config) {
  const params = {
    hidden: layer(pixels, config.hidden, config.seed),
    output: layer(config.hidden, classes, config.seed + 1),
  };
  const zerosLike = () => mapTree(params, (t) => zeros(t.shape, t.dtype));
  return {
    params,
    optimizers: { adam: { step: 0, exp_avg: zerosLike(), exp_avg_sq: zerosLike() } },
    step: 0,
    config,
  };
}

/** Mean loss of one batch, which the seed and the step alone select; the gradients are left in `grads`. */
function gradients({ params, step, config }, digits, grads) {
  const { hidden, output } = params;
  const size = config.hidden;
  const activation = new Float64Array(size);
  const probability = new Float64Array(classes);
  for (const { weight, bias } of [grads.hidden, grads.output]) {
    weight.data.fill(0);
    bias.data.fill(0);
  }
  let loss = 0;
  for (let b = 0; b < batchSize; b++) {
    const sample = Math.floor(random(config.seed + 2, step * batchSize + b) * digits.count);
    const image = digits.images.subarray(sample * pixels, (sample + 1) * pixels);
    const label = digits.labels[sample];

    for (let h = 0; h < size; h++) {
      let sum = hidden.bias.data[h];
      for (let p = 0; p < pixels; p++) sum += (image[p] / 16) * hidden.weight.data[p * size + h];
      activation[h] = Math.max(0, sum);
    }
    let highest = Number.NEGATIVE_INFINITY;
    for (let c = 0; c < classes; c++) {
      let sum = output.bias.data[c];
      for (let h = 0; h < size; h++) sum += activation[h] * output.weight.data[h * classes + c];
      probability[c] = sum;
      highest = Math.max(highest, sum);
    }
    let total = 0;
    for (let c = 0; c < classes; c++) total += probability[c] = Math.exp(probability[c] - highest);
    for (let c = 0; c < classes; c++) probability[c] /= total;
    loss -= Math.log(probability[label]) / batchSize;

    for (let c = 0; c < classes; c++) {
      const delta = (probability[c] - (c === label ? 1 : 0)) / batchSize;
      grads.output.bias.data[c] += delta;
      for (let h = 0; h < size; h++)
        grads.output.weight.data[h * classes + c] += delta * activation[h];
      probability[c] = delta;
    }
    for (let h = 0; h < size; h++) {
      if (activation[h] === 0) continue;
      let delta = 0;
      for (let c = 0; c < classes; c++)
        delta += probability[c] * output.weight.data[h * classes + c];
      grads.hidden.bias.data[h] += delta;
      for (let p = 0; p < pixels; p++)
        grads.hidden.weight.data[p * size + h] += (delta * image[p]) / 16;
    }
  }
  return loss;
}

function adam(param, grad, m, v, t, { learningRate, beta1, beta2, eps }) {
  const correction1 = 1 - beta1 ** t;
  const correction2 = 1 - beta2 ** t;
  for (let i = 0; i < param.data.length; i++) {
    m.data[i] = beta1 * m.data[i] + (1 - beta1) * grad.data[i];
    v.data[i] = beta2 * v.data[i] + (1 - beta2) * grad.data[i] ** 2;
    param.data[i] -=
      (learningRate * (m.data[i] / correction1)) / (Math.sqrt(v.data[i] / correction2) + eps);
  }
}

/** Trains in place up to a step; the loss of each step is returned. */
export function train(state, digits, until) {
  const { params, optimizers, config } = state;
  const grads = mapTree(params, (t) => zeros(t.shape, t.dtype));
  const losses = [];
  while (state.step < until) {
    losses.push(gradients(state, digits, grads));
    state.step += 1;
    optimizers.adam.step += 1;
    const { exp_avg, exp_avg_sq, step } = optimizers.adam;
    for (const name of ["hidden", "output"]) {
      for (const part of ["weight", "bias"]) {
        adam(
          params[name][part],
          grads[name][part],
          exp_avg[name][part],
          exp_avg_sq[name][part],
          step,
          config,
        );
      }
    }
  }
  return losses;
}
