// Titles that are too long are shortened in the middle, so that what tells them apart stays.

const SHARED = 2; // words with which two titles must open to count as alike

/**
 * A title that fits: whole, or its first words and its last, or its first words and where it differs from its likes.
 * @param {string} title
 * @param {(text: string) => boolean} fits
 * @param {string[]} [others] titles that stand beside it
 * @returns {string} nothing, if not even a few letters fit
 */
export function shortened(title, fits, others = []) {
  if (fits(title)) return title;
  const words = title.split(" ");
  const shared = Math.max(0, ...others.map((other) => alike(words, other.split(" "))));
  const pieces = shared >= SHARED && shared < words.length ? differing(words, shared) : ends(words);
  return pieces.find(fits) ?? cut(title, fits);
}

/** How many words two titles open with together. */
function alike(words, others) {
  const end = words.findIndex((word, i) => word !== others[i]);
  return end < 0 ? 0 : end;
}

/** Fewer and fewer of the shared words, and at last the beginning of what differs. */
function differing(words, shared) {
  const own = words.slice(shared).join(" ");
  const whole = range(shared - 1).map((kept) => joined(words.slice(0, kept), own));
  const rest = range(words.length - shared - 1).map((kept) =>
    joined(words.slice(0, 1), `${words.slice(shared, shared + kept).join(" ")}…`),
  );
  return [...whole, ...rest];
}

/** Fewer and fewer words from both ends, more from the beginning. */
function ends(words) {
  return range(words.length - 1)
    .filter((kept) => kept > 1)
    .map((kept) => {
      const last = Math.floor(0.4 * kept) || 1;
      return joined(words.slice(0, kept - last), words.slice(words.length - last).join(" "));
    });
}

function joined(words, rest) {
  return `${words.join(" ").replace(/[,;:]$/, "")}…${rest}`;
}

/** From a number down to 1. */
function range(largest) {
  return Array.from({ length: Math.max(0, largest) }, (_, i) => largest - i);
}

/** So many letters as fit, some of them from the end. */
function cut(text, fits) {
  for (let kept = text.length - 1; kept > 2; kept -= 1) {
    const last = Math.floor(0.4 * kept);
    const piece = `${text.slice(0, kept - last).trimEnd()}…${text.slice(text.length - last).trimStart()}`;
    if (fits(piece)) return piece;
  }
  return "";
}
