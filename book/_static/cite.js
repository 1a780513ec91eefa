// "Copy BibTeX" copies the entry beside it, or, where a browser forbids that, shows it selected.
for (const button of document.querySelectorAll("button.copy-citation")) {
  const fold = button.parentElement.querySelector("details.citation");
  const entry = fold.querySelector("pre");
  const name = button.textContent;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(entry.textContent);
      button.textContent = "Copied";
    } catch {
      fold.open = true;
      getSelection().selectAllChildren(entry);
      button.textContent = "Selected: copy it";
    }
    setTimeout(() => (button.textContent = name), 2000);
  });
}
