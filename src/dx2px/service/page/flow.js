// The plan as a flow: ribbons from diagnoses to procedures; the more mass, the thicker.

import { shape } from "./dom.js";
import { dotted, percent, systemOf } from "./codes.js";
import { BESIDES, fit, labelled, sums, widthOf } from "./figure_text.js";
import { hue, rowsOf } from "./spotlight.js";
import { shortName } from "./titles.js";

const NARROW = 620; // below this width there is room for codes but not for titles
const SLOT = 24; // height of a label
const NODE = 7; // width of the bars at the ends
const APART = 26; // between the diagnoses and the other evidence
const THINNEST = 0.15; // pixels; thinner ribbons cannot be seen

/**
 * The places of nodes and ribbons. Every node has a slot high enough for its label; a bar is as high as its mass.
 * @param {number[][]} mass
 * @param {number} flowing height that the whole mass takes
 * @param {number} [diagnoses] how many of the rows are diagnoses; the others stand apart below them
 */
export function layout(mass, flowing, diagnoses = mass.length) {
  const { rows, columns, total } = sums(mass);
  const scale = total > 0 ? flowing / total : 0;
  const apart = diagnoses < rows.length ? APART : 0;
  const height = flowing + SLOT * Math.max(rows.length, columns.length) + apart;
  const left = stack(rows, scale, height - apart).map((place, i) =>
    i < diagnoses ? place : { ...place, y: place.y + apart },
  );
  const right = stack(columns, scale, height);
  const from = left.map((one) => one.y);
  const to = right.map((one) => one.y);
  const ribbons = [];
  mass.forEach((masses, i) =>
    masses.forEach((value, j) => {
      const thickness = value * scale;
      ribbons.push({ i, j, y0: from[i], y1: to[j], thickness, value });
      from[i] += thickness;
      to[j] += thickness;
    }),
  );
  return { height, left, right, ribbons };
}

/** Bars one below the other, with the remaining space spread evenly between them. */
function stack(masses, scale, height) {
  const bars = masses.reduce((sum, mass) => sum + mass * scale, 0);
  const gap = masses.length ? (height - bars) / masses.length : 0;
  let y = gap / 2;
  return masses.map((mass) => {
    const place = { y, height: mass * scale };
    y += place.height + gap;
    return place;
  });
}

/**
 * Draw the flow.
 * @param {import("./figure.js").Picture} picture
 * @param {number} width in pixels
 * @returns {SVGElement}
 */
export function drawFlow(picture, width) {
  const { plan } = picture;
  const side = width < NARROW ? 84 : Math.min(370, width * 0.33);
  const rows = rowsOf(plan);
  const flowing = Math.max(150, 24 * Math.max(rows.length, plan.procedures.length));
  const { height, left, right, ribbons } = layout(plan.mass, flowing, plan.diagnoses.length);
  /** @type {[number, number]} */
  const ends = [side, width - side];
  return shape(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": "Flow from diagnoses to procedures",
    },
    shape(
      "g",
      { class: "ribbons", "aria-hidden": "true" }, // the ends say the same in words
      ...ribbons.filter((one) => one.thickness > THINNEST).map((one) => ribbon(one, ends, picture)),
    ),
    rows.length > plan.diagnoses.length ? besides(left[plan.diagnoses.length], side) : null,
    ...rows.map((code, i) => end(picture, "diagnosis", code, left[i], ends[0], side)),
    ...plan.procedures.map((code, j) => end(picture, "procedure", code, right[j], ends[1], side)),
  );
}

/** The heading above the evidence that is no diagnosis. */
function besides({ y, height }, side) {
  const above = Math.min(y, y + height / 2 - SLOT / 2) - 8;
  const place = { x: side - 8, y: above, "text-anchor": "end" };
  const room = widthOf(BESIDES, "title") < side - 10; // a phone has none; the gap must do there
  return room ? shape("text", { class: "label label-group", ...place }, BESIDES) : null;
}

function ribbon({ i, j, y0, y1, thickness, value }, [x0, x1], { plan, titles }) {
  const [a, b] = [x0 + NODE, x1 - NODE];
  const half = (a + b) / 2;
  const path =
    `M${a} ${y0}C${half} ${y0} ${half} ${y1} ${b} ${y1}` +
    `L${b} ${y1 + thickness}C${half} ${y1 + thickness} ${half} ${y0 + thickness} ${a} ${y0 + thickness}Z`;
  const [from, to] = [rowsOf(plan)[i], plan.procedures[j]];
  return shape(
    "path",
    {
      class: `ribbon ${hue(from)}`,
      d: path,
      "data-diagnosis": from,
      "data-procedure": to,
      "data-spot": true,
      "data-mass": value,
    },
    shape("title", {}, `${shortName(from, titles.get(from))} → ${dotted(to)}: ${percent(value)}`),
  );
}

function end(picture, kind, code, { y, height }, x, side) {
  const isLeft = kind === "diagnosis";
  const centre = y + height / 2;
  return labelled(
    picture,
    kind,
    code,
    shape("rect", { class: "catch", x: isLeft ? 0 : x, y: centre - SLOT / 2, width: side, height: SLOT }),
    shape("rect", {
      class: `end ${isLeft ? hue(code) : "sink"}`,
      x: isLeft ? x : x - NODE,
      y,
      width: NODE,
      height: Math.max(1, height),
      rx: 1,
    }),
    shape(
      "text",
      {
        class: "label",
        x: isLeft ? x - 8 : x + 8,
        y: centre,
        dy: "0.35em",
        "text-anchor": isLeft ? "end" : "start",
      },
      ...words(picture, code, side, isLeft),
    ),
  );
}

/** The code is next to the bar; the title, if there is room for it, is outside. What has no code has its title. */
function words(picture, code, side, isLeft) {
  if (!systemOf(code)) {
    const name = fit(shortName(code, picture.titles.get(code)), side - 10);
    return [shape("tspan", { class: "label-title" }, name)];
  }
  const name = fit(dotted(code), side - 10, "code");
  const room = side - 20 - widthOf(name, "code");
  const title = side > 100 ? fit(picture.titles.get(code) ?? "", room, "title", picture.titles.values()) : "";
  const pieces = [["label-code", name], ...(title ? [["label-title", title]] : [])];
  if (isLeft) pieces.reverse();
  return pieces.map(([look, text], place) => shape("tspan", { class: look, dx: place ? 6 : 0 }, text));
}
