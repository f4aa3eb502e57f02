// "Removed … Undo", beside the list from which something was removed; Ctrl+Z does the same.

import { announce, byId, node } from "./dom.js";
import { count, dotted } from "./codes.js";
import { forgetRemovals, lastRemoval, onChange, undo } from "./state.js";

const PLACES = { diagnoses: "diagnosis-undo", auditDiagnoses: "audit-undo", auditProcedures: "audit-undo" };

/** @type {ReturnType<typeof lastRemoval>} */
let drawn;

/** Watch removals and the keyboard. */
export function start() {
  onChange(draw);
  document.addEventListener("keydown", (event) => {
    /** @type {any} */
    const target = event.target;
    const typing = target.matches?.("textarea, input[type=text], input[type=number]") && target.value;
    const asked = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (asked && !typing && undo()) event.preventDefault();
  });
}

/** Drawn only when there is another removal to undo, so that the buttons do not move under the pointer. */
function draw() {
  const last = lastRemoval();
  if (last === drawn) return;
  drawn = last;
  for (const id of new Set(Object.values(PLACES))) {
    const here = last !== undefined && PLACES[last.name] === id;
    byId(id).hidden = !here;
    byId(id).replaceChildren(...(here ? notice(last) : []));
  }
}

function notice(last) {
  const removed = last.items.length === 1 ? dotted(last.items[0][1]) : count(last.items.length, "code");
  const text = last.before ? "The list was replaced." : `Removed ${removed}.`;
  announce(`${text} Undo is available.`);
  return [
    node("span", {}, text),
    node("button", { type: "button", class: "link", onclick: () => undo() }, "Undo"),
    node("button", { type: "button", class: "quiet", onclick: dismiss }, "Dismiss"),
  ];
}

function dismiss() {
  forgetRemovals();
  draw();
}
