// One neuron on one datum of unit norm, and its mirror image in h = -a: choose a start, see orbits and curves.
import { Plane, enliven, slider } from "./plot.js";

const STEP = 0.02;
const END = 20;
const sigmoid = (u) => 1 / (1 + Math.exp(-u));

// h' = a sigma(-a h), a' = h sigma(-a h), frozen where h <= 0; classical Runge-Kutta steps.
export function orbit(h, a, end = END, step = STEP) {
  const field = ([p, q]) => (p <= 0 ? [0, 0] : [q * sigmoid(-p * q), p * sigmoid(-p * q)]);
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

function fate(points) {
  const [, h, a] = points.at(-1);
  if (points[0][1] <= 0) return "The neuron is inactive on this datum: it never moves.";
  if (h <= 0) {
    const [time] = points.find(([, height]) => height <= 0);
    return `The neuron dies at time ${time.toFixed(1)}: its pre-activation is zero, and the probability stays at one half.`;
  }
  if (a > 0) return "The neuron learns.";
  return "The neuron is still close to the separatrix, where learning takes arbitrarily long.";
}

export function show(frame) {
  frame.replaceChildren();
  const plots = Object.assign(document.createElement("div"), { className: "live-plots" });
  const controls = Object.assign(document.createElement("div"), { className: "live-controls" });
  const outcome = Object.assign(document.createElement("output"), { className: "live-outcome" });
  outcome.setAttribute("aria-live", "polite");
  frame.append(plots, controls, outcome);
  const ticks = [-2, -1, 0, 1, 2];
  const plane = new Plane(plots, {
    x: { from: -2, to: 2, label: "output weight a", ticks },
    y: { from: -0.5, to: 3, label: "pre-activation h", ticks: [0, 1, 2, 3] },
    description: "The plane of output weight and pre-activation with the orbit of the chosen start.",
  });
  const curve = new Plane(plots, {
    x: { from: 0, to: END, label: "time", ticks: [0, 5, 10, 15, 20] },
    y: { from: 0, to: 1, label: "probability P", ticks: [0, 0.5, 1] },
    description: "The learning curve of the chosen start.",
  });
  let start = { h: 1.1, a: -1 };

  function draw() {
    const points = orbit(start.h, start.a);
    const shown = [[points, "simulation"]];
    if (start.h > 0 && start.a < 0) shown.unshift([orbit(-start.a, -start.h), "contrast"]);
    plane.clear();
    plane.line([[-2, 2], [0, 0]], "theory");
    plane.line([[-2, 0], [2, 0]], "theory");
    curve.clear();
    curve.line([[0, 0.5], [END, 0.5]], "theory");
    for (const [path, role] of shown) {
      const inside = path.filter(([, h, a]) => h <= 3 && Math.abs(a) <= 2);
      plane.line(inside.map(([, h, a]) => [a, h]), role);
      plane.dot([path[0][2], path[0][1]], role);
      curve.line(path.map(([t, h, a]) => [t, sigmoid(Math.max(h, 0) * a)]), role);
    }
    outcome.textContent = fate(points);
  }

  const setA = slider(
    controls,
    { label: "a at the start", from: -2, to: 2, step: 0.01, value: start.a, show: (v) => v.toFixed(2) },
    (a) => {
      start = { ...start, a };
      draw();
    },
  );
  const setH = slider(
    controls,
    { label: "h at the start", from: -0.5, to: 2, step: 0.01, value: start.h, show: (v) => v.toFixed(2) },
    (h) => {
      start = { ...start, h };
      draw();
    },
  );
  plane.svg.addEventListener("pointerdown", (event) => {
    const [a, h] = plane.at(event);
    setA(a);
    setH(h);
  });
  draw();
}

enliven("neuron_orbits", show);
