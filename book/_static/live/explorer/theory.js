// What the theorems of the book say of given points and a given start: one line each, or what they would need.
import { drops } from "./drops.js";
import { LOSSES } from "./network.js";
import { agreementProgram, hardMargin, leastSignedCosine } from "./programs.js";

const SMALL = 0.01; // a start up to this scale passes for a small one
const RIGHT_ANGLE = 0.02; // cosines up to this size pass for zero
const ROUNDING = 1e-12;
const AWAY = "points away from the origin";

const difference = ({ w, u }) => w.map((value, k) => value - u[k]);
const norm = (x) => Math.hypot(...x);
const listed = (words) => words.join(", ").replace(/, ([^,]*)$/, " and $1");
const lacking = (conditions) => Object.keys(conditions).filter((name) => !conditions[name]);

// The angle of the line that a vector (and a bias) is normal to, in degrees from 0 to 180.
const angleOf = ([across, up]) => Math.round(((Math.atan2(across, -up) * 180) / Math.PI + 360) % 180);

// The margin at which the pull of a loss and the penalty strength f^2/2 balance, by bisection.
export function decoupledMargin(loss, strength) {
  let [low, high] = [0, 1 / strength];
  for (let k = 0; k < 100; k += 1) {
    const middle = (low + high) / 2;
    if (-LOSSES[loss].slope(middle, 1) > strength * middle) low = middle;
    else high = middle;
  }
  return low;
}

// How many neurons see exactly the data of their own class, no datum, or others.
export function census({ w, a, m, d }, inputs, labels) {
  const counts = { own: 0, dead: 0, other: 0 };
  for (let j = 0; j < m; j += 1) {
    const sees = inputs.map((x) => x.reduce((sum, value, k) => sum + value * w[j * d + k], 0) > 0);
    const own = sees.every((on, i) => on === labels[i] * a[j] > 0);
    counts[sees.includes(true) ? (own ? "own" : "other") : "dead"] += 1;
  }
  return counts;
}

// How many neurons call every datum as their own sign and the label ask.
export function agreeing({ w, a, m, d }, inputs, labels) {
  let count = 0;
  for (let j = 0; j < m; j += 1) {
    const height = (x) => x.reduce((sum, value, k) => sum + value * w[j * d + k], 0);
    if (inputs.every((x, i) => labels[i] * a[j] * height(x) > 0)) count += 1;
  }
  return count;
}

// What follows from the points, the settings and the start alone.
export function foretold(start, inputs, labels, state) {
  const both = labels.includes(1) && labels.includes(-1);
  const cosines = inputs.flatMap((x, i) => inputs.slice(0, i).map((y) => Math.abs(leastSignedCosine([x, y], [1, 1]))));
  const normsOf = (label) => inputs.filter((_, i) => labels[i] === label).map(norm);
  const even = (norms) => Math.max(...norms) <= (1 + RIGHT_ANGLE) * Math.min(...norms);
  const orthogonal = Math.max(...cosines, 0) <= RIGHT_ANGLE;
  const classes = both && orthogonal ? drops(start, inputs, labels) : [];
  const common = {
    "ReLU (slope 0)": state.slope === 0,
    "a balanced start": state.start === "balanced",
    "a small start": state.scale <= Math.log10(SMALL),
    "no penalty": state.penalty === "none",
  };
  return {
    mu: leastSignedCosine(inputs, labels),
    alignmentNeeds: lacking({ [AWAY]: inputs.every(norm), ...common }),
    dropsNeed: lacking({
      "points of both classes": both,
      "points at right angles": orthogonal,
      "equal distances from the origin within a class": !both || (even(normsOf(1)) && even(normsOf(-1))),
      "the square loss": state.loss === "square",
      ...common,
      "a neuron that sees all of its class": !classes.includes(null),
    }),
    classes,
    hard: both ? hardMargin(inputs, labels) : null,
    program: both && state.slope > 0 ? agreementProgram(inputs, labels, state.slope) : null,
    lineNeeds: lacking({
      "a slope above 0": state.slope > 0,
      "fixed output weights": state.start === "fixed",
      "the logistic or the exponential loss": state.loss !== "square",
      "no penalty": state.penalty === "none",
    }),
    endNeeds: lacking({
      [AWAY]: inputs.every(norm),
      "no two points at one place": new Set(inputs.map(String)).size === inputs.length,
      "the penalty on the outputs": state.penalty === "decoupling", "the logistic loss": state.loss === "logistic",
    }),
    end: decoupledMargin("logistic", 10 ** state.strength),
    both,
  };
}

