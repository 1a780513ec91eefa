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

function moved(state, slopes, weights, by) {
  const next = state.slice();
  for (let k = 0; k < weights.length; k += 1) {
    for (let i = 0; i < next.length; i += 1) next[i] += by * weights[k] * slopes[k][i];
  }
  return next;
}

// The states at these increasing times of state' = field(state), from `start` at time zero, by Dormand and Prince's
// pair; fewer of them if `most` steps do not suffice.
export function flow(field, start, times, { tolerance = 1e-9, most = Infinity } = {}) {
  let [time, state, step, steps] = [0, start, times[0] / 100, 0];
  let slope = field(state);
  const states = [];
  for (const until of times) {
    while (time < until) {
      steps += 1;
      if (steps > most) return states;
      const by = Math.min(step, until - time);
      const slopes = [slope];
      let next = state;
      for (const weights of NODES) {
        next = moved(state, slopes, weights, by);
        slopes.push(field(next));
      }
      const off = moved(next.map(() => 0), slopes, ERRORS, by);
      const error = off.reduce((worst, value, i) => Math.max(worst, Math.abs(value) / (tolerance * (1 + Math.abs(next[i])))), 0);
      if (error <= 1) {
        time = by < step ? until : time + by;
        state = next;
        slope = slopes.at(-1);
      }
      if (error > 1 || by === step) step = by * Math.min(5, Math.max(0.2, 0.9 * error ** -0.2));
    }
    states.push(state);
  }
  return states;
}
