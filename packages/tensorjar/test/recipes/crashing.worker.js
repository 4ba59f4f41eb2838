// Trains as the recipe does, hangs in the middle of an update, and says so; the test ends it there.
import { train } from "./resume.js";
import { step } from "./step.js";

train(45, async (state) => {
  step(state);
  if (state.step < 37) return;
  postMessage(state.step);
  await new Promise(() => {});
});
