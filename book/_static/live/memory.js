// The loss of a network from a small balanced start, and that of two linear neurons that start with what it remembers:
// orthogonally separable data in the plane, the loss 2 ln(1 + exp(-y f(x))) weighed by the frequency of the class.
import { align, at, growth, unit, wrap } from "./alignment.js";
import { handover } from "./clocks.js";
import { flow } from "./flow.js";
import { dot, sigmoid } from "./functions.js";

const NEGLIGIBLE = -8; // logarithm of the size up to which a lone neuron only grows
const TOLERANCE = 1e-8;

const loss = (margin) => 2 * (Math.max(-margin, 0) + Math.log1p(Math.exp(-Math.abs(margin))));

// The paths of the neurons {angle, logNorm, sign} while outputs are negligible.
export function turn({ inputs, labels, weights, neurons }) {
  const forces = labels.map((label, i) => label * weights[i]);
  return neurons.map((neuron) => align(neuron, inputs, forces));
}

// What the curve of a class remembers: the logarithm of its effective size, its offset across the class sum, and the
// rate and the direction of that sum.
export function memory({ labels, neurons }, paths, label) {
  const own = paths.filter((stages, j) => neurons[j].sign === label && stages.at(-1).active.every((now, i) => now === (labels[i] === label)));
  const grown = own.map((stages) => growth(stages));
  const size = Math.hypot(...grown.map(({ offset }) => Math.exp(offset)));
  const across = own.map((stages) => Math.exp(stages.at(-1).logNorm) * Math.sin(wrap(stages.at(-1).angle - stages.at(-1).towards)));
  const offset = grown.reduce((total, one, k) => total + Math.exp(one.offset) * across[k], 0) / size;
  return { logSize: Math.log(size), offset, rate: grown[0]?.rate, towards: own[0]?.at(-1).towards };
}

// The losses of two linear neurons at these times, from the scale exp(logScale).
export function theory({ inputs, labels, weights }, classes, logScale, times) {
  const losses = times.map(() => 0);
  for (const label of [1, -1]) {
    const own = labels.flatMap((one, i) => (one === label ? [i] : []));
    const { logSize, offset, rate, towards } = classes[label];
    const first = Math.max(0, (NEGLIGIBLE - logScale - logSize) / rate);
    const size = Math.exp(logScale + logSize + rate * first);
    const [c, s] = unit(towards);
    const r = Math.exp(logScale) * offset;
    const field = ([u, v, a]) => {
      let [du, dv] = [0, 0];
      for (const i of own) {
        const force = 2 * weights[i] * sigmoid(-a * dot([u, v], inputs[i]));
        du += force * inputs[i][0];
        dv += force * inputs[i][1];
      }
      return [a * du, a * dv, u * du + v * dv];
    };
    const start = [size * c - r * s, size * s + r * c, size];
    const states = flow(field, start, times.map((time) => Math.max(time - first, 1e-9)), { tolerance: TOLERANCE });
    const at = ([u, v, a]) => own.reduce((total, i) => total + weights[i] * loss(a * dot([u, v], inputs[i])), 0);
    states.forEach((state, k) => (losses[k] += at(state)));
  }
  return losses;
}

// The losses of the network at these times, and its first layer there, neuron by neuron.  Each neuron is followed in
// units of its own size at first, since one may be far smaller than the others when they begin to learn.
export function network({ inputs, labels, weights, neurons }, paths, logScale, times) {
  const from = handover(paths, logScale);
  const early = (time) =>
    paths.map((stages) => {
      const { angle, logNorm } = at(stages, time);
      return unit(angle).map((part) => part * Math.exp(logNorm + logScale));
    });
  const sizes = early(from).map((w) => Math.hypot(...w));
  const outputs = (state) => inputs.map((x) => sizes.reduce((f, size, j) => f + size ** 2 * state[3 * j + 2] * Math.max(0, dot([state[3 * j], state[3 * j + 1]], x)), 0));
  const field = (state) => {
    const forces = outputs(state).map((f, i) => 2 * weights[i] * labels[i] * sigmoid(-labels[i] * f));
    const slopes = new Array(state.length).fill(0);
    for (let j = 0; j < neurons.length; j += 1) {
      const [u, v, a] = state.slice(3 * j, 3 * j + 3);
      inputs.forEach((x, i) => {
        const seen = dot([u, v], x);
        if (seen <= 0) return;
        slopes[3 * j] += a * forces[i] * x[0];
        slopes[3 * j + 1] += a * forces[i] * x[1];
        slopes[3 * j + 2] += forces[i] * seen;
      });
    }
    return slopes;
  };
  const start = early(from).flatMap((w, j) => [...w.map((part) => part / sizes[j]), neurons[j].sign]);
  const late = times.filter((time) => time > from);
  const states = flow(field, start, late.map((time) => time - from), { tolerance: TOLERANCE });
  const rest = weights.reduce((total, weight) => total + weight * loss(0), 0);
  const losses = states.map((state) => outputs(state).reduce((total, f, i) => total + weights[i] * loss(labels[i] * f), 0));
  const before = times.length - late.length;
  const layer = (state) => sizes.map((size, j) => [size * state[3 * j], size * state[3 * j + 1]]);
  const weightsAt = (k) => (k < before ? early(times[k]) : layer(states[k - before]));
  return { losses: [...times.slice(0, before).map(() => rest), ...losses], weightsAt };
}
