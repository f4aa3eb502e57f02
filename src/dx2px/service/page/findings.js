// One finding of an audit: what it questions, how strong it is, and why. The words are those of files and worklist.

import { bar, node } from "./dom.js";
import { dotted, percent } from "./codes.js";
import { fullName, shortName } from "./titles.js";

/**
 * The kinds of finding. `coded` says whether the questioned procedure is coded or absent; `remedy` what a click does.
 * There is none for a missing diagnosis: what a patient had is not for a model to add.
 */
export const KINDS = {
  unsupported: {
    name: "unsupported",
    coded: true,
    remedy: "Remove",
    why: () => "Coded, though nothing else of the stay supports it.",
  },
  omitted: {
    name: "omitted",
    coded: false,
    remedy: "Add",
    why: () => "Expected from everything else that is coded, but absent.",
  },
  swap: {
    name: "swap",
    coded: false,
    remedy: "Swap",
    why: (one) => `Usual for such stays; ${fullName(one.other)} is coded in its place.`,
  },
  companion: {
    name: "companion",
    coded: false,
    remedy: "Add",
    why: (one) => `Usually coded together with ${fullName(one.other)}, but absent.`,
  },
  diagnosis: {
    name: "diagnosis missing?",
    coded: true,
    remedy: null,
    why: () => "Coded, though no diagnosis of the stay explains it.",
  },
};

const LEAST_SHARE = 0.005; // smaller ones would read 0 %

/**
 * @param {import("./api.js").Finding} one
 * @param {{add: (code: string) => void, remove: (code: string) => void} | null} remedies what a click may do
 */
export function findingOf(one, remedies) {
  const kind = KINDS[one.kind];
  return node(
    "li",
    { class: `finding ${one.kind}` },
    strengthOf(one.strength),
    node("span", { class: "kind" }, kind.name),
    remedies && kind.remedy ? remedyOf(one, kind.remedy, remedies) : null,
    node(
      "p",
      { class: "asked-code" },
      node("span", { class: "code" }, dotted(one.code)),
      " ",
      node("span", { class: "title" }, one.title),
    ),
    node("p", { class: "why" }, kind.why(one)),
    suggestions(one.suggested),
    node("p", { class: "facts" }, factsOf(one)),
  );
}

function strengthOf(strength) {
  const level = strength >= 0.5 ? "strong" : strength >= 0.25 ? "middle" : "weak";
  const meaning = `About ${Math.round(100 * strength)} of 100 such findings are mistakes, at the assumed rates`;
  const number = strength.toFixed(2);
  return node(
    "span",
    { class: `strength ${level}`, title: meaning },
    node("b", { "aria-hidden": "true" }, number),
    bar(strength, `strength ${number}`),
  );
}

function suggestions(suggested) {
  if (!suggested.length) return null;
  const shown = suggested.map((one) => `${fullName(one.code)} (${percent(one.share)})`);
  return node("p", { class: "why" }, `Diagnoses that usually explain it: ${shown.join("; ")}.`);
}

function factsOf(one) {
  const best = one.because
    .slice(0, 2)
    .filter((reason) => reason.share >= LEAST_SHARE)
    .map((reason) => `${shortName(reason.code)} (${percent(reason.share)})`);
  const facts = [`${percent(one.probability)} of such stays have it`, `rank ${one.rank}`];
  if (best.length) facts.push(`support mostly from ${best.join(", ")}`);
  return facts.join(" · ");
}

/** What a coder can do about a finding. It can be undone. */
function remedyOf(one, label, remedies) {
  const act = () => {
    if (label === "Swap") remedies.remove(one.other);
    if (label === "Remove") remedies.remove(one.code);
    else remedies.add(one.code);
  };
  return node(
    "button",
    {
      type: "button",
      class: "small",
      "data-key": `${one.kind} ${one.code}`,
      "aria-label": `${label} ${dotted(one.code)} ${one.title}`,
      onclick: act,
    },
    label,
  );
}
