// Networks of leaky ReLU neurons without bias on points of the plane: the limit of training and the way to it.
import { flow } from "./flow.js";
import { leastNorm } from "./explorer/programs.js";
import { dot, sigmoid } from "./functions.js";

// Program (8+): the two neurons {w, u} that training ends at, in direction, if each type stays right on its own class.
export function program(inputs, labels, slope) {
  const row = ([a, b], label, branch) => (label > 0 ? [a, b, -branch * a, -branch * b] : [-branch * a, -branch * b, a, b]);
  const rows = [slope, 1].flatMap((branch) => inputs.map((x, i) => row(x, labels[i], branch)));
  const solution = leastNorm(rows);
  return solution && { w: solution.slice(0, 2), u: solution.slice(2) };
}

// What two neurons, or two types of them, do on the two classes.
export function regime(w, u, inputs, labels) {
  const products = (neurons, sign) => inputs.filter((_, i) => labels[i] === sign).flatMap((x) => neurons.map((one) => dot(one, x)));
  const own = [...products(w, 1), ...products(u, -1)];
  const other = [...products(u, 1), ...products(w, -1)];
  if (Math.min(...own) <= 0) return "outside";
  if (Math.min(...other.map(Math.abs)) < 1e-9 * Math.max(...own)) return "kink";
  return Math.max(...other) < 0 ? "perfect" : "other";
}

// The polar angles, in degrees and increasing, at which the sign of a network changes; the first half of the neurons
// counts +1, the other half -1.  Between the kinks it is linear in the plane, so that each root is exact.
export function rays(neurons, slope) {
  const output = (x) => neurons.reduce((sum, neuron, j) => {
    const z = dot(neuron, x);
    return sum + (2 * j < neurons.length ? 1 : -1) * (z > 0 ? z : slope * z);
  }, 0);
  const kinks = neurons.flatMap(([a, b]) => [0.5, 1.5].map((turn) => Math.atan2(b, a) + turn * Math.PI));
  const quarters = [0, 0.5, 1, 1.5].map((turn) => turn * Math.PI);
  const turns = [...kinks, ...quarters].map((angle) => (angle + 4 * Math.PI) % (2 * Math.PI)).sort((a, b) => a - b);
  const found = turns.flatMap((angle, k) => {
    const [from, to] = [angle, turns[k + 1] ?? turns[0] + 2 * Math.PI].map((turn) => [Math.cos(turn), Math.sin(turn)]);
    const [first, second] = [output(from), output(to)];
    if (first > 0 === second > 0) return [];
    const [x, y] = from.map((value, i) => value * Math.abs(second) + to[i] * Math.abs(first));
    return [((Math.atan2(y, x) * 180) / Math.PI + 360) % 360];
  });
  return found.sort((a, b) => a - b);
}

// First layers at some times ln t of the gradient flow of the mean logistic loss; the first half of the neurons counts
// +v, the other half -v.  Where points are hardly separable the flow is stiff, and the times end early.
export function train(start, inputs, labels, slope, logTimes, accuracy = { tolerance: 3e-4, most: 6000 }) {
  const v = Math.sqrt(2 / start.length);
  const signs = start.map((_, j) => (2 * j < start.length ? v : -v));
  const first = logTimes[0] - 1;
  const field = (state) => {
    const rates = state.map(() => 0);
    rates[0] = 1;
    inputs.forEach(([a, b], i) => {
      let output = 0;
      const products = signs.map((sign, j) => {
        const z = state[2 * j + 1] * a + state[2 * j + 2] * b;
        output += sign * (z > 0 ? z : slope * z);
        return z;
      });
      const force = (labels[i] * Math.exp(state[0]) * sigmoid(-labels[i] * output)) / inputs.length;
      for (let j = 0; j < signs.length; j += 1) {
        const pull = force * signs[j] * (products[j] > 0 ? 1 : slope);
        rates[2 * j + 1] += pull * a;
        rates[2 * j + 2] += pull * b;
      }
    });
    return rates;
  };
  const at = flow(field, [first, ...start.flat()], logTimes.map((s) => s - first), accuracy);
  return at.map(([, ...flat]) => start.map((_, j) => [flat[2 * j], flat[2 * j + 1]]));
}
