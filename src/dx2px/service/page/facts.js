// What is known about the stay besides its diagnoses: the fields, shown if the model takes them, and what is told.

import { all, byId, node } from "./dom.js";
import { sameCode } from "./codes.js";
import { current, update } from "./state.js";

const OLDEST = 130; // years
const MOST_CODED = 200;
const FIELDS = ["age", "sex", "admission"];

/** @type {{principal: boolean, admissions: string[]} | null} */
let taken = null; // by the model; null if it takes diagnoses alone, or is not known yet

/** Follow the fields. */
export function start() {
  offer();
  for (const name of FIELDS)
    byId(name).addEventListener("input", () => {
      update({ [name]: byId(name).value });
      draw(); // even if the state is as it was: what is no number has no value
    });
}

/**
 * Offer what the model takes.
 * @param {{principal: boolean, admissions: string[]} | null} [evidence] as /api/model describes it
 */
export function offer(evidence = null) {
  taken = evidence;
  const choices = (taken?.admissions ?? []).map((name) => node("option", { value: name }, name));
  byId("admission").replaceChildren(node("option", { value: "" }, "not known"), ...choices);
  byId("admission-field").hidden = !choices.length;
  byId("facts").hidden = taken === null;
  for (const one of all("[data-takes]")) one.hidden = taken === null;
  for (const one of all("[data-plain]")) one.hidden = taken !== null;
  draw();
}

/** Whether a procedure that is coded already counts as evidence. */
export function takesCoded() {
  return taken !== null;
}

/** Whether one of the diagnoses can be marked as the principal one. */
export function takesPrincipal() {
  return taken?.principal ?? false;
}

/** Show the state in the fields. */
export function draw() {
  for (const name of FIELDS) {
    const field = byId(name);
    if (field.value !== current()[name] && document.activeElement !== field) field.value = current()[name];
  }
  const wrong = byId("age").validity.badInput || (current().age !== "" && !isAge(current().age));
  byId("age").setAttribute("aria-invalid", String(wrong));
  byId("age-note").hidden = !wrong;
}

/**
 * What a question tells about the stay: only what the model takes. The mark of a removed diagnosis tells nothing.
 * @returns {Record<string, any>}
 */
export function told() {
  if (taken === null) return {};
  const { diagnoses, principal, age, sex, admission, accepted } = current();
  const facts = {};
  if (taken.principal && diagnoses.some((code) => sameCode(code, principal))) facts.principal = principal;
  if (isAge(age)) facts.age = Number(age);
  if (sex) facts.sex = sex;
  if (taken.admissions.includes(admission)) facts.admission = admission;
  if (accepted.length) facts.coded = accepted.slice(0, MOST_CODED);
  return facts;
}

function isAge(text) {
  return /^\d{1,3}$/.test(text) && Number(text) <= OLDEST;
}
