// Two clocks: when the last neuron has turned, and when the loss is halved.  Data in the plane can be turned by hand.
import { angleOf, unit, wrap } from "./alignment.js";
import { aligned, anglesAt, fate, halved, training, turning, wrongChanges } from "./clocks.js";
import { LiveFigure, enliven } from "./figure.js";
import { POWERS, tenToMinus } from "./scale.js";
import { bounds, leastCosine } from "./separation.js";

const RADII = { 1: 1, "-1": 0.86 }; // of the rings of positive and of negative neurons
const OWN = { 1: "simulation", "-1": "third" };
const [FIRST, LAST] = [-1, 6]; // common logarithms of the times shown
const POWERS_OF_TEN = { "-1": "0.1", 0: "1", 1: "10", 2: "10²", 3: "10³", 4: "10⁴", 5: "10⁵", 6: "10⁶" };

const radians = (degrees) => (degrees * Math.PI) / 180;
const scaled = ([x, y], by) => [by * x, by * y];
const shownTime = (logtime) => (10 ** logtime).toFixed(logtime < 1 ? 2 : 0);

export function show(frame) {
  const { degrees, labels, starts, signs } = JSON.parse(frame.dataset.parameters);
  const figure = new LiveFigure(frame, { degrees, power: 8, logtime: -0.3 }, draw);
  const neurons = starts.map((start, j) => ({ angle: radians(start), sign: signs[j] }));
  const count = neurons.length;
  const circle = figure.plane({
    height: (width) => Math.min(width, 340),
    bare: true,
    x: { from: -1.3, to: 1.3 },
    y: { from: -1.3, to: 1.3 },
    description: "The directions of all neurons, on two rings, and the data as arrows.",
  });
  const clocks = figure.plane({
    height: circle.height,
    x: { from: FIRST, to: LAST, label: "time", ticks: [-1, 0, 1, 2, 3, 4, 5, 6], show: (k) => POWERS_OF_TEN[k] },
    y: { from: 0, to: 1.25, label: "", ticks: [0, 0.5, 1] },
    description: "Against time, the share of neurons that are aligned, and the part of the loss that is left.",
  });
  let shown = {};

  // The neurons turn at once; the training that follows is computed when the data rest for a moment.
  function prepare({ degrees, power }) {
    const key = JSON.stringify([degrees, power]);
    if (shown.key === key) return;
    clearTimeout(shown.later);
    const angles = degrees.map(radians);
    const story = turning(neurons, angles, labels);
    const later = setTimeout(() => {
      shown.story = training(story, power);
      figure.show();
    }, 60);
    const mu = leastCosine(angles, labels);
    const limits = mu > 1e-9 ? bounds(angles, labels, neurons) : null;
    shown = { key, later, story, angles, mu, limits, wrong: wrongChanges(story) };
  }

  const regionOf = (pattern) => {
    if (!pattern.some(Boolean)) return ["dead", "muted"];
    if (fate(1, pattern, labels) === "own") return ["S₊", OWN[1]];
    return fate(-1, pattern, labels) === "own" ? ["S₋", OWN[-1]] : null;
  };
  const fateOf = (j) => fate(neurons[j].sign, shown.story.ends[j].pattern, labels);

  function drawGround() {
    circle.ground.replaceChildren();
    const edges = shown.angles.flatMap((angle) => [wrap(angle - Math.PI / 2), wrap(angle + Math.PI / 2)]).sort((a, b) => a - b);
    const arc = (from, to, radius) => Array.from({ length: 33 }, (_, k) => scaled(unit(from + ((to - from) * k) / 32), radius));
    edges.forEach((from, k) => {
      const to = k + 1 < edges.length ? edges[k + 1] : edges[0] + 2 * Math.PI;
      const region = regionOf(shown.angles.map((angle) => Math.cos((from + to) / 2 - angle) > 0));
      if (!region || to - from < 1e-9) return;
      const [name, kind] = region;
      circle.area([...arc(from, to, 1.12), ...arc(to, from, 0.74)], kind);
      circle.note(scaled(unit((from + to) / 2), 1.22), name, "live-note middle");
    });
  }

  function drawNeurons(time) {
    const angles = anglesAt(shown.story, time);
    const kinds = neurons.map(({ sign }, j) => {
      const end = fateOf(j);
      if (shown.wrong[j].some((when) => when <= time)) return "contrast";
      if (time < shown.story.ends[j].time) return "plain";
      return { own: OWN[sign], dead: "muted", wrong: "contrast" }[end];
    });
    for (const kind of ["muted", "plain", "simulation", "third", "contrast"]) {
      const chosen = neurons.map(({ sign }, j) => scaled(unit(angles[j]), RADII[sign])).filter((_, j) => kinds[j] === kind);
      circle.dots(chosen, kind, kind === "plain" ? 2.2 : 2.8);
    }
  }

  function drawClocks(time) {
    const { story, limits } = shown;
    const place = (t) => Math.min(Math.max(Math.log10(t), FIRST), LAST);
    const times = story.ends.map(({ time: end }) => end).filter(Number.isFinite).sort((a, b) => a - b);
    const steps = times.flatMap((end, k) => [[place(end), k / count], [place(end), (k + 1) / count]]);
    const left = story.records.map((record) => [place(record.time), record.loss / labels.length]);
    const half = halved(story);
    clocks.clear();
    const bound = (time, height, name, anchor) => {
      clocks.line([[place(time), 0], [place(time), height]], "theory");
      clocks.note([place(time), height], name, `live-note ${anchor}`);
    };
    if (limits) {
      bound(limits.ours, 1.15, "our bound", "middle");
      bound(limits.printed, 1.05, place(limits.printed) < LAST ? "the paper's" : "the paper's →", "end");
    }
    clocks.line([...steps.filter(([at]) => at > FIRST), ...(times.length === count ? [[LAST, 1]] : [])], "simulation");
    if (left.length) clocks.line([[FIRST, left[0][1]], ...left], "plain");
    if (aligned(story) < Infinity) clocks.dot([place(aligned(story)), 1], "simulation");
    clocks.note([place(times[Math.floor(0.6 * times.length)]), 0.5], limits ? "aligned" : "settled", "live-note");
    if (half < Infinity) {
      clocks.dot([place(half), 0.5], "plain");
      clocks.note([place(half), 0.2], "loss", "live-note");
    }
    clocks.line([[place(time), 0], [place(time), 1]], "guide");
  }

  function words(logtime) {
    const { story, mu, limits, wrong } = shown;
    const half = halved(story);
    const now = story.ends.filter(({ time }) => time <= 10 ** logtime).length;
    const never = story.records.length ? "is not halved in this picture" : "…";
    const halving = half < Infinity ? `is halved at ${half.toFixed(2)}` : never;
    const last = aligned(story) < Infinity ? `the last one at ${aligned(story).toFixed(2)}` : "some not before the loss has gone";
    const clock = `At time ${shownTime(logtime)}, ${now} of ${count} neurons ${limits ? "are aligned" : "have settled"}, ${last}; the loss ${halving}.`;
    if (limits) {
      const printed = Number(limits.printed.toPrecision(2)).toLocaleString("en");
      return (
        `${clock} μ = ${mu.toFixed(2)}: the data are orthogonally separable, and our bound on the alignment is ` +
        `${limits.ours.toFixed(0)}, the paper's ${printed}.`
      );
    }
    const astray = neurons.filter((_, j) => story.ends[j].time < Infinity && fateOf(j) === "wrong").length;
    return (
      `${clock} μ = ${mu > -0.005 ? 0 : mu.toFixed(2).replace("-", "−")}: the data are not orthogonally separable. ` +
      `${wrong.flat().length} changes go the wrong way, and ${astray} neurons end where they should not.`
    );
  }

  function draw(state) {
    prepare(state);
    const time = 10 ** state.logtime;
    circle.clear();
    drawGround();
    shown.angles.forEach((angle, i) => circle.strokes([[[0, 0], scaled(unit(angle), 0.56)]], `arrow ${OWN[labels[i]]}`));
    drawNeurons(time);
    drawClocks(time);
    return words(state.logtime);
  }

  figure.player("logtime", { from: FIRST, to: 3, step: 0.01, seconds: 10, show: shownTime });
  figure.slider("power", { label: "scale λ", values: POWERS.filter((power) => power <= 100), show: tenToMinus });
  figure.handle(clocks, {
    label: "Chosen time",
    kind: "plain",
    at: ({ logtime }) => [logtime, 0],
    to: ([logtime]) => ({ logtime: Math.min(logtime, 3) }),
    step: [0.05, 0],
    say: ({ logtime }) => `time ${shownTime(logtime)}`,
  });
  degrees.forEach((_, i) => {
    figure.handle(circle, {
      label: `${labels[i] > 0 ? "Positive" : "Negative"} datum ${i + 1}`,
      kind: OWN[labels[i]],
      at: (state) => scaled(unit(radians(state.degrees[i])), 0.6),
      to: (point, state) => {
        const turned = Math.round((angleOf(point) * 180) / Math.PI);
        return { degrees: state.degrees.map((old, k) => (k === i ? turned : old)) };
      },
      turn: 2,
      say: (state) => `${state.degrees[i]} degrees`,
    });
  });
  return figure;
}

enliven("two_clocks", show);