const needs = (conditions) => `The theorem asks for ${listed(conditions)}.`;
const rounded = (value) => (Math.round(100 * value) / 100 || 0).toFixed(2);

function alignment({ mu, alignmentNeeds }, { network }, inputs, labels) {
  const { own, dead, other } = census(network, inputs, labels);
  const now = ` Now ${own} of ${network.m} neurons see exactly their own class, ${dead} nothing, ${other} something else.`;
  if (alignmentNeeds.includes(AWAY)) return [false, needs(alignmentNeeds) + now];
  const cosine = `Least signed cosine μ = ${rounded(mu)}`;
  if (mu <= ROUNDING) return [false, `${cosine}, not above 0: the points are not orthogonally separable, and nothing is promised.${now}`];
  if (alignmentNeeds.length) return [false, `${cosine}. ${needs(alignmentNeeds)}${now}`];
  const promise = "Before the loss falls every neuron comes to see exactly its own class, or nothing.";
  return [true, `${cosine}: the points are orthogonally separable. ${promise}${now}`];
}

function staircase({ dropsNeed, classes }, { fitted, rule }, inputs, labels) {
  if (dropsNeed.length) return [false, needs(dropsNeed)];
  const run = (sign) => {
    const last = Math.max(...[...fitted].filter((_, i) => labels[i] === sign));
    return last < Infinity ? `the run: ${(rule.step * last).toFixed(1)}` : "the run: not yet";
  };
  const parts = [...classes].sort((one, other) => one.halfTime - other.halfTime)
    .map(({ sign, halfTime }) => `${sign > 0 ? "blue" : "orange"} is half fitted at time ${halfTime.toFixed(1)} (${run(sign)})`);
  return [true, `The loss falls in two drops, dashed: ${listed(parts)}.`];
}

function agreement({ hard, both, lineNeeds }, { network }, inputs, labels) {
  if (!both) return [false, needs(["points of both classes"])];
  const lines = inputs[0].length > 2 ? "line" : "line through the origin";
  if (!hard) return [true, `No ${lines} separates these points, so the neurons cannot all agree with the labels.`];
  const count = `Now ${agreeing(network, inputs, labels)} of ${network.m} do.`;
  const limit = lineNeeds.length ? "" : " While all do, those of one sign become equal.";
  const separable = `A ${lines} separates the points, with margin ${rounded(1 / norm(hard))}`;
  return [true, `${separable}: all neurons can agree with the labels. ${count}${limit}`];
}

function line({ hard, program, lineNeeds }) {
  if (!hard) return [false, "The theorem asks for points that a line separates."];
  const margin = angleOf(hard);
  if (lineNeeds.length) return [false, `The line of the hard margin lies at ${margin}° (dashed). ${needs(lineNeeds)}`];
  const limit = angleOf(difference(program));
  const goes = "While all neurons agree with the labels, the boundary goes, slowly, to the line of program (8)";
  return [true, `${goes} at ${limit}° (dashed). That of the hard margin lies at ${margin}°.`];
}

function end({ end: margin, endNeeds }, training, inputs, labels, f) {
  if (endNeeds.length) return [false, needs(endNeeds)];
  const promise = `brings the margins of all points to one value, ${margin.toPrecision(3)}`;
  const margins = [...f].map((value, i) => value * labels[i]);
  const [least, most] = [Math.min(...margins), Math.max(...margins)].map((value) => value.toPrecision(3));
  return [true, `In a network of independent features the penalty ${promise}. Now they are between ${least} and ${most}.`];
}

const THEOREMS = [
  ["Early alignment", "early_alignment/alignment_time", alignment],
  ["Two drops", "saddle_to_saddle/two_plateaus", staircase],
  ["Agreement", "neuron_clustering/agreement_regimes", agreement],
  ["Which line", "neuron_clustering/the_right_program", line],
  ["Decoupling", "gradient_starvation/spectral_decoupling", end],
];

// The strip: of each theorem its title and page, what it says of a run that has come to outputs f, and whether it
// applies.
export function strip(predictions, training, inputs, labels, f) {
  return THEOREMS.map(([title, page, say]) => {
    const [applies, text] = say(predictions, training, inputs, labels, f);
    return { title, page, text, applies };
  });
}

// The normal of the dashed line in the plane, if there is one: of program (8) where it applies, else the hard margin.
export function normalOf({ hard, program, lineNeeds }) {
  return hard && !lineNeeds.length ? difference(program) : hard;
}
