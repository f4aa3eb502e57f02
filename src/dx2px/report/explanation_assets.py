"""Style and script of the page of an explanation. Nothing is loaded; colours follow the reader's theme."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --sheet: light-dark(#ffffff, #181f26); --ink: light-dark(#17212b, #e9eef3);
  --muted: light-dark(#4f5d6a, #a9b6c2); --line: light-dark(#dce2e6, #303b46); --bar: light-dark(#0f5c66, #6cc6cf);
  --rest: light-dark(#b5d2d5, #2c5359); --focus: light-dark(#0b57c4, #8ab8ff); --lit: light-dark(#e2f0f1, #1c3539); }
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1.5rem 0; background: var(--sheet); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; }
p { margin: .25rem 0; max-width: 62rem; }
.muted { color: var(--muted); font-size: .88rem; }
.bar-line { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: center; margin: .8rem 0; }
fieldset { border: 0; margin: 0; padding: 0; display: flex; gap: 1rem; font-size: .9rem; }
legend { float: left; margin-right: 1rem; padding: 0; color: var(--muted); }
.scale { display: flex; align-items: center; gap: .5rem; font-size: .85rem; color: var(--muted); }
.scale svg { width: 9rem; height: .8rem; border-radius: 2px; }
.scroll { overflow: auto; max-height: calc(100vh - 6rem); padding-bottom: .5rem; }
table { border-collapse: separate; border-spacing: 2px; font-variant-numeric: tabular-nums; }
th { font-weight: 400; text-align: left; }
thead th { vertical-align: bottom; color: var(--muted); font-size: .85rem; position: sticky; top: 0; z-index: 1;
  background: var(--sheet); }
thead th:first-child { left: 0; z-index: 2; }
thead th[data-said] { padding: 0; cursor: default; }
thead th[data-said] div { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 14rem; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; padding: .35rem .2rem; line-height: 1.2; margin: 0 auto; }
.few thead th[data-said] div { white-space: normal; max-height: 15rem; max-width: 3.6rem; text-overflow: clip; }
.code { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: .86em; font-weight: 600; color: var(--ink); }
tbody th { position: sticky; left: 0; background: var(--sheet); z-index: 1; max-width: 27rem;
  padding: .1rem .6rem .1rem .2rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
tbody th .code { display: inline-block; min-width: 4.2rem; }
tbody th .title { color: var(--muted); }
tbody th .note { color: var(--muted); font-size: .85em; font-style: italic; margin-left: .4rem; }
.mu { white-space: nowrap; font-size: .85rem; color: var(--muted); padding-right: .8rem; }
.mu svg { width: 7rem; height: .85rem; vertical-align: -1px; margin-right: .4rem; }
.strong { fill: var(--bar); } .rest { fill: var(--rest); }
td[data-mass] { min-width: 1.5rem; height: 1.55rem; padding: 0; text-align: center; font-size: .78rem;
  border-radius: 3px; cursor: default; }
.few td[data-mass] { min-width: 3.6rem; }
td[data-mass] span { display: none; }
.few.by-mass .m, .few.by-share .s { display: inline !important; }
tfoot td, tfoot th { color: var(--muted); font-size: .78rem; text-align: center; }
tfoot th { text-align: right; padding-right: .8rem; }
tfoot div { margin: 0 auto; white-space: nowrap; }
.many tfoot td div { writing-mode: vertical-rl; transform: rotate(180deg); }
.lit, .lit .title, .lit .code { color: var(--ink); } tbody th.lit, thead th.lit { background: var(--lit); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
td[data-mass]:hover { outline: 2px solid var(--ink); outline-offset: -1px; }
#said { position: sticky; bottom: 0; margin: .6rem -1.5rem 0; max-width: none; min-height: 4.4rem;
  padding: .7rem 1.5rem; background: var(--sheet); border-top: 1px solid var(--line); z-index: 2; }
@media print { #said, fieldset { display: none; } .scroll { max-height: none; } }
"""

SCRIPT = """
"use strict";
const table = document.querySelector("table"), said = document.getElementById("said");
const heads = [...table.tHead.rows[0].cells].slice(2), lines = [...table.tBodies[0].rows];
const grid = [[...table.tHead.rows[0].cells].filter((one) => one.dataset.said),
  ...lines.map((line) => [line.cells[0], ...[...line.cells].slice(2)])];
const invitation = said.textContent;
let lit = [], focused = null;
function placed(cell) {
  return { line: cell.parentNode, head: heads[cell.cellIndex - 2] };
}
function sentence(cell) {
  if (cell.dataset.said) return cell.dataset.said;
  const { line, head } = placed(cell);
  return `${line.cells[0].dataset.name} \\u2192 ${head.dataset.name}: ${cell.dataset.mass} of all mass, ` +
    `${cell.dataset.share} of what leads to this procedure.`;
}
function show(cell) {
  for (const one of lit) one.classList.remove("lit");
  lit = [];
  if (!cell) { said.textContent = invitation; return; }
  if (cell.dataset.mass) { const { line, head } = placed(cell); lit = [line.cells[0], head]; } else lit = [cell];
  for (const one of lit) one.classList.add("lit");
  said.textContent = sentence(cell);
}
const asked = (event) => event.target.closest("[data-said], [data-mass]");
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
"""
