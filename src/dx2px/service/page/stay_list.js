// Several stays at once: reading pasted lines, and asking about them so that one bad line does not hold up the others.

import { ask } from "./api.js";
import { looksLikeCode, readList } from "./codes.js";

const AT_ONCE = 100; // stays per request; the server takes at most 200
const FORM = "write name | diagnoses | procedures (the name may be empty)";

/**
 * @typedef {{id: string, diagnoses: string[], procedures: string[]}} Stay
 * @typedef {{id: string, reason: string}} Flaw a line that cannot be audited, and why
 */

/**
 * Reads one stay per line. Names stay here; the server sees line numbers.
 * @param {string} text
 * @returns {{stays: Stay[], names: Map<string, string>, flaws: Flaw[]}}
 */
export function readStays(text) {
  const names = new Map();
  const flaws = [];
  const stays = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (!line.trim()) continue;
    const id = String(index + 1);
    const [name, ...lists] = line.split("|");
    names.set(id, (lists.length && name.trim()) || `line ${id}`);
    const [diagnoses, procedures] = lists.map((list) => readList(list).codes);
    const reason = flawOf(lists, diagnoses);
    if (reason) flaws.push({ id, reason });
    else stays.push({ id, diagnoses, procedures });
  }
  return { stays, names, flaws };
}

function flawOf(lists, diagnoses) {
  if (lists.length !== 2) return `two bars are needed, it has ${lists.length || "none"}: ${FORM}`;
  const strange = lists.flatMap(strangeWords);
  if (strange.length) return `${strange.slice(0, 3).join(", ")}: not a code`;
  return diagnoses.length ? null : "it has no diagnosis";
}

/** Words that are no codes, except a title after a single code ("585.6 End stage renal disease"). */
function strangeWords(list) {
  return list.split(";").flatMap((part) => {
    const words = part.split(/[\s,"'()]+/).filter(Boolean);
    const titled = words.filter(looksLikeCode).length === 1 && looksLikeCode(words[0]);
    return titled ? [] : words.filter((word) => !looksLikeCode(word));
  });
}

/**
 * Audit the stays. Those that the server refuses become flaws; any other problem is the caller's.
 * @param {Stay[]} stays
 * @param {AbortSignal} [signal]
 * @returns {Promise<{audited: import("./api.js").Audited[], flaws: Flaw[]}>}
 */
export async function auditAll(stays, signal) {
  const found = { audited: [], flaws: [] };
  for (let start = 0; start < stays.length; start += AT_ONCE) {
    const part = await auditSome(stays.slice(start, start + AT_ONCE), signal);
    found.audited.push(...part.audited);
    found.flaws.push(...part.flaws);
  }
  return found;
}

/** A refused request is asked again in halves, until the stays that cannot be read stand alone. */
async function auditSome(stays, signal) {
  try {
    return { audited: (await ask("api/audit", { stays }, signal)).stays, flaws: [] };
  } catch (problem) {
    if (problem.status !== 422) throw problem;
    if (stays.length === 1) return { audited: [], flaws: [{ id: stays[0].id, reason: problem.message }] };
    const middle = Math.ceil(stays.length / 2);
    const first = await auditSome(stays.slice(0, middle), signal);
    const second = await auditSome(stays.slice(middle), signal);
    return {
      audited: [...first.audited, ...second.audited],
      flaws: [...first.flaws, ...second.flaws],
    };
  }
}
