{# The theme itself does the first when the page is complete, and everything is then styled once more. -#}
{
  const { dataset } = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dataset.mode === "auto" ? (dark ? "dark" : "light") : dataset.mode;
  // Paper is white.
  const paper = matchMedia("print");
  let onScreen;
  const print = (begins) => {
    if (begins) onScreen ??= dataset.theme;
    dataset.theme = begins ? "light" : onScreen ?? dataset.theme;
    if (!begins) onScreen = undefined;
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  paper.addEventListener("change", () => print(paper.matches));
}
