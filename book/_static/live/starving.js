// Two features on two examples: which one starves the other, and what spectral decoupling does about it.
import { LiveFigure, enliven } from "./figure.js";
import { flow } from "./flow.js";
import { node } from "./plot.js";

const STRENGTHS = [0.5, 5];
const LOG_TIMES = [-2, 4];
const TOPS = [1, 2, 3, 4, 6, 8, 10];
const expit = (u) => 1 / (1 + Math.exp(-u));
const range = (from, to, count) => Array.from({ length: count }, (_, k) => from + ((to - from) * k) / (count - 1));
export const CLOCK = range(...LOG_TIMES, 241);

// The votes [[u_11, u_12], [u_21, u_22]] of two features that are coupled by delta.
export function votes(delta) {
  const rest = Math.sqrt(1 - delta ** 2);
  return [[rest, -delta], [delta, rest]];
}

export const margins = (u, z) => u.map(([first, second]) => first * z[0] + second * z[1]);

// What the loss adds to z_j: z_j times nu / s_j^2 with weight decay, times kappa with spectral decoupling.
const pulls = ({ s1, s2, penalty, weight }) =>
  [s1, s2].map((strength) => (penalty === "ridge" ? 10 ** weight / strength ** 2 : 10 ** weight));

// The gradient of the loss in the responses z.
function gradient(u, pull, z) {
  const p = margins(u, z).map((q) => expit(-q));
  return pull.map((by, j) => by * z[j] - u[0][j] * p[0] - u[1][j] * p[1]);
}

// The votes of two features, weighted by doubt: [G_11, G_12, G_22].
function gram(u, z) {
  const doubts = margins(u, z).map((q) => expit(q) * expit(-q));
  const sum = (j, k) => doubts.reduce((total, doubt, i) => total + u[i][j] * u[i][k] * doubt, 0);
  return [sum(0, 0), sum(0, 1), sum(1, 1)];
}

// The responses at the end of training: the minimum of the loss, by Newton's method.
export function end(state) {
  const [u, pull] = [votes(state.delta), pulls(state)];
  let z = [0, 0];
  let slope = gradient(u, pull, z);
  for (let k = 0; k < 100 && Math.hypot(...slope) > 1e-15; k += 1) {
    const [g11, g12, g22] = gram(u, z);
    const [a, d] = [g11 + pull[0], g22 + pull[1]];
    const determinant = a * d - g12 ** 2;
    const step = [(d * slope[0] - g12 * slope[1]) / determinant, (a * slope[1] - g12 * slope[0]) / determinant];
    let by = 1;
    let next;
    do {
      next = z.map((value, j) => value - by * step[j]);
      by /= 2;
    } while (by > 1e-3 && Math.hypot(...gradient(u, pull, next)) > Math.hypot(...slope));
    z = next;
    slope = gradient(u, pull, z);
  }
  return z;
}

// The responses at the times 10^c, c in the clock, of gradient flow in the parameters from zero.  The distance
// from the end falls at least like e^(-rate t); when it is below rounding, training has ended.
export function path(state, clock = CLOCK) {
  const [u, pull] = [votes(state.delta), pulls(state)];
  const squares = [state.s1 ** 2, state.s2 ** 2];
  const rate = Math.min(squares[0] * pull[0], squares[1] * pull[1]);
  const times = clock.map((c) => 10 ** c).filter((t) => rate * t < 36);
  const points = flow((z) => gradient(u, pull, z).map((slope, j) => -squares[j] * slope), [0, 0], times);
  return clock.map((_, k) => points[k] ?? points.at(-1));
}

// The sign law of weight decay: the sign of the change of |z_2| with s_1 if training ends at z, for z_1, z_2 > 0.
export const signAt = (delta, z) => -Math.sign(gram(votes(delta), z)[1]);

