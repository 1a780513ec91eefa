// The loss with two plateaus in closed form: move the initialisation scale, see the plateaus stretch.
import { Plane, enliven, slider } from "./plot.js";

const sigmoid = (u) => 1 / (1 + Math.exp(-u));

// The loss at time t for label norms (plus, minus), growth rates and half-times; n examples.
export function loss(t, { n, norms, rates, halfTimes }) {
  return norms.reduce((sum, norm, k) => sum + (norm * sigmoid(-2 * rates[k] * (t - halfTimes[k]))) ** 2, 0) / (2 * n);
}

export function show(frame) {
  frame.replaceChildren();
  const data = JSON.parse(frame.dataset.parameters);
  const plots = Object.assign(document.createElement("div"), { className: "live-plots" });
  const controls = Object.assign(document.createElement("div"), { className: "live-controls" });
  const outcome = Object.assign(document.createElement("output"), { className: "live-outcome" });
  frame.append(plots, controls, outcome);
  const start = loss(-1e9, { ...data, halfTimes: [0, 0] });
  const plane = new Plane(plots, {
    width: Math.min(640, plots.clientWidth),
    x: { from: 0, to: 1, label: "time", ticks: [] },
    y: { from: 0, to: 1.05 * start, label: "loss", ticks: [0, Number(start.toPrecision(2))] },
    description: "The loss against time for the chosen initialisation scale: two plateaus and two drops.",
  });

  function draw(exponent) {
    // Half-times grow by ln(10) / rate for each factor ten in the scale.
    const halfTimes = data.rates.map((rate, k) => data.offsets[k] + (exponent * Math.LN10) / rate);
    const end = 1.15 * Math.max(...halfTimes) + 8 / Math.min(...data.rates);
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => Number((part * end).toPrecision(2)));
    plane.x = { ...plane.x, to: end, ticks };
    plane.drawAxes();
    plane.clear();
    const times = Array.from({ length: 800 }, (_, k) => (k * end) / 799);
    plane.line(times.map((t) => [t, loss(t, { ...data, halfTimes })]), "simulation");
    halfTimes.forEach((t, k) => plane.note([t, loss(t, { ...data, halfTimes })], k ? "τ−" : "τ+", "live-note"));
    const [early, late] = [...halfTimes].sort((a, b) => a - b);
    outcome.textContent = `First fit at ${early.toFixed(1)}, second at ${late.toFixed(1)}: the plateau lasts ${(late - early).toFixed(1)}.`;
  }

  const show10 = (v) => `10⁻${[...String(v)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
  slider(controls, { label: "scale λ", from: 2, to: 200, step: 1, value: 8, show: show10 }, draw);
  draw(8);
}

enliven("two_logistics", show);
