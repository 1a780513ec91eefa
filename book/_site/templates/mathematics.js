// Typesets a formula with the parts of MathJax that are loaded: for the eye, and as MathML.
const {adaptors, core, handlers, input, mathjax, output} = MathJax._;
const adaptor = adaptors.liteAdaptor.liteAdaptor();
handlers.html_ts.RegisterHTMLHandler(adaptor);
const tex = new input.tex_ts.TeX({
  packages: PACKAGES,
  macros: MACROS,
  formatError(jax, error) { throw new Error(error.message); },
});
const font = new output.chtml.fonts.tex_ts.TeXFont({fontURL: "mathematics"});
const chtml = new output.chtml_ts.CHTML({font, adaptiveCSS: false});
const page = mathjax.mathjax.document("", {InputJax: tex, OutputJax: chtml});
const mathml = new core.MmlTree.SerializedMmlVisitor.SerializedMmlVisitor();
function typeset(text, display) {
  const seen = page.convert(text, {display, em: 16, ex: 8, containerWidth: 1280});
  adaptor.setAttribute(adaptor.firstChild(seen), "aria-hidden", "true"); // screen readers read the other
  const read = mathml.visitTree(page.convert(text, {display, end: core.MathItem.STATE.CONVERT}), page);
  return [adaptor.outerHTML(seen), read];
}
