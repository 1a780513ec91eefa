// One positive point is dragged about two classes of three: where is the decision boundary straight?
import { program, rays, regime, train } from "./clustered.js";
import { hardMargin } from "./explorer/programs.js";
import { LiveFigure, enliven } from "./figure.js";
import { node } from "./plot.js";
import { dot } from "./functions.js";

const HALF = 3;
const KINDS = { perfect: "third", kink: "muted", other: "contrast", outside: "fourth" };
const LOG_TIMES = Array.from({ length: 133 }, (_, k) => k / 4 - 3);
const COARSE = 16;
const FINE = 40;

// How far two rays are from one straight line, in degrees; null for another number of rays.
export const bend = (angles) => (angles.length === 2 ? Math.abs(180 - (angles[1] - angles[0])) : null);

// What the program says of a place of the point; null where no line through the origin separates the points.
export function forecast(place, { inputs, labels }, slope) {
  const all = [[place, ...inputs], [1, ...labels]];
  const solved = program(...all, slope);
  return solved && { ...solved, regime: regime([solved.w], [solved.u], ...all) };
}

// The line across a vector, as far as the edge of the square.
function across([a, b]) {
  const by = HALF / Math.max(Math.abs(a), Math.abs(b));
  return [[-b * by, a * by], [b * by, -a * by]];
}

const normalOf = ({ w, u }) => w.map((value, i) => value - u[i]);

// The angle between two lines, given by vectors along them or across them.
function angleOf(normal, other) {
  const cosine = Math.abs(dot(normal, other)) / (Math.hypot(...normal) * Math.hypot(...other));
  return (Math.acos(Math.min(1, cosine)) * 180) / Math.PI;
}

const SAID = {
  perfect: "In the program all neurons agree with the labels",
  kink: "In the program the neurons u are on the kink of the point",
  other: "In the program the neurons u are active at the point, like the w",
  outside: "In the program a neuron is wrong on its own class",
};

// What keeps the neurons of the trained network from being right on their own class, if something does.
function reason({ place }, neurons, inputs, labels) {
  const half = neurons.length / 2;
  const [w, u] = [neurons.slice(0, half), neurons.slice(half)];
  const active = w.filter((neuron) => dot(neuron, place) > 0).length;
  if (active < half) return `: of the ${half} neurons w, ${active || "none"} see${active === 1 ? "s" : ""} the point`;
  return regime(w, u, inputs, labels) === "outside" ? ": some neurons are wrong on their own class" : "";
}

function words({ time }, reached, solved, normal, angles, why) {
  if (!solved) return "No line through the origin separates the points.";
  const line = normalOf(solved);
  const bent = bend(angles);
  const ray = (angles[0] * Math.PI) / 180;
  const away = (90 - angleOf(line, [Math.cos(ray), Math.sin(ray)])).toFixed(1);
  const straight = `is straight, ${away}° from the line of the program`;
  const shape = bent === null ? `has ${angles.length} rays` : bent < 0.5 ? straight : `bends by ${bent.toFixed(0)}°`;
  const early = reached < time ? " (later the flow is too stiff for this figure)" : "";
  const apart = `The program's line is ${angleOf(line, normal).toFixed(0)}° from that of the hard margin`;
  return `At ln t = ${String(reached).replace("-", "−")}${early} the boundary ${shape}${why}. ${apart}. ${SAID[solved.regime]}.`;
}

