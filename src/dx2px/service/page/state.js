// What the user has entered: one object, mirrored in the address after the "#", which browsers do not send.

import { sameCode } from "./codes.js";

/**
 * @typedef {object} State
 * @property {"recommend" | "audit"} tab
 * @property {string[]} diagnoses as typed, or canonical once the server has answered
 * @property {string} top how many procedures, or "90%" for as many as that coverage needs
 * @property {"flow" | "heat" | "table"} view
 * @property {"own" | "transport"} plan which plan is shown: the model's, or the paper's
 * @property {"" | "icd9pcs" | "icd10pcs"} answerIn the system of the procedures; that of the diagnoses if nothing
 * @property {string} principal one of the diagnoses, or nothing
 * @property {string} age in years, as typed
 * @property {"" | "F" | "M"} sex
 * @property {string} admission the type of admission
 * @property {string[]} accepted for a model that takes coded procedures, these are coded
 * @property {string[]} rejected
 * @property {string[]} auditDiagnoses
 * @property {string[]} auditProcedures
 */

/** @typedef {"diagnoses" | "auditDiagnoses" | "auditProcedures"} ListName */

/** @type {State} */
const EMPTY = {
  tab: "recommend",
  diagnoses: [],
  top: "5",
  view: "flow",
  plan: "own",
  answerIn: "",
  principal: "",
  age: "",
  sex: "",
  admission: "",
  accepted: [],
  rejected: [],
  auditDiagnoses: [],
  auditProcedures: [],
};
const NAMES = {
  tab: "tab",
  diagnoses: "dx",
  top: "top",
  view: "view",
  plan: "plan",
  answerIn: "in",
  principal: "pdx",
  age: "age",
  sex: "sex",
  admission: "adm",
  accepted: "yes",
  rejected: "no",
  auditDiagnoses: "adx",
  auditProcedures: "apx",
};
const VALID = {
  tab: /^(recommend|audit)$/,
  top: /^(5|10|20|90%)$/,
  view: /^(flow|heat|table)$/,
  plan: /^(own|transport)$/,
  answerIn: /^icd(9|10)pcs$/,
  principal: /^.{1,64}$/,
  age: /^\d{1,3}$/,
  sex: /^[FM]$/,
  admission: /^.{1,64}$/,
};
const LONGEST_LIST = 500;

/** What belongs to a stay besides its diagnoses: it goes when another stay begins. */
export const NEW_STAY = { accepted: [], rejected: [], principal: "", age: "", sex: "", admission: "" };

/** @type {State} */
let state = { ...EMPTY };
/** @type {((state: State, changed: Set<string>) => void)[]} */
const listeners = [];
/** @type {{name: ListName, items: [number, string][], rest: Partial<State>, before?: string[]}[]} */
const removals = [];

/** The current state; it is never changed in place. */
export function current() {
  return state;
}

/**
 * Call a function after every change, with the names of what changed.
 * @param {(state: State, changed: Set<string>) => void} listener
 */
export function onChange(listener) {
  listeners.push(listener);
}

/**
 * Change some of the state.
 * @param {Partial<State>} patch
 */
export function update(patch) {
  const changed = new Set(Object.keys(patch).filter((name) => !same(state[name], patch[name])));
  if (!changed.size) return;
  state = { ...state, ...patch };
  const fragment = encode(state);
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  for (const listener of listeners) listener(state, changed);
}

/**
 * Add codes to a list, each once.
 * @param {ListName} name
 * @param {string[]} codes
 * @returns {number} how many were new
 */
export function add(name, codes) {
  const before = state[name];
  const after = [...before];
  for (const code of codes) if (!after.some((one) => sameCode(one, code))) after.push(code);
  update({ [name]: after });
  return after.length - before.length;
}

/**
 * Remove codes from a list; `undo` brings them back.
 * @param {ListName} name
 * @param {string[]} codes
 * @param {Partial<State>} [rest] what else changes with them, and comes back with them
 */
export function remove(name, codes, rest = {}) {
  const gone = new Set(codes);
  const items = [...state[name].entries()].filter(([, code]) => gone.has(code));
  if (!items.length) return;
  removals.push({ name, items, rest: asNow(rest) });
  update({ [name]: state[name].filter((code) => !gone.has(code)), ...rest });
}

/**
 * Replace a list; `undo` brings the old one back.
 * @param {ListName} name
 * @param {string[]} codes
 * @param {Partial<State>} [rest] as of `remove`
 */
export function replace(name, codes, rest = {}) {
  const before = state[name];
  if (before.length) removals.push({ name, items: [...before.entries()], rest: asNow(rest), before });
  update({ [name]: codes, ...rest });
}

/** The present values of what is about to change. */
function asNow(patch) {
  return Object.fromEntries(Object.keys(patch).map((name) => [name, state[name]]));
}

/** Put back what was last removed, where it was; what was added since stays, unless the whole list was replaced. */
export function undo() {
  const last = removals.pop();
  if (!last) return false;
  if (last.before) {
    update({ [last.name]: last.before, ...last.rest });
    return true;
  }
  const list = state[last.name].filter((code) => !last.items.some(([, gone]) => gone === code));
  for (const [place, code] of last.items) list.splice(Math.min(place, list.length), 0, code);
  update({ [last.name]: list, ...last.rest });
  return true;
}

/** The last removal that can be undone, if any. */
export function lastRemoval() {
  return removals.at(-1);
}

/** Forget what could be undone. */
export function forgetRemovals() {
  removals.length = 0;
}

/** Read the state from the address, at the start and whenever the user changes it there. */
export function restore() {
  update(decode(location.hash.slice(1)));
}

/**
 * @param {State} full
 * @returns {string}
 */
export function encode(full) {
  const pieces = [];
  for (const [name, short] of Object.entries(NAMES)) {
    if (same(full[name], EMPTY[name])) continue;
    const values = Array.isArray(full[name]) ? full[name] : [full[name]];
    pieces.push(`${short}=${values.map(plain).join(",")}`);
  }
  return pieces.join("&");
}

/**
 * The state that a fragment describes; what it does not name, or names wrongly, has its initial value.
 * @param {string} fragment
 * @returns {State}
 */
export function decode(fragment) {
  const given = new URLSearchParams(fragment.replaceAll("+", "%2B"));
  const found = { ...EMPTY };
  for (const [name, short] of Object.entries(NAMES)) {
    const text = given.get(short);
    if (text === null) continue;
    if (Array.isArray(EMPTY[name]))
      found[name] = [...new Set(text.split(",").filter(Boolean))].slice(0, LONGEST_LIST);
    else if (VALID[name].test(text)) found[name] = text;
  }
  return found;
}

/** Codes keep their colon in the address; every other special character is escaped. */
function plain(text) {
  return encodeURIComponent(text).replaceAll("%3A", ":");
}

function same(one, other) {
  return Array.isArray(one)
    ? one.length === other.length && one.every((item, i) => item === other[i])
    : one === other;
}
