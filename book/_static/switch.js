// One switch a page that opens all code and checks; what was chosen is remembered.
const folds = [...document.querySelectorAll(".bd-article details:is(.hide, .claim-card)")];
const button = document.querySelector(".fold-switch");
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

function set(open) {
  for (const fold of folds) fold.open = open;
  button.setAttribute("aria-pressed", String(open));
  button.textContent = open ? "Hide code and checks" : "Show code and checks";
}

if (button) {
  if (remembered()) set(true);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    set(open);
    remember(open);
  });
}
