// The flow of a network that learns two orthogonal inputs from a small start, in the limit of a small scale: when each is
// fitted, the loss, the neurons and the function at any time.
import { align, angleOf, at, growth } from "./alignment.js";
import { sigmoid } from "./functions.js";

const softplus = (u) => Math.max(u, 0) + Math.log1p(Math.exp(-Math.abs(u)));
const logSum = (values) => {
  const most = Math.max(...values);
  return most + Math.log(values.reduce((total, value) => total + Math.exp(value - most), 0));
};

// The loss at time t for label norms (plus, minus), growth rates and half-times; n examples.
export function loss(t, { n, norms, rates, halfTimes }) {
  return norms.reduce((total, norm, k) => total + (norm * sigmoid(-2 * rates[k] * (t - halfTimes[k]))) ** 2, 0) / (2 * n);
}

// The flow for one positive and one negative label on orthogonal inputs; `starts` are {angle, logNorm, sign} at scale 1.
export function plateaus(starts, inputs, labels, power) {
  const n = labels.length;
  const logScale = -power * Math.LN10;
  const paths = starts.map((start) => align(start, inputs, labels.map((label) => label / n)));
  const signs = [1, -1];
  const own = signs.map((sign) => labels.findIndex((label) => label * sign > 0));
  const sizes = own.map((i) => Math.hypot(...inputs[i]));
  const norms = own.map((i) => Math.abs(labels[i]));
  const rates = norms.map((norm, k) => (norm * sizes[k]) / n);
  const halfTimes = signs.map((sign, k) => {
    const group = starts.flatMap((start, j) => (start.sign === sign && growth(paths[j]).rate > 0 ? [growth(paths[j]).offset] : []));
    return (Math.log(norms[k] / sizes[k]) - logSum(group.map((offset) => 2 * offset)) - 2 * logScale) / (2 * rates[k]);
  });
  const neurons = starts.map(({ sign }, j) => ({ sign, path: paths[j], grows: growth(paths[j]).rate > 0 }));
  return { n, norms, rates, halfTimes, neurons, logScale, aims: own.map((i) => angleOf(inputs[i])) };
}

// Angles and log-norms at time t.  The force on a class falls as the class is fitted; its neurons move as in the early
// phase, but by a clock that slows down with the force and stops at the half-time.
export function neuronsAt(t, { neurons, rates, halfTimes, logScale }) {
  const clocks = rates.map((rate, k) => t - softplus(2 * rate * (t - halfTimes[k])) / (2 * rate));
  return neurons.map(({ sign, path, grows }) => {
    const { angle, logNorm } = at(path, sign > 0 ? clocks[0] : clocks[1]);
    return { angle, logNorm: logNorm + logScale, sign, grows };
  });
}

// The function that such neurons make of a number x, which they see as the input (x, 1).
export function learned(x, neurons) {
  return neurons.reduce((f, { angle, logNorm, sign }) => {
    return f + sign * Math.exp(2 * logNorm) * Math.max(0, x * Math.cos(angle) + Math.sin(angle));
  }, 0);
}
