"use strict";
// The worklist: filter, order by group or strength, open a finding to see its whole stay, tick off, save as CSV.
// Rows are made when they are first shown, details when they are first opened. Text never becomes markup.
const data = JSON.parse(document.getElementById("worklist-data").textContent);
const byId = (id) => document.getElementById(id);
const [list, form, shown, remember] = ["list", "controls", "shown", "remember"].map(byId);
const [CODE, SHOWN, TITLE] = [0, 1, 2]; // places in data.codes
const LEAST_SHARE = 0.005; // smaller ones would read 0 %
const groups = data.groups.map((group) => ({ ...group, open: false, findings: [] }));
const findings = data.findings.map((finding, number) => ({ ...finding, number, done: false, open: false }));
for (const finding of findings) groups[finding.group].findings.push(finding);
let visible = findings;

function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}
const percent = (share) => {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  if (value > 99 && value < 100) return "> 99 %";
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
};
const counted = (many, what) => `${many.toLocaleString("en")} ${what}${many === 1 ? "" : "s"}`;
const named = (place) => (data.codes[place][SHOWN] ? `${data.codes[place][SHOWN]} ${data.codes[place][TITLE]}` : data.codes[place][TITLE]);
const codeOf = (place) => node("span", { class: "code" }, data.codes[place][SHOWN]);
// Whether a code is another one or, in ICD-10-PCS, belongs to it as a family: 0SRC0J9 to 0SR[CDTUVW].
const countsAs = (place, asked) => place === asked || (asked !== null && familyOf(asked)?.test(data.codes[place][CODE]));
const familyOf = (place) => {
  const [system, pattern] = data.codes[place][CODE].split(":");
  return system === "icd10pcs" ? new RegExp(`^icd10pcs:(${pattern.replaceAll("-", ".").replaceAll("+", "|")})`) : null;
};
const supports = (finding) => finding.because.filter(([, share]) => share >= LEAST_SHARE);

// Rows
function strengthOf({ strength }, name = "Strength") {
  const fill = node("span", { class: "fill" });
  fill.style.width = `${100 * strength}%`;
  const level = strength >= 0.5 ? "strong" : strength >= 0.25 ? "middle" : "weak";
  const meaning = `${name} ${strength.toFixed(2)}: about ${Math.round(100 * strength)} of 100 such findings are mistakes, at the assumed rates`;
  return node("span", { class: `strength ${level}`, title: meaning },
    node("b", {}, strength.toFixed(2)), node("span", { class: "bar" }, fill));
}
function rowOf(finding) {
  if (finding.row) return finding.row;
  const { stay, kind, code, diagnoses } = finding;
  const label = `stay ${stay}, ${kind} ${named(code)}`;
  const grouped = form.elements.order.value === "group";
  finding.tick = node("input", { type: "checkbox", "aria-label": `Done: ${label}` });
  finding.tick.checked = finding.done;
  finding.button = node("button", { type: "button", class: grouped ? "open" : "open code-cell", "aria-expanded": String(finding.open),
    "aria-label": `The whole stay: ${label}` },
    ...(grouped ? [`stay ${stay}`] : [codeOf(code), ` ${data.codes[code][TITLE]}`]));
  finding.row = node("li", { class: `finding ${kind}` }, node("div", { class: "row" }, finding.tick, strengthOf(finding),
    node("span", { class: "kind" }, data.kinds[kind].name), finding.button,
    grouped ? null : node("span", { class: "stay" }, stay),
    node("span", { class: "context" }, diagnoses.length ? named(diagnoses[0]) : "")));
  finding.row.finding = finding;
  mark(finding);
  if (finding.open) finding.row.append(detailOf(finding));
  return finding.row;
}
function mark(finding) {
  if (!finding.row) return;
  finding.tick.checked = finding.done;
  finding.row.classList.toggle("done", finding.done);
}
function open(finding, whether) {
  finding.open = whether;
  if (!finding.row) return;
  finding.button.setAttribute("aria-expanded", String(whether));
  finding.row.querySelector(".detail")?.remove();
  if (whether) finding.row.append(detailOf(finding));
}

