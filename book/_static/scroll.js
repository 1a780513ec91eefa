// What is wider than the screen scrolls: then, and only then, the keyboard can reach it.
const WIDE = "div.math, div.math > mjx-container, span.math, figure, div.highlight, pre, .output";
const boxes = [...document.querySelectorAll(`.bd-article :is(${WIDE})`)];

function scrolls(box) {
  return box.scrollWidth > box.clientWidth && /auto|scroll/.test(getComputedStyle(box).overflowX);
}

let reached = [];

function reach() {
  for (const box of reached) box.removeAttribute("tabindex");
  reached = boxes.filter((box) => !box.hasAttribute("tabindex") && scrolls(box));
  for (const box of reached) box.tabIndex = 0;
}

document.fonts.ready.then(reach);
addEventListener("resize", reach);
