// A two-layer network on points drawn by hand: train it, and see what the theorems of the book say of it.
import { DECADES, EARLY, drawField, drawLoss, drawNeurons } from "./explorer/drawing.js";
import { within } from "./explorer/field.js";
import { begin, dataOf } from "./explorer/network.js";
import { HALF, addPoints, arePoints, listOf } from "./explorer/points.js";
import { INITIAL, NAMES, PRESETS } from "./explorer/presets.js";
import { census, foretold, normalOf, strip } from "./explorer/theory.js";
import { Training } from "./explorer/training.js";
import { LiveFigure, enliven } from "./figure.js";

const BUDGET = 10; // milliseconds of training between two pictures

// The slider of steps is logarithmic, and begins at none.
const stepsAt = (time) => Math.round(EARLY * (10 ** time - 1));
const timeOf = (steps) => Math.log10(1 + steps / EARLY);
const minus = (text) => text.replace("-", "−");
const plain = (value) => !value || (value >= 0.001 && value < 1e6);
const written = (value) => (plain(value) ? String(Number(value.toPrecision(3))) : minus(value.toExponential(value < 1 ? 1 : 0)).replace("+", ""));

class Explorer extends LiveFigure {
  origin({ preset }) {
    return { ...this.initial, ...(Object.hasOwn(PRESETS, preset) && { ...PRESETS[preset], preset }) };
  }

  get query() {
    const { preset } = this.state;
    return [preset === this.initial.preset ? "" : `preset=${preset}`, super.query].filter(Boolean).join("&");
  }

  // A new preset brings all its settings.
  set(changes) {
    const fresh = changes.preset && changes.preset !== this.state.preset;
    super.set(fresh ? { ...this.origin(changes), ...changes } : changes);
  }
}

// The run of a state, made anew when more than the time has changed.
function runs() {
  let [key, run] = ["", null];
  return ({ time, preset, brush, ...settings }) => {
    if (JSON.stringify(settings) === key) return run;
    key = JSON.stringify(settings);
    const points = listOf(settings.points);
    const inputs = points.map(([x, y]) => (settings.bias === "with" ? [x, y, 1] : [x, y]));
    const labels = points.map(([, , label]) => label);
    const start = begin({ ...settings, m: settings.width, d: inputs[0].length, scale: 10 ** settings.scale });
    const predictions = foretold(start, inputs, labels, settings);
    const rule = { ...settings, step: 10 ** settings.step, strength: 10 ** settings.strength };
    return (run = { inputs, labels, predictions, training: new Training(start, dataOf(inputs, labels), rule) });
  };
}

function words({ inputs, labels, training }, f, goal, longest, loss, step) {
  const { made, lost, network } = training;
  if (lost) return `The weights explode at step ${made + 1}: take shorter steps.`;
  const arrow = `The longest arrow stands for a weight of ${written(longest)}.`;
  if (!made && !goal) return `Before training the loss is ${written(loss)}. ${arrow} Press Play.`;
  if (census(network, inputs, labels).dead === network.m) return `After ${made} steps no neuron sees a point: the network is dead, and its output zero.`;
  const [wrong, zero] = [labels.filter((label, i) => label * f[i] < 0).length, f.filter((value) => !value).length];
  const on = wrong && `${wrong} of ${labels.length} points ${wrong === 1 ? "is" : "are"} on the wrong side`;
  const right = [on, zero && `the output is zero at ${zero} of ${labels.length}`].filter(Boolean).join(", ") || "all points are on their side";
  return `After ${made.toLocaleString("en")} steps (time ${written(step * made)}) the loss is ${written(loss)}; ${right}. ${arrow}`;
}

function fillStrip(list, items) {
  while (list.children.length < items.length) {
    const item = list.appendChild(document.createElement("li"));
    item.append(document.createElement("a"), " ", document.createElement("span"));
  }
  items.forEach(({ title, page, text, applies }, k) => {
    const [link, span] = list.children[k].children;
    link.textContent = title;
    link.href = `${page}.html`;
    if (span.textContent !== text) span.textContent = text;
    span.className = applies ? "" : "live-aside";
  });
}

