// The figure of the plan: flow, heat map or table, redrawn when the answer, the choice or the width changes.

import { all, byId, keepingFocus, node } from "./dom.js";
import { count, dotted, percent, systemOf } from "./codes.js";
import { drawFlow } from "./flow.js";
import { drawHeatMap } from "./heatmap.js";
import { sentence, sums } from "./figure_text.js";
import { clear, onSpot, rowsOf, setPlan } from "./spotlight.js";
import { current, update } from "./state.js";
import { shortName } from "./titles.js";

/**
 * @typedef {object} Picture
 * @property {import("./api.js").Plan} plan what is drawn
 * @property {import("./api.js").Plan} whole the same with the rows that carry next to nothing
 * @property {Map<string, string>} titles of all its codes
 * @property {number} listed how many procedures there are; the plan may be of the first ones
 */

const WIDEST = 1180;
const DRAWN = 20; // procedures that a figure can hold
const CROWD = 12; // diagnoses up to which a figure draws them all
const SMALLEST = 0.005; // of the mass
const HINT = "Point at a code, or tap it, for its shares.";
const PROSE = {
  flow: "The thicker a ribbon, the more mass goes from its diagnosis to its procedure.",
  heat: "Each cell is the mass that goes from its diagnosis to its procedure, in per cent of the total.",
  table: "The mass that goes from each diagnosis to each procedure, in per cent of the total.",
};
const UNFINISHED = "The transport did not converge: treat it as approximate.";

/** @type {Picture | null} */
let picture = null;

/** Follow the choice of view and plan, the width of the page and what is pointed at. */
export function start() {
  for (const choice of all("input[name=view], input[name=plan]")) {
    choice.addEventListener("change", () => update({ [choice.name]: choice.value }));
  }
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (Math.round(entry.contentRect.width) === width) return;
    width = Math.round(entry.contentRect.width);
    requestAnimationFrame(draw);
  }).observe(byId("figure"));
  onSpot((diagnosis, procedure) => picture && describe(sentence(picture, diagnosis, procedure)));
}

/**
 * Offer the paper's transport plan if it differs from the model's own plan and the model has vectors.
 * @param {string} [own] the kind of the model's own plan
 */
export function offerPlans(own) {
  byId("plans").hidden = own !== "coupling" && own !== "penalised-transport";
}

/** What the plan shown is, and how far it can be trusted. */
export function trust() {
  return [picture?.plan.reading, picture?.plan.faithfulness].filter(Boolean).join(" ");
}

/**
 * Show another picture, or none.
 * @param {Picture | null} given
 */
export function show(given) {
  picture = given;
  setPlan(given?.whole ?? { diagnoses: [], procedures: [], mass: [] });
  draw();
}

/** Draw the picture in the view that the state names. */
export function draw() {
  const { view, plan } = current();
  byId("figure-card").hidden = picture === null;
  for (const choice of all("input[name=view]")) choice.checked = choice.value === view;
  for (const choice of all("input[name=plan]")) choice.checked = choice.value === plan;
  if (picture === null) return byId("figure").replaceChildren();
  describe("");
  const host = byId("figure");
  clear();
  keepingFocus(host, () => host.replaceChildren(drawn(view, host.clientWidth)));
}

/** One view of the picture at a given width. */
export function drawn(view, width) {
  if (picture === null) throw new Error("there is no picture");
  if (view === "table") return table(picture);
  const fitting = Math.max(280, Math.min(WIDEST, width));
  return view === "heat" ? drawHeatMap(picture, fitting) : drawFlow(picture, fitting);
}

/** The note below the heading says what is pointed at; how to read the figure is behind the "i". */
function describe(text) {
  if (picture === null) return;
  byId("figure-note").textContent = text || [HINT, ...reserve(picture, current().view)].join(" ");
  byId("figure-reading").textContent = PROSE[current().view];
  byId("figure-trust").textContent = trust();
}

/** What else a reader must know: what is not drawn, and whether the transport was solved. */
function reserve({ plan, whole, listed }, view) {
  const [drawn, left] = [plan.procedures.length, whole.diagnoses.length - plan.diagnoses.length];
  return [
    drawn < listed && `Only the first ${drawn} of ${listed} procedures are drawn.`,
    left && view !== "table" && `${count(left, "diagnosis", "diagnoses")} with less than ${percent(SMALLEST)} are only in the table.`,
    plan.converged === false && UNFINISHED,
  ].filter(Boolean);
}

function table({ whole: plan, titles }) {
  const { rows } = sums(plan.mass);
  const head = plan.procedures.map((code) =>
    node(
      "th",
      { scope: "col", title: titles.get(code), "data-procedure": code, "data-spot": true },
      dotted(code),
    ),
  );
  const line = (code, i) =>
    node(
      "tr",
      { "data-diagnosis": code, "data-spot": true },
      node(
        "th",
        { scope: "row" },
        ...heading(code, titles.get(code) ?? ""),
      ),
      ...plan.mass[i].map((mass) => node("td", {}, percent(mass))),
      node("td", { class: "sum" }, percent(rows[i])),
    );
  const lines = rowsOf(plan).map(line);
  const groups = [lines.slice(0, plan.diagnoses.length), lines.slice(plan.diagnoses.length)];
  return node(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": "Table of the plan" },
    node(
      "table",
      {},
      node(
        "thead",
        {},
        node(
          "tr",
          {},
          node("th", { scope: "col" }, "Diagnosis"),
          ...head,
          node("th", { scope: "col" }, "total"),
        ),
      ),
      ...groups.filter((group) => group.length).map((group) => node("tbody", {}, ...group)),
    ),
  );
}

/** What a row is called: code and title, or the title alone of evidence that has no code. */
function heading(code, title) {
  if (!systemOf(code)) return [node("span", { class: "title" }, shortName(code, title))];
  return [node("span", { class: "code" }, dotted(code)), " ", node("span", { class: "title" }, title)];
}

/**
 * The picture of an answer; none where nothing is explained.
 * @param {import("./api.js").Explanation} answer
 * @returns {Picture | null}
 */
export function picturing({ diagnoses, procedures, plan, evidence = [] }) {
  const titles = new Map([...diagnoses, ...evidence, ...procedures].map((one) => [one.code, one.title]));
  const whole = firstOf(plan);
  return procedures.length ? { plan: notable(whole), whole, titles, listed: procedures.length } : null;
}

/** The rows worth drawing: a few diagnoses all; of many, and of other evidence, those that carry something. */
function notable(plan) {
  const { rows, total } = sums(plan.mass);
  const few = plan.diagnoses.length <= CROWD ? plan.diagnoses.length : 0;
  const kept = rows.map((mass, i) => i < few || mass >= SMALLEST * total);
  return {
    ...plan,
    diagnoses: plan.diagnoses.filter((_, i) => kept[i]),
    evidence: (plan.evidence ?? []).filter((_, i) => kept[plan.diagnoses.length + i]),
    mass: plan.mass.filter((_, i) => kept[i]),
  };
}

/** The first columns of a plan, as many as a figure can hold. */
function firstOf(plan) {
  return {
    ...plan,
    procedures: plan.procedures.slice(0, DRAWN),
    mass: plan.mass.map((masses) => masses.slice(0, DRAWN)),
  };
}
