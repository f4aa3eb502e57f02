// Evidence besides the diagnoses: its list with significance, and the procedures that are coded already.

import { bar, byId, node } from "./dom.js";
import { percent } from "./codes.js";
import { takesPrincipal } from "./facts.js";
import { columns, learnTitles } from "./titles.js";

const SMALLEST = 0.005; // a background with less says nothing

/** @type {Set<string>} */
let besides = new Set();

/**
 * Show what else the model knew, below the diagnoses.
 * @param {import("./api.js").Evidence[]} rows
 */
export function draw(rows) {
  const known = rows.filter(
    (one) => one.status === "known" && (one.kind !== "background" || one.significance >= SMALLEST),
  );
  learnTitles(rows);
  besides = new Set(rows.map((one) => one.code));
  byId("evidence").classList.toggle("with-principal", takesPrincipal()); // its bars below those of the diagnoses
  byId("evidence-part").hidden = !known.length;
  byId("evidence").replaceChildren(...known.map(row));
}

/**
 * Whether a reason is no diagnosis.
 * @param {string} code
 */
export function isBesides(code) {
  return besides.has(code);
}

function row({ code, title, significance }) {
  const share = percent(significance);
  return node(
    "li",
    { class: "code-row besides hue-none", "data-diagnosis": code, "data-spot": true },
    node("span", { class: "dot", "aria-hidden": "true" }),
    ...columns(code, title),
    node(
      "span",
      { class: "measure", title: `Significance: ${share} of the weight of all that is known` },
      bar(significance, `significance ${share}`),
      node("span", { class: "number", "aria-hidden": "true" }, share),
    ),
  );
}

/**
 * The procedures of an answer that were coded already.
 * @param {import("./api.js").Explanation | null} answer
 * @returns {import("./api.js").Evidence[]}
 */
export function codedIn(answer) {
  return (answer?.evidence ?? []).filter((one) => one.kind === "coded");
}
