/** The recipe and what goes with it are plain JavaScript. */
declare module "*/resume.js" {
  import type { TrainingState } from "tensorjar";
  export function train(
    steps: number,
    update: (state: TrainingState) => unknown,
  ): Promise<TrainingState>;
}

declare module "*/step.js" {
  export function step(state: import("tensorjar").TrainingState): void;
}
