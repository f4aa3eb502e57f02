// The little Markdown of a model card, as elements: headings, paragraphs, lists, tables, code. Markup stays text.

import { node } from "./dom.js";

/** What a block begins with, and what reads it. Each reader takes its lines from the front. */
const BLOCKS = [
  [/^```/, fenced],
  [/^#{1,6} /, heading],
  [/^\|/, table],
  [/^[-*] /, list],
  [/^ {4}/, indented],
  [/./, paragraph],
];

/**
 * The blocks of a text.
 * @param {string} text
 * @returns {HTMLElement[]}
 */
export function render(text) {
  const lines = text.split(/\r?\n/);
  const blocks = [];
  while (lines.length) {
    const found = BLOCKS.find(([sign]) => sign.test(lines[0]) && lines[0].trim());
    if (found) blocks.push(found[1](lines));
    else lines.shift();
  }
  return blocks;
}

/** Take lines from the front as long as they fit. */
function take(lines, fits) {
  const end = lines.findIndex((line) => !fits(line));
  return lines.splice(0, end < 0 ? lines.length : end);
}

function fenced(lines) {
  lines.shift();
  const code = take(lines, (line) => !line.startsWith("```"));
  lines.shift();
  return node("pre", {}, code.join("\n"));
}

function indented(lines) {
  return node("pre", {}, take(lines, (line) => line.startsWith("    ")).map((line) => line.slice(4)).join("\n"));
}

/** One level below the title of the dialog. */
function heading(lines) {
  const [sign, ...words] = lines.shift().split(" ");
  return node(`h${Math.min(6, Math.max(3, sign.length + 1))}`, {}, ...inline(words.join(" ")));
}

function list(lines) {
  const items = [];
  for (const line of take(lines, (one) => /^([-*] | {2,}\S)/.test(one))) {
    if (line.startsWith(" ")) items.push(`${items.pop()} ${line.trim()}`);
    else items.push(line.slice(2));
  }
  return node("ul", {}, ...items.map((item) => node("li", {}, ...inline(item))));
}

function table(lines) {
  const [head, , ...rows] = take(lines, (line) => line.startsWith("|")).map(cells);
  const row = (tag, texts) => node("tr", {}, ...texts.map((text) => node(tag, {}, ...inline(text))));
  return node(
    "div",
    { class: "scroller" },
    node(
      "table",
      {},
      node("thead", {}, row("th", head)),
      node("tbody", {}, ...rows.map((texts) => row("td", texts))),
    ),
  );
}

function cells(line) {
  return line
    .replace(/^\||\|\s*$/g, "")
    .split("|")
    .map((text) => text.trim());
}

function paragraph(lines) {
  const first = lines.shift();
  const rest = take(lines, (line) => line.trim() !== "" && !/^(#{1,6} |\||[-*] |```)/.test(line));
  return node("p", {}, ...inline([first, ...rest].map((line) => line.trim()).join(" ")));
}

/** Code and bold; of a link its words and its address, since a card may come from anyone. */
function inline(text) {
  const plain = text.replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, "$1 ($2)");
  return plain.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((piece) => {
    if (/^`.+`$/.test(piece)) return node("code", {}, piece.slice(1, -1));
    return /^\*\*.+\*\*$/.test(piece) ? node("strong", {}, piece.slice(2, -2)) : piece;
  });
}
