// Auditing coded stays: what is found, strongest first, beside the whole stay with the questioned codes marked.

import { announce, byId, icon, keepingFocus, node } from "./dom.js";
import { count, countsAs, dotted } from "./codes.js";
import { CodeEntry } from "./entry.js";
import { findingOf, KINDS } from "./findings.js";
import { Latest } from "./latest.js";
import { auditAll, readStays } from "./stay_list.js";
import { add, current, onChange, remove, replace } from "./state.js";
import { learnTitles, lookUp, titleOf } from "./titles.js";

const latest = new Latest(120);
const NOTHING = "No findings: what was coded is usual for this stay.";
const OTHER_VERSION = "Not audited: the procedures are of an ICD version that the model does not know.";
const ONLY = "1"; // the id of the stay in the two entry fields
const EXAMPLE = {
  diagnoses: ["414.01", "411.1", "401.9", "250.00"],
  procedures: ["37.22", "88.56", "39.95"],
};

/**
 * @typedef {import("./stay_list.js").Stay} Stay
 * @typedef {{stays: Stay[], names: Map<string, string>, audited: import("./api.js").Audited[],
 *   flaws: import("./stay_list.js").Flaw[]}} Shown
 */

/** @type {Shown} */
let shown = { stays: [], names: new Map(), audited: [], flaws: [] };

/**
 * Build the two entry fields and the buttons.
 * @param {(problem: any, again: () => void) => void} fail shows a problem in the panel
 */
export function start(fail) {
  entry("audit-diagnosis", "diagnosis", "auditDiagnoses", "Add a coded diagnosis", "414.01, or coronary");
  entry("audit-procedure", "procedure", "auditProcedures", "Add a coded procedure", "36.15, or bypass");
  byId("audit-take").addEventListener("click", take);
  byId("audit-example").addEventListener("click", () => fill(EXAMPLE.diagnoses, EXAMPLE.procedures));
  byId("audit-run").addEventListener("click", () => runLines(fail));
  onChange((_, changed) => {
    if (changed.has("auditDiagnoses") || changed.has("auditProcedures")) refresh(fail);
  });
}

function entry(id, kind, name, label, placeholder) {
  new CodeEntry(byId(`${id}-entry`), { id, kind, label, placeholder, list: name });
}

/** The diagnoses of the other tab, and the procedures accepted there. */
function take() {
  fill(current().diagnoses, current().accepted);
}

function fill(diagnoses, procedures) {
  replace("auditDiagnoses", diagnoses);
  replace("auditProcedures", procedures);
}

/** Draw the stay, and ask about it if it has diagnoses. */
export function refresh(fail) {
  const { auditDiagnoses: diagnoses, auditProcedures: procedures } = current();
  drawCodes();
  Promise.all([lookUp(diagnoses, "diagnosis"), lookUp(procedures, "procedure")]).then(
    (news) => news.some(Boolean) && drawCodes(),
  );
  if (!diagnoses.length) {
    latest.stop();
    return show({ stays: [], names: new Map(), audited: [], flaws: [] });
  }
  run([{ id: ONLY, diagnoses, procedures }], new Map(), [], fail);
}

function runLines(fail) {
  const { stays, names, flaws } = readStays(byId("audit-lines").value);
  if (stays.length || flaws.length) run(stays, names, flaws, fail);
}

function run(stays, names, flaws, fail) {
  byId("audit-answer").setAttribute("aria-busy", "true");
  latest.run(
    (signal) => auditAll(stays, signal),
    (found) => {
      // A refusal of the one stay in the fields is a problem of the panel; one of many is a mark on its line.
      const [refused] = names.size ? [] : found.flaws;
      if (refused) return failed({ message: refused.reason, kind: "refused" });
      show({ stays, names, audited: found.audited, flaws: [...flaws, ...found.flaws] });
    },
    (problem) => failed(problem),
  );
  function failed(problem) {
    byId("audit-answer").removeAttribute("aria-busy");
    fail(problem, () => run(stays, names, flaws, fail));
  }
}

function show(next) {
  shown = next;
  byId("audit-answer").removeAttribute("aria-busy");
  byId("audit-problem").hidden = true;
  for (const stay of shown.audited) learnTitles([...stay.findings, ...(stay.evidence ?? [])]);
  draw();
  learnStays();
  const lines = shown.audited.length + shown.flaws.length;
  if (!lines) return;
  const found = shown.audited.reduce((sum, stay) => sum + stay.findings.length, 0);
  const unread = shown.flaws.length ? ` ${count(shown.flaws.length, "line")} could not be audited.` : "";
  announce(`${count(found, "finding")} in ${count(shown.audited.length, "stay")}.${unread}`);
}

