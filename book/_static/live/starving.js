// Two features on two examples: which one starves the other, and what spectral decoupling does about it.
import { LiveFigure, enliven } from "./figure.js";
import { CLOCK, LOG_TIMES, bulge, commonMargin, effect, end, path, range, signAt, votes } from "./two_features.js";

const STRENGTHS = [0.5, 5];
const TOPS = [1, 2, 3, 4, 6, 8, 10];

// A power of ten in two digits.
const power = (exponent) => String(Number((10 ** exponent).toPrecision(2)));

function words(state, z, points, now) {
  const far = Math.hypot(now[0] - z[0], now[1] - z[1]);
  const away = far < 1e-6 ? "less than a millionth" : far < 0.005 ? far.toExponential(0).replace("-", "−") : far.toFixed(2);
  const at = `z₁ = ${z[0].toFixed(2)}, z₂ = ${z[1].toFixed(2)}; at the chosen time it is ${away} away`;
  if (state.penalty !== "ridge") {
    const bent = bulge(points).toFixed(2);
    const way = bent > 0 ? `Only the way bends: it leaves the straight line by ${bent}.` : "Here the way is straight.";
    return `For all strengths training ends at ${at}. ${way}`;
  }
  const percent = effect(state);
  if (Math.abs(percent) < 1e-9) {
    const why = state.delta === 0 ? "the features are not coupled" : "the strengths are equal";
    return `Training ends at ${at}. A little more of s₁ does not change z₂: ${why}.`;
  }
  const [moves, does] = percent < 0 ? ["falls", "starves"] : ["grows", "feeds"];
  const size = Math.abs(percent).toPrecision(2);
  return `Training ends at ${at}. With one percent more of s₁, z₂ ${moves} by ${size} %: feature 1 ${does} feature 2.`;
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
      sweep.note([Math.min(s2, 4), 0.03 * sweep.y.to], "s₁ = s₂");
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