// By how many percent the end of z_2 changes with one percent more of s_1: at fixed end of z_1 in weight decay alone.
export function effect(state) {
  if (state.penalty !== "ridge") return 0;
  const z = end(state);
  const [g11, g12, g22] = gram(votes(state.delta), z);
  const [c1, c2] = pulls(state).map((pull) => 1 / pull);
  const determinant = (1 + c1 * g11) * (1 + c2 * g22) - c1 * c2 * g12 ** 2;
  return ((2 * -c2 * g12) / determinant) * (z[0] / z[1]);
}

// How far a path leaves the straight line from zero to its end.
export function bulge(points) {
  const [x, y] = points.at(-1);
  return Math.max(...points.map(([a, b]) => Math.abs(a * y - b * x) / Math.hypot(x, y)));
}

// The common margin q of all examples under spectral decoupling, the root of sigma(-q) = kappa q, by bisection.
export function commonMargin(kappa) {
  let [low, high] = [0, 1 / kappa];
  for (let k = 0; k < 100; k += 1) {
    const middle = (low + high) / 2;
    if (expit(-middle) > kappa * middle) low = middle;
    else high = middle;
  }
  return low;
}

// A power of ten in two digits.
const power = (exponent) => String(Number((10 ** exponent).toPrecision(2)));

function words(state, z, points, now) {
  const far = Math.hypot(now[0] - z[0], now[1] - z[1]);
  const away = far < 0.005 ? far.toExponential(0) : far.toFixed(2);
  const at = `z₁ = ${z[0].toFixed(2)}, z₂ = ${z[1].toFixed(2)}; at the chosen time it is ${away} away`;
  if (state.penalty !== "ridge") {
    return `For all strengths training ends at ${at}. Only the way bends: it leaves the straight line by ${bulge(points).toFixed(2)}.`;
  }
  const percent = effect(state);
  const size = Math.abs(percent) < 1e-9 ? 0 : percent;
  const told = size
    ? `With one percent more of s₁, z₂ ${size < 0 ? "falls" : "grows"} by ${Math.abs(size).toPrecision(2)} %: feature 1 ${size < 0 ? "starves" : "feeds"} feature 2`
    : `A little more of s₁ does not change z₂: ${state.delta === 0 ? "the features are not coupled" : "the strengths are equal"}`;
  return `Training ends at ${at}. ${told}.`;
}

