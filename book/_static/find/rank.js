// Ranks the things of the book by how well they answer what was typed, tolerant of spelling.

// Words that mean the same here; the first of each is the one looked for.
const SAME = [
  ["colour", "color", "coloured", "colored"],
  ["errata", "erratum"],
  ["exponential integral", "ei"],
  ["neighbour", "neighbor"],
  ["figure", "fig"],
  ["equation", "eq"],
  ["theorem", "thm"],
  ["lemma", "lem"],
  ["table", "tab"],
  ["correct", "report"],
  ["cite", "citation", "bibtex"],
  ["run", "install", "download"],
];
// Words that ask, and say nothing of what is asked for.
const IDLE = new Set("how to do i a an and for from the of what is are in it its on with".split(" "));
const GREEK = `α alpha β beta γ gamma δ delta ε epsilon ζ zeta η eta θ theta κ kappa λ lambda μ mu ν nu ξ xi
  π pi ρ rho σ sigma τ tau φ phi χ chi ψ psi ω omega`.split(/\s+/);
const LETTERS = new Map(GREEK.flatMap((sign, k) => (k % 2 ? [] : [[sign, GREEK[k + 1]]])));
// How much it counts that a thing is of its kind; the names of the library come last.
const KINDS = { subject: 1.2, page: 1, section: 0.5, claim: -0.1, erratum: -0.1, figure: -0.3, passage: -0.3, number: -0.3, lib: -2 };
const known = new WeakMap();

function words(text) {
  return text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[α-ω]/g, (sign) => ` ${LETTERS.get(sign) ?? sign} `)
    .replace(/(\p{L}+)\s*_?±/gu, "$1plus $1minus")
    .replace(/(\p{L}+)\s*_?\+(?![\p{L}\p{N}])/gu, "$1plus")
    .replace(/(\p{L}+)\s*(?:_-|-$)/gu, "$1minus")
    .replace(/([a-z])(?=\d)|(\d)(?=[a-z])/g, "$1$2 ")
    .replace(/iz(?=e|ation|ing)/g, "is")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .flatMap((word) => (SAME.find((same) => same.includes(word))?.[0] ?? word).split(" "));
}

function telling(all) {
  const rest = all.filter((word) => !IDLE.has(word));
  return rest.length ? rest : all;
}

// Whether one letter more, less or other, or two that change places, make one word of the other.
function near(one, other) {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  let start = 0;
  while (start < shorter.length && shorter[start] === longer[start]) start += 1;
  let end = 0;
  while (end < shorter.length - start && shorter.at(-1 - end) === longer.at(-1 - end)) end += 1;
  const [few, many] = [shorter, longer].map((word) => word.slice(start, word.length - end));
  return many.length <= 1 || (many.length === 2 && few === many[1] + many[0]);
}

// How well a word stands among others: 1 as a whole, less as a beginning or misspelt, 0 not at all.
function match(word, others) {
  let best = 0;
  for (const other of others) {
    if (other === word) return 1;
    if (word.length > 1 && other.startsWith(word)) best = Math.max(best, (0.9 * word.length) / other.length);
    else if (word.length > 4 && other.length > 4 && near(word, other)) best = Math.max(best, 0.5);
  }
  return best;
}

// The words of a thing: of its names, a page has several, and of its text.
function readings(thing) {
  if (!known.has(thing)) {
    const [kind, name, text, address] = thing;
    const others = kind === "page" ? [...name.split(":"), address.match(/([^/]*)\.html/)[1]] : [];
    const all = kind === "subject" ? name.split("; ") : [name, ...others];
    const names = all.map((one) => telling(words(one)));
    known.set(thing, { names, texts: words(`${kind} ${text}`) });
  }
  return known.get(thing);
}

function share(name, asked) {
  return [...name].filter((word) => asked.includes(word)).length / name.size;
}

function score(asked, thing) {
  const { names, texts } = readings(thing);
  let [total, missing] = [0, 0];
  for (const word of asked) {
    const best = Math.max(...names.map((name) => 3 * match(word, name)), 2 * match(word, texts));
    total += best;
    if (!best) missing += 1;
  }
  const covered = names.map((name) => share(new Set(name), asked));
  const whole = names.some((name) => name.join(" ") === asked.join(" ")) ? 0.5 : 0;
  return { missing, value: total / asked.length + 2 * Math.max(...covered) + whole + (KINDS[thing[0]] ?? 0.4) };
}

export function ranked(things, query) {
  const asked = telling(words(query));
  if (!asked.length) return [];
  const scored = things.map((thing) => ({ thing, ...score(asked, thing) }));
  const least = Math.min(...scored.map(({ missing }) => missing));
  if (least === asked.length) return [];
  return scored
    .filter(({ missing }) => missing === least)
    .sort((one, other) => other.value - one.value)
    .map(({ thing }) => thing);
}
