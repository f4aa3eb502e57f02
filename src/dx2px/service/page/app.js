// The start of the page: tabs, the question after every change, and what to show when it fails.

import { ask, onHealth } from "./api.js";
import * as audit from "./audit.js";
import { count, dotted, sameCode } from "./codes.js";
import * as diagnoses from "./diagnoses.js";
import * as dialogs from "./dialogs.js";
import { all, announce, byId, node } from "./dom.js";
import * as download from "./download.js";
import * as evidence from "./evidence.js";
import * as facts from "./facts.js";
import * as figure from "./figure.js";
import * as info from "./info.js";
import { Latest } from "./latest.js";
import * as recommendations from "./recommendations.js";
import * as spotlight from "./spotlight.js";
import { current, onChange, restore, update } from "./state.js";
import * as theme from "./theme.js";
import * as undo from "./undo.js";

const latest = new Latest(10); // several changes at once are one question
const COVERAGE = 0.9;
const ASKED = ["diagnoses", "top", "plan", "answerIn", "principal", "age", "sex", "admission", "accepted"]; // parts of the question

/** @type {import("./api.js").Explanation | null} */
let answer = null;
const INVITATION = byId("recommend-empty").textContent;
/** @type {string[]} */
let answersIn = []; // systems of procedures, the model's own first
let asked = ""; // the question that the shown answer belongs to

function question() {
  const { diagnoses: codes, top, plan, answerIn } = current();
  const many = top === "90%" ? { coverage: COVERAGE } : { top: Number(top) };
  const system = answerIn ? { answer_in: answerIn } : {};
  return { diagnoses: codes, ...many, plan, ...system, ...facts.told() };
}

/** One answer fills list and figure, so they agree. A model without the paper's plan is asked for its own. */
async function consult(body, signal) {
  try {
    return await ask("api/explain", body, signal);
  } catch (problem) {
    if (problem.status !== 409 || body.plan === "own") throw problem;
    return ask("api/explain", { ...body, plan: "own" }, signal);
  }
}

function refresh() {
  diagnoses.draw(current().diagnoses);
  const body = question();
  const key = JSON.stringify(body);
  if (key === asked) return;
  asked = key;
  if (!body.diagnoses.length) {
    latest.stop();
    return showAnswer(null);
  }
  byId("recommended").setAttribute("aria-busy", "true");
  latest.run((signal) => consult(body, signal), succeed, fail);
}

function succeed(found) {
  const sameList = listed(found) === listed(answer); // then only the plan is new
  diagnoses.learn(found.diagnoses, found.mapping, found.remarks);
  settle(found);
  diagnoses.draw(current().diagnoses);
  showAnswer(found);
  offerCoverage(found.procedures.some((one) => one.probability !== null));
  announce(sameList ? figure.trust() : summary(found.procedures));
}

/** From here on the codes are written as the server writes them; that is not a new question. */
function settle(found) {
  const codes = [...new Set(found.diagnoses.flatMap(entered))];
  const principal = found.diagnoses.filter((one) => one.principal).flatMap(entered).find(isMarked);
  const coded = evidence.codedIn(found).map((one) => one.code);
  const first = principal ? { principal } : {};
  asked = JSON.stringify({
    ...question(),
    diagnoses: codes,
    ...first,
    ...(coded.length ? { coded } : {}),
  });
  update({ diagnoses: codes, ...first, ...(coded.length ? { accepted: coded } : {}) });
}

/** The codes that a diagnosis stands for, as asked: itself, and those of the other ICD version translated into it. */
function entered(one) {
  if (!one.mapped_from) return [one.code];
  const itself = current().diagnoses.some((code) => sameCode(code, one.code));
  return itself ? [one.code, ...one.mapped_from] : one.mapped_from;
}

function isMarked(code, place, codes) {
  return codes.length === 1 || sameCode(code, current().principal);
}

/** The codes of an answer, to tell whether another one lists the same. */
function listed(found) {
  return JSON.stringify([found?.diagnoses, found?.procedures].map((list) => list?.map((one) => one.code)));
}

function summary([first, ...others]) {
  return first
    ? `${count(others.length + 1, "procedure")}, first ${dotted(first.code)} ${first.title}.`
    : "No procedures.";
}

function fail(problem) {
  asked = "";
  byId("recommended").removeAttribute("aria-busy");
  showAnswer(null);
  byId("recommend-empty").hidden = true;
  showProblem("recommend-problem", problem, refresh);
}

function showAnswer(found) {
  answer = found;
  const some = Boolean(found?.procedures.length);
  byId("recommended").removeAttribute("aria-busy");
  byId("recommend-problem").hidden = true;
  byId("recommend-empty").hidden = some;
  byId("recommend-empty").textContent = found
    ? "The model knows none of these diagnoses, so it recommends nothing."
    : INVITATION;
  byId("exports").hidden = !some;
  evidence.draw(found?.evidence ?? []);
  recommendations.draw(found);
  markVersion();
  figure.show(found && figure.picturing(found));
}

