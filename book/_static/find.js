// Finds things while one types in the search box: claims, errata, theorems, figures, sections, names of lib.
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
  title.textContent = name;
  link.append(what, " ", title, " ", text);
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
  let found = null;
  const show = async () => {
    await load(THINGS);
    found ??= list(box);
    const query = box.value.trim();
    const hits = ranked(window.thingsOfTheBook, query).slice(0, 12).map(entry);
    found.replaceChildren(...hits, ...(query && !document.querySelector("ul.search") ? [everywhere(query)] : []));
  };
  box.addEventListener("focus", () => load(THINGS), { once: true });
  box.addEventListener("input", show);
  if (box.value) show();
}
