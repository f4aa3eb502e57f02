// What a reader must know about a recommended procedure besides its probability: what it excludes, what it rests on.

import { dotted } from "./codes.js";

export const FEW = 30; // training stays; a procedure that rests on fewer is marked
export const FEW_STAYS = "few stays";
const LEAST_TOLD = 11; // the server tells smaller numbers as this one
const NAMED = 3; // alternatives

/**
 * The other procedures of an answer of which a stay hardly ever has a second one.
 * @param {import("./api.js").Explanation} answer
 * @param {string} code
 * @returns {string[]}
 */
export function alternativesOf(answer, code) {
  const groups = (answer.alternatives ?? []).filter((group) => group.includes(code));
  return [...new Set(groups.flat())].filter((one) => one !== code);
}

/**
 * Short remarks to stand beside a procedure.
 * @param {import("./api.js").Explanation} answer
 * @param {import("./api.js").Procedure} one
 * @returns {string[]}
 */
export function remarksOn(answer, one) {
  const others = alternativesOf(answer, one.code).map(dotted);
  const more = others.length > NAMED ? ", …" : "";
  return [
    others.length ? `or ${others.slice(0, NAMED).join(", ")}${more}` : "",
    (one.rests_on ?? FEW) < FEW ? FEW_STAYS : "",
  ].filter(Boolean);
}

/**
 * On how many training stays a procedure rests; nothing if its main reason is no code.
 * @param {import("./api.js").Procedure} one
 */
export function support({ rests_on: stays, because }) {
  if (typeof stays !== "number" || !because.length) return "";
  const many = stays > LEAST_TOLD ? stays.toLocaleString("en") : stays ? `at most ${LEAST_TOLD}` : "no";
  return `Rests on ${many} training stays with ${dotted(because[0].code)}.`;
}
