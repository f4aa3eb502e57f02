// The diagnoses of the stay: entry field, rows with significance, what is wrong with a code, example stays.

import { ask } from "./api.js";
import { all, bar, byId, icon, keepingFocus, node } from "./dom.js";
import { dotted, heading, percent, sameCode, systemOf } from "./codes.js";
import { CodeEntry } from "./entry.js";
import { takesPrincipal } from "./facts.js";
import { assignHues, hue } from "./spotlight.js";
import { current, NEW_STAY, remove, replace, update } from "./state.js";
import { learnTitles, titleOf } from "./titles.js";

/** @type {[string, string[]][]} */
const EXAMPLES = [
  ["Kidney failure", ["585.6", "403.91", "427.5", "518.81", "995.92", "038.9"]],
  ["Heart attack", ["410.71", "414.01", "428.0", "427.31", "401.9", "250.00"]],
  ["Hip fracture", ["820.21", "733.00", "285.1", "401.9", "E885.9"]],
];
const SIBLINGS = 4;
const MANY = 10; // codes; more do not fit into the list at once

/** @type {Map<string, import("./api.js").Diagnosis>} */
const answered = new Map();
/** @type {Map<string, import("./api.js").Mapped>} */
const translated = new Map(); // codes of the other ICD version
/** @type {Map<string, import("./api.js").Remark>} */
let remarked = new Map();
/** @type {Map<string, Promise<import("./api.js").Code[]>>} */
const siblings = new Map();
let drawn = "";

/** Build the entry field, the examples and "Remove all". */
export function start() {
  new CodeEntry(byId("diagnosis-entry"), {
    id: "diagnosis",
    kind: "diagnosis",
    label: "Add a diagnosis by code or words",
    placeholder: "585.6, or kidney disease",
    list: "diagnoses",
  });
  byId("clear").addEventListener("click", removeAll);
  for (const [name, codes] of EXAMPLES) {
    byId("examples").append(
      node("button", { type: "button", class: "example", onclick: () => show(codes) }, name),
    );
  }
}

/** An example replaces the list. Verdicts and facts belong to the old stay: they go, and undo brings all back. */
function show(codes) {
  replace("diagnoses", codes, NEW_STAY);
}

function removeAll() {
  remove("diagnoses", current().diagnoses, NEW_STAY);
  byId("diagnosis-input").focus();
}

/**
 * Keep what the server said about the diagnoses.
 * @param {import("./api.js").Diagnosis[]} diagnoses
 * @param {import("./api.js").Mapped[]} [mapping] of those that are of the other ICD version
 * @param {import("./api.js").Remark[]} [remarks] on some of them
 */
export function learn(diagnoses, mapping = [], remarks = []) {
  remarked = new Map(remarks.map((one) => [one.code, one]));
  for (const one of diagnoses) answered.set(one.code, one);
  for (const one of mapping.filter(({ to }) => to.length)) translated.set(one.from, one);
  learnTitles([...diagnoses, ...mapping.map(({ from, title }) => ({ code: from, title }))]);
  assignHues(diagnoses.filter((one) => one.status !== "unknown").map((one) => one.code));
}

/**
 * Draw the rows. Codes that the server has not answered yet have no title and no bar.
 * @param {string[]} codes
 */
export function draw(codes) {
  const marks = [takesPrincipal(), current().principal];
  const looks = JSON.stringify([
    marks,
    ...codes.map((code) => [code, titleOf(code), remarked.get(code), ...targets(code).map((to) => [hue(to), answered.get(to)])]),
  ]);
  if (looks === drawn) return; // rows that look the same stay, so that a click that has just begun is not lost
  drawn = looks;
  const list = byId("diagnoses");
  list.classList.toggle("with-principal", takesPrincipal());
  keepingFocus(list, () => list.replaceChildren(...codes.map(row)));
  byId("clear").hidden = codes.length < 2;
  byId("diagnoses-count").hidden = codes.length < MANY;
  byId("diagnoses-count").replaceChildren(`${codes.length}`, node("span", { class: "unseen" }, " codes"));
}

/** The codes that the model knows a diagnosis by: those it was translated into, or itself. */
function targets(code) {
  return translated.get(code)?.to ?? [code];
}

function row(code) {
  const [first] = targets(code);
  const known = answered.get(first);
  const trusted = known && known.status !== "unknown";
  return node(
    "li",
    { class: `code-row ${hue(first)}`, "data-diagnosis": first, "data-spot": true },
    node("span", { class: "dot", "aria-hidden": "true" }),
    node("span", { class: "code", title: systemOf(code) }, dotted(code)),
    node("span", { class: "title" }, titleOf(code)),
    trusted && !isRepeated(code) ? significance(code) : node("span", { class: "measure" }),
    takesPrincipal() ? principalMark(code) : null,
    removal(code, titleOf(code)),
    translated.has(code) ? reading(code) : null,
    known && (known.status !== "known" || remarked.has(code)) ? status(code, known) : null,
  );
}

