// How codes are written and read: "icd9cm:5856" in requests, "585.6" for people, any sensible form when pasted.

const DOT_PLACE = { icd9cm: 3, icd9pcs: 2, icd10cm: 3, icd10pcs: 0 };
const SYSTEM = {
  icd9cm: "ICD-9-CM",
  icd9pcs: "ICD-9-CM procedure",
  icd10cm: "ICD-10-CM",
  icd10pcs: "ICD-10-PCS",
};
const CODE = /^(?:icd(?:9cm|9pcs|10cm|10pcs):)?[A-Z]?\d[0-9A-Z]{0,6}(?:\.[0-9A-Z]{0,4})?$/i;
const LONGEST = 20;
const BESIDE = 8; // characters of a code that fit beside its title

/**
 * The form that people read. Text that is not a canonical code is returned as it is.
 * @param {string} code
 * @returns {string}
 */
export function dotted(code) {
  const [system, bare] = parts(code);
  if (!system) return code;
  if (bare.startsWith("@")) return bare.slice(1); // a chapter
  const place = system === "icd9cm" && bare.startsWith("E") ? 4 : DOT_PLACE[system];
  return place && bare.length > place ? `${bare.slice(0, place)}.${bare.slice(place)}` : bare;
}

/**
 * Whether a code is too long to stand beside its title, as families of ICD-10-PCS codes are.
 * @param {string} code
 */
export function isLong(code) {
  return dotted(code).length > BESIDE;
}

/**
 * The name of a code's system, for tooltips.
 * @param {string} code
 */
export function systemOf(code) {
  return systemName(parts(code)[0]);
}

/**
 * The name of a coding system as people write it: "ICD-9-CM" for icd9cm.
 * @param {string} system
 */
export function systemName(system) {
  return SYSTEM[system] ?? "";
}

/**
 * The three-character heading of a diagnosis code, to find its siblings.
 * @param {string} code
 */
export function heading(code) {
  return parts(code)[1].slice(0, 3);
}

function parts(code) {
  const [system, bare] = code.split(":", 2);
  return bare !== undefined && system in DOT_PLACE ? [system, bare] : ["", code];
}

/**
 * Whether two texts mean one code: "585.6", "5856" and "icd9cm:5856" do.
 * @param {string} one
 * @param {string} other
 */
export function sameCode(one, other) {
  const [[system, bare], [otherSystem, otherBare]] = [parts(one.toLowerCase()), parts(other.toLowerCase())];
  const alike = bare.replace(".", "") === otherBare.replace(".", "");
  return alike && (!system || !otherSystem || system === otherSystem);
}

/**
 * Whether a code is another one or, in ICD-10-PCS, belongs to it as a family: 0SRC0J9 to 0SR[CDTUVW].
 * @param {string} code
 * @param {string} family
 */
export function countsAs(code, family) {
  if (sameCode(code, family)) return true;
  const [[system, bare], [familySystem, pattern]] = [parts(code.toLowerCase()), parts(family.toLowerCase())];
  if (familySystem !== "icd10pcs" || (system && system !== familySystem)) return false;
  return new RegExp(`^(${pattern.replaceAll("-", ".").replaceAll("+", "|")})`).test(bare) && bare.length === 7;
}

/**
 * Whether a text looks like a code: it begins with a digit, or with a letter and a digit.
 * @param {string} text
 */
export function looksLikeCode(text) {
  return text.length <= LONGEST && CODE.test(text);
}

/**
 * Codes of a pasted list. A line of codes alone gives them all; a line that mixes codes and words, such as
 * "585.6 End stage renal disease", gives the first code in it. Lines without a code are counted.
 * @param {string} text
 * @returns {{codes: string[], skipped: number}}
 */
export function readList(text) {
  const codes = [];
  let skipped = 0;
  for (const line of text.split(/[\n\r;]+/)) {
    const words = line.split(/[\s,|"'()]+/).filter(Boolean);
    const found = words.filter(looksLikeCode);
    if (words.length && !found.length) skipped += 1;
    codes.push(...(found.length === words.length ? found : found.slice(0, 1)));
  }
  return { codes: [...new Set(codes)], skipped };
}

/**
 * Whether a text is a list rather than something to search for.
 * @param {string} text
 */
export function isList(text) {
  const words = text
    .trim()
    .split(/[\s,;|]+/)
    .filter(Boolean);
  return /[\n\r]/.test(text.trim()) || (words.length > 1 && words.every(looksLikeCode));
}

/**
 * A share as people read it: "34 %", "0.4 %", "< 0.1 %".
 * @param {number} share
 */
export function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value < 9.95 && value !== 0 ? value.toFixed(1) : Math.round(value)} %`;
}

/**
 * A number with its noun: count(1, "code") is "1 code".
 * @param {number} many
 * @param {string} what
 * @param {string} [several] its plural, if that is not regular
 */
export function count(many, what, several = `${what}s`) {
  return `${many} ${many === 1 ? what : several}`;
}
