// The ranked procedures: probability, reasons behind a disclosure, accept and reject.

import { all, bar, byId, icon, keepingFocus, node } from "./dom.js";
import { dotted, isLong, percent, systemOf } from "./codes.js";
import { codedIn, isBesides } from "./evidence.js";
import { takesCoded } from "./facts.js";
import { FEW_STAYS, remarksOn, support } from "./remarks.js";
import { hue } from "./spotlight.js";
import { current, update } from "./state.js";
import { columns, fullName } from "./titles.js";

const FIRST = 5; // codes of a family that are named
const REASONS = 6; // the others are summed up
const SMALLEST = 0.005; // a smaller share is summed up with the others
const NO_REASONS = "Reasons are given only for the first procedures of a long list.";

/** @type {Set<string>} */
const open = new Set();

/**
 * Draw the procedures of an answer: those that are coded already, and those recommended.
 * @param {import("./api.js").Explanation | null} answer
 */
export function draw(answer) {
  const [recommended, coded] = [answer?.procedures ?? [], codedIn(answer)];
  const list = byId("procedures");
  // A procedure that was just ticked moves from one list to the other, and the focus with it.
  keepingFocus(byId("recommended"), () => {
    byId("coded-part").hidden = !coded.length;
    byId("coded").replaceChildren(...coded.map((one) => codedRow(one, answer)));
    list.replaceChildren(...recommended.map((one) => row(one, answer)));
  });
  const long = [...recommended, ...coded].some((one) => isLong(one.code));
  byId("recommended").classList.toggle("long-codes", long);
  const measured = recommended.every((one) => one.probability !== null);
  list.classList.toggle("unmeasured", !measured);
  byId("likelihood-note").hidden = measured;
  byId("order-note").hidden = !recommended.some((one, at) => one.probability > recommended[at - 1]?.probability);
  mark();
}

function row(one, answer) {
  const name = `${dotted(one.code)} ${one.title}`;
  const reasons = node(
    "div",
    { class: "reasons", id: `reasons-${one.rank}`, hidden: !open.has(one.code) },
    ...(one.family ? [completion(one)] : []),
    ...because(one, answer.plan.kind),
  );
  return node(
    "li",
    { class: "procedure", "data-procedure": one.code, "data-spot": true },
    node(
      "div",
      { class: "procedure-line" },
      disclosure(one, remarksOn(answer, one), reasons),
      measure(one),
      verdicts(one.code, name),
    ),
    reasons,
  );
}

function codedRow({ code, title, status }, answer) {
  const said = (answer.remarks ?? []).filter((one) => one.code === code).map((one) => one.text);
  if (status === "unknown") said.unshift("The model does not know this procedure, so it changes nothing.");
  return node(
    "li",
    { class: "procedure coded-row", "data-diagnosis": code, "data-spot": true },
    verdict("accept", code, `Already coded: ${fullName(code, title)}`),
    node("span", { class: "code", title: systemOf(code) }, dotted(code)),
    node("span", { class: "title" }, title),
    said.length ? node("span", { class: "status" }, said.join(" ")) : null,
  );
}

function disclosure(one, remarks, reasons) {
  const button = node(
    "button",
    {
      type: "button",
      class: "disclosure",
      "data-key": `reasons ${one.code}`,
      "aria-expanded": String(open.has(one.code)),
      "aria-controls": reasons.id,
    },
    icon("open"),
    node("span", { class: "rank" }, one.rank),
    node("span", { class: "code", title: systemOf(one.code) }, dotted(one.code)),
    node("span", { class: "title" }, one.title),
    remarks.length ? node("span", { class: "remarks" }, ...remarks.flatMap(marked)) : null,
    node("span", { class: "unseen" }, ", reasons"),
  );
  button.addEventListener("click", () => {
    reasons.hidden = !reasons.hidden;
    button.setAttribute("aria-expanded", String(!reasons.hidden));
    if (reasons.hidden) open.delete(one.code);
    else open.add(one.code);
  });
  return button;
}

/** A remark after the one before it; the one that warns stands out. */
function marked(remark, place) {
  return [place ? " · " : "", remark === FEW_STAYS ? node("span", { class: "few" }, remark) : remark];
}

