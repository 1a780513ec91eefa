// A display that is wider than the screen scrolls: then, and only then, the keyboard can reach it.
const displays = [...document.querySelectorAll(".bd-article div.math > mjx-container")];

function reach() {
  const wide = displays.filter((display) => display.scrollWidth > display.clientWidth + 1);
  for (const display of displays) display.removeAttribute("tabindex");
  for (const display of wide) display.tabIndex = 0;
}

document.fonts.ready.then(reach);
addEventListener("resize", reach);
