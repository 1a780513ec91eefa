// Filters the rows of the scorecard by paper, verdict and words; the choice is kept in the page's address.
const form = document.querySelector(".scorecard-filter");
const rows = [...document.querySelectorAll("tr.scorecard-row")].map((element) => ({
  element,
  paper: [...element.classList].find((name) => !/^(scorecard-row|ours|row-.*)$/.test(name)),
  whose: element.classList.contains("ours") ? "ours" : "the papers'",
  verdict: element.querySelector(".verdict-badge").textContent.trim(),
  words: element.textContent.toLowerCase(),
}));

for (const field of ["paper", "whose", "verdict"]) {
  for (const value of [...new Set(rows.map((row) => row[field]))].sort()) {
    form.elements[field].add(new Option(value, value));
  }
}

const asked = new URLSearchParams(location.search);
for (const [name, value] of asked) if (form.elements[name]) form.elements[name].value = value;

function filter() {
  const { paper, whose, verdict, words } = Object.fromEntries(new FormData(form));
  let shown = 0;
  for (const row of rows) {
    const keep =
      (!paper || row.paper === paper) &&
      (!whose || row.whose === whose) &&
      (!verdict || row.verdict === verdict) &&
      row.words.includes(words.toLowerCase());
    row.element.hidden = !keep;
    shown += keep;
  }
  form.querySelector("output").textContent = `${shown} of ${rows.length} claims`;
  const chosen = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  if (location.protocol !== "file:") history.replaceState(null, "", `?${chosen}${location.hash}`);
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
// Who comes with a question sees its answer.
if ([...asked.values()].some(Boolean) && !location.hash) form.scrollIntoView();
