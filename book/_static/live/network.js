// The gradient flow of a whole balanced network in the plane, in angles and log-norms: the loss is the sum of
// exp(-y f(x)) over the data.
import { angleOf, unit, wrap } from "./alignment.js";
import { dot } from "./functions.js";

const ERROR = 1e-3; // of a step, by which it is made longer or shorter
const GROWTH = 0.3; // of a log-norm in a step, at most
const LEFT = 0.02; // part of the loss at which nothing more happens that is shown
const ON_LINE = 1e-9; // cosine to a boundary on which a neuron is
const STEPS = 2000;

// Angles and log-norms of `neurons` {angle, logNorm, sign} from the time `from` on, step by step until the time `until`, or
// until the loss has gone: records {time, angles, logNorms, loss}.  A neuron that slides on a boundary, whose data are
// marked in `slidesOn`, stays there as long as it is pushed back from both sides.
export function train(neurons, inputs, labels, from, until) {
  const m = neurons.length;
  const signs = neurons.map(({ sign }) => sign);
  const lines = neurons.map(({ slidesOn }) => slidesOn);

  function losses(state) {
    const outputs = new Float64Array(labels.length);
    for (let j = 0; j < m; j += 1) {
      const v = unit(state[j]);
      const size = signs[j] * Math.exp(2 * state[m + j]);
      inputs.forEach((input, i) => (outputs[i] += size * Math.max(0, dot(v, input))));
    }
    return labels.map((label, i) => Math.exp(-label * outputs[i]));
  }

  // What moves a neuron of direction v, from the data of which `counts(i, seen)` says that they do.
  function drive(v, forces, counts) {
    let [dx, dy] = [0, 0];
    inputs.forEach((input, i) => {
      if (!counts(i, dot(v, input))) return;
      dx += forces[i] * input[0];
      dy += forces[i] * input[1];
    });
    return [dx, dy];
  }

  // The same on the boundary of the data on a line: that of the side to which it pushes, or null if both push back.
  function driveAtBoundary(v, sign, forces, line) {
    const across = [-v[1], v[0]];
    const beyond = (side) => drive(v, forces, (i, seen) => (line[i] ? side * dot(inputs[i], across) > 0 : seen > 0));
    return [1, -1].map(beyond).find((pushed, k) => sign * dot(pushed, across) * [1, -1][k] > 0) ?? null;
  }

  const forcesOf = (state) => losses(state).map((loss, i) => labels[i] * loss);
  const on = (line, v) => line?.every((marked, i) => !marked || Math.abs(dot(v, inputs[i])) < ON_LINE);

  function velocity(state) {
    const forces = forcesOf(state);
    const slopes = new Float64Array(2 * m);
    for (let j = 0; j < m; j += 1) {
      const v = unit(state[j]);
      const line = on(lines[j], v) ? lines[j] : null;
      const free = line ? driveAtBoundary(v, signs[j], forces, line) : drive(v, forces, (_, seen) => seen > 0);
      const pushed = free ?? drive(v, forces, (i, seen) => !line[i] && seen > 0);
      slopes[j] = free ? signs[j] * dot([-v[1], v[0]], pushed) : 0;
      slopes[m + j] = signs[j] * dot(v, pushed);
    }
    return slopes;
  }

  // Neurons that have crossed a boundary from which both sides push back are put on it.
  function catchSliding(before, state) {
    const forces = forcesOf(state);
    for (let j = 0; j < m; j += 1) {
      const [old, now] = [unit(before[j]), unit(state[j])];
      const crossed = inputs.find((input) => dot(old, input) > 0 !== dot(now, input) > 0);
      if (!crossed || on(lines[j], old)) continue;
      const normal = angleOf(crossed);
      const boundary = normal + (Math.sign(wrap(state[j] - normal)) * Math.PI) / 2;
      const line = inputs.map((input) => Math.abs(dot(unit(boundary), input)) < ON_LINE);
      const stays = driveAtBoundary(unit(boundary), signs[j], forces, line) === null;
      const rests = drive(unit(boundary), forces, (i, seen) => !line[i] && seen > ON_LINE).every((part) => part === 0);
      if (!stays || rests) continue;
      state[j] = boundary;
      lines[j] = line;
    }
  }

  const moved = (state, slopes, by) => state.map((value, k) => value + by * slopes[k]);
  const record = (time, state) => ({
    time,
    angles: state.slice(0, m),
    logNorms: state.slice(m),
    loss: losses(state).reduce((total, loss) => total + loss, 0),
  });
  let state = Float64Array.from([...neurons.map(({ angle }) => angle), ...neurons.map(({ logNorm }) => logNorm)]);
  const records = [record(from, state)];
  let [time, step] = [from, 0.02];
  while (time < until && records.at(-1).loss > LEFT * labels.length && records.length < STEPS) {
    const by = Math.min(step, until - time);
    const first = velocity(state);
    const second = velocity(moved(state, first, by / 2));
    const third = velocity(moved(state, second, by / 2));
    const fourth = velocity(moved(state, third, by));
    const worst = second.reduce((most, slope, k) => Math.max(most, by * Math.abs(slope - third[k])), 0);
    const error = worst >= 0 ? worst : Infinity;
    // At a boundary the error does not fall with the step, which is then no shorter than this.
    const squares = state.subarray(m).reduce((total, logNorm) => total + Math.exp(2 * logNorm), 0);
    const fastest = first.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0.05);
    const shortest = 0.05 / (Math.max(1, squares) * fastest);
    const fitting = by * Math.min(2, Math.max(0.3, 0.8 * Math.cbrt(ERROR / error)));
    step = Math.min(Math.max(fitting, shortest / 4), GROWTH / fastest);
    if (error > 4 * ERROR && by > shortest) continue;
    const next = state.map((value, k) => value + (by / 6) * (first[k] + 2 * second[k] + 2 * third[k] + fourth[k]));
    catchSliding(state, next);
    state = next;
    time += by;
    records.push(record(time, state));
  }
  return records;
}
