// The whole training curve of a network from a small start, beside that of two neurons.
import { angleOf } from "./alignment.js";
import { LiveFigure, enliven } from "./figure.js";
import { memory, network, theory, turn } from "./memory.js";
import { tenToMinus } from "./scale.js";

const POWERS = [0.5, 1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30];
const CLOCK = { from: -0.5, to: 3 }; // logarithms of the times shown
const TIMES = Array.from({ length: 176 }, (_, k) => 10 ** (CLOCK.from + 0.02 * k));
const EDGE = 0.05; // how near the axes data may come

const scale = (power) => (Number.isInteger(power) ? tenToMinus(power) : (10 ** -power).toPrecision(1));
const place = ([x, y]) => `${x.toFixed(2)}, ${y.toFixed(2)}`;

// The task of a state: data, labels, weights by the share of class 1, and the neurons.
export function task({ share, one, two, three }, neurons) {
  return { inputs: [one, two, three], labels: [1, 1, -1], weights: [2 * share, 2 * share, 2 - 2 * share], neurons };
}

function words({ power }, classes, now, fit) {
  const off = 100 * Math.abs(fit / now - 1);
  const gap = off < 0.001 ? "less than 0.001" : off.toPrecision(2);
  const falls = [1, -1].map((label) => (power * Math.LN10 - classes[label].logSize) / classes[label].rate);
  const [plus, minus] = falls.map((time) => Math.max(0, time).toFixed(1));
  return `The loss is ${now.toFixed(4)}; two neurons have ${fit.toFixed(4)}, ${gap} % off. The positive class is due at ${plus}, the negative one at ${minus}.`;
}

export function show(frame) {
  const { directions, log_norms: logNorms, signs } = JSON.parse(frame.dataset.parameters);
  const neurons = directions.map((v, j) => ({ angle: angleOf(v), logNorm: logNorms[j], sign: signs[j] }));
  const initial = { power: 3, share: 0.5, one: [1, 0.3], two: [0.4, 0.8], three: [-0.3, -0.4], time: CLOCK.to };
  const figure = new LiveFigure(frame, initial, draw);
  const plane = figure.plane({
    square: true,
    x: { from: -1.5, to: 1.5, label: "first coordinate", ticks: [-1, 0, 1] },
    y: { from: -1.5, to: 1.5, label: "second coordinate", ticks: [-1, 0, 1] },
    description: "The three data, and the neurons relative to the longest one.",
  });
  const curve = figure.plane({
    height: plane.height,
    margin: { right: 20 },
    x: { ...CLOCK, label: "time", ticks: [0, 1, 2, 3], show: (tick) => String(10 ** tick) },
    y: { from: 0, to: 1, label: "loss", ticks: [] },
    description: "The loss of the network and that of two neurons against time.",
  });
  let known, run;

  // What does not hang on the time is computed once for all times.
  function prepare(state) {
    const { time, ...rest } = state;
    if (JSON.stringify(rest) === known) return;
    known = JSON.stringify(rest);
    const problem = task(state, neurons);
    const paths = turn(problem);
    const classes = { 1: memory(problem, paths, 1), "-1": memory(problem, paths, -1) };
    const logScale = -state.power * Math.LN10;
    run = { classes, fit: theory(problem, classes, logScale, TIMES), ...network(problem, paths, logScale, TIMES) };
  }

  function draw(state) {
    prepare(state);
    const { classes, fit, losses, weightsAt } = run;
    const k = Math.round((state.time - CLOCK.from) / 0.02);
    const highest = Math.ceil(4 * Math.max(...losses)) / 4;
    Object.assign(curve.y, { to: highest, ticks: [0, highest / 2, highest] });
    curve.drawAxes();
    for (const one of [plane, curve]) one.clear();
    curve.line(fit.map((value, i) => [Math.log10(TIMES[i]), value]), "theory");
    curve.line(losses.slice(0, k + 1).map((value, i) => [Math.log10(TIMES[i]), value]), "simulation");
    curve.dot([state.time, losses[k]], "simulation", 4);
    const w = weightsAt(k);
    const longest = Math.max(...w.map((one) => Math.hypot(...one)));
    for (const [sign, kind] of [[1, "simulation"], [-1, "contrast"]]) {
      const own = w.filter((_, j) => neurons[j].sign === sign);
      plane.strokes(own.map((one) => [[0, 0], one.map((part) => (1.4 * part) / longest)]), kind);
    }
    return words(state, classes, losses[k], fit[k]);
  }

  figure.slider("power", { label: "scale λ", values: POWERS, show: scale });
  figure.slider("share", { label: "frequency of the positive class", from: 0.05, to: 0.95, step: 0.05, show: (p) => p.toFixed(2) });
  figure.player("time", { label: "time", ...CLOCK, step: 0.02, show: (log) => (10 ** log).toPrecision(2) });
  const kept = (sign) => ([x, y]) => [x, y].map((part) => sign * Math.max(EDGE, sign * part));
  const points = { one: ["First positive datum", 1], two: ["Second positive datum", 1], three: ["Negative datum", -1] };
  for (const [key, [label, sign]] of Object.entries(points)) {
    figure.allowed[key] = (point) => point.every((part) => sign * part >= EDGE && Math.abs(part) <= 1.5);
    figure.handle(plane, {
      label,
      kind: sign > 0 ? "simulation" : "contrast",
      at: (state) => state[key],
      to: (point) => ({ [key]: kept(sign)(point) }),
      step: [0.05, 0.05],
      say: (state) => place(state[key]),
    });
  }
  return figure;
}

enliven("whole_curve", show);
