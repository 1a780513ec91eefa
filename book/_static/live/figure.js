// A figure that moves: one state, the controls and handles that change it, and one function that draws it.
import { Plane, node } from "./plot.js";

const REDUCED = matchMedia("(prefers-reduced-motion: reduce)");

function add(parent, name, properties = {}) {
  const element = Object.assign(document.createElement(name), properties);
  parent.append(element);
  return element;
}

export class LiveFigure {
  // `state` maps names to numbers, lists of numbers or words; `draw(state)` returns what there is to say of it.
  constructor(frame, state, draw) {
    frame.replaceChildren();
    this.frame = frame;
    this.initial = state;
    this.state = { ...state };
    this.draw = draw;
    this.follow = [];
    this.allowed = {};
    this.plots = add(frame, "div", { className: "live-plots" });
    this.controls = add(frame, "div", { className: "live-controls" });
    this.buttons = add(frame, "div", { className: "live-buttons" });
    this.outcome = add(frame, "output", { className: "live-outcome" });
    this.outcome.setAttribute("aria-live", "polite");
  }

  // A plane that takes its share of the width when `abreast` of them stand side by side, or all of it where the whole
  // is less than `least` wide, as on a phone.  `height` is a number, or a function of the width.
  plane({ abreast = 2, least = 560, height = 300, ...options }) {
    const whole = this.plots.clientWidth || 340;
    const width = whole < least ? Math.min(whole, 420) : Math.floor((whole - 8 * (abreast - 1)) / abreast);
    const plane = new Plane(this.plots, { width, height: height instanceof Function ? height(width) : height, ...options });
    plane.svg.style.flexBasis = `${width - 1}px`;
    return plane;
  }

  // Controls that are made from here on lie in a group of that name, below the outcome, which can be closed.
  group(summary, open) {
    const details = add(this.frame, "details", { open, className: "live-group" });
    add(details, "summary", { textContent: summary });
    this.controls = add(details, "div", { className: "live-controls" });
  }

  // The state that a state departs from: what "Start again" goes back to, and what an address need not say.
  origin() {
    return this.initial;
  }

  set(changes) {
    Object.assign(this.state, changes);
    this.show();
  }

  show() {
    this.outcome.textContent = this.draw(this.state);
    for (const follow of this.follow) follow(this.state);
  }

  // From `from` to `to`, or through a list of rising `values`; `show(value, state)` is what stands beside it.
  slider(key, { label, values, from = values?.[0], to = values?.at(-1), step, show = String }) {
    const row = add(this.controls, "label");
    add(row, "span", { textContent: label });
    const range = values ? { min: 0, max: values.length - 1, step: 1 } : { min: from, max: to, step };
    const input = add(row, "input", { type: "range", ...range });
    const output = add(row, "output");
    this.allowed[key] = (value) => value >= from && value <= to;
    const chosen = () => (values ? values[Number(input.value)] : Number(input.value));
    input.addEventListener("input", () => this.set({ [key]: chosen() }));
    this.follow.push((state) => {
      input.value = values ? values.filter((value) => value <= state[key]).length - 1 : state[key];
      output.textContent = show(state[key], state);
      input.setAttribute("aria-valuetext", show(state[key], state));
    });
    return input;
  }

  // `options` maps each allowed value of the state to its words.
  choice(key, { label, options }) {
    const row = add(this.controls, "label", { className: "live-choice" });
    add(row, "span", { textContent: label });
    const select = add(row, "select");
    for (const [value, textContent] of Object.entries(options)) add(select, "option", { value, textContent });
    this.allowed[key] = (value) => Object.hasOwn(options, value);
    select.addEventListener("change", () => this.set({ [key]: select.value }));
    this.follow.push((state) => (select.value = state[key]));
  }

  button(textContent, pressed) {
    const button = add(this.buttons, "button", { type: "button", textContent });
    button.addEventListener("click", pressed);
    return button;
  }

  // A point that is dragged or moved by the arrow keys: `at(state)` is where it stands (null: nowhere),
  // `to(point, state)` what a move changes, `step` how far a key moves it (or `turn` by how many degrees about the
  // origin), `say(state)` where it is in words.
  handle(plane, { label, kind = "simulation", at, to, step, turn, say }) {
    const knob = node(plane.handles, "g", { class: `live-handle ${kind}`, tabindex: 0, role: "slider", "aria-label": label });
    node(knob, "circle", { r: 14, class: "live-grip" });
    node(knob, "circle", { r: 6, class: `live-dot ${kind}` });
    const within = (value, { from, to: end }) => Math.min(Math.max(value, from), end);
    const move = ([x, y]) => this.set(to([within(x, plane.x), within(y, plane.y)], this.state));
    knob.addEventListener("pointerdown", (event) => {
      knob.setPointerCapture(event.pointerId);
      knob.focus({ preventScroll: true });
      event.preventDefault();
    });
    // A finger would scroll the page: Chromium does not obey touch-action inside an SVG. Taps stay taps.
    knob.addEventListener("touchmove", (event) => event.preventDefault(), { passive: false });
    knob.addEventListener("pointermove", (event) => {
      if (knob.hasPointerCapture(event.pointerId)) move(plane.at(event));
    });
    const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    knob.addEventListener("keydown", (event) => {
      const by = keys[event.key];
      if (!by) return;
      event.preventDefault();
      const far = event.shiftKey ? 5 : 1;
      const [x, y] = at(this.state);
      const angle = Math.atan2(y, x) + (far * (by[1] - by[0]) * turn * Math.PI) / 180;
      if (turn) move([Math.hypot(x, y) * Math.cos(angle), Math.hypot(x, y) * Math.sin(angle)]);
      else move([x + far * by[0] * step[0], y + far * by[1] * step[1]]);
    });
    this.follow.push((state) => {
      const place = at(state);
      knob.style.display = place ? "" : "none";
      if (!place) return;
      const [x, y] = place;
      knob.setAttribute("transform", `translate(${plane.px(x).toFixed(1)},${plane.py(y).toFixed(1)})`);
      knob.setAttribute("aria-valuenow", x);
      knob.setAttribute("aria-valuetext", say(state));
    });
    return knob;
  }

