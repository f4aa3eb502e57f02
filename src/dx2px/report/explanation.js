"use strict";
// The explanation's table: what is under the pointer or reached by the arrow keys, in words; colour by mass or share.
const table = document.querySelector("table"), reading = document.getElementById("reading");
const heads = [...table.tHead.rows[0].cells].slice(2);
const lines = [...table.tBodies[0].rows].filter((line) => !line.matches(".apart"));
const grid = [[...table.tHead.rows[0].cells].filter((one) => one.dataset.reading),
  ...lines.map((line) => [line.cells[0], ...[...line.cells].slice(2)])];
const invitation = reading.textContent;
let lit = [], focused = null;
function placed(cell) {
  return { line: cell.parentNode, head: heads[cell.cellIndex - 2] };
}
function sentence(cell) {
  if (cell.dataset.reading) return cell.dataset.reading;
  const { line, head } = placed(cell);
  return `${line.cells[0].dataset.name} \u2192 ${head.dataset.name}: ${cell.dataset.mass} of all mass, ` +
    `${cell.dataset.share} of what leads to this procedure.`;
}
function show(cell) {
  for (const one of lit) one.classList.remove("lit");
  lit = [];
  if (!cell) { reading.textContent = invitation; return; }
  if (cell.dataset.mass) { const { line, head } = placed(cell); lit = [line.cells[0], head]; } else lit = [cell];
  for (const one of lit) one.classList.add("lit");
  reading.textContent = sentence(cell);
}
const asked = (event) => event.target.closest("[data-reading], [data-mass]");
table.addEventListener("pointerover", (event) => show(asked(event) ?? focused));
table.addEventListener("pointerleave", () => show(focused));
table.addEventListener("focusin", (event) => { focused = asked(event); show(focused); });
table.addEventListener("focusout", () => { focused = null; show(null); });
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
function place(cell) {
  const row = grid.findIndex((one) => one.includes(cell));
  return [row, grid[row].indexOf(cell) + (row === 0 ? 1 : 0)];
}
function at(row, column) {
  return row === 0 ? grid[0][column - 1] : grid[row]?.[column];
}
table.addEventListener("keydown", (event) => {
  const cell = asked(event);
  if (!cell) return;
  const [row, column] = place(cell), [down, right] = STEPS[event.key] ?? [0, 0];
  const last = grid[1].length - 1;
  const next = event.key === "Home" ? at(row, row ? 0 : 1) : event.key === "End" ? at(row, last)
    : at(row + down, column + right);
  if (!next || next === cell) return;
  event.preventDefault();
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  next.scrollIntoView({ block: "nearest", inline: "nearest" });
});
document.querySelector("fieldset").addEventListener("change", (event) => {
  table.classList.toggle("by-mass", event.target.value === "mass");
  table.classList.toggle("by-share", event.target.value === "share");
  document.getElementById("most").textContent = event.target.dataset.most;
});
