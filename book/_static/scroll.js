// What is wider than the screen scrolls: then, and only then, the keyboard can reach it.
const WIDE = "div.math, div.math > mjx-container, figure, div.highlight, pre, .output";
const boxes = [...document.querySelectorAll(`.bd-article :is(${WIDE})`)];
const reached = new Set();
let round = 0;

function scrolls(box) {
  return box.scrollWidth > box.clientWidth && /auto|scroll/.test(getComputedStyle(box).overflowX);
}

function reach(box) {
  const given = box.hasAttribute("tabindex") && !reached.has(box);
  if (given || box.closest("details:not([open])")) return;
  if (scrolls(box)) {
    reached.add(box);
    box.tabIndex = 0;
  } else if (reached.delete(box)) {
    box.removeAttribute("tabindex");
  }
}

// One short task a box: what is far below the screen is laid out for this.
async function reachAll() {
  const mine = (round += 1);
  for (const box of boxes) {
    await new Promise((resolve) => setTimeout(resolve));
    if (mine !== round) return;
    reach(box);
  }
}

document.fonts.ready.then(reachAll);
document.fonts.addEventListener("loadingdone", reachAll);
addEventListener("resize", reachAll);
addEventListener("toggle", reachAll, true);
