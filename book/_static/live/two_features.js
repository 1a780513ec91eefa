// Two features on two examples: the responses along training and at its end, and what changes the end.
import { flow } from "./flow.js";
import { sigmoid } from "./functions.js";

export const LOG_TIMES = [-2, 4];
export const range = (from, to, count) => Array.from({ length: count }, (_, k) => from + ((to - from) * k) / (count - 1));
export const CLOCK = range(...LOG_TIMES, 241);

// The votes [[u_11, u_12], [u_21, u_22]] of two features that are coupled by delta.
export function votes(delta) {
  const rest = Math.sqrt(1 - delta ** 2);
  return [[rest, -delta], [delta, rest]];
}

const margins = (u, z) => u.map(([first, second]) => first * z[0] + second * z[1]);

// What the loss adds to z_j: z_j times nu / s_j^2 with weight decay, times kappa with spectral decoupling.
const pulls = ({ s1, s2, penalty, weight }) =>
  [s1, s2].map((strength) => (penalty === "ridge" ? 10 ** weight / strength ** 2 : 10 ** weight));

// The gradient of the loss in the responses z.
function gradient(u, pull, z) {
  const p = margins(u, z).map((q) => sigmoid(-q));
  return pull.map((by, j) => by * z[j] - u[0][j] * p[0] - u[1][j] * p[1]);
}

// The votes of two features, weighted by doubt: [G_11, G_12, G_22].
function gram(u, z) {
  const doubts = margins(u, z).map((q) => sigmoid(q) * sigmoid(-q));
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

// By how many percent the end of z_2 changes with one percent more of s_1.
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
    if (sigmoid(-middle) > kappa * middle) low = middle;
    else high = middle;
  }
  return low;
}
