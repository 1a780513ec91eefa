{# The theme itself does this when the page is complete, and everything is then styled once more. -#}
{
  const { dataset } = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dataset.mode === "auto" ? (dark ? "dark" : "light") : dataset.mode;
}
