// Auditing coded stays: which procedures are unsupported by the diagnoses, and which are missing.

import { ask } from "./api.js";
import { announce, byId, icon, keepingFocus, node } from "./dom.js";
import { count, dotted, percent, readList, sameCode } from "./codes.js";
import { CodeEntry } from "./entry.js";
import { Latest } from "./latest.js";
import { add, current, onChange, remove, replace } from "./state.js";
import { learnTitles, lookUp, shortName, titleOf } from "./titles.js";

const latest = new Latest(120);
const SECTIONS = [
  [
    "unsupported",
    "Unsupported",
    "Coded, but rarely coded with these diagnoses. Worth a second look.",
  ],
  ["missing", "Missing", "Often coded with these diagnoses, but not coded here."],
];
const EXAMPLE = {
  diagnoses: ["414.01", "411.1", "401.9", "250.00"],
  procedures: ["37.22", "88.56", "39.95"],
};

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
  new CodeEntry(byId(`${id}-entry`), { id, kind, label, placeholder, add: (codes) => add(name, codes) });
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
    return show([]);
  }
  run([{ id: "1", diagnoses, procedures }], new Map(), fail);
}

function drawCodes() {
  drawChips("audit-diagnoses", "auditDiagnoses", current().auditDiagnoses);
  drawChips("audit-procedures", "auditProcedures", current().auditProcedures);
}

function drawChips(id, name, codes) {
  const chip = (code) =>
    node(
      "li",
      { class: "chip" },
      node("span", { class: "code" }, dotted(code)),
      node("span", { class: "title", title: titleOf(code) }, titleOf(code)),
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

function runLines(fail) {
  const { stays, names, bad } = readStays(byId("audit-lines").value);
  if (bad.length)
    return fail({ message: `Line ${bad.join(", ")}: write name | diagnoses | procedures.` }, () =>
      runLines(fail),
    );
  if (stays.length) run(stays, names, fail);
}

/**
 * Reads one stay per line. Names stay here; the server sees line numbers.
 * @param {string} text
 */
export function readStays(text) {
  const names = new Map();
  const bad = [];
  const stays = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (!line.trim()) continue;
    const [name, diagnoses, procedures, ...more] = line.split("|");
    const stay = {
      id: String(index + 1),
      diagnoses: readList(diagnoses ?? "").codes,
      procedures: readList(procedures ?? "").codes,
    };
    if (procedures === undefined || more.length || !stay.diagnoses.length) bad.push(index + 1);
    names.set(stay.id, name.trim() || `line ${stay.id}`);
    stays.push(stay);
  }
  return { stays, names, bad };
}

function run(stays, names, fail) {
  byId("audit-answer").setAttribute("aria-busy", "true");
  latest.run(
    (signal) => ask("api/audit", { stays }, signal),
    (answer) => show(answer.stays, names),
    (problem) => {
      byId("audit-answer").removeAttribute("aria-busy");
      fail(problem, () => run(stays, names, fail));
    },
  );
}

function show(stays, names = new Map()) {
  byId("audit-answer").removeAttribute("aria-busy");
  byId("audit-problem").hidden = true;
  byId("audit-empty").hidden = stays.length > 0;
  for (const stay of stays) learnTitles([...stay.unsupported, ...stay.missing, ...(stay.evidence ?? [])]);
  byId("findings").replaceChildren(...stays.map((stay) => findings(stay, names.get(stay.id))));
  if (!stays.length) return;
  const found = stays.reduce((sum, stay) => sum + stay.unsupported.length + stay.missing.length, 0);
  announce(`${count(found, "finding")} in ${count(stays.length, "stay")}.`);
}

function findings(stay, name) {
  const parts = SECTIONS.flatMap(([kind, heading, note]) =>
    stay[kind].length
      ? [
          node("h4", {}, heading),
          node("p", { class: "note" }, note),
          node(
            "ul",
            { class: `findings ${kind}` },
            ...stay[kind].map((one) => finding(one, kind, name === undefined)),
          ),
        ]
      : [],
  );
  if (!parts.length)
    parts.push(
      node(
        "p",
        { class: "nothing-found" },
        "No findings: what was coded is usual for these diagnoses.",
      ),
    );
  if (stay.unknown.length)
    parts.push(
      node(
        "p",
        { class: "status" },
        `Left out, as the model does not know them: ${stay.unknown.map(dotted).join(", ")}.`,
      ),
    );
  return node("section", { class: "stay" }, name === undefined ? null : node("h3", {}, name), ...parts);
}

function finding(one, kind, single) {
  const facts = [];
  if (one.probability !== null) facts.push(`probability ${percent(one.probability)}`);
  if (one.rank) facts.push(`rank ${one.rank}`);
  const best = one.because
    .slice(0, 2)
    .filter((reason) => reason.share >= 0.005)
    .map((reason) => `${shortName(reason.code)} (${percent(reason.share)})`);
  if (best.length) facts.push(`mostly from ${best.join(", ")}`);
  return node(
    "li",
    { class: "finding" },
    node("span", { class: "code" }, dotted(one.code)),
    node("span", { class: "title" }, one.title),
    single ? remedy(one, kind) : null,
    node("span", { class: "facts" }, facts.join(" · ")),
  );
}

/** What a coder can do about a finding: add or remove the procedure. Both can be undone. */
function remedy(one, kind) {
  const label = kind === "missing" ? "Add" : "Remove";
  const act = () => (kind === "missing" ? add("auditProcedures", [one.code]) : dropCoded(one.code));
  return node(
    "button",
    {
      type: "button",
      class: "small",
      "aria-label": `${label} ${dotted(one.code)} ${one.title}`,
      onclick: act,
    },
    label,
  );
}

/** Remove the coded procedure, however it was typed. */
function dropCoded(code) {
  remove(
    "auditProcedures",
    current().auditProcedures.filter((one) => sameCode(one, code)),
  );
}
