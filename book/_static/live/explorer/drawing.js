// The two pictures of the explorer: the plane with what a network says of it and its neurons, and the loss.
import { node } from "../plot.js";
import { lossAt } from "./drops.js";
import { above, sampled, within, zeroLine } from "./field.js";
import { HALF } from "./points.js";

const GRID = 61; // samples a side of the output's field
const BANDS = [0.01, 0.1, 0.5]; // sizes of the output at which the shading gets darker
const SIDES = [[1, "simulation"], [-1, "contrast"]];
export const EARLY = 10; // steps before the first tick of the clock
export const DECADES = 4;

// The two sides of the boundary, the darker the larger the output, and the boundary.
export function drawField(plane, network) {
  const values = sampled(network, HALF, GRID);
  const cell = (2 * HALF) / (GRID - 1);
  const at = (k) => k * cell - HALF;
  const height = plane.py(0) - plane.py(cell);
  plane.ground.replaceChildren();
  for (const [sign, kind] of SIDES) {
    for (const bound of BANDS) {
      const strips = above(values, GRID, sign, bound).map(([row, from, to]) => {
        const [left, right] = [plane.px(at(from)).toFixed(1), plane.px(at(to)).toFixed(1)];
        return `M${left},${(plane.py(at(row)) - height / 2).toFixed(2)}H${right}v${height.toFixed(2)}H${left}z`;
      });
      node(plane.ground, "path", { d: strips.join(""), class: `live-side ${kind}` });
    }
  }
  const line = zeroLine(values, GRID).map((segment) => segment.map(([column, row]) => [at(column), at(row)]));
  plane.strokes(line, "boundary", plane.ground);
}

// Kinks as thin lines, weights as arrows from the origin; the longest reaches most of the way to the edge.
export function drawNeurons(plane, { w, a, m, d }) {
  const neurons = Array.from({ length: m }, (_, j) => [...w.slice(j * d, (j + 1) * d)]);
  const longest = Math.max(...neurons.map(([p, q]) => Math.hypot(p, q)));
  for (const [sign, kind] of SIDES) {
    const own = neurons.filter((_, j) => sign * a[j] > 0);
    const kinks = plane.strokes(own.map((neuron) => within(neuron, HALF)).filter(Boolean), `kinks ${kind}`);
    kinks.setAttribute("opacity", Math.min(0.3, 9 / m));
    const tips = own.map(([p, q]) => [(0.8 * HALF * p) / longest, (0.8 * HALF * q) / longest]);
    plane.strokes(tips.map((tip) => [[0, 0], tip]), `weights ${kind}`);
    plane.dots(tips, kind, 2.5);
  }
  return longest;
}

// The losses [step, loss] against the logarithm of time and, where theory foretells them, the dashed curve and
// the times of its drops.
export function drawLoss(plane, { predictions, training }, losses, step) {
  const early = Math.log10(step * EARLY);
  const highest = 1.15 * Math.max(...losses.map(([, loss]) => loss).filter(Number.isFinite));
  const ticks = Array.from({ length: DECADES + 1 }, (_, k) => Math.ceil(early) + k).filter((k) => k <= early + DECADES);
  plane.x = { ...plane.x, from: early, to: early + DECADES, ticks };
  plane.y = { ...plane.y, to: highest, ticks: [0, highest / 1.15] };
  plane.drawAxes();
  plane.clear();
  const at = ([steps, loss]) => [Math.max(early, Math.log10(step * steps)), loss];
  const path = losses.filter(([steps, loss]) => steps >= EARLY && loss <= highest);
  plane.line([losses[0], ...path].map(at), "simulation");
  if (predictions.dropsNeed.length) return;
  const times = Array.from({ length: 400 }, (_, k) => early + (DECADES * k) / 399);
  for (const { halfTime, sign } of predictions.classes) {
    const [x, kind] = [Math.log10(halfTime), sign > 0 ? "simulation" : "contrast"];
    if (x > early && x < early + DECADES) plane.strokes([[[x, 0], [x, 0.09 * highest]]], `tick ${kind}`);
  }
  plane.line(times.map((x) => [x, lossAt(10 ** x, predictions.classes, training.data.n)]), "theory");
}
