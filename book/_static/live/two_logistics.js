// Waiting at saddles: a network learns two orthogonal inputs from a start of any size.  Its loss, its neurons and its
// function at any time, for any labels.
import { angleOf, unit, wrap } from "./alignment.js";
import { LiveFigure, enliven } from "./figure.js";
import { sigmoid } from "./functions.js";
import { learned, loss, neuronsAt, plateaus } from "./plateaus.js";
import { POWERS, tenToMinus } from "./scale.js";

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
    abreast: narrow ? 1 : 2,
    least: 0,
    height: narrow ? 170 : (width) => width / 2,
    margin: { right: 20 },
    x: { from: 0, to: 1, label: "time", ticks: [] },
    y: { from: 0, to: 1, label: "loss", ticks: [] },
    description: "The loss against time, with the chosen time.",
  });
  const polar = figure.plane({
    abreast: narrow ? 2 : 4,
    least: 0,
    height: (width) => width,
    bare: true,
    x: { from: -1.2, to: 1.2 },
    y: { from: -1.2, to: 1.2 },
    description: "The neurons: their direction, and outwards the logarithm of their size.",
  });
  const line = figure.plane({
    abreast: narrow ? 2 : 4,
    least: 0,
    height: polar.height,
    margin: { left: 24, right: 6 },
    x: { from: -1.7, to: 3.2, label: "x", ticks: [inputs[0][0], inputs[1][0]] },
    y: { from: -2.8, to: 2.8, label: "f(x)", ticks: [-2, 0, 2] },
    description: "The learned function and the two data.",
  });
  let flow, end;
  const inOrder = () => (flow.rates[0] > flow.rates[1] ? [0, 1] : [1, 0]);

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
      const [first, second] = inOrder();
      const saddle = flow.norms[second] ** 2 / (2 * flow.n);
      const [one, two] = [1 / flow.rates[first], 1 / flow.rates[second]];
      curve.line([[0, start], [one, start], [one, saddle], [two, saddle], [two, 0], [whole, 0]], "theory");
    }
    curve.line(points, "later");
    curve.line(points.filter(([time]) => time <= t / one), "plain");
    flow.halfTimes.forEach((half, k) => curve.dot([half / one, loss(half, flow)], KINDS[k], 4));
  }

  function drawNeurons(neurons, t) {
    const at = (angle, radius) => unit(angle).map((part) => radius * part);
    const radius = (logNorm) => Math.max(0.03, 1 - (1 - START) * (logNorm / flow.logScale));
    const circle = (size) => Array.from({ length: 91 }, (_, k) => at((k * Math.PI) / 45, size));
    polar.clear();
    polar.line(circle(START), "guide");
    polar.line(circle(1), "guide");
    polar.note(at(-Math.PI / 4, 1), "1", "live-note");
    polar.note(at(-Math.PI / 4, START), "λ", "live-note");
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
    const verbs = fitted.map((part) => (part > 0.98 ? "fitted" : part > 0.02 ? "being fitted" : "waiting"));
    const wait = flow.halfTimes[second] - flow.halfTimes[first];
    const more = Math.LN10 * Math.abs(1 / flow.rates[1] - 1 / flow.rates[0]);
    let now = `the ${COLOURS[first]} point is ${verbs[0]}, the ${COLOURS[second]} point is ${verbs[1]}`;
    if (verbs[0] === verbs[1]) now = `both points are ${verbs[0]}`;
    if (verbs[0] === "waiting") now = `${turned} of the ${moving.length} neurons that can learn ${turned === 1 ? "has" : "have"} turned to their point`;
    return (
      `At time ${t.toFixed(1)}, ${now}. By theory the ${COLOURS[first]} label is half fitted at ${flow.halfTimes[first].toFixed(1)}, ` +
      `the ${COLOURS[second]} one ${wait.toFixed(1)} later. From weights ten times smaller this wait is longer by ${more.toFixed(2)}.`
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
  figure.slider("power", { label: "first size λ", values: POWERS.slice(1), show: tenToMinus });
  figure.choice("unit", { label: "axis", options: { time: "time", scaled: "time in units of ln(1/λ)" } });
  figure.handle(curve, {
    label: "Chosen time",
    kind: "plain",
    at: (state) => [(state.time * end) / one(state), loss(state.time * end, flow)],
    to: ([t], state) => ({ time: Math.min((t * one(state)) / end, 1) }),
    step: [0.2, 0],
    say: (state) => `time ${when(state.time, state)}`,
  });
  if (!narrow) figure.controls.append(figure.buttons);
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
