// Waiting at saddles: a network learns two orthogonal inputs from a start of any size.  Its loss, its neurons and its
// function, in the limit of a small scale, at any time.
import { align, angleOf, at, growth, wrap } from "./alignment.js";
import { LiveFigure, enliven } from "./figure.js";
import { POWERS, tenToMinus } from "./scale.js";

const sigmoid = (u) => 1 / (1 + Math.exp(-u));
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

const roundUp = (value) => {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((part) => part * unit >= value);
};

const KINDS = ["simulation", "contrast"];
const COLOURS = ["blue", "orange"];
const START = 0.36; // radius of the start in the picture of the neurons; 1 is that of norm 1
const TRAIL = 48; // points of a neuron's way

export function show(frame) {
  const { directions, log_norms: logNorms, signs, inputs, labels } = JSON.parse(frame.dataset.parameters);
  const starts = directions.map((v, j) => ({ angle: angleOf(v), logNorm: logNorms[j], sign: signs[j] }));
  const [left, right] = labels;
  const figure = new LiveFigure(frame, { time: 0.57, power: 8, left, right, unit: "time" }, draw);
  const narrow = figure.plots.clientWidth < 560;
  const curve = figure.plane({
    abreast: 1,
    least: 0,
    height: narrow ? 170 : 200,
    x: { from: 0, to: 1, label: "time", ticks: [] },
    y: { from: 0, to: 1, label: "loss", ticks: [] },
    description: "The loss against time, with the chosen time.",
  });
  const polar = figure.plane({
    abreast: narrow ? 2 : 2.4,
    least: 0,
    height: (width) => width,
    bare: true,
    x: { from: -1.2, to: 1.2 },
    y: { from: -1.2, to: 1.2 },
    description: "The neurons: their direction, and outwards the logarithm of their size.",
  });
  const line = figure.plane({
    abreast: narrow ? 2 : 12 / 7,
    least: 0,
    height: polar.height,
    margin: { left: narrow ? 24 : 34, right: 6 },
    x: { from: -1.7, to: 3.2, label: "x", ticks: [inputs[0][0], inputs[1][0]] },
    y: { from: -2.8, to: 2.8, label: "f(x)", ticks: [-2, 0, 2] },
    description: "The learned function and the two data.",
  });
  let flow, end;

  function drawLoss(t, { unit, power }) {
    const scaled = unit === "scaled";
    const one = scaled ? power * Math.LN10 : 1;
    const whole = roundUp((1.02 * end) / one);
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => Number((part * whole).toPrecision(3)));
    const start = flow.norms.reduce((total, norm) => total + norm ** 2, 0) / (2 * flow.n);
    curve.x = { ...curve.x, to: whole, ticks, label: scaled ? "time / ln(1/λ)" : "time" };
    curve.y = { ...curve.y, to: 1.15 * start, ticks: [0, Number(start.toPrecision(2))] };
    curve.drawAxes();
    curve.clear();
    const fine = Array.from({ length: 61 }, (_, k) => (k - 30) / 5);
    const near = flow.halfTimes.flatMap((half, k) => fine.map((age) => half + age / flow.rates[k]));
    const times = [0, t, whole * one, ...near].filter((time) => time >= 0 && time <= whole * one).sort((a, b) => a - b);
    const points = times.map((time) => [time / one, loss(time, flow)]);
    if (scaled) {
      const order = flow.rates[0] > flow.rates[1] ? [0, 1] : [1, 0];
      const after = order.map((k) => flow.norms[order[1 - order.indexOf(k)]] ** 2 / (2 * flow.n));
      const [first, second] = order.map((k) => 1 / flow.rates[k]);
      curve.line([[0, start], [first, start], [first, after[0]], [second, after[0]], [second, 0], [whole, 0]], "theory");
    }
    curve.line(points, "later");
    curve.line(points.filter(([time]) => time <= t / one), "plain");
    flow.halfTimes.forEach((half, k) => curve.dot([half / one, loss(half, flow)], KINDS[k], 4));
  }

  function drawNeurons(neurons, t) {
    const at = (angle, radius) => [radius * Math.cos(angle), radius * Math.sin(angle)];
    const radius = (logNorm) => Math.max(0.03, 1 - (1 - START) * (logNorm / flow.logScale));
    const circle = (size) => Array.from({ length: 91 }, (_, k) => at((k * Math.PI) / 45, size));
    polar.clear();
    polar.line(circle(START), "guide");
    polar.line(circle(1), "guide");
    polar.note(at(-Math.PI / 4, 1), "size 1", "live-note");
    polar.note(at(-Math.PI / 4, START), "size λ", "live-note");
    flow.aims.forEach((angle, k) => {
      polar.line([[0, 0], at(angle, 1.12)], "guide");
      polar.dot(at(angle, 1.12), KINDS[k], 6);
    });
    const place = ({ angle, logNorm }) => at(angle, radius(logNorm));
    const before = Array.from({ length: TRAIL + 1 }, (_, k) => neuronsAt(t * (k / TRAIL) ** 3, flow).map(place));
    polar.dots(neurons.filter(({ grows }) => !grows).map(place), "muted", 2);
    KINDS.forEach((kind, k) => {
      const chosen = neurons.map(({ grows, sign }) => grows && sign > 0 === (k === 0));
      const trails = before.slice(1).flatMap((places, step) => places.map((to, j) => [before[step][j], to]).filter((_, j) => chosen[j]));
      polar.strokes(trails, `trail ${kind}`);
      polar.dots(neurons.filter((_, j) => chosen[j]).map(place), kind, 3);
    });
  }

  function drawFunction(neurons, labels) {
    const grid = Array.from({ length: 246 }, (_, k) => -1.7 + k * 0.02);
    line.clear();
    line.line([[-1.7, 0], [3.2, 0]], "guide");
    labels.forEach((label, i) => line.line([[inputs[i][0], 0], [inputs[i][0], label]], "guide"));
    line.line(grid.map((x) => [x, learned(x, neurons)]).filter(([, y]) => Math.abs(y) <= 2.8), "plain");
  }

  function words(t, neurons) {
    const [first, second] = flow.halfTimes[0] < flow.halfTimes[1] ? [0, 1] : [1, 0];
    const moving = neurons.filter(({ grows }) => grows);
    const turned = moving.filter(({ angle, sign }) => Math.abs(wrap(angle - flow.aims[sign > 0 ? 0 : 1])) < 0.1).length;
    const fitted = [first, second].map((k) => sigmoid(2 * flow.rates[k] * (t - flow.halfTimes[k])));
    const begun = fitted.map((part) => part > 0.02);
    const done = fitted.map((part) => part > 0.98);
    const name = [first, second].map((k) => `the ${COLOURS[k]} point`);
    const wait = flow.halfTimes[second] - flow.halfTimes[first];
    const more = Math.LN10 * Math.abs(1 / flow.rates[1] - 1 / flow.rates[0]);
    let now = `${turned} of the ${moving.length} neurons that can learn have turned to their point, all too small to be seen`;
    if (begun[0] && begun[1] && !(done[0] && done[1])) now = "both points are being fitted";
    else if (begun[0] && !done[0]) now = `${name[0]} is being fitted`;
    else if (done[0] && !begun[1]) now = `${name[0]} is fitted, ${name[1]} waits`;
    else if (done[0] && done[1]) now = "both points are fitted";
    return (
      `At time ${t.toFixed(1)}, ${now}. Half fitted at ${flow.halfTimes[first].toFixed(1)} and ` +
      `${flow.halfTimes[second].toFixed(1)}, ${wait.toFixed(1)} later; a start ten times smaller adds ${more.toFixed(2)} to this wait.`
    );
  }

  function prepare({ left, right, power }) {
    flow = plateaus(starts, inputs, [left, right], power);
    end = Math.max(...flow.halfTimes) + 4.5 / Math.min(...flow.rates);
  }

  function draw(state) {
    prepare(state);
    const t = state.time * end;
    const neurons = neuronsAt(t, flow);
    drawLoss(t, state);
    drawNeurons(neurons, t);
    drawFunction(neurons, [state.left, state.right]);
    return words(t, neurons);
  }

  const one = ({ unit, power }) => (unit === "scaled" ? power * Math.LN10 : 1);
  const when = (part, state) => ((part * end) / one(state)).toFixed(state.unit === "scaled" ? 2 : 1);
  const labelled = (label) => label.toFixed(2).replace("-", "−");
  figure.player("time", { from: 0, to: 1, step: 0.002, seconds: 10, show: when });
  figure.slider("power", { label: "scale λ", values: POWERS.slice(1), show: tenToMinus });
  figure.choice("unit", { label: "axis", options: { time: "time", scaled: "time in units of ln(1/λ)" } });
  figure.handle(curve, {
    label: "Chosen time",
    kind: "plain",
    at: (state) => [(state.time * end) / one(state), loss(state.time * end, flow)],
    to: ([t], state) => ({ time: Math.min((t * one(state)) / end, 1) }),
    step: [0.2, 0],
    say: (state) => `time ${when(state.time, state)}`,
  });
  inputs.forEach(([x], i) => {
    const key = ["left", "right"][i];
    const sign = Math.sign(labels[i]);
    const within = (y) => sign * Math.min(Math.max(sign * y, 0.4), 2.5);
    figure.allowed[key] = (value) => value === within(value);
    figure.handle(line, {
      label: `Label of the ${COLOURS[sign > 0 ? 0 : 1]} point, which keeps its sign`,
      kind: KINDS[sign > 0 ? 0 : 1],
      at: (state) => [x, state[key]],
      to: ([, y]) => ({ [key]: within(y) }),
      step: [0, 0.05],
      say: (state) => labelled(state[key]),
    });
  });
  return figure;
}

enliven("two_logistics", show);