function draw() {
  const parts = [...shown.audited.map(drawnStay), ...shown.flaws.map(drawnFlaw)];
  parts.sort((one, other) => Number(one.dataset.line) - Number(other.dataset.line));
  byId("audit-empty").hidden = parts.length > 0;
  byId("findings").replaceChildren(...parts);
  drawCodes();
}

/** The titles that the answer does not bring: of the other codes of the stays, and of suggested diagnoses. */
async function learnStays() {
  const mine = shown;
  const findings = mine.audited.flatMap((stay) => stay.findings);
  const found = new Set(mine.audited.filter((stay) => stay.findings.length).map((stay) => stay.id));
  const drawn = mine.names.size ? mine.stays.filter((stay) => found.has(stay.id)) : [];
  const suggested = findings.flatMap((one) => one.suggested.map(({ code }) => code));
  const diagnoses = [...drawn.flatMap((stay) => stay.diagnoses), ...suggested];
  const others = findings.flatMap((one) => one.other ?? []);
  const procedures = [...drawn.flatMap((stay) => stay.procedures), ...others];
  const news = [await lookUp(diagnoses, "diagnosis"), await lookUp(procedures, "procedure")];
  if (news.some(Boolean) && shown === mine) keepingFocus(byId("findings"), draw);
}

function drawCodes() {
  const marks = shown.names.size ? [] : (shown.audited[0]?.findings ?? []);
  drawChips("audit-diagnoses", "auditDiagnoses", current().auditDiagnoses, []);
  drawChips("audit-procedures", "auditProcedures", current().auditProcedures, marks);
}

function drawChips(id, name, codes, marks) {
  const chip = (code) =>
    node(
      "li",
      { class: `chip ${questioned(code, marks) ? "asked" : ""}` },
      ...describe(code, marks),
      node(
        "button",
        {
          type: "button",
          class: "quiet icon-button",
          "data-key": code,
          "aria-label": `Remove ${dotted(code)} ${titleOf(code)}`,
          onclick: () => remove(name, [code]),
        },
        icon("reject"),
      ),
    );
  keepingFocus(byId(id), () => byId(id).replaceChildren(...codes.map(chip)));
}

/** The finding that questions a coded procedure, if any. */
function questioned(code, findings) {
  return findings.find((one) => KINDS[one.kind]?.coded && countsAs(code, one.code));
}

function describe(code, findings) {
  const asked = questioned(code, findings);
  return [
    node("span", { class: "code" }, dotted(code)),
    node("span", { class: "title", title: titleOf(code) }, titleOf(code)),
    asked ? node("span", { class: "kind-mark" }, KINDS[asked.kind].name) : null,
  ];
}

function drawnFlaw({ id, reason }) {
  const name = shown.names.get(id);
  return node(
    "section",
    { class: "stay flawed", "data-line": id },
    name === `line ${id}` ? null : node("h3", {}, name),
    node("p", { class: "status" }, `Line ${id} was not audited: ${reason}${reason.endsWith(".") ? "" : "."}`),
  );
}

function drawnStay(answer) {
  const name = shown.names.get(answer.id);
  const stay = shown.stays.find((one) => one.id === answer.id);
  const single = name === undefined;
  const remedies = single ? { add: addCoded, remove: dropCoded } : null;
  const found = answer.findings.length
    ? node("ol", { class: "findings" }, ...answer.findings.map((one) => findingOf(one, remedies)))
    : node("p", { class: "nothing-found" }, answer.audited === false ? OTHER_VERSION : NOTHING);
  const unknown = answer.unknown.length
    ? `Left out, as the model does not know them: ${answer.unknown.map(dotted).join(", ")}.`
    : "";
  return node(
    "section",
    { class: "stay", "data-line": answer.id },
    single ? null : node("h3", {}, name),
    single || !answer.findings.length ? null : whole(stay, answer.findings),
    node("div", { class: "found" }, found, unknown ? node("p", { class: "status" }, unknown) : null),
  );
}

/** All codes of a stay, the questioned ones marked. */
function whole(stay, findings) {
  const part = (label, codes, marks) =>
    node(
      "ul",
      { class: "whole", "aria-label": label },
      ...codes.map((code) =>
        node("li", { class: questioned(code, marks) ? "asked" : null }, ...describe(code, marks)),
      ),
    );
  return node(
    "div",
    { class: "codes-of-stay" },
    node("h4", {}, "Diagnoses"),
    part("Diagnoses of the stay", stay.diagnoses, []),
    node("h4", {}, "Procedures"),
    part("Procedures of the stay", stay.procedures, findings),
  );
}

function addCoded(code) {
  add("auditProcedures", [code]);
}

/** Remove the coded procedure, however it was typed. */
function dropCoded(code) {
  remove(
    "auditProcedures",
    current().auditProcedures.filter((one) => countsAs(one, code)),
  );
}
