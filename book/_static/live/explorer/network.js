// A two-layer network f(x) = sum_j a_j phi(<w_j, x>), phi(z) = max(z, slope z), and a step of gradient descent.
import { gaussianPairs } from "../random.js";
import { sigmoid } from "../functions.js";

const softplus = (u) => Math.max(u, 0) + Math.log1p(Math.exp(-Math.abs(u)));

// Losses of an output f and a label y: the value, and its derivative in f.
export const LOSSES = {
  square: { value: (f, y) => (f - y) ** 2 / 2, slope: (f, y) => f - y },
  logistic: { value: (f, y) => softplus(-y * f), slope: (f, y) => -y * sigmoid(-y * f) },
  exponential: { value: (f, y) => Math.exp(-y * f), slope: (f, y) => -y * Math.exp(-y * f) },
};

const UNUSED = 10; // pairs: the generator's first numbers are alike for small seeds

// The start of `m` neurons in `d` dimensions: w_j Gaussian of deviation `scale`. "balanced" has a_j = +-|w_j|,
// "gaussian" draws a_j like w_j, "fixed" has a_j = +-1/sqrt(m), which is not trained. Signs alternate.
export function begin({ m, d, scale, start, seed, slope }) {
  const pairs = gaussianPairs(UNUSED + 2 * m, seed).slice(UNUSED);
  const w = new Float64Array(m * d);
  const a = new Float64Array(m);
  for (let j = 0; j < m; j += 1) {
    const [across, up] = pairs[2 * j];
    const [third, own] = pairs[2 * j + 1];
    const direction = [across, up, third].slice(0, d);
    const sign = j % 2 ? -1 : 1;
    w.set(direction.map((value) => scale * value), j * d);
    a[j] = { balanced: sign * scale * Math.hypot(...direction), gaussian: scale * own, fixed: sign / Math.sqrt(m) }[start];
  }
  return { w, a, m, d, slope, trainsA: start !== "fixed" };
}

export const copy = (network) => ({ ...network, w: network.w.slice(), a: network.a.slice() });

export const dataOf = (inputs, labels) => ({
  inputs: Float64Array.from(inputs.flat()),
  labels: Float64Array.from(labels),
  n: labels.length,
});

// The outputs at the inputs (n, d); `z`, if given, receives the pre-activations <w_j, x_i>, neuron by neuron.
export function outputs({ w, a, m, d, slope }, { inputs, n }, z = null) {
  const f = new Float64Array(n);
  for (let j = 0; j < m; j += 1) {
    for (let i = 0; i < n; i += 1) {
      let height = 0;
      for (let k = 0; k < d; k += 1) height += w[j * d + k] * inputs[i * d + k];
      if (z) z[j * n + i] = height;
      f[i] += a[j] * (height > 0 ? height : slope * height);
    }
  }
  return f;
}

// One step of gradient descent, in place, for the mean loss and a penalty: "ridge" is strength/2 times the squared
// norm of what is trained, "decoupling" strength/2 times the mean of f^2. Returns the outputs before the step.
export function descend(network, data, { loss, step, penalty, strength }, z) {
  const { w, a, m, d, slope, trainsA } = network;
  const { inputs, labels, n } = data;
  const f = outputs(network, data, z);
  const slopes = f.map((value, i) => (LOSSES[loss].slope(value, labels[i]) + (penalty === "decoupling" ? strength * value : 0)) / n);
  const ridge = penalty === "ridge" ? strength : 0;
  const inW = new Float64Array(d);
  for (let j = 0; j < m; j += 1) {
    let inA = ridge * a[j];
    for (let k = 0; k < d; k += 1) inW[k] = ridge * w[j * d + k];
    for (let i = 0; i < n; i += 1) {
      const height = z[j * n + i];
      const pull = (height > 0 ? 1 : slope) * slopes[i];
      inA += pull * height;
      for (let k = 0; k < d; k += 1) inW[k] += pull * a[j] * inputs[i * d + k];
    }
    for (let k = 0; k < d; k += 1) w[j * d + k] -= step * inW[k];
    if (trainsA) a[j] -= step * inA;
  }
  return f;
}
