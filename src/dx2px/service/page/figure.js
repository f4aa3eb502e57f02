// The figure of the plan: flow, heat map or table, redrawn when the answer, the choice or the width changes.

import { all, byId, keepingFocus, node } from "./dom.js";
import { dotted, percent } from "./codes.js";
import { drawFlow } from "./flow.js";
import { drawHeatMap } from "./heatmap.js";
import { sentence, sums } from "./figure_text.js";
import { clear, onSpot, setPlan } from "./spotlight.js";
import { current, update } from "./state.js";

/**
 * @typedef {object} Picture
 * @property {import("./api.js").Plan} plan
 * @property {Map<string, string>} titles of all its codes
 * @property {boolean} exact whether it is a plan of the server's, not shares of reasons
 * @property {boolean} agrees whether its shares are those of the reasons
 * @property {number} listed how many procedures there are; the plan may be of the first ones
 */

const WIDEST = 1180;
const DRAWN = 20; // procedures that a figure can hold
const TOLERATED = 0.02; // difference of shares that nobody sees
const PROSE = {
  flow: "Ribbons are as thick as the mass that passes from a diagnosis to a procedure.",
  heat: "Each cell is the mass that passes from its diagnosis to its procedure, in percent of all.",
  table: "Mass that passes from each diagnosis to each procedure, in percent of all.",
};
const SHARES = " The server has no plan for this: drawn from the shares of the reasons above.";
const APART =
  " The transport was solved for these procedures alone, so its shares may differ from the reasons above.";
const OTHER = " The reasons above are shares of the model's own plan, and differ from this one.";
const UNFINISHED = " The transport did not converge: take it as rough.";

/** @type {Picture | null} */
let picture = null;

/** Watch the choice of form, the width of the page and what is pointed at. */
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
 * Let the user choose the paper's transport, where it is another plan than the model's own and the model has vectors.
 * @param {string} [own] the kind of the model's own plan
 */
export function offerPlans(own) {
  byId("plans").hidden = own !== "coupling" && own !== "penalised-transport";
}

/** What the plan on show is, and how far it can be trusted. */
export function trust() {
  return [picture?.plan.reading, picture?.plan.faithfulness].filter(Boolean).join(" ");
}

/**
 * Show another picture, or none.
 * @param {Picture | null} given
 */
export function show(given) {
  picture = given;
  setPlan(given?.plan ?? { diagnoses: [], procedures: [], mass: [] });
  draw();
}

/** Draw what is to be shown in the form that the state names. */
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

/** One form of the picture at a width. */
export function drawn(view, width) {
  if (picture === null) throw new Error("there is no picture");
  if (view === "table") return table(picture);
  const fitting = Math.max(280, Math.min(WIDEST, width));
  return view === "heat" ? drawHeatMap(picture, fitting) : drawFlow(picture, fitting);
}

/** Below the heading stands what is pointed at, else how to read the figure. */
function describe(text) {
  if (picture === null) return;
  byId("figure-note").textContent = text || PROSE[current().view] + reserve(picture);
  byId("figure-trust").textContent = trust();
}

/** What a reader must know besides: how many are drawn, and why figure and reasons may differ. */
function reserve({ exact, agrees, plan, listed }) {
  const drawn = plan.procedures.length;
  const first = drawn < listed ? ` Drawn are the first ${drawn} of ${listed} procedures.` : "";
  const apart = agrees ? "" : current().plan === "transport" ? OTHER : APART;
  return first + (!exact ? SHARES : plan.converged === false ? UNFINISHED : apart);
}

function table({ plan, titles }) {
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
        node("span", { class: "code" }, dotted(code)),
        " ",
        node("span", { class: "title" }, titles.get(code) ?? ""),
      ),
      ...plan.mass[i].map((mass) => node("td", {}, percent(mass))),
      node("td", { class: "sum" }, percent(rows[i])),
    );
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
          node("th", { scope: "col" }, "all"),
        ),
      ),
      node("tbody", {}, ...plan.diagnoses.map(line)),
    ),
  );
}

/**
 * A picture from an explanation, or, where the method has no plan, from the shares of the reasons.
 * @param {import("./api.js").Recommendation} answer
 * @param {import("./api.js").Explanation | null} explanation
 * @returns {Picture | null}
 */
export function picturing(answer, explanation) {
  const titles = new Map(
    [...answer.diagnoses, ...answer.recommendations].map((one) => [one.code, one.title]),
  );
  const listed = answer.recommendations.length;
  if (explanation) {
    const agrees = agree(explanation.plan, answer.recommendations);
    return { plan: firstOf(explanation.plan), titles, exact: true, agrees, listed };
  }
  const diagnoses = answer.diagnoses.filter((one) => one.status !== "unknown").map((one) => one.code);
  const shown = answer.recommendations.slice(0, DRAWN);
  const share = (code, one) =>
    (one.because.find((reason) => reason.code === code)?.share ?? 0) / shown.length;
  const mass = diagnoses.map((code) => shown.map((one) => share(code, one)));
  const plan = { diagnoses, procedures: shown.map((one) => one.code), mass };
  return diagnoses.length && listed ? { plan, titles, exact: false, agrees: true, listed } : null;
}

/** As many columns of a plan as a figure can hold. */
function firstOf(plan) {
  return {
    ...plan,
    procedures: plan.procedures.slice(0, DRAWN),
    mass: plan.mass.map((masses) => masses.slice(0, DRAWN)),
  };
}

/** Whether the plan, column by column, gives each diagnosis the share that the reasons give it. */
function agree(plan, recommended) {
  const { columns } = sums(plan.mass);
  const share = new Map(
    recommended.flatMap((one) => one.because.map((reason) => [`${reason.code} ${one.code}`, reason.share])),
  );
  return plan.diagnoses.every((diagnosis, i) =>
    plan.procedures.every((procedure, j) => {
      const mine = columns[j] > 0 ? plan.mass[i][j] / columns[j] : 0;
      return Math.abs(mine - (share.get(`${diagnosis} ${procedure}`) ?? 0)) < TOLERATED;
    }),
  );
}
