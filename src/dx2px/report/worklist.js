"use strict";
// The worklist: sort by a column, filter by kind and words, tick off what is done.
const body = document.querySelector("tbody");
const rows = [...body.rows];
const kind = document.getElementById("kind"), text = document.getElementById("text");
const hideDone = document.getElementById("open"), shown = document.getElementById("shown");
function filter() {
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    const hidden = (kind.value && !row.classList.contains(kind.value)) ||
      (hideDone.checked && row.classList.contains("done")) || words.some((word) => !content.includes(word));
    row.hidden = hidden;
    count += hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${rows.length} findings shown`;
}
function sort(head) {
  const place = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  const rising = before === "descending" || (before === null && head.dataset.text === "1");
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const key = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
  const compare = head.dataset.text === "1" ? (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true })
    : (a, b) => Number(key(a)) - Number(key(b));
  rows.sort((a, b) => (rising ? 1 : -1) * compare(a, b));
  body.append(...rows);
}
document.querySelector("thead").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) sort(button.closest("th"));
});
body.addEventListener("change", (event) => {
  event.target.closest("tr").classList.toggle("done", event.target.checked);
  filter();
});
document.querySelector("form").addEventListener("input", filter);
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
filter();
