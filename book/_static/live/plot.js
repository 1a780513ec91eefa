// A small plane to draw in: an SVG with axes, in the page's own colours.
const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 46, right: 12, top: 14, bottom: 38 };
const BARE = { left: 4, right: 4, top: 4, bottom: 4 };

export function node(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

export class Plane {
  // `x` and `y` are {from, to, label, ticks, show}, where `show` makes words of ticks; sizes are in the units of the
  // SVG's view box.  In a `square` plane both axes are equally long; a `bare` plane has no axes.
  constructor(parent, { width = 340, height = 300, margin = {}, bare = false, square = false, x, y, description }) {
    if (square) height = width - MARGIN.left - MARGIN.right + MARGIN.top + MARGIN.bottom;
    this.svg = node(parent, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": description });
    Object.assign(this, { width, height });
    const around = { ...(bare ? BARE : MARGIN), ...margin };
    this.x = { ...x, low: around.left, high: width - around.right };
    this.y = { ...y, low: height - around.bottom, high: around.top };
    this.ground = node(this.svg, "g", { class: "live-ground" });
    this.axes = node(this.svg, "g", { class: "live-axes" });
    this.drawing = node(this.svg, "g");
    this.handles = node(this.svg, "g");
    if (!bare) this.drawAxes();
  }

  drawAxes() {
    this.axes.replaceChildren();
    const { x, y } = this;
    node(this.axes, "path", { d: `M${x.low},${y.high}V${y.low}H${x.high}` });
    for (const tick of x.ticks) {
      node(this.axes, "text", { x: this.px(tick), y: y.low + 15, "text-anchor": "middle" }, (x.show ?? String)(tick));
    }
    for (const tick of y.ticks) {
      node(this.axes, "text", { x: x.low - 6, y: this.py(tick) + 4, "text-anchor": "end" }, (y.show ?? String)(tick));
    }
    node(this.axes, "text", { x: (x.low + x.high) / 2, y: y.low + 32, "text-anchor": "middle" }, x.label);
    node(this.axes, "text", { x: x.low + 6, y: y.high + 6 }, y.label);
  }

  px(value) {
    return this.x.low + ((value - this.x.from) / (this.x.to - this.x.from)) * (this.x.high - this.x.low);
  }

  py(value) {
    return this.y.low + ((value - this.y.from) / (this.y.to - this.y.from)) * (this.y.high - this.y.low);
  }

  // The point of the plane under the pointer.
  at(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    const back = (value, { low, high, from, to }) => from + ((value - low) / (high - low)) * (to - from);
    return [back(point.x, this.x), back(point.y, this.y)];
  }

  // Calls `act` with each point of the plane that is clicked or tapped; a swipe over it scrolls the page.
  onTap(act) {
    const inside = (value, { from, to }) => from <= value && value <= to;
    this.svg.addEventListener("click", (event) => {
      const [x, y] = this.at(event);
      if (!event.target.closest(".live-handle") && inside(x, this.x) && inside(y, this.y)) act([x, y]);
    });
  }

  clear() {
    this.drawing.replaceChildren();
  }

  line(points, kind) {
    const inside = points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
    const d = inside.map(([a, b], k) => `${k ? "L" : "M"}${this.px(a).toFixed(2)},${this.py(b).toFixed(2)}`).join("");
    return node(this.drawing, "path", { d, class: `live-line ${kind}` });
  }

  // A coloured part of the ground.
  area(points, kind) {
    const d = points.map(([a, b]) => `${this.px(a).toFixed(1)},${this.py(b).toFixed(1)}`).join("L");
    return node(this.ground, "path", { d: `M${d}Z`, class: `live-area ${kind}` });
  }

  dot([a, b], kind, radius = 5) {
    return node(this.drawing, "circle", { cx: this.px(a), cy: this.py(b), r: radius, class: `live-dot ${kind}` });
  }

  // Small dots or short strokes, all of one kind: one element, however many they are.
  dots(points, kind, radius = 2) {
    const d = points.map(([a, b]) => `M${this.px(a).toFixed(1)},${this.py(b).toFixed(1)}h0`).join("");
    return node(this.drawing, "path", { d, class: `live-dots ${kind}`, "stroke-width": 2 * radius });
  }

  strokes(pairs, kind, parent = this.drawing) {
    const at = ([a, b]) => `${this.px(a).toFixed(1)},${this.py(b).toFixed(1)}`;
    return node(parent, "path", { d: pairs.map(([p, q]) => `M${at(p)}L${at(q)}`).join(""), class: `live-strokes ${kind}` });
  }

  note([a, b], text, kind = "live-note") {
    return node(this.drawing, "text", { x: this.px(a) + 6, y: this.py(b) - 6, class: kind }, text);
  }
}
