// Texts and sums that both figures need.

import { shape } from "./dom.js";
import { percent } from "./codes.js";
import { shortened } from "./shorten.js";
import { rowsOf } from "./spotlight.js";
import { fullName, shortName } from "./titles.js";

export const BESIDES = "Besides the diagnoses";
const measure = document.createElement("canvas").getContext("2d");
const FONTS = {
  title: '13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  code: '600 12px ui-monospace, "SF Mono", "Cascadia Mono", "Segoe UI Mono", "DejaVu Sans Mono", Menlo, monospace',
};

/**
 * The width of a text in pixels.
 * @param {string} text
 * @param {keyof typeof FONTS} font
 */
export function widthOf(text, font) {
  if (!measure) return 0;
  measure.font = FONTS[font];
  return measure.measureText(text).width;
}

/**
 * A text cut to a width in pixels, with an ellipsis in its middle.
 * @param {string} text
 * @param {number} width
 * @param {keyof typeof FONTS} [font]
 * @param {Iterable<string>} [others] texts that it must be told apart from
 */
export function fit(text, width, font = "title", others = []) {
  return shortened(text, (piece) => widthOf(piece, font) <= width, [...others]);
}

/**
 * Row sums, column sums and the sum of all.
 * @param {number[][]} mass
 */
export function sums(mass) {
  const rows = mass.map((masses) => masses.reduce((sum, value) => sum + value, 0));
  const columns = (mass[0] ?? []).map((_, j) => mass.reduce((sum, masses) => sum + masses[j], 0));
  return { rows, columns, total: rows.reduce((sum, value) => sum + value, 0) };
}

/**
 * What a diagnosis leads to, or what a procedure comes from, in one sentence.
 * @param {import("./figure.js").Picture} picture
 * @param {string | undefined} diagnosis
 * @param {string | undefined} procedure
 */
export function sentence({ whole: plan, titles }, diagnosis, procedure) {
  const rows = rowsOf(plan);
  const i = rows.indexOf(diagnosis ?? "");
  const j = plan.procedures.indexOf(procedure ?? "");
  const name = (code) => fullName(code, titles.get(code) ?? "");
  if (i >= 0 && j >= 0)
    return `${name(diagnosis)} → ${name(procedure)}: ${percent(plan.mass[i][j])} of the total mass.`;
  if (i >= 0) return `${name(diagnosis)} leads to ${shares(plan.procedures, plan.mass[i], titles)}.`;
  if (j >= 0)
    return `${name(procedure)} comes from ${shares(
      rows,
      plan.mass.map((masses) => masses[j]),
      titles,
    )}.`;
  return "";
}

function shares(codes, masses, titles) {
  const total = masses.reduce((sum, mass) => sum + mass, 0) || 1;
  const order = codes
    .map((code, k) => ({ code, share: masses[k] / total }))
    .sort((a, b) => b.share - a.share);
  const named = order.slice(0, 3).filter((one) => one.share >= 0.005);
  return (
    named.map((one) => `${shortName(one.code, titles.get(one.code))} (${percent(one.share)})`).join(", ") ||
    "nothing in particular"
  );
}

/**
 * A group that can be pointed at or reached with the keyboard, and says what it stands for.
 * @param {import("./figure.js").Picture} picture
 * @param {"diagnosis" | "procedure"} kind
 * @param {string} code
 * @param {...(Node | null)} children
 */
export function labelled(picture, kind, code, ...children) {
  const text = kind === "diagnosis" ? sentence(picture, code, undefined) : sentence(picture, undefined, code);
  const attributes = {
    class: "place",
    tabindex: 0,
    role: "img",
    "aria-label": text,
    "data-spot": true,
    "data-key": `${kind} ${code}`,
  };
  return shape(
    "g",
    { ...attributes, [`data-${kind}`]: code },
    shape("title", {}, fullName(code, picture.titles.get(code) ?? "")),
    ...children,
  );
}
