// How unit data in the plane lie to each other, and the bounds on the time of alignment that follow.
import { angleOf, sum, wrap } from "./alignment.js";

export const unit = (angle) => [Math.cos(angle), Math.sin(angle)];

// The least cosine between two signed data; above zero the data are orthogonally separable.
export function leastCosine(angles, labels) {
  const signed = angles.map((angle, i) => (labels[i] > 0 ? angle : angle + Math.PI));
  return Math.min(...signed.flatMap((one, i) => signed.slice(i + 1).map((other) => Math.cos(one - other))));
}

// The least squared sine between a neuron and the sum that repels it, over those at an acute angle to this sum; else 1.
export function leastSine(angles, labels, neurons) {
  const repelling = (sign) => angleOf(sum(angles.map(unit), labels.map((label) => (label * sign < 0 ? 1 : 0))));
  const away = neurons.map(({ angle, sign }) => wrap(angle - repelling(sign)));
  return Math.min(1, ...away.filter((angle) => Math.abs(angle) < Math.PI / 2).map((angle) => Math.sin(angle) ** 2));
}

// Bounds on the time of the last change, for orthogonally separable data: the book's, and what the paper's proof gives.
export function bounds(angles, labels, neurons) {
  const mu = leastCosine(angles, labels);
  const start = leastSine(angles, labels, neurons);
  const margin = Math.cos(Math.acos(mu) / 2);
  return {
    ours: (2 + 3 * Math.log1p(1 / mu) - Math.log(start)) / margin,
    printed: (16 * Math.log(angles.length)) / (Math.min(start, mu ** 2) * Math.sqrt(mu)),
  };
}
