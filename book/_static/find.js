// Finds things while one types in the search box: subjects, claims, errata, theorems, figures, sections, names of lib.
import { ranked } from "./find/rank.js";
import { load, root } from "./load.js";

const THINGS = "_static/things.js";

function list(box) {
  const found = document.createElement("ul");
  found.className = "found-things";
  found.setAttribute("aria-label", "Things in this book");
  box.closest("form").after(found);
  return found;
}

function entry([kind, name, text, address, verdict]) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = root + address;
  const what = document.createElement("span");
  what.className = verdict ? `verdict-badge verdict-${verdict.replace(" ", "-")}` : "found-kind";
  what.textContent = verdict || kind;
  const title = document.createElement("strong");
  const rest = document.createElement("small");
  // Of a claim its sentence comes first; the name of a subject is what readers call it.
  [title.textContent, rest.textContent] = verdict ? [text, name] : kind === "subject" ? [text, ""] : [name, text];
  link.append(what, " ", title, " ", rest);
  item.append(link);
  return item;
}

function everywhere(query) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `${root}search.html?q=${encodeURIComponent(query)}`;
  link.textContent = `All pages with “${query}”`;
  item.append(link);
  return item;
}

for (const box of document.querySelectorAll("form.bd-search input[name=q]")) {
  const found = list(box);
  const show = async () => {
    await load(THINGS);
    const query = box.value.trim();
    const hits = ranked(window.thingsOfTheBook, query).slice(0, 12).map(entry);
    found.replaceChildren(...hits, ...(query && !document.querySelector("ul.search") ? [everywhere(query)] : []));
  };
  box.addEventListener("focus", () => load(THINGS), { once: true });
  box.addEventListener("input", show);
  if (box.value) show();
  // The arrow keys lead from the box through what is found and back.
  const step = (event) => {
    const places = [box, ...found.querySelectorAll("a")];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = by && places[places.indexOf(event.target) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  for (const part of [box, found]) part.addEventListener("keydown", step);
  const dialog = box.closest("dialog");
  if (!dialog) continue; // the page of the search itself looks through all pages
  box.form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await show();
    found.querySelector("a")?.click();
  });
  found.addEventListener("click", () => dialog.close()); // else it covers a place of the same page
}
