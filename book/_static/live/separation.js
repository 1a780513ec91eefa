// How unit data in the plane lie to each other, and the bounds on the time of alignment that follow.
import { angleOf, sum, unit, wrap } from "./alignment.js";

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

// The longest stay of a neuron in the region of the other class: the log of the cotangent of half its angle to the sum
// of that class, over the length of this sum.
function longestStay(angles, labels, neurons) {
  const stays = neurons.map(({ angle, sign }) => {
    const inside = angles.every((one, i) => Math.cos(one - angle) > 0 === labels[i] * sign < 0);
    if (!inside) return 0;
    const repelling = sum(angles.map(unit), labels.map((label) => (label * sign < 0 ? 1 : 0)));
    return -Math.log(Math.tan(Math.abs(wrap(angle - angleOf(repelling))) / 2)) / Math.hypot(...repelling);
  });
  return Math.max(0, ...stays);
}

// Bounds on the time of the last change, for orthogonally separable data: the book's, and what the paper's proof gives.
export function bounds(angles, labels, neurons) {
  const mu = leastCosine(angles, labels);
  const start = leastSine(angles, labels, neurons);
  return {
    ours: longestStay(angles, labels, neurons) + Math.acosh(1 + (1 - mu) / mu ** 2),
    printed: (16 * Math.log(angles.length)) / (Math.min(start, mu ** 2) * Math.sqrt(mu)),
  };
}
