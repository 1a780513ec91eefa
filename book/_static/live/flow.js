// The flow of a field of vectors, by steps of fifth order that are as long as the tolerance allows.
const NODES = [
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const ERRORS = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];

const moved = (state, slopes, weights, by) =>
  state.map((value, i) => value + by * weights.reduce((sum, weight, k) => sum + weight * slopes[k][i], 0));

// The states at these increasing times of state' = field(state), from `start` at time zero; Dormand and Prince's pair.
export function flow(field, start, times, tolerance = 1e-9) {
  let [time, state, step] = [0, start, times[0] / 100];
  let slope = field(state);
  return times.map((until) => {
    while (time < until) {
      const by = Math.min(step, until - time);
      const slopes = [slope];
      let next = state;
      for (const weights of NODES) {
        next = moved(state, slopes, weights, by);
        slopes.push(field(next));
      }
      const off = moved(state.map(() => 0), slopes, ERRORS, by);
      const error = Math.max(...off.map((value, i) => Math.abs(value) / (tolerance * (1 + Math.abs(next[i])))));
      if (error <= 1) {
        time = by < step ? until : time + by;
        state = next;
        slope = slopes.at(-1);
      }
      if (error > 1 || by === step) step = by * Math.min(5, Math.max(0.2, 0.9 * error ** -0.2));
    }
    return state;
  });
}