export function show(frame) {
  const initial = { s1: 3, s2: 2, delta: 0.5, penalty: "ridge", weight: -2, time: LOG_TIMES[1] };
  const figure = new LiveFigure(frame, initial, draw);
  const plane = figure.plane({
    x: { from: 0, to: 10, label: "response z₁", ticks: [] },
    y: { from: 0, to: 2, label: "response z₂", ticks: [] },
    description: "The plane of both responses with the path of training and its end.",
  });
  const sweep = figure.plane({
    x: { from: 0, to: STRENGTHS[1], label: "strength s₁", ticks: [0, 1, 2, 3, 4, 5] },
    y: { from: 0, to: 2, label: "z₂ at the end", ticks: [] },
    description: "The second response at the end of training against the strength of feature 1.",
  });

  // Both planes have one axis of z_2, so that an end stands at one height in both.
  function scale(points) {
    const axis = (j) => {
      const highest = Math.max(...points.map((z) => z[j]));
      const to = TOPS.find((top) => top > 1.05 * highest) ?? TOPS.at(-1);
      return { to, ticks: [0, to / 2, to] };
    };
    Object.assign(plane.x, axis(0));
    for (const one of [plane, sweep]) {
      Object.assign(one.y, axis(1));
      one.drawAxes();
      one.clear();
    }
  }

  // The ray of equal doubt divides the ends with z_1, z_2 > 0; the paths of equal strengths run on it.
  function drawGround({ delta, penalty }) {
    const [right, top] = [plane.x.to, plane.y.to];
    const [[rest]] = votes(delta);
    const steep = (rest - delta) / (rest + delta);
    const leavesRight = steep * right < top;
    const tip = leavesRight ? [right, steep * right] : [top / steep, top];
    plane.ground.replaceChildren();
    plane.line([[0, 0], tip], "theory");
    if (penalty !== "ridge" || delta === 0) return;
    const [above, below] = [[[0, top]], [[right, 0]]];
    (leavesRight ? above : below).unshift([right, top]);
    for (const [corners, spot] of [[above, [0.01 * right, 0.6 * top]], [below, [0.8 * right, 0.03 * top]]]) {
      const starves = signAt(delta, corners.at(-1).map((value) => value || 1e-9)) < 0;
      plane.area([[0, 0], tip, ...corners], starves ? "contrast" : "third");
      plane.note(spot, starves ? "starves" : "feeds");
    }
  }

  // The ends for all s_1, coloured by whether z_2 falls or grows with it.
  function drawEnds(strengths, ends) {
    const kind = (k) => {
      const change = ends[k + 1][1] - ends[k][1];
      return Math.abs(change) < 1e-9 ? "muted" : change < 0 ? "contrast" : "third";
    };
    for (let first = 0, last = 1; last < ends.length; last += 1) {
      if (last + 1 < ends.length && kind(last) === kind(first)) continue;
      const part = [first, last + 1];
      plane.line(ends.slice(...part), kind(first)).classList.add("thin");
      sweep.line(ends.slice(...part).map(([, z2], k) => [strengths[first + k], z2]), kind(first));
      first = last;
    }
  }

  // Weight decay turns round at equal strengths; under spectral decoupling all strengths end at one response.
  function drawTheory({ s2, delta, penalty, weight }) {
    if (penalty === "ridge") {
      sweep.line([[s2, 0], [s2, sweep.y.to]], "theory");
      sweep.note([s2, 0.03 * sweep.y.to], "s₁ = s₂");
    } else {
      const u = votes(delta);
      const height = commonMargin(10 ** weight) * (u[0][1] + u[1][1]);
      sweep.line([[0, height], [STRENGTHS[1], height]], "theory");
    }
  }

  function draw(state) {
    const points = path(state);
    const strengths = range(...STRENGTHS, 91);
    const ends = strengths.map((s1) => end({ ...state, s1 }));
    const z = end(state);
    scale([...points, ...ends]);
    drawGround(state);
    drawEnds(strengths, ends);
    drawTheory(state);
    const until = CLOCK.findLastIndex((c) => c <= state.time + 1e-9) + 1;
    plane.line([[0, 0], ...points.slice(0, until)], "simulation");
    plane.dot(z, "ring", 6);
    plane.dot(points[until - 1], "simulation", 4);
    return words(state, z, points, points[until - 1]);
  }

  const two = (value) => value.toFixed(2);
  figure.slider("s1", { label: "strength s₁", from: STRENGTHS[0], to: STRENGTHS[1], step: 0.05, show: two });
  figure.slider("s2", { label: "strength s₂", from: STRENGTHS[0], to: STRENGTHS[1], step: 0.05, show: two });
  figure.slider("delta", { label: "coupling δ", from: -0.65, to: 0.65, step: 0.01, show: two });
  figure.choice("penalty", { label: "penalty", options: { ridge: "weight decay ν", decoupling: "spectral decoupling κ" } });
  figure.slider("weight", { label: "ν or κ", from: -2, to: 0, step: 0.05, show: power });
  figure.player("time", { label: "time", from: LOG_TIMES[0], to: LOG_TIMES[1], step: 0.025, show: power });
  figure.handle(sweep, {
    label: "Strength of feature 1",
    at: (state) => [state.s1, end(state)[1]],
    to: ([s1]) => ({ s1: Math.max(STRENGTHS[0], s1) }),
    step: [0.05, 0],
    say: ({ s1 }) => `s₁ ${two(s1)}`,
  });
  return figure;
}

enliven("starving", show);
