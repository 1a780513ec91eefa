// The points of the plane as handles that are dragged, added, flipped and removed.
import { node } from "../plot.js";

export const MOST = 60;
export const HALF = 2.4; // the plane is [-HALF, HALF]^2
const LABELS = { blue: 1, orange: -1 };

export const count = ({ points }) => points.length / 3;
export const listOf = (points) => Array.from({ length: points.length / 3 }, (_, i) => points.slice(3 * i, 3 * i + 3));

// Whether a list of numbers is one to MOST points in the plane with labels +1 and -1.
export function arePoints(points) {
  if (points.length % 3 || points.length < 3 || points.length > 3 * MOST) return false;
  return listOf(points).every(([x, y, label]) => Math.abs(x) <= HALF && Math.abs(y) <= HALF && Math.abs(label) === 1);
}

const rounded = (value) => Number(value.toFixed(2));
const changed = (points, i, values) => points.flatMap((value, k) => (k === 3 * i ? values : k > 3 * i && k < 3 * i + 3 ? [] : [value]));

export function addPoints(figure, plane) {
  const knobs = [];
  let chosen = 0;

  const add = ([x, y]) => {
    if (count(figure.state) >= MOST) return;
    figure.set({ points: [...figure.state.points, rounded(x), rounded(y), LABELS[figure.state.brush]] });
    knobs[count(figure.state) - 1].focus({ preventScroll: true });
  };
  const remove = (i) => {
    if (count(figure.state) < 2 || i >= count(figure.state)) return;
    figure.set({ points: changed(figure.state.points, i, []) });
    knobs[Math.min(i, count(figure.state) - 1)].focus({ preventScroll: true });
  };
  const flip = (i) => {
    const [x, y, label] = listOf(figure.state.points)[i] ?? [];
    if (label) figure.set({ points: changed(figure.state.points, i, [x, y, -label]) });
  };

  function makeKnob(i) {
    const point = (state) => listOf(state.points)[i];
    const knob = figure.handle(plane, {
      label: `Point ${i + 1}`,
      at: (state) => point(state) ?? null,
      to: ([x, y], { points }) => ({ points: changed(points, i, [rounded(x), rounded(y), points[3 * i + 2]]) }),
      step: [0.05, 0.05],
      say: (state) => `${point(state)[2] > 0 ? "blue" : "orange"}, x ${point(state)[0]}, y ${point(state)[1]}`,
    });
    const sign = node(knob, "path", { class: "live-sign" });
    const dot = knob.querySelector(".live-dot");
    figure.follow.push((state) => {
      const label = point(state)?.[2];
      dot.setAttribute("class", `live-dot ${label > 0 ? "simulation" : "contrast"}`);
      sign.setAttribute("d", label > 0 ? "M-3.5,0H3.5M0,-3.5V3.5" : "M-3.5,0H3.5");
    });
    dot.setAttribute("r", 7);
    knob.addEventListener("focus", () => (chosen = i));
    knob.addEventListener("dblclick", () => remove(i));
    knob.addEventListener("keydown", (event) => {
      const act = { Delete: remove, Backspace: remove, Enter: flip, " ": flip }[event.key];
      if (!act) return;
      event.preventDefault();
      act(i);
    });
    knobs.push(knob);
  }

  figure.follow.unshift((state) => {
    while (knobs.length < count(state)) makeKnob(knobs.length);
  });
  plane.onTap(add);
  return { add: () => add([0.5, -0.5]), remove: () => remove(chosen), flip: () => flip(chosen) };
}
