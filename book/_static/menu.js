// The menu of a phone opens at the entry of the page that is open.
document.querySelector(".primary-toggle")?.addEventListener("click", () => {
  requestAnimationFrame(() => { // the theme has opened it by then
    const entries = [...document.querySelectorAll("dialog[open] .bd-links a.current")];
    entries.at(-1)?.scrollIntoView({ block: "center" });
  });
});
