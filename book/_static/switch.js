// One switch a page that opens all code and checks; what was chosen is remembered.
const folds = document.querySelectorAll(".bd-article details:is(.hide, .claim-card)");
const button = document.querySelector(".fold-switch");
const KEY = "code-and-checks";

function set(open) {
  for (const fold of folds) fold.open = open;
  button.setAttribute("aria-pressed", String(open));
  button.textContent = open ? "Hide code and checks" : "Show code and checks";
}

// A browser may forbid to remember; the choice then holds for this page alone.
function remember(act) {
  try {
    return act(localStorage);
  } catch {
    return null;
  }
}

if (button) {
  if (remember((kept) => kept.getItem(KEY)) === "open") set(true);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    set(open);
    remember((kept) => kept.setItem(KEY, open ? "open" : "closed"));
  });
}
