// Ranks the things of the book by how well they answer what was typed, tolerant of spelling.

// Words that mean the same here; the first of each is the one looked for.
const SAME = [
  ["colour", "color", "coloured", "colored"],
  ["errata", "erratum"],
  ["exponential integral", "ei"],
  ["normalise", "normalize"],
  ["neighbour", "neighbor"],
  ["figure", "fig"],
  ["equation", "eq"],
  ["theorem", "thm"],
  ["lemma", "lem"],
];
// Words that ask, and say nothing of what is asked for.
const IDLE = new Set(["how", "to", "do", "i", "a", "an", "the", "of", "what", "is", "are", "in", "on"]);
const KINDS = ["page", "claim", "erratum", "theorem", "lemma", "proposition", "corollary", "figure", "section", "lib"];

function words(text) {
  return text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/([a-z])(?=\d)|(\d)(?=[a-z])/g, "$1$2 ")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .flatMap((word) => (SAME.find((same) => same.includes(word))?.[0] ?? word).split(" "));
}

// How well one word stands among others: as a whole, as a beginning, or not at all.
function match(word, others) {
  if (others.includes(word)) return 2;
  return word.length > 1 && others.some((other) => other.startsWith(word)) ? 1 : 0;
}

function score(asked, [kind, name, text]) {
  const [inName, inText] = [words(`${kind} ${name}`), words(text)];
  let total = 0;
  for (const word of asked) {
    const best = Math.max(3 * match(word, inName), match(word, inText));
    if (!best) return 0;
    total += best;
  }
  return total / asked.length - 0.05 * KINDS.indexOf(kind) - 0.02 * inName.length;
}

export function ranked(things, query) {
  const typed = words(query);
  const asked = typed.some((word) => !IDLE.has(word)) ? typed.filter((word) => !IDLE.has(word)) : typed;
  if (!asked.length) return [];
  return things
    .map((thing) => [score(asked, thing), thing])
    .filter(([value]) => value > 0)
    .sort(([a], [b]) => b - a)
    .map(([, thing]) => thing);
}