// The whole stay of a finding, and what speaks for and against it
function detailOf(finding) {
  const { kind, code, other, diagnoses, procedures } = finding;
  const words = data.kinds[kind], absent = !procedures.some((place) => countsAs(place, code));
  const shares = new Map(procedures.concat(diagnoses).flatMap((place) => supports(finding)
    .filter(([reason]) => countsAs(place, reason)).map(([, share]) => [place, share])));
  const line = (place, role, note) => node("li", { class: role }, codeOf(place), node("span", {}, data.codes[place][TITLE]),
    node("span", { class: "note" }, note ?? (shares.has(place) ? `support ${percent(shares.get(place))}` : "")));
  const part = (head, lines) => node("section", {}, node("h3", {}, head), node("ul", {}, ...lines));
  const coded = procedures.map((place) => countsAs(place, code) ? line(place, "asked", words.mark)
    : countsAs(place, other) ? line(place, "with", words.paired) : line(place, null));
  const first = (place, at) => line(place, null, shares.has(place) ? undefined : at === 0 ? "listed first" : "");
  return node("div", { class: "detail" }, part(`Diagnoses (${diagnoses.length})`, diagnoses.map(first)),
    part(`Procedures coded (${procedures.length})`, [...coded, ...(absent ? [line(code, "asked absent", words.mark)] : [])]),
    verdict(finding));
}
function verdict(finding) {
  const { kind, probability, rank, other, suggested, drg } = finding;
  const words = data.kinds[kind];
  const filled = { have: percent(probability), lack: percent(1 - probability), other: other === null ? "" : named(other),
    support: supportOf(finding) };
  const told = (head, text) => node("p", {}, node("b", {}, head), text.replace(/{(\w+)}/g, (_, name) => filled[name]));
  const usual = suggested.map(([place, share]) => node("li", {}, codeOf(place), node("span", {}, data.codes[place][TITLE]),
    node("span", { class: "note" }, percent(share))));
  return node("section", { class: "verdict" }, told("For a mistake", words.pro), told("Against", words.contra),
    usual.length ? node("h3", {}, "Diagnoses that usually explain it") : null, usual.length ? node("ul", {}, ...usual) : null,
    drg ? told(data.drg, drgText(drg)) : null,
    node("p", { class: "numbers" }, `Probability ${filled.have}, rank ${rank} of all procedures, strength ${finding.strength.toFixed(2)}.`));
}
// Codes of the stay stand in the lists beside it; a fact or a code that is not there is named in full.
function supportOf(finding) {
  const listed = new Set([...finding.diagnoses, ...finding.procedures]);
  const parts = supports(finding).map(([place, share]) => `${listed.has(place) ? data.codes[place][SHOWN] : named(place)} (${percent(share)})`);
  return parts.length ? parts.join(", ") : "nothing in particular";
}
const drgText = ([coded, changed]) => (changed === null || changed === coded ? `${coded} as coded; no other if the finding is a mistake.`
  : `${coded} as coded; ${changed} if the finding is a mistake.`);

// Groups
function groupOf(group, members) {
  const { kind, code, stays, probability } = group, words = data.kinds[kind];
  const tick = node("input", { type: "checkbox", "aria-label": `Done: all shown of ${named(code)}, ${words.name}` });
  const button = node("button", { type: "button", class: "open code-cell", "aria-expanded": String(group.open) }, codeOf(code), ` ${data.codes[code][TITLE]}`);
  const here = members.length === stays ? "" : ` (${members.length.toLocaleString("en")} shown)`;
  const section = node("li", { class: `group ${kind}` },
    node("div", { class: "row" }, tick, strengthOf(members[0], "Strongest of the group: strength"), node("span", { class: "kind" }, words.name), button,
      node("span", { class: "sizes" }, `${words.state}: ${counted(stays, "stay")}${here}`),
      node("span", { class: "sizes" }, `${percent(probability)} of such stays have it`)),
    node("ol", {}, ...(group.open ? members.map(rowOf) : [])));
  Object.assign(group, { tick, button, members, section });
  section.group = group;
  markGroup(group);
  return section;
}
function markGroup(group) {
  if (!group.section) return;
  const done = group.members.filter((one) => one.done).length;
  group.tick.checked = done === group.members.length;
  group.tick.indeterminate = done > 0 && done < group.members.length;
  group.section.classList.toggle("done", group.tick.checked);
}
function openGroup(group, whether) {
  group.open = whether;
  group.button.setAttribute("aria-expanded", String(whether));
  group.section.lastChild.replaceChildren(...(whether ? group.members.map(rowOf) : []));
}