function significance(code) {
  const weight = targets(code).reduce((sum, to) => sum + (answered.get(to)?.significance ?? 0), 0);
  const share = percent(weight);
  return node(
    "span",
    { class: "measure", title: `Significance: ${share} of the weight of all that is known` },
    bar(weight, `significance ${share}`),
    node("span", { class: "number", "aria-hidden": "true" }, share),
  );
}

/** Whether a translated code says nothing new, since what it was read as stands in the list itself. */
function isRepeated(code) {
  const listed = current().diagnoses.filter((one) => one !== code);
  return translated.has(code) && targets(code).every((to) => listed.some((one) => sameCode(one, to)));
}

/** One diagnosis may be the principal one; a second click takes the mark away. */
function principalMark(code) {
  const marked = sameCode(code, current().principal);
  const label = `Principal diagnosis: ${dotted(code)} ${titleOf(code)}`.trim();
  return node(
    "button",
    {
      type: "button",
      class: "quiet icon-button principal",
      "data-key": `principal ${code}`,
      "aria-label": label,
      "aria-pressed": String(marked),
      title: marked ? "The principal diagnosis" : "Mark as the principal diagnosis",
      onclick: () => update({ principal: marked ? "" : code }),
    },
    icon("principal"),
  );
}

function removal(code, title) {
  return node(
    "button",
    {
      type: "button",
      class: "quiet icon-button",
      "data-key": `remove ${code}`,
      "aria-label": `Remove ${dotted(code)} ${title}`.trim(),
      onclick: () => removeRow(code),
    },
    icon("reject"),
  );
}

/** After a removal the focus moves to the next row's button, or to the field. */
function removeRow(code) {
  const place = current().diagnoses.indexOf(code);
  remove("diagnoses", [code]);
  const buttons = all("button[data-key^='remove ']", byId("diagnoses"));
  (buttons[Math.min(place, buttons.length - 1)] ?? byId("diagnosis-input")).focus();
}

/** What a code of the other ICD version was read as. */
function reading(code) {
  const { to, kind, via } = translated.get(code);
  const names = to.map((one) => `${dotted(one)} ${titleOf(one)}`).join(" and ");
  const how = kind === "parent" && via ? `by its heading ${dotted(via)}` : kind;
  const again = isRepeated(code) ? " It is in the list already and counts once." : "";
  return node("div", { class: "reading" }, `Read as ${names} (${systemOf(to[0])}, ${how}).${again}`);
}

/** What is wrong with a code, and which one was probably meant. */
function status(code, known) {
  const { text = "", instead = "" } = remarked.get(code) ?? {};
  const said = [known.status === "known" ? "" : explanation(known), text].filter(Boolean).join(" ");
  const note = node("div", { class: "status" }, node("span", {}, said));
  if (instead) offer(code, note, [{ code: instead, dotted: dotted(instead), title: text }]);
  else if (known.status !== "known" && known.code.includes(":")) offerSiblings(code, note);
  return note;
}

function explanation({ code, status: kind, stand_in: stand }) {
  if (kind === "backed-off" && stand) {
    const many = stand.codes === 1 ? "The one known code" : `The mean of ${stand.codes} known codes`;
    return `The model does not know this code. ${many} under ${dotted(stand.code)} ${stand.title} stands in for it.`;
  }
  return code.includes(":")
    ? "The model does not know this code, so it is left out."
    : "Not a diagnosis code that dx2px can read, so it is left out.";
}

/** Offer codes under the same heading that the model knows. */
async function offerSiblings(code, note) {
  const near = heading(code);
  const query = new URLSearchParams({ q: near, kind: "diagnosis", limit: "20" });
  if (!siblings.has(near))
    siblings.set(
      near,
      ask(`api/codes?${query}`).then(
        (answer) => answer.codes,
        () => [],
      ),
    );
  const found = (await siblings.get(near)) ?? [];
  offer(code, note, found.filter((one) => one.known && heading(one.code) === near).slice(0, SIBLINGS));
}

function offer(code, note, others) {
  if (others.length) note.append(" Use instead: ", ...others.map((one) => substitute(code, one)));
}

function substitute(code, other) {
  const swap = () =>
    replace("diagnoses", [...new Set(current().diagnoses.map((one) => (one === code ? other.code : one)))]);
  return node(
    "button",
    {
      type: "button",
      class: "chip-button",
      title: other.title,
      "aria-label": `Use ${other.dotted} ${other.title} instead`,
      onclick: swap,
    },
    other.dotted,
  );
}
