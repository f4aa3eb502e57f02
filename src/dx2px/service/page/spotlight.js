// Colours of diagnoses, and the highlighting that links lists and figure: pointing at a diagnosis, or reaching it
// with the keyboard, highlights what it leads to and dims the rest.

import { all, byId } from "./dom.js";

const HUES = 9;
const LINKED = 0.05; // of a diagnosis's mass, or of a procedure's: less is not highlighted

/** @type {Map<string, number>} */
const hues = new Map();
/** @type {import("./api.js").Plan} */
let plan = { diagnoses: [], procedures: [], mass: [] };
/** @type {string[]} */
let rows = [];
/** @type {((diagnosis: string | undefined, procedure: string | undefined) => void)} */
let follow = () => {};

/**
 * Give every diagnosis a colour of its own; one that stays keeps its colour.
 * @param {string[]} codes
 */
export function assignHues(codes) {
  for (const code of hues.keys()) if (!codes.includes(code)) hues.delete(code);
  const taken = new Set(hues.values());
  for (const code of codes) {
    if (hues.has(code)) continue;
    let free = 0;
    while (taken.has(free)) free += 1;
    hues.set(code, free);
    taken.add(free);
  }
}

/**
 * The class that carries a diagnosis's colour.
 * @param {string} code
 */
export function hue(code) {
  return hues.has(code) ? `hue-${hues.get(code) % HUES}` : "hue-none";
}

/**
 * What the rows of a plan stand for: diagnoses, then other evidence.
 * @param {import("./api.js").Plan} of
 */
export function rowsOf(of) {
  return [...of.diagnoses, ...(of.evidence ?? [])];
}

/**
 * Set the plan to highlight by.
 * @param {import("./api.js").Plan} given
 */
export function setPlan(given) {
  plan = given;
  rows = rowsOf(given);
}

/**
 * Call a function with what is pointed at, to describe it in words.
 * @param {(diagnosis: string | undefined, procedure: string | undefined) => void} listener
 */
export function onSpot(listener) {
  follow = listener;
}

/** Watch pointer and keyboard. */
export function start() {
  for (const name of ["pointerover", "focusin"])
    document.addEventListener(name, (event) => point(event.target));
  document.addEventListener("focusout", (event) => !event.relatedTarget && point(null));
  document.documentElement.addEventListener("pointerleave", () => point(null));
}

/** Highlight nothing, before the figure is drawn again. */
export function clear() {
  point(null);
}

function point(target) {
  /** @type {any} */
  const spot = target instanceof Element ? target.closest("[data-spot]") : null;
  const { diagnosis, procedure } = spot?.dataset ?? {};
  const panel = byId("panel-recommend");
  if (panel.dataset.diagnosis === diagnosis && panel.dataset.procedure === procedure) return;
  mark(panel, "diagnosis", diagnosis);
  mark(panel, "procedure", procedure);
  light(panel, diagnosis, procedure);
  follow(diagnosis, procedure);
}

function mark(panel, name, value) {
  if (value === undefined) delete panel.dataset[name];
  else panel.dataset[name] = value;
}

function light(panel, diagnosis, procedure) {
  const dark = diagnosis === undefined && procedure === undefined;
  const lit = linked(diagnosis, procedure);
  for (const one of all("[data-diagnosis], [data-procedure]", panel)) {
    const on = !dark && isLit(one.dataset, lit);
    one.classList.toggle("lit", on);
    one.classList.toggle("dim", !dark && !on);
  }
}

/** Both ends of an element must be lit; a label has one end only. */
function isLit(ends, lit) {
  return (
    (!ends.diagnosis || lit.diagnoses.has(ends.diagnosis)) &&
    (!ends.procedure || lit.procedures.has(ends.procedure))
  );
}

/** The codes to highlight: what is pointed at and what it is linked with. */
function linked(diagnosis, procedure) {
  if (diagnosis !== undefined && procedure !== undefined) {
    return { diagnoses: new Set([diagnosis]), procedures: new Set([procedure]) };
  }
  const row = rows.indexOf(diagnosis ?? "");
  const column = plan.procedures.indexOf(procedure ?? "");
  const fromRow = row < 0 ? [] : strong(plan.mass[row]);
  const fromColumn = column < 0 ? [] : strong(plan.mass.map((masses) => masses[column]));
  return {
    diagnoses: new Set([diagnosis, ...fromColumn.map((i) => rows[i])]),
    procedures: new Set([procedure, ...fromRow.map((j) => plan.procedures[j])]),
  };
}

function strong(masses) {
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  return masses.flatMap((mass, place) => (mass > LINKED * total ? [place] : []));
}
