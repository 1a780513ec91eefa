// One neuron on one datum of norm r: drag its start, see where it goes, how fast it learns, or that it dies.
import { LiveFigure, enliven } from "./figure.js";
import { gaussianPairs } from "./random.js";
import { sigmoid } from "./functions.js";

const STEP = 0.02;
const END = 20;
const CLOUD = 400;

// h' = r^2 a sigma(-a h), a' = h sigma(-a h), frozen where h <= 0; classical Runge-Kutta steps.
export function orbit(h, a, end = END, step = STEP, norm = 1) {
  const field = ([p, q]) => (p <= 0 ? [0, 0] : [norm ** 2 * q * sigmoid(-p * q), p * sigmoid(-p * q)]);
  const moved = ([p, q], [dp, dq], by) => [p + by * dp, q + by * dq];
  const points = [[0, h, a]];
  let state = [h, a];
  for (let k = 1; k <= Math.round(end / step); k += 1) {
    const k1 = field(state);
    const k2 = field(moved(state, k1, step / 2));
    const k3 = field(moved(state, k2, step / 2));
    const k4 = field(moved(state, k3, step));
    state = state.map((value, i) => value + (step / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
    points.push([k * step, ...state]);
  }
  return points;
}

// Times at which P = sigma(a h) turns from bending up to bending down or back: P' = P (1 - P)^2 (h^2 + r^2 a^2).
export function inflections(points, norm = 1) {
  const speeds = points.map(([, h, a]) => (h > 0 ? sigmoid(a * h) * sigmoid(-a * h) ** 2 * (h ** 2 + (norm * a) ** 2) : 0));
  const turns = [];
  for (let k = 1; k + 1 < speeds.length && speeds[k + 1] > 0; k += 1) {
    if ((speeds[k] - speeds[k - 1]) * (speeds[k + 1] - speeds[k]) < 0) turns.push(points[k]);
  }
  return turns;
}

// A fixed cloud of Gaussian pairs of unit size.
export const cloud = (count = CLOUD) => gaussianPairs(count);

export const fate = (h, a, norm = 1) => (h <= 0 ? "inactive" : h < -norm * a ? "dies" : "learns");

function words(points, { h, a, norm }) {
  const bends = inflections(points, norm).length;
  const shape = ["its curve only flattens", "its curve is an S", "its curve bends twice"][bends] ?? `its curve bends ${bends} times`;
  const learnt = points.find(([, height, weight]) => sigmoid(height * weight) >= 0.9);
  if (fate(h, a, norm) === "inactive") return "The neuron is inactive on this datum: it never moves.";
  if (Math.abs(h + norm * a) < 1e-9) return "The neuron is on the diagonal: it slides towards the origin, and never gets there.";
  if (fate(h, a, norm) === "learns") {
    if (learnt?.[0] === 0) return `The neuron learns: P is above 0.9 from the start, and ${shape}.`;
    return `The neuron learns${learnt ? `: it passes P = 0.9 at time ${learnt[0].toFixed(1)}, and ${shape}` : ", but not within this picture"}.`;
  }
  const dead = points.find(([, height]) => height <= 0);
  if (!dead) return "The neuron is so close to the diagonal that it does not get away from it within this picture.";
  return `The neuron dies at time ${dead[0].toFixed(1)}: its pre-activation is zero, and the probability stays at one half.`;
}

export function show(frame) {
  const figure = new LiveFigure(frame, { a: -1, h: 1.1, norm: 1, cloud: 0, time: END }, draw);
  const plane = figure.plane({
    x: { from: -2, to: 2, label: "output weight a", ticks: [-2, -1, 0, 1, 2] },
    y: { from: -0.5, to: 3, label: "pre-activation h", ticks: [0, 1, 2, 3] },
    description: "The plane of output weight and pre-activation with the orbit of the chosen start.",
  });
  const curve = figure.plane({
    x: { from: 0, to: END, label: "time", ticks: [0, 5, 10, 15, 20] },
    y: { from: 0, to: 1, label: "probability P", ticks: [0, 0.5, 1] },
    description: "The learning curve of the chosen start.",
  });
  const inside = ([, h, a]) => h <= 3 && Math.abs(a) <= 2;
  const gaussians = cloud();

  function drawField(norm) {
    plane.ground.replaceChildren();
    const strokes = [];
    for (let a = -1.8; a < 2; a += 0.4) {
      for (let h = 0.2; h < 3; h += 0.4) {
        const [da, dh] = [h, norm ** 2 * a];
        const by = 0.12 / Math.hypot(da, dh);
        strokes.push([[a, h], [a + by * da, h + by * dh]]);
      }
    }
    plane.strokes(strokes, "field", plane.ground);
  }

  function drawCloud({ norm, cloud: scale }) {
    const starts = gaussians.map(([a, w]) => [scale * a, scale * norm * w]);
    const fates = starts.map(([a, h]) => fate(h, a, norm));
    for (const [name, kind] of [["learns", "simulation"], ["dies", "contrast"], ["inactive", "muted"]]) {
      plane.dots(starts.filter(([a, h], k) => fates[k] === name && Math.abs(a) <= 2 && h <= 3 && h >= -0.5), kind);
    }
    const active = fates.filter((name) => name !== "inactive").length;
    const dying = fates.filter((name) => name === "dies").length;
    return ` Of the cloud's ${active} active neurons ${((100 * dying) / active).toFixed(0)} % die; a quarter is expected, at any scale.`;
  }

  function draw(state) {
    const { a, h, norm, time } = state;
    const points = orbit(h, a, END, STEP, norm);
    const shown = [[points, "simulation"]];
    if (h > 0 && a < 0) shown.unshift([orbit(-norm * a, -h / norm, END, STEP, norm), "contrast"]);
    drawField(norm);
    plane.clear();
    curve.clear();
    plane.line([[-Math.min(2, 3 / norm), Math.min(3, 2 * norm)], [0, 0]], "theory");
    plane.line([[-2, 0], [2, 0]], "theory");
    curve.line([[0, 0.5], [END, 0.5]], "theory");
    const told = state.cloud > 0 ? drawCloud(state) : "";
    const until = Math.round(time / STEP);
    for (const [path, role] of shown) {
      plane.line(path.slice(0, until + 1).filter(inside).map(([, p, q]) => [q, p]), role);
      curve.line(path.slice(0, until + 1).map(([t, p, q]) => [t, sigmoid(Math.max(p, 0) * q)]), role);
    }
    for (const [t, p, q] of inflections(points, norm)) if (t <= time) curve.dot([t, sigmoid(p * q)], "ring", 4);
    const [, p, q] = points[until];
    if (time < END && inside(points[until])) plane.dot([q, p], "simulation", 4);
    return words(points, state) + told;
  }

  const two = (value) => value.toFixed(2);
  figure.slider("a", { label: "a at the start", from: -2, to: 2, step: 0.01, show: two });
  figure.slider("h", { label: "h at the start", from: -0.5, to: 3, step: 0.01, show: two });
  figure.slider("norm", { label: "norm of x", from: 0.5, to: 2, step: 0.05, show: two });
  figure.slider("cloud", { label: "cloud of starts", from: 0, to: 1, step: 0.05, show: (s) => (s ? two(s) : "none") });
  figure.player("time", { from: 0, to: END, step: 0.1 });
  figure.handle(plane, {
    label: "Start of the neuron",
    at: ({ a, h }) => [a, h],
    to: ([a, h]) => ({ a, h }),
    step: [0.02, 0.02],
    say: ({ a, h }) => `a ${two(a)}, h ${two(h)}`,
  });
  plane.onTap(([a, h]) => figure.set({ a, h }));
  return figure;
}

enliven("neuron_orbits", show);
