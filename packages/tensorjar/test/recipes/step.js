/** An update that depends on all of the state, so that two runs are equal only where nothing of it was lost. */
export function step(state) {
  const { params, optimizers } = state;
  const { exp_avg, exp_avg_sq } = optimizers.adam;
  for (let i = 0; i < params.weight.data.length; i++) {
    const gradient = Math.sin(i + state.step) + params.weight.data[i];
    exp_avg.weight.data[i] = 0.9 * exp_avg.weight.data[i] + 0.1 * gradient;
    exp_avg_sq.weight.data[i] = 0.999 * exp_avg_sq.weight.data[i] + 0.001 * gradient ** 2;
    params.weight.data[i] -=
      (0.01 * exp_avg.weight.data[i]) / (Math.sqrt(exp_avg_sq.weight.data[i]) + 1e-8);
  }
  state.step += 1;
  optimizers.adam.step += 1;
}