function measure(one) {
  if (one.probability === null) return node("span", { class: "measure" });
  const text = percent(one.probability);
  return node(
    "span",
    { class: "measure", title: `Coded in about ${text} of stays like this one` },
    bar(one.probability, `probability ${text}`),
    node("span", { class: "number", "aria-hidden": "true" }, text),
  );
}

function because(one, kind) {
  if (!one.because.length) return [node("p", { class: "note" }, NO_REASONS)];
  const shown = one.because
    .slice(0, REASONS)
    .filter((reason, place) => place === 0 || reason.share >= SMALLEST);
  const rest = one.because.slice(shown.length);
  const restShare = rest.reduce((sum, reason) => sum + reason.share, 0);
  const besides = shown.filter((reason) => isBesides(reason.code));
  const diagnoses = shown.filter((reason) => !isBesides(reason.code));
  const from = kind === "transport" ? "Comes from (transport plan)" : "Comes from";
  return [
    ...reasonList(from, `Diagnoses behind ${dotted(one.code)}`, diagnoses),
    ...reasonList(
      diagnoses.length ? "Besides the diagnoses" : `${from}, besides the diagnoses`,
      `Other evidence for ${dotted(one.code)}`,
      besides,
    ),
    rest.length
      ? node("p", { class: "note" }, `and ${rest.length} more, together ${percent(restShare)}`)
      : null,
    support(one) ? node("p", { class: "note" }, support(one)) : null,
  ].filter(Boolean);
}

/** What is to be completed of a family of codes. */
function completion({ code, family }) {
  const on = family.narrowed ? `On the ${family.side}, ${dotted(family.narrowed)}: ` : `${dotted(code)}: `;
  const by = family.complete_by.length ? `, by ${family.complete_by.join(", ")}` : "";
  const listed = family.listed.slice(0, FIRST).map(dotted).join(", ");
  const more = family.codes > FIRST ? ", …" : "";
  return node("p", { class: "note family" }, `${on}choose one of ${family.codes} codes${by}: ${listed}${more}`);
}

function reasonList(note, label, reasons) {
  if (!reasons.length) return [];
  return [node("p", { class: "note" }, note), node("ul", { "aria-label": label }, ...reasons.map(reasonRow))];
}

function reasonRow(reason) {
  const share = percent(reason.share);
  return node(
    "li",
    { class: `reason ${hue(reason.code)}` },
    ...columns(reason.code),
    bar(reason.share, `share ${share}`),
    node("span", { class: "number", "aria-hidden": "true" }, share),
  );
}

function verdicts(code, name) {
  return node(
    "span",
    { class: "verdicts", role: "group", "aria-label": `Verdict on ${name}` },
    verdict("accept", code, takesCoded() ? `Already coded: ${name}` : `Accept ${name}`),
    verdict("reject", code, `Reject ${name}`),
  );
}

function verdict(kind, code, label) {
  const attributes = {
    type: "button",
    class: `icon-button verdict ${kind}`,
    "data-key": `${kind} ${code}`,
    "data-verdict": kind,
  };
  return node(
    "button",
    {
      ...attributes,
      "data-code": code,
      "aria-label": label,
      title: kind === "reject" ? "Reject" : takesCoded() ? "Already coded" : "Accept",
      "aria-pressed": "false",
      onclick: () => judge(kind, code),
    },
    icon(kind),
  );
}

/** A second click withdraws a verdict; accept and reject exclude each other. */
function judge(kind, code) {
  const { accepted, rejected } = current();
  const without = (list) => list.filter((one) => one !== code);
  const toggled = (list) => (list.includes(code) ? without(list) : [...list, code]);
  update(
    kind === "accept"
      ? { accepted: toggled(accepted), rejected: without(rejected) }
      : { accepted: without(accepted), rejected: toggled(rejected) },
  );
}

/** Show the verdicts on the rows. */
export function mark() {
  const { accepted, rejected } = current();
  const given = { accept: new Set(accepted), reject: new Set(rejected) };
  for (const button of all("[data-verdict]", byId("recommended"))) {
    const { verdict: kind, code } = button.dataset;
    button.setAttribute("aria-pressed", String(given[kind].has(code)));
    button.closest(".procedure").classList.toggle(`${kind}ed`, given[kind].has(code));
  }
}
