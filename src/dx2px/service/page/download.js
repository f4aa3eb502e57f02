// Saving the result: to the clipboard, or as JSON, CSV or SVG. Every form has the scope sentence or codes alone.

import { announce, byId, shape } from "./dom.js";
import { dotted, percent } from "./codes.js";
import { codedIn } from "./evidence.js";
import { drawn } from "./figure.js";
import { alternativesOf, remarksOn } from "./remarks.js";
import { current } from "./state.js";
import { fullName, shortName } from "./titles.js";

const STYLED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
];

/**
 * @typedef {object} Result
 * @property {import("./api.js").Explanation} answer
 * @property {string} scope
 */

function verdictOn(code) {
  const { accepted, rejected } = current();
  return accepted.includes(code) ? "accepted" : rejected.includes(code) ? "rejected" : "";
}

/**
 * The server's own document, the same as from the API: the page adds nothing to it.
 * @param {import("./api.js").Explanation} explanation
 * @returns {string}
 */
export function asJson(explanation) {
  return `${JSON.stringify(explanation, null, 2)}\n`;
}

/**
 * @param {Result} result
 * @returns {string}
 */
export function asCsv({ answer }) {
  const head = ["rank", "code", "title", "probability", "verdict", "alternatives", "stays", "because"];
  const lines = answer.procedures.map((one) => {
    const because = one.because
      .map((reason) => `${shortName(reason.code)} ${reason.share.toFixed(3)}`)
      .join("; ");
    const others = alternativesOf(answer, one.code).map(dotted).join("; ");
    const measured = [one.probability ?? "", verdictOn(one.code), others, one.rests_on ?? ""];
    return [one.rank, dotted(one.code), one.title, ...measured, because];
  });
  const coded = codedIn(answer).map((one) => {
    return ["", dotted(one.code), one.title, "", verdictOn(one.code), "", "", ""];
  });
  return [head, ...coded, ...lines].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Quoted if needed; text that a spreadsheet would read as a formula gets an apostrophe in front. */
function cell(value) {
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Lines to paste into a note.
 * @param {Result} result
 * @returns {string}
 */
export function asText({ answer, scope }) {
  const line = (one) => {
    const probability = one.probability === null ? "" : percent(one.probability);
    const marks = [probability, verdictOn(one.code), ...remarksOn(answer, one)].filter(Boolean);
    return `${one.rank}. ${dotted(one.code)} ${one.title}${marks.length ? ` (${marks.join(", ")})` : ""}`;
  };
  const diagnoses = answer.diagnoses.map(
    (one) => `${dotted(one.code)} ${one.title}${one.principal ? " (principal)" : ""}`,
  );
  const told = (answer.evidence ?? []).filter((one) => one.kind === "person" || one.kind === "admission");
  const parts = [
    ["Diagnoses", diagnoses],
    ["Also known", told.map((one) => one.title)],
    ["Already coded", codedIn(answer).map((one) => fullName(one.code, one.title))],
    ["Procedures", answer.procedures.map(line)],
    ["Please note", (answer.remarks ?? []).map((one) => one.text)],
  ];
  const filled = parts.filter(([, lines]) => lines.length);
  return [...filled.flatMap(([name, lines]) => [name, ...lines, ""]), scope].join("\n");
}

/** The figure as a file: drawn wide, in the light theme, with every style written into its elements. */
export function asSvg() {
  const { view } = current();
  const figure = drawn(view === "heat" ? "heat" : "flow", 1100);
  figure.classList.add("for-file");
  document.body.append(figure);
  for (const element of [figure, ...figure.querySelectorAll("*")]) {
    const style = getComputedStyle(element);
    for (const name of STYLED) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["tabindex", "role", "data-spot", "data-key"]) element.removeAttribute(name);
  }
  for (const element of [figure, ...figure.querySelectorAll("[class]")]) element.removeAttribute("class");
  figure.remove();
  figure.prepend(shape("desc", {}, byId("figure-trust").textContent));
  figure.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(figure);
}

/**
 * Let the user save a file.
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  announce(`Saved ${name}.`);
}

/**
 * Put a text on the clipboard. Pages served without TLS from another machine have no clipboard object; there the old
 * command still works.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.className = "unseen";
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
