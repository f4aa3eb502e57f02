// Light or dark: the system's setting, until the user chooses. The choice is all that this page keeps in the browser.

import { byId, icon } from "./dom.js";

const KEY = "dx2px-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Show the theme, and follow the button and the system. */
export function start() {
  apply();
  system.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    keep(shown() === "dark" ? "light" : "dark");
    apply();
  });
}

function shown() {
  return chosen() ?? (system.matches ? "dark" : "light");
}

function apply() {
  const dark = shown() === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-label", `Switch to the ${dark ? "light" : "dark"} theme`);
  byId("theme").replaceChildren(icon(dark ? "sun" : "moon"));
}

function chosen() {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "dark" || kept === "light" ? kept : null;
  } catch {
    return document.documentElement.dataset.chosen ?? null; // no storage: the choice lasts as long as the page
  }
}

function keep(theme) {
  document.documentElement.dataset.chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // see chosen()
  }
}
