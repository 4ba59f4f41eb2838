export type {
  AdamHyperparameters,
  Exchange,
  Foreign,
  FromOptions,
  ToOptions,
} from "./exchange.js";
export { fromMlx, toMlx } from "./mlx.js";
export { fromOptax, toOptax } from "./optax.js";
export { fromTorch, toTorch } from "./torch.js";
