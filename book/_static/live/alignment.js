// Single neurons in the plane while the outputs of their network are negligible, in closed form.  A neuron of sign s
// obeys w' = s |w| (sum of F_i x_i over its active data).  Until its pattern changes the sum g is constant, and the angle
// d between w and g obeys tan(d/2) ~ exp(-|g| t).
const STILL = 1e-12;

export const wrap = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
export const angleOf = ([x, y]) => Math.atan2(y, x);
export const dot = ([a, b], [c, d]) => a * c + b * d;
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

// The first boundary on the way of a stage: that of the datum i is at right angles to it.
function crossing({ angle, speed, towards }, normals, held) {
  const away = wrap(angle - towards);
  let first = null;
  normals.forEach((normal, datum) => {
    if (datum === held) return;
    for (const boundary of [normal - Math.PI / 2, normal + Math.PI / 2]) {
      const left = wrap(boundary - towards);
      const between = left * away > 0 && Math.abs(left) < Math.abs(away) && Math.abs(left) > STILL;
      if (between && !(Math.abs(left) <= Math.abs(first?.left))) first = { datum, boundary, left };
    }
  });
  if (!first) return null;
  return { ...first, wait: Math.log(Math.tan(Math.abs(away) / 2) / Math.tan(Math.abs(first.left) / 2)) / speed };
}

// The path of a neuron as stages of constant pattern, by the time at which each begins.  Where one datum pushes a neuron
// out that the others push in, it slides along that datum's boundary, which in the plane is a ray.
export function align({ angle, sign, logNorm = 0 }, inputs, forces) {
  const normals = inputs.map(angleOf);
  const pushes = forces.map((force) => sign * force);
  const active = normals.map((normal) => Math.abs(wrap(angle - normal)) < Math.PI / 2);
  const drift = () => sum(inputs, pushes.map((push, i) => (active[i] ? push : 0)));
  const begun = (from, g) => ({ from, angle, logNorm, active: [...active], speed: Math.hypot(...g), towards: angleOf(g) });
  const stages = [begun(0, drift())];
  for (let held = -1; ; ) {
    const stage = stages.at(-1);
    const next = stage.speed > STILL ? crossing(stage, normals, held) : null;
    if (!next) return stages;
    held = next.datum;
    const before = dot(drift(), inputs[held]);
    logNorm = after(stage, next.wait).logNorm;
    angle = next.boundary;
    active[held] = !active[held];
    const then = dot(drift(), inputs[held]);
    const goesOn = before * then > 0 && Math.abs(then) > STILL;
    if (!goesOn) active[held] = false;
    const slides = before * then < 0 && Math.abs(then) > STILL;
    const ray = [Math.cos(angle), Math.sin(angle)];
    const along = dot(drift(), ray);
    stages.push(begun(stage.from + next.wait, slides ? [along * ray[0], along * ray[1]] : drift()));
    if (slides) return stages;
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
