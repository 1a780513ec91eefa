// Finds things while one types in the search box: claims, errata, theorems, figures, sections, names of lib.
import { ranked } from "./find/rank.js";

const root = document.documentElement.dataset.content_root ?? "./";

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

function loaded() {
  if (!window.thingsLoading) {
    window.thingsLoading = new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = `${root}_static/things.js`;
      script.onload = () => resolve(window.thingsOfTheBook);
      document.head.append(script);
    });
  }
  return window.thingsLoading;
}

for (const box of document.querySelectorAll("form.bd-search input[name=q]")) {
  let found = null;
  const show = async () => {
    const things = await loaded();
    found ??= list(box);
    found.replaceChildren(...ranked(things, box.value).slice(0, 12).map(entry));
  };
  box.addEventListener("focus", loaded, { once: true });
  box.addEventListener("input", show);
  if (box.value) show();
}
