// Square loss on orthogonal inputs from a small balanced start: when each class is fitted, in closed form.
import { sigmoid } from "../functions.js";
import { dot } from "./programs.js";

// While the outputs are negligible a neuron of sign s obeys w' = s |w| sum of F_i x_i over the active data, which is
// constant until a datum is left: on orthogonal data none is entered. Returns kappa in log|w(t)| = rate t + log|w(0)| +
// kappa for large t, for a neuron that keeps all data of its class.
function alignmentOffset(w, sign, inputs, forces) {
  const length = Math.hypot(...w);
  let direction = w.map((value) => value / length);
  let active = inputs.map((x) => dot(direction, x) > 0);
  let [time, logNorm] = [0, 0];
  for (;;) {
    const drift = w.map((_, k) => inputs.reduce((sum, x, i) => sum + (active[i] ? sign * forces[i] * x[k] : 0), 0));
    const speed = Math.hypot(...drift);
    const e = drift.map((value) => value / speed);
    const cosine = dot(direction, e);
    const across = direction.map((value, k) => value - cosine * e[k]);
    const [plus, minus] = [(1 + cosine) / 2, (1 - cosine) / 2];
    const waits = inputs.map((x, i) => {
      const along = dot(e, x);
      if (!active[i] || along > -1e-12 * Math.hypot(...x)) return Infinity;
      const ratio = -dot(across, x) / along;
      // E = exp(speed t) solves ratio = plus E - minus / E; the form without cancellation is taken.
      const root = Math.sqrt(ratio ** 2 + 4 * plus * minus);
      return Math.log(ratio >= 0 ? (ratio + root) / (2 * plus) : (2 * minus) / (root - ratio)) / speed;
    });
    const wait = Math.min(...waits);
    if (wait === Infinity) return logNorm + Math.log(plus) - speed * time;
    const [up, down] = [plus * Math.exp(speed * wait), minus * Math.exp(-speed * wait)];
    const growth = up + down;
    direction = direction.map((_, k) => (across[k] + (up - down) * e[k]) / growth);
    active = active.map((on, i) => on && waits[i] > wait);
    logNorm += Math.log(growth);
    time += wait;
  }
}

// The classes, each with the rate at which its group of neurons grows, the norm of its labels and its half-time;
// null for a class that no neuron sees whole.
export function drops({ w, a, m, d }, inputs, labels) {
  const forces = labels.map((label) => label / labels.length);
  const neurons = Array.from({ length: m }, (_, j) => [...w.slice(j * d, (j + 1) * d)]);
  return [1, -1].map((sign) => {
    const own = inputs.filter((_, i) => labels[i] === sign);
    const group = neurons.filter((neuron, j) => sign * a[j] > 0 && own.every((x) => dot(neuron, x) > 0));
    if (!own.length || !group.length) return null;
    const height = Math.sqrt(own.reduce((sum, x) => sum + 1 / dot(x, x), 0));
    const offsets = group.map((neuron) => Math.log(Math.hypot(...neuron)) + alignmentOffset(neuron, sign, inputs, forces));
    const largest = Math.max(...offsets);
    const total = 2 * largest + Math.log(offsets.reduce((sum, offset) => sum + Math.exp(2 * (offset - largest)), 0));
    const rate = Math.hypot(...own[0].map((_, k) => own.reduce((sum, x) => sum + x[k], 0))) / labels.length;
    return { sign, rate, labelNorm: Math.sqrt(own.length), halfTime: (Math.log(height) - total) / (2 * rate) };
  });
}

// The loss at time t in that limit, for n data.
export const lossAt = (t, classes, n) =>
  classes.reduce((sum, { rate, labelNorm, halfTime }) => sum + (labelNorm * sigmoid(-2 * rate * (t - halfTime))) ** 2, 0) / (2 * n);