  // A slider for the time, with a button that lets it run from where it is to its end in so many seconds.
  player(key, { label = "time", from = 0, to, step = (to - from) / 500, seconds = 8, show = (t) => t.toFixed(1) }) {
    const input = this.slider(key, { label, from, to, step, show });
    let [request, last] = [0, 0];
    const stop = () => {
      cancelAnimationFrame(request);
      request = 0;
      button.textContent = "Play";
      this.outcome.setAttribute("aria-live", "polite");
    };
    const start = (first) => {
      const began = performance.now();
      const frame = (now) => {
        if (this.state[key] !== last) return stop(); // a link, a handle or "Start again" has set the time
        const value = first + ((to - from) * Math.max(now - began, 0)) / (1000 * seconds);
        // With reduced motion the picture changes a few times, not smoothly.
        if (!REDUCED.matches || value >= to || value - this.state[key] > (to - from) / 8) this.set({ [key]: Math.min(value, to) });
        last = this.state[key];
        if (value < to) request = requestAnimationFrame(frame);
        else stop();
      };
      this.outcome.setAttribute("aria-live", "off");
      button.textContent = "Pause";
      if (first !== this.state[key]) this.set({ [key]: first });
      last = first;
      request = requestAnimationFrame(frame);
    };
    const button = this.button("Play", () => (request ? stop() : start(this.state[key] >= to ? from : this.state[key])));
    this.play = () => start(from);
    input.addEventListener("input", () => request && stop());
  }

  // The state as it stands in an address, and what an address says of the state; what is not allowed is left out.
  get query() {
    const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : value);
    const words = (value) => (Array.isArray(value) ? value.map(short).join(",") : short(value));
    const origin = this.origin(this.state);
    const changed = Object.keys(origin).filter((key) => words(this.state[key]) !== words(origin[key]));
    return new URLSearchParams(changed.map((key) => [key, words(this.state[key])])).toString();
  }

  read(query) {
    const asked = new URLSearchParams(query);
    const read = { ...this.origin(Object.fromEntries(asked)) };
    for (const [key, text] of asked) {
      const like = this.initial[key];
      const value = Array.isArray(like) ? text.split(",").map(Number) : typeof like === "number" ? Number(text) : text;
      const numbers = [value].flat().filter((part) => typeof part === "number");
      const fits = !Array.isArray(like) || value.length === like.length || this.allowed[key];
      if (like !== undefined && fits && numbers.every(Number.isFinite) && (this.allowed[key]?.(value) ?? true)) read[key] = value;
    }
    this.set(read);
  }
}

// A link to this figure with a state sets the state; without scripts it would load the page anew.
function obeyLinks(figure, id) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || link.hash !== `#${id}` || link.pathname !== location.pathname || !link.search) return;
    event.preventDefault();
    figure.read(link.search);
    const place = document.getElementById(id);
    const block = place.offsetHeight > 0.85 * innerHeight ? "start" : "nearest";
    place.scrollIntoView({ block, behavior: REDUCED.matches ? "auto" : "smooth" });
  });
}

function addCopyButton(figure, id) {
  const button = figure.button("Copy link", async () => {
    const address = new URL(location.href);
    address.search = figure.query;
    address.hash = id;
    try {
      await navigator.clipboard.writeText(address.href);
      button.textContent = "Link copied";
    } catch {
      history.replaceState(null, "", address);
      button.textContent = "The link is in the address bar";
    }
    setTimeout(() => (button.textContent = "Copy link"), 2500);
  });
}

// Lets a figure move by itself when it comes into sight, unless the reader wants no motion or has begun to use it.
function playInSight(figure) {
  const opened = figure.query;
  const watch = new IntersectionObserver((seen) => {
    if (!seen.at(-1).isIntersecting) return;
    watch.disconnect();
    if (figure.query === opened) figure.play();
  }, { threshold: 0.15 });
  if (!REDUCED.matches) watch.observe(figure.plots.firstChild);
}

// Puts each live figure of one name in the place of the picture that the page has for it and lets `make(frame)` fill
// it; `make` returns the figure.
export function enliven(name, make) {
  for (const frame of document.querySelectorAll(`[data-live=${name}]`)) {
    const id = `fig-live-${name.replaceAll("_", "-")}`;
    const picture = document.getElementById(id);
    const output = frame.closest(".output");
    if (picture && output) {
      picture.prepend(frame);
      output.remove();
    }
    frame.classList.add("live-drawn");
    const figure = make(frame);
    figure.button("Start again", () => figure.set({ ...figure.origin(figure.state) }));
    addCopyButton(figure, id);
    obeyLinks(figure, id);
    const { plays } = frame.dataset;
    if (location.hash === `#${id}` && location.search) figure.read(location.search);
    else {
      figure.read(plays ?? "");
      if (plays !== undefined) playInSight(figure);
    }
  }
}
