// The two dialogs: what the model is, and the request for a token.

import { onTokenNeeded } from "./api.js";
import { systemName } from "./codes.js";
import { all, byId, node } from "./dom.js";
import { render } from "./markdown.js";

/** Make the close buttons work, and let requests ask for a token. */
export function start() {
  for (const button of all("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  byId("about-open").addEventListener("click", () => byId("about").showModal());
  onTokenNeeded(askForToken);
}

/** Resolves to the token, or to null if the user closes the dialog. */
function askForToken(wrong) {
  const [dialog, field] = [byId("token"), byId("token-text")];
  byId("token-note").textContent = wrong
    ? "The server did not accept that token. Try another."
    : "Ask whoever runs it for one. It is kept until you close this tab.";
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
 * Fill the dialog, and the sentence at the top, with what the server says about its model.
 * @param {any} model
 */
export function describeModel(model) {
  const sizes = [model.diagnoses, model.procedures];
  const [diagnoses, procedures] = sizes.map((size) => size.toLocaleString("en"));
  byId("scope-text").textContent = model.scope;
  const facts = {
    Method: model.method,
    "Code systems": model.systems.map(systemName).join(", "),
    "Diagnoses known": diagnoses,
    "Procedures known": procedures,
    "Takes into account": takes(model.evidence),
    "Made by": `dx2px ${model.made_by}`,
    "Served by": `dx2px ${model.version}`,
  };
  const rows = Object.entries(facts).flatMap(([key, value]) => [node("dt", {}, key), node("dd", {}, value)]);
  byId("about-body").replaceChildren(
    node("p", {}, model.scope),
    node("dl", {}, ...rows),
    node("section", { class: "card-text", "aria-label": "Model card" }, ...render(model.card)),
  );
}

function takes(evidence) {
  if (!evidence) return "diagnoses";
  const principal = evidence.principal ? ["principal diagnosis"] : [];
  const admission = evidence.admissions.length ? ["type of admission"] : [];
  return ["diagnoses", ...principal, "age", "sex", ...admission, "procedures already coded"].join(", ");
}