export function show(frame) {
  const figure = new Explorer(frame, INITIAL, draw);
  const onPhone = figure.plots.clientWidth < 560;
  const axis = { from: -HALF, to: HALF, ticks: [-2, 0, 2] };
  const plane = figure.plane({
    square: true,
    x: { ...axis, label: "x" },
    y: { ...axis, label: "y" },
    description: "The points, the two sides of the network's decision boundary, and its neurons.",
  });
  const curve = figure.plane({
    height: onPhone ? 170 : 330,
    margin: { right: 22 },
    x: { from: 0, to: DECADES, label: "time", ticks: [], show: (k) => String(Number((10 ** k).toPrecision(1))) },
    y: { from: 0, to: 1, label: "loss", ticks: [], show: written },
    description: "The loss of the run against time, on a logarithmic axis.",
  });
  plane.svg.classList.add("live-explorer-plane");
  figure.plots.after(figure.buttons);
  const theory = document.createElement("ul");
  theory.className = "live-theory";
  const title = Object.assign(document.createElement("p"), { textContent: "What the theorems say of these points", id: "live-theory" });
  theory.setAttribute("aria-labelledby", title.id);
  figure.outcome.after(title, theory);
  const runOf = runs();
  let timer = 0;

  function draw(state) {
    clearTimeout(timer);
    const run = runOf(state);
    const goal = stepsAt(state.time);
    if (!run.training.advance(goal, BUDGET)) timer = setTimeout(() => figure.show(), 16);
    const { f, losses } = run.training.now;
    const step = 10 ** state.step;
    drawField(plane, run.training.network);
    plane.clear();
    const normal = normalOf(run.predictions);
    const line = normal && within(normal, HALF);
    if (line) plane.line(line, "theory");
    const longest = drawNeurons(plane, run.training.network);
    drawLoss(curve, run, losses, step);
    fillStrip(theory, strip(run.predictions, run.training, run.inputs, run.labels, f));
    return words(run, f, goal, longest, losses.at(-1)[1], step);
  }

  const power = (value) => written(10 ** value);
  figure.allowed.points = arePoints;
  figure.choice("preset", { label: "start from", options: NAMES });
  figure.slider("scale", { label: "scale of the start", from: -6, to: 0, step: 0.1, show: power });
  figure.player("time", {
    label: "steps",
    to: DECADES,
    step: 0.01,
    seconds: 9,
    show: (time) => stepsAt(time).toLocaleString("en"),
  });
  figure.button("One step", () => figure.set({ time: timeOf(stepsAt(figure.state.time) + 1) }));
  figure.button("Rewind", () => figure.set({ time: 0 }));
  figure.group("Points and settings", !onPhone);
  const points = addPoints(figure, plane);
  figure.choice("brush", { label: "a click adds", options: { blue: "a blue point (+)", orange: "an orange point (−)" } });
  figure.slider("slope", { label: "slope", from: 0, to: 1, step: 0.05, show: (slope) => slope.toFixed(2) });
  figure.choice("loss", { label: "loss", options: { square: "square", logistic: "logistic", exponential: "exponential" } });
  const penalties = { none: "none", ridge: "on the weights (ridge)", decoupling: "on the outputs (spectral decoupling)" };
  figure.choice("penalty", { label: "penalty", options: penalties });
  figure.slider("strength", { label: "its strength", from: -4, to: 0, step: 0.1, show: power });
  figure.slider("step", { label: "step", from: -3, to: 0, step: 0.1, show: power });
  figure.slider("width", { label: "neurons", from: 2, to: 200, step: 1 });
  figure.choice("start", { label: "start", options: { balanced: "balanced", gaussian: "Gaussian", fixed: "output weights fixed" } });
  figure.choice("bias", { label: "bias", options: { without: "without", with: "with (third input 1)" } });
  figure.slider("seed", { label: "seed", from: 1, to: 30, step: 1 });
  figure.button("Add a point", points.add);
  figure.button("Flip its class", points.flip);
  figure.button("Remove it", points.remove);
  return figure;
}

enliven("explorer", show);
