/** What checkpoints are restored with: loading in two steps, so that what else is in its way is told with the rest. */
export { apply as applyLoad, readOnlyProblem } from "./apply.js";
export { type LoadPlan, plan as planLoad } from "./load.js";
export { treeMismatch } from "./problems.js";
