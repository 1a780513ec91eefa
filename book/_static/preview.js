// What a link on this page points to, an equation, a theorem, a figure or a card, shows itself beside the link.
const KINDS = "div.math, div.proof, figure, details.claim-card";
const box = document.createElement("div");
box.className = "preview";
box.id = "preview";
box.setAttribute("role", "tooltip");
box.hidden = true;
let shown = null;
let timer = 0;

function target(link) {
  if (link.origin + link.pathname !== location.origin + location.pathname || !link.hash) return null;
  const found = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  return found?.closest(KINDS) ?? found?.querySelector(KINDS) ?? null;
}

function inSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}

function place(link) {
  const { left, top, bottom } = link.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
  const below = bottom + 6 + box.offsetHeight <= innerHeight;
  box.style.top = `${below ? bottom + 6 : Math.max(8, top - 6 - box.offsetHeight)}px`;
}

function show(link) {
  const wanted = target(link);
  if (!wanted || inSight(wanted)) return;
  const copy = wanted.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll("[id]")]) element.removeAttribute("id");
  if (copy.matches("details")) copy.open = true;
  box.replaceChildren(copy);
  box.hidden = false;
  place(link);
  link.setAttribute("aria-describedby", box.id);
  shown = link;
}

function hide() {
  box.hidden = true;
  shown?.removeAttribute("aria-describedby");
  shown = null;
}

function later(action, wait) {
  clearTimeout(timer);
  timer = setTimeout(action, wait);
}

const article = document.querySelector(".bd-article");
if (article) {
  article.append(box);
  for (const link of article.querySelectorAll("a.internal[href*='#']")) {
    link.addEventListener("mouseenter", () => later(() => show(link), 250));
    link.addEventListener("mouseleave", () => later(hide, 250));
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hide);
  }
  box.addEventListener("mouseenter", () => clearTimeout(timer));
  box.addEventListener("mouseleave", () => later(hide, 250));
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", hide, { passive: true });
}
