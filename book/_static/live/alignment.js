// Single neurons in the plane while the outputs of their network are negligible, in closed form.  A neuron of sign s
// obeys w' = s |w| (sum of F_i x_i over its active data).  Until its pattern changes the sum g is constant, and the angle
// d between w and g obeys tan(d/2) ~ exp(-|g| t).
import { dot } from "./functions.js";

const STILL = 1e-12;
const LINE = 1e-9; // cosine to a boundary on which a neuron is

export const wrap = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
export const unit = (angle) => [Math.cos(angle), Math.sin(angle)];
export const angleOf = ([x, y]) => Math.atan2(y, x);
const logAdd = (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));

// The sum of the vectors times their weights.
export const sum = (vectors, weights) =>
  vectors.reduce(([a, b], [x, y], i) => [a + weights[i] * x, b + weights[i] * y], [0, 0]);

// Angle and log-norm of a neuron that has been in a stage for a time.
export function after({ angle, logNorm, speed, towards }, wait) {
  const half = wrap(angle - towards) / 2;
  // Opposite to where it is pushed to a neuron shrinks, and never turns.
  if (Math.cos(half) < STILL) return { angle, logNorm: logNorm - speed * wait };
  const rising = 2 * Math.log(Math.cos(half)) + speed * wait;
  const falling = 2 * Math.log(Math.abs(Math.sin(half))) - speed * wait;
  const turned = 2 * Math.atan(Math.tan(half) * Math.exp(-speed * wait));
  return { angle: towards + turned, logNorm: logNorm + logAdd(rising, falling) };
}

// The first boundary on the way of a stage: those of a datum are at right angles to it.
function crossing({ angle, speed, towards }, normals) {
  const away = wrap(angle - towards);
  const boundaries = normals.flatMap((normal) => [normal - Math.PI / 2, normal + Math.PI / 2]);
  const left = boundaries.map((boundary) => wrap(boundary - towards)).filter((rest) => rest * away > 0);
  const ahead = left.map(Math.abs).filter((rest) => rest > STILL && rest < Math.abs(away) - STILL);
  if (!ahead.length) return null;
  const rest = Math.max(...ahead);
  const wait = Math.log(Math.tan(Math.abs(away) / 2) / Math.tan(rest / 2)) / speed;
  return { wait, angle: towards + Math.sign(away) * rest };
}

// The path of a neuron as stages of constant pattern, by the time at which each begins.  Where data on one line push a
// neuron back that the others push across, it slides along their boundary, which in the plane is a ray.
export function align({ angle, sign, logNorm = 0 }, inputs, forces) {
  const normals = inputs.map(angleOf);
  const pushes = forces.map((force) => sign * force);
  let active = normals.map((normal) => Math.abs(wrap(angle - normal)) < Math.PI / 2);
  const drift = (active) => sum(inputs, pushes.map((push, i) => (active[i] ? push : 0)));
  const begun = (from, g) => ({ from, angle, logNorm, active, speed: Math.hypot(...g), towards: angleOf(g) });
  const stages = [begun(0, drift(active))];
  for (;;) {
    const stage = stages.at(-1);
    const next = stage.speed > STILL ? crossing(stage, normals) : null;
    if (!next) return stages;
    const onLine = normals.map((normal) => Math.abs(Math.cos(next.angle - normal)) < LINE);
    const across = [-Math.sin(next.angle), Math.cos(next.angle)];
    const crossed = active.map((now, i) => now !== onLine[i]);
    const [before, then] = [active, crossed].map((pattern) => dot(drift(pattern), across));
    const still = Math.abs(then) <= STILL;
    active = before * then > 0 && !still ? crossed : active.map((now, i) => now && !onLine[i]);
    logNorm = after(stage, next.wait).logNorm;
    angle = next.angle;
    const slides = before * then < 0 && !still;
    const ray = unit(angle);
    const along = dot(drift(active), ray);
    stages.push(begun(stage.from + next.wait, slides ? [along * ray[0], along * ray[1]] : drift(active)));
    if (slides) {
      stages.at(-1).slidesOn = onLine;
      return stages;
    }
  }
}

export const stageAt = (stages, time) => stages.findLast(({ from }) => from <= time) ?? stages[0];

export function at(stages, time) {
  const stage = stageAt(stages, time);
  return { ...after(stage, time - stage.from), active: stage.active };
}

// Rate and offset of the log-norm of a neuron that has made its last change: log |w| ~ rate t + offset.
export function growth(stages) {
  const { from, angle, logNorm, speed, towards } = stages.at(-1);
  const half = wrap(angle - towards) / 2;
  return speed > STILL ? { rate: speed, offset: logNorm + 2 * Math.log(Math.cos(half)) - speed * from } : { rate: 0, offset: logNorm };
}
