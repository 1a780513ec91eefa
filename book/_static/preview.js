// What a link of the book leads to shows itself beside it.
import { load, root } from "./load.js";

const KINDS = "div.math, div.proof, figure, details.claim-card, div.erratum, div.citation";
const LINKS = "a.internal[href]:not(.sd-stretched-link, [href^='?'], :has(img, .drawing))";
const QUICK = 250;
const box = document.createElement("div");
box.className = "preview";
box.id = "preview";
box.setAttribute("role", "tooltip");
box.hidden = true;
let shown = null;
let timer = 0;

function inSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}

// A copy of what stands on this page, unless the reader sees it.
function here(anchor) {
  const found = document.getElementById(anchor)?.closest(KINDS);
  if (!found || inSight(found)) return [];
  const copy = found.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll("[id]")]) element.removeAttribute("id");
  if (copy.matches("details")) copy.open = true;
  return [copy];
}

// What was stored of another page, for a page in a folder below the root.
async function elsewhere(page, anchor) {
  await load(`_static/fragments/${page}.js`);
  const template = document.createElement("template");
  template.innerHTML = window.fragments[page][anchor]?.replaceAll('="../', `="${root}`) ?? "";
  return [...template.content.children];
}

function contents(element) {
  const anchor = decodeURIComponent(element.hash.slice(1));
  const [address] = element.href.split("#");
  if (address === location.href.split("#")[0]) return here(anchor);
  const page = address.startsWith(root) ? address.slice(root.length).match(/^(book\/.+)\.html$/)?.[1] : null;
  return page ? elsewhere(page, anchor) : [];
}

function place() {
  const { left, top, bottom } = shown.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
  const below = bottom + 6 + box.offsetHeight <= innerHeight;
  box.style.top = `${below ? bottom + 6 : Math.max(8, top - 6 - box.offsetHeight)}px`;
}

function hide() {
  clearTimeout(timer);
  box.hidden = true;
  shown?.removeAttribute("aria-describedby");
  shown = null;
}

async function show(element) {
  hide();
  shown = element;
  const parts = await contents(element);
  if (shown !== element || !parts.length) return;
  box.replaceChildren(...parts);
  box.hidden = false;
  box.scrollTop = 0;
  place();
  if (element.href) element.setAttribute("aria-describedby", box.id);
}

function later(action, wait) {
  clearTimeout(timer);
  timer = setTimeout(action, wait);
}

// A finger follows a link; it does not rest on it.
function onRest(element) {
  element.addEventListener("pointerenter", ({ pointerType }) => {
    if (pointerType !== "touch") later(() => element !== shown && show(element), QUICK);
  });
  element.addEventListener("pointerleave", () => later(() => element === shown && hide(), QUICK));
}

const article = document.querySelector(".bd-article");
if (article) {
  article.append(box);
  for (const link of article.querySelectorAll(LINKS)) {
    onRest(link);
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
  }
  box.addEventListener("load", place, { capture: true }); // of a picture
  box.addEventListener("pointerenter", () => clearTimeout(timer));
  box.addEventListener("pointerleave", () => later(hide, QUICK));
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", () => shown && (inSight(shown) ? place() : hide()), { passive: true });
}
