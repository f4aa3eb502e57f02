// The two dialogs: what the model is, and the question for a token.

import { onTokenNeeded } from "./api.js";
import { all, byId, node } from "./dom.js";

/** Make the buttons that close work, and let requests ask for a token. */
export function start() {
  for (const button of all("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  byId("about-open").addEventListener("click", () => byId("about").showModal());
  onTokenNeeded(askForToken);
}

/** Resolves with the token, or null when the user closes the dialog. */
function askForToken(wrong) {
  const [dialog, field] = [byId("token"), byId("token-text")];
  byId("token-note").textContent = wrong
    ? "The server did not take that token. Try another."
    : "Whoever runs it can give you one. It is kept until you close this tab.";
  return new Promise((resolve) => {
    let given = null;
    byId("token-form").onsubmit = (event) => {
      event.preventDefault();
      given = field.value.trim();
      dialog.close();
    };
    dialog.onclose = () => {
      field.value = "";
      resolve(given);
    };
    dialog.showModal();
    field.focus();
  });
}

/**
 * Fill the header and the dialog with what the server says of its model.
 * @param {any} model
 */
export function describeModel(model) {
  const sizes = [model.diagnoses, model.procedures].filter(Number.isFinite);
  const name = [
    model.method,
    sizes.length === 2 ? `${sizes.map((size) => size.toLocaleString("en")).join(" → ")} codes` : "",
  ];
  byId("model-name").textContent = name.filter(Boolean).join(" · ") || "About the model";
  if (model.scope) byId("scope-text").textContent = model.scope;
  const { card, scope, metrics, ...plain } = model;
  const rows = flatten(plain).flatMap(([key, value]) => [node("dt", {}, key), node("dd", {}, value)]);
  byId("about-body").replaceChildren(
    node("p", {}, byId("scope-text").textContent),
    node("dl", {}, ...rows),
    Array.isArray(metrics) && metrics.length ? table(metrics) : "",
    card ? node("pre", { tabindex: 0, "aria-label": "Model card" }, card) : "",
  );
}

/** What was measured on test stays, a line for each number of recommendations. */
function table(metrics) {
  const names = Object.keys(metrics[0]);
  const head = node("tr", {}, ...names.map((name) => node("th", { scope: "col" }, name)));
  const lines = metrics.map((line) => node("tr", {}, ...names.map((name) => node("td", {}, line[name]))));
  return node(
    "table",
    { class: "metrics" },
    node("caption", {}, "Measured on test stays, in percent"),
    node("thead", {}, head),
    node("tbody", {}, ...lines),
  );
}

/** Nested facts as lines: {test: {f1: 0.4}} becomes "test f1: 0.4". */
function flatten(value, key = "") {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return [[key.trim(), value.join(", ")]];
  if (typeof value !== "object")
    return [[key.trim(), typeof value === "number" ? readable(value) : String(value)]];
  return Object.entries(value).flatMap(([name, inner]) =>
    flatten(inner, `${key} ${name.replaceAll("_", " ")}`),
  );
}

function readable(number) {
  return Number.isInteger(number) ? number.toLocaleString("en") : String(Number(number.toPrecision(4)));
}