// What is shown
function textOf(finding) {
  const codes = [finding.code, finding.other, ...finding.diagnoses, ...finding.procedures].filter((place) => place !== null);
  finding.text ??= [finding.stay, data.kinds[finding.kind].name, ...codes.map(named)].join(" ").toLowerCase();
  return finding.text;
}
function draw() {
  const { kind, chapter, group, text, hide, order } = form.elements;
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  visible = findings.filter((one) => (!kind.value || one.kind === kind.value) && (!chapter.value || groups[one.group].chapter === chapter.value) &&
    (!group.value || one.group === Number(group.value)) && !(hide.checked && one.done) && words.every((word) => textOf(one).includes(word)));
  drawHead(order.value === "group");
  list.replaceChildren(...(order.value === "group" ? drawnGroups() : visible.map(rowOf)));
  tell();
}
function drawHead(grouped) {
  const names = grouped ? ["", "Strongest", "Finding", "Procedure", "Stays in the file", ""]
    : ["", "Strength", "Finding", "Procedure", "Stay", "Diagnosis listed first"];
  byId("head").className = grouped ? "row head by-group" : "row head";
  byId("head").replaceChildren(...names.map((name) => node("span", {}, name)));
}
function drawnGroups() {
  const members = new Map();
  for (const one of visible) members.get(one.group)?.push(one) ?? members.set(one.group, [one]);
  return [...members].sort(([a], [b]) => a - b).map(([place, some]) => groupOf(groups[place], some));
}
function tell() {
  const done = findings.filter((one) => one.done).length;
  shown.textContent = `${visible.length.toLocaleString("en")} of ${counted(findings.length, "finding")} shown, ${done.toLocaleString("en")} done.`;
  byId("all").textContent = allOpen() ? "Close all" : "Open all";
}
function allOpen() {
  return visible.length > 0 && visible.every((one) => one.open && (form.elements.order.value === "strength" || groups[one.group].open));
}
function setDone(some, whether) {
  for (const one of some) { one.done = whether; mark(one); }
  for (const group of new Set(some.map((one) => groups[one.group]))) markGroup(group);
  keep();
  if (form.elements.hide.checked) draw(); else tell();
}

// Ticks are kept only on request: this page's fingerprint and the numbers of the ticked findings, no id and no code.
const KEY = `dx2px-worklist-${data.fingerprint}`;
function keep() {
  try {
    if (remember.checked) localStorage.setItem(KEY, JSON.stringify(findings.filter((one) => one.done).map((one) => one.number)));
    else localStorage.removeItem(KEY);
  } catch { remember.checked = false; remember.disabled = true; }
}
function recall() {
  try {
    const kept = localStorage.getItem(KEY);
    remember.checked = kept !== null;
    for (const number of JSON.parse(kept ?? "[]")) if (findings[number]) findings[number].done = true;
  } catch { remember.disabled = true; }
}

// CSV, with the columns of the findings file after the tick
const formula = new RegExp(data.formula);
const cell = (value) => {
  const safe = typeof value === "string" ? value.replace(formula, "'$1") : String(value ?? "");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const canonical = (place) => (place === null ? "" : data.codes[place][CODE]);
const joined = (some) => some.map(([place, share]) => `${canonical(place)} ${Math.round(100 * share)}%`).join("; ");
function csv() {
  const head = ["done", "stay_id", "kind", "code", "title", "other", "strength", "probability", "rank", "because", "suggested",
    "diagnoses", "procedures", ...(data.drg ? ["drg_coded", "drg_changed"] : [])];
  const rows = visible.map((one) => [one.done ? "yes" : "no", one.stay, one.kind, canonical(one.code), data.codes[one.code][TITLE],
    canonical(one.other), one.strength, one.probability, one.rank, joined(supports(one)), joined(one.suggested),
    one.diagnoses.map(canonical).join("; "), one.procedures.map(canonical).join("; "), ...(data.drg ? one.drg ?? ["", ""] : [])]);
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
function save() {
  const link = node("a", { href: URL.createObjectURL(new Blob([csv()], { type: "text/csv" })), download: "worklist.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

list.addEventListener("click", (event) => {
  if (!event.target.closest(".open")) return;
  const at = event.target.closest(".finding") ?? event.target.closest(".group");
  if (at.finding) open(at.finding, !at.finding.open); else openGroup(at.group, !at.group.open);
  tell();
});
list.addEventListener("change", (event) => {
  const at = event.target.closest(".finding") ?? event.target.closest(".group");
  setDone(at.finding ? [at.finding] : at.group.members, event.target.checked);
});
list.addEventListener("keydown", (event) => {
  const here = event.target.closest(".open");
  if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    const all = [...list.querySelectorAll(".open")];
    all[all.indexOf(here) + step]?.focus();
    event.preventDefault();
  } else if (event.key === "x") here.parentNode.querySelector("input").click();
});
form.addEventListener("input", (event) => {
  if (event.target === remember) return keep();
  if (event.target.name === "order") for (const one of findings) one.row = null;
  draw();
});
form.addEventListener("submit", (event) => event.preventDefault());
byId("save").addEventListener("click", save);
byId("print").addEventListener("click", () => window.print());
byId("all").addEventListener("click", () => {
  const whether = !allOpen();
  for (const place of new Set(visible.map((one) => one.group))) groups[place].open = whether;
  for (const one of visible) open(one, whether);
  draw();
});
recall();
draw();
