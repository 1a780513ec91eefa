// One switch a page that opens all code and checks; what was chosen is remembered.
const folds = [...document.querySelectorAll(".bd-article details:is(.hide, .claim-card)")];
const place = document.querySelector(".bd-article h1");
const KEY = "code-and-checks";

function remembered() {
  try {
    return localStorage.getItem(KEY) === "open";
  } catch {
    return false; // a browser may forbid it
  }
}

function remember(open) {
  try {
    localStorage.setItem(KEY, open ? "open" : "closed");
  } catch {
    // the choice then holds for this page alone
  }
}

function set(button, open) {
  for (const fold of folds) fold.open = open;
  button.setAttribute("aria-pressed", String(open));
  button.textContent = open ? "Hide code and checks" : "Show code and checks";
}

if (folds.length > 1 && place) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold-switch";
  set(button, remembered());
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    set(button, open);
    remember(open);
  });
  const line = document.querySelector(".chapter-actions");
  if (line) line.prepend(button);
  else place.after(button);
}