export function show(frame) {
  const { start, ...data } = JSON.parse(frame.dataset.parameters);
  const figure = new LiveFigure(frame, { place: [-1, 1.2], slope: 0.1, scale: -2, time: 30 }, draw);
  const ticks = [-2, 0, 2];
  const points = figure.plane({
    square: true,
    x: { from: -HALF, to: HALF, label: "first coordinate", ticks },
    y: { from: -HALF, to: HALF, label: "", ticks },
    description: "The points of two classes, the boundary of the trained network and the lines of two programs.",
  });
  const neurons = figure.plane({
    square: true,
    x: { from: -1.1, to: 1.1, label: "neurons over the longest one", ticks: [-1, 0, 1] },
    y: { from: -1.1, to: 1.1, label: "", ticks: [-1, 0, 1] },
    description: "The neurons of both types on their way, and where the program has them.",
  });

  // The map of the regimes that the program has, by places on a grid: coarse at once, fine when the slope rests.
  let mapped = null;
  let later = 0;
  function drawMap(slope, cells) {
    const edges = Array.from({ length: cells + 1 }, (_, k) => (2 * HALF * k) / cells - HALF);
    const lefts = edges.map((edge) => Math.round(points.px(edge)));
    const bottoms = edges.map((edge) => Math.round(points.py(edge)));
    const parts = {};
    for (let row = 0; row < cells; row += 1) {
      for (let column = 0; column < cells; column += 1) {
        const place = [column, row].map((k) => (edges[k] + edges[k + 1]) / 2);
        const found = forecast(place, data, slope);
        if (!found) continue;
        const square = `M${lefts[column]},${bottoms[row]}H${lefts[column + 1]}V${bottoms[row + 1]}H${lefts[column]}z`;
        (parts[found.regime] ??= []).push(square);
      }
    }
    points.ground.replaceChildren();
    for (const [name, squares] of Object.entries(parts)) {
      node(points.ground, "path", { d: squares.join(""), class: `live-area cells ${KINDS[name]}` });
    }
  }

  function map(slope) {
    if (slope === mapped) return;
    mapped = slope;
    drawMap(slope, COARSE);
    clearTimeout(later);
    later = setTimeout(() => drawMap(slope, FINE), 150);
  }

  // The run of a state, made anew when more than the time has changed.
  let run = { key: "" };
  function trained({ place, slope, scale }) {
    const key = JSON.stringify([place, slope, scale]);
    if (key !== run.key) {
      const first = start.map((neuron) => neuron.map((value) => value * 10 ** scale));
      run = { key, path: train(first, [place, ...data.inputs], [1, ...data.labels], slope, LOG_TIMES) };
    }
    return run.path;
  }

  function drawPoints(solved, normal, angles) {
    points.clear();
    if (solved) {
      points.line(across(normal), "fourth thin");
      points.line(across(normalOf(solved)), "theory");
    }
    for (const angle of angles) {
      const [x, y] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
      const far = HALF / Math.max(Math.abs(x), Math.abs(y));
      points.line([[0, 0], [far * x, far * y]], "simulation");
    }
    data.inputs.forEach(([x, y], i) => {
      const [arm, positive] = [0.12, data.labels[i] > 0];
      const strokes = [[[x - arm, y], [x + arm, y]], ...(positive ? [[[x, y - arm], [x, y + arm]]] : [])];
      points.strokes(strokes, `mark ${positive ? "simulation" : "contrast"}`);
    });
  }

  function drawNeurons({ place }, solved, path) {
    neurons.clear();
    const kink = across(place).map(([x, y]) => [(1.1 * x) / HALF, (1.1 * y) / HALF]);
    neurons.line(kink, "theory");
    const scaled = path.map((all) => {
      const longest = Math.max(...all.map((neuron) => Math.hypot(...neuron)));
      return all.map((neuron) => neuron.map((value) => value / longest));
    });
    start.forEach((_, j) => {
      const kind = 2 * j < start.length ? "simulation" : "contrast";
      neurons.line(scaled.map((all) => all[j]), `${kind} thin`);
      neurons.strokes([[[0, 0], scaled.at(-1)[j]]], `${kind} weights`);
      neurons.dot(scaled.at(-1)[j], kind, 4);
    });
    if (!solved) return;
    const longest = Math.max(Math.hypot(...solved.w), Math.hypot(...solved.u));
    for (const neuron of [solved.w, solved.u]) neurons.dot(neuron.map((value) => value / longest), "hollow", 8);
  }

  function draw(state) {
    const { place, slope, time } = state;
    const [inputs, labels] = [[place, ...data.inputs], [1, ...data.labels]];
    map(slope);
    const path = trained(state).slice(0, LOG_TIMES.findLastIndex((t) => t <= time) + 1);
    const now = path.at(-1);
    const angles = rays(now, slope);
    const solved = forecast(place, data, slope);
    const normal = hardMargin(inputs, labels);
    drawPoints(solved, normal, angles);
    drawNeurons(state, solved, path);
    return words(state, LOG_TIMES[path.length - 1], solved, normal, angles, reason(state, now, inputs, labels));
  }

  const two = (value) => value.toFixed(2);
  figure.slider("slope", { label: "slope α", from: 0.05, to: 1, step: 0.05, show: two });
  const power = (exponent) => String(Number((10 ** exponent).toPrecision(2)));
  figure.slider("scale", { label: "scale of the start", from: -3, to: 1, step: 0.25, show: power });
  figure.player("time", { label: "ln t", from: LOG_TIMES[0], to: LOG_TIMES.at(-1), step: 0.25 });
  figure.allowed.place = (place) => place.length === 2 && place.every((value) => Math.abs(value) <= HALF);
  figure.handle(points, {
    label: "The point that is dragged",
    at: ({ place }) => place,
    to: (place) => ({ place }),
    step: [0.1, 0.1],
    say: ({ place }) => `${two(place[0])}, ${two(place[1])}`,
  });
  return figure;
}

enliven("one_point", show);