/** Only a model with probabilities can offer a coverage; a link may ask for it all the same. */
function offerCoverage(probable) {
  const [choice, { top }] = [byId("top"), current()];
  const offered = [...choice.options].some((option) => option.value === "90%");
  if (!offered && (probable || top === "90%"))
    choice.append(node("option", { value: "90%" }, "90 % coverage"));
  choice.value = top;
}

/** The version asked for or, if none was, that of the answer. */
function markVersion() {
  const shown = current().answerIn || answer?.procedures[0]?.code.split(":")[0] || answersIn[0];
  for (const choice of all("input[name=answerIn]")) choice.checked = choice.value === shown;
}

function showProblem(id, problem, again) {
  const retry =
    problem.kind && problem.kind !== "refused"
      ? node("button", { type: "button", onclick: again }, "Try again")
      : null;
  byId(id).replaceChildren(node("p", {}, problem.message), retry ?? "");
  byId(id).hidden = false;
  announce(problem.message);
}

function showHealth(state) {
  const texts = {
    away: "The server is not responding. What you entered is kept.",
    busy: "The server is busy. Trying again …",
  };
  byId("banner").hidden = state === "ok";
  byId("banner").textContent = texts[state] ?? "";
}

function choose(tab) {
  for (const name of ["recommend", "audit"]) {
    const [button, panel] = [byId(`tab-${name}`), byId(`panel-${name}`)];
    button.setAttribute("aria-selected", String(name === tab));
    button.tabIndex = name === tab ? 0 : -1;
    panel.hidden = name !== tab;
  }
}

function startTabs() {
  const tabs = [byId("tab-recommend"), byId("tab-audit")];
  for (const [place, tab] of tabs.entries()) {
    tab.addEventListener("click", () => update({ tab: place === 0 ? "recommend" : "audit" }));
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
      const other = event.key === "Home" ? 0 : event.key === "End" ? 1 : 1 - place;
      tabs[other].focus();
      tabs[other].click();
    });
  }
}

function startExports() {
  const result = () => ({ answer, scope: byId("scope-text").textContent });
  byId("copy").addEventListener("click", () => copyAndTell(byId("copy"), download.asText(result())));
  byId("print").addEventListener("click", () => window.print());
  byId("copy-link").addEventListener("click", () => copyAndTell(byId("copy-link"), location.href));
  byId("save-json").addEventListener("click", () =>
    download.save("dx2px.json", "application/json", download.asJson(answer)),
  );
  byId("save-csv").addEventListener("click", () =>
    download.save("dx2px.csv", "text/csv", download.asCsv(result())),
  );
  byId("save-figure").addEventListener("click", () =>
    download.save("dx2px.svg", "image/svg+xml", download.asSvg()),
  );
}

async function copyAndTell(button, text) {
  button.dataset.name ??= button.textContent; // a second click must not read "Copied" as the name
  const copied = await download.copy(text);
  button.textContent = copied ? "Copied" : "Not copied";
  announce(button.textContent);
  setTimeout(() => (button.textContent = button.dataset.name), 1500);
}

async function learnModel() {
  const model = await ask("api/model").catch(() => null);
  if (!model) return; // the banner says what is wrong; the page works without it
  dialogs.describeModel(model);
  figure.offerPlans(model.plan);
  facts.offer(model.evidence);
  answersIn = model.answers_in;
  byId("versions").hidden = answersIn.length < 2;
  markVersion();
  refresh();
}

function follow(state, changed) {
  if (changed.has("tab")) choose(state.tab);
  if (changed.has("top")) offerCoverage(false);
  if (changed.has("answerIn")) markVersion();
  if (ASKED.some((name) => changed.has(name))) refresh();
  if (changed.has("accepted") || changed.has("rejected")) recommendations.mark();
  if (["age", "sex", "admission"].some((name) => changed.has(name))) facts.draw();
  if (changed.has("view")) figure.draw();
}

for (const part of [theme, dialogs, info, spotlight, diagnoses, facts, undo, figure]) part.start();
audit.start((problem, again) => showProblem("audit-problem", problem, again));
startTabs();
startExports();
onHealth(showHealth);
onChange(follow);
byId("top").addEventListener("change", () => update({ top: byId("top").value }));
for (const choice of all("input[name=answerIn]")) {
  choice.addEventListener("change", () => update({ answerIn: choice.value }));
}
window.addEventListener("hashchange", restore);
window.addEventListener("online", refresh);
restore();
learnModel();
