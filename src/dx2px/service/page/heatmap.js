// The plan as a heat map: one row per diagnosis, one column per procedure. Six steps of colour, so that the numbers
// written on them can be read; the exact numbers are in the table.

import { shape } from "./dom.js";
import { dotted, percent, systemOf } from "./codes.js";
import { BESIDES, fit, labelled, widthOf } from "./figure_text.js";
import { rowsOf } from "./spotlight.js";
import { shortName } from "./titles.js";

const NARROW = 620;
const ROW = 30;
const APART = 24; // between the diagnoses and the other evidence
const STEPS = 6;
const LEGEND = 44;
const TITLED = 84; // a column this wide has room for a piece of the title

/**
 * The step of a mass, 0 to 5: 0 is next to nothing, 5 near the largest.
 * @param {number} value
 * @param {number} largest
 */
export function step(value, largest) {
  return largest > 0 ? Math.min(STEPS - 1, Math.floor((value / largest) * STEPS)) : 0;
}

/**
 * Draw the heat map.
 * @param {import("./figure.js").Picture} picture
 * @param {number} width in pixels
 * @returns {SVGElement}
 */
export function drawHeatMap(picture, width) {
  const { plan } = picture;
  const side = width < NARROW ? 66 : Math.min(400, width * 0.42);
  const cell = Math.min(132, (width - side) / Math.max(1, plan.procedures.length));
  const head = cell < 48 ? 52 : cell < TITLED ? 28 : 44;
  const rows = rowsOf(plan);
  const first = plan.diagnoses.length; // row of other evidence
  const top = (i) => head + ROW * i + (i < first ? 0 : APART);
  const codes = rows.filter(systemOf).map((code) => widthOf(dotted(code), "code"));
  const indent = Math.min(side / 2, 16 + Math.max(40, ...codes)); // where titles begin
  const frame = { side, cell, head, top, indent, largest: Math.max(0, ...plan.mass.flat()) };
  const height = top(rows.length - 1) + ROW + LEGEND;
  return shape(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": "Heat map, diagnoses by procedures",
    },
    ...plan.procedures.map((code, j) => columnHead(picture, code, j, frame)),
    ...rows.map((code, i) => rowHead(picture, code, i, frame)),
    first < rows.length
      ? shape("text", { class: "label label-group", x: 4, y: top(first) - 6 }, BESIDES)
      : null,
    shape(
      "g",
      { class: "cells", "aria-hidden": "true" }, // the heads say the same in words, the table in numbers
      ...plan.mass.flatMap((masses, i) => masses.map((mass, j) => heatCell(picture, i, j, mass, frame))),
    ),
    legend(frame, width, height),
  );
}

function rowHead(picture, code, i, { side, top, indent }) {
  const y = top(i);
  const room = side > 100 ? side - indent - 8 : 0;
  const title = fit(picture.titles.get(code) ?? "", room, "title", picture.titles.values());
  const name = { x: 4, y: y + ROW / 2, dy: "0.35em" };
  return labelled(
    picture,
    "diagnosis",
    code,
    shape("rect", { class: "catch", x: 0, y, width: side, height: ROW }),
    ...(systemOf(code)
      ? [
          shape("text", { class: "label label-code", ...name }, fit(dotted(code), side - 8, "code")),
          shape("text", { class: "label label-title", ...name, x: indent }, title),
        ]
      : [
          shape(
            "text",
            { class: "label label-title", ...name },
            fit(shortName(code, picture.titles.get(code)), side - 8),
          ),
        ]),
  );
}

function columnHead(picture, code, j, { side, cell, head }) {
  const [x, y] = [side + cell * (j + 0.5), cell < TITLED ? head - 8 : head - 26];
  const slanted = cell < 48;
  const place = slanted
    ? { transform: `translate(${x + 4} ${y}) rotate(-55)` }
    : { x, y, "text-anchor": "middle" };
  return labelled(
    picture,
    "procedure",
    code,
    shape("rect", { class: "catch", x: x - cell / 2, y: 0, width: cell, height: head }),
    shape("text", { class: "label label-code", ...place }, fit(dotted(code), slanted ? 52 : cell - 4, "code")),
    cell < TITLED
      ? null
      : shape(
          "text",
          { class: "label label-title", x, y: y + 17, "text-anchor": "middle" },
          fit(picture.titles.get(code) ?? "", cell - 8, "title", picture.titles.values()),
        ),
  );
}

function heatCell({ plan, titles }, i, j, mass, { side, cell, top, largest }) {
  const [x, y] = [side + cell * j, top(i)];
  const [from, to] = [rowsOf(plan)[i], plan.procedures[j]];
  const heat = step(mass, largest);
  const text = (100 * mass).toFixed(mass < 0.0995 ? 1 : 0);
  return shape(
    "g",
    {
      class: "cell",
      "data-diagnosis": from,
      "data-procedure": to,
      "data-spot": true,
      "data-step": heat,
    },
    shape("rect", {
      class: `heat heat-${heat}`,
      x: x + 1,
      y: y + 1,
      width: cell - 2,
      height: ROW - 2,
      rx: 3,
    }),
    cell >= 34
      ? shape(
          "text",
          {
            class: `heat-text heat-text-${heat}`,
            x: x + cell / 2,
            y: y + ROW / 2,
            dy: "0.35em",
            "text-anchor": "middle",
          },
          mass >= 0.0005 ? text : "·",
        )
      : null,
    shape("title", {}, `${shortName(from, titles.get(from))} → ${dotted(to)}: ${percent(mass)}`),
  );
}

function legend({ side, largest }, width, height) {
  const [size, y] = [22, height - 26];
  const squares = [...Array(STEPS).keys()].map((one) =>
    shape("rect", {
      class: `heat heat-${one}`,
      x: side + 1 + size * one,
      y,
      width: size - 2,
      height: 12,
      rx: 2,
    }),
  );
  const text = shape(
    "text",
    { class: "label label-title", x: side + size * STEPS + 6, y: y + 6, dy: "0.35em" },
    `${width < NARROW ? "" : "% of the mass, "}up to ${percent(largest)}`,
  );
  return shape("g", { class: "legend", "aria-hidden": "true" }, ...squares, text);
}
