// Titles of codes, as far as the server has sent them.

import { ask } from "./api.js";
import { dotted, isLong, sameCode, systemOf } from "./codes.js";
import { node } from "./dom.js";

/** @type {Map<string, string>} */
const titles = new Map();

/**
 * Keep the titles of codes.
 * @param {{code: string, title: string}[]} named
 */
export function learnTitles(named) {
  for (const one of named) titles.set(one.code, one.title);
}

/**
 * The title of a code, or nothing.
 * @param {string} code
 */
export function titleOf(code) {
  return titles.get(code) ?? "";
}

/**
 * What a reason is called where there is room for one word: its code, or the title of what has none, such as an age.
 * @param {string} code
 * @param {string} [title]
 */
export function shortName(code, title = titleOf(code)) {
  return systemOf(code) || !title ? dotted(code) : title;
}

/**
 * The code and the title; the title alone of what has no code.
 * @param {string} code
 * @param {string} [title]
 */
export function fullName(code, title = titleOf(code)) {
  return systemOf(code) || !title ? `${dotted(code)} ${title}`.trim() : title;
}

/**
 * Code and title in two columns; what has no code, or a long one, takes both.
 * @param {string} code
 * @param {string} [title]
 * @returns {HTMLElement[]}
 */
export function columns(code, title = titleOf(code)) {
  const system = systemOf(code);
  const name = system ? node("span", { class: "code", title: system }, dotted(code)) : null;
  if (name && !isLong(code)) return [name, node("span", { class: "title" }, title)];
  return [node("span", { class: "title wide" }, name, name ? " " : null, title)];
}

/**
 * Ask for the missing titles, one after the other, so that a long list does not overload the server.
 * @param {string[]} codes
 * @param {"diagnosis" | "procedure"} kind
 * @returns {Promise<boolean>} whether a title is new
 */
export async function lookUp(codes, kind) {
  const missing = codes.filter((code) => !titles.has(code));
  for (const code of missing) {
    titles.set(code, ""); // asked once, whatever the answer
    const query = new URLSearchParams({ q: code.slice(0, 100), kind, limit: "1" });
    const found = await ask(`api/codes?${query}`).catch(() => ({ codes: [] }));
    for (const one of found.codes) if (sameCode(one.code, code)) titles.set(code, one.title);
  }
  return missing.some((code) => titles.get(code));
}
