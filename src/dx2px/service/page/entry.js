// A field to enter codes: type a code or words and choose (the ARIA combobox pattern), or paste a list.

import { ask } from "./api.js";
import { announce, node } from "./dom.js";
import { count, dotted, isList, looksLikeCode, readList } from "./codes.js";
import { Latest } from "./latest.js";
import { add, onChange } from "./state.js";
import { learnTitles } from "./titles.js";

const QUIET = 90; // milliseconds without a key stroke before the server is asked
const SHOWN = 20;
const HINT = "Type a code or words, or paste a list.";

/**
 * @typedef {object} Settings
 * @property {string} id unique on the page
 * @property {"diagnosis" | "procedure"} kind
 * @property {string} label
 * @property {string} placeholder
 * @property {import("./state.js").ListName} list that the codes are added to
 */

export class CodeEntry {
  /**
   * @param {HTMLElement} host
   * @param {Settings} settings
   */
  constructor(host, settings) {
    this.settings = settings;
    this.latest = new Latest(QUIET);
    /** @type {import("./api.js").Code[]} */
    this.codes = [];
    this.active = -1;
    this.takeFirst = false; // Enter was pressed before the answer came
    this.held = 0; // codes in the list
    this.build(host);
    onChange((state) => this.follow(state[settings.list].length));
  }

  build(host) {
    const { id, label, placeholder } = this.settings;
    this.list = node("ul", {
      id: `${id}-list`,
      role: "listbox",
      class: "options",
      "aria-label": label,
      hidden: true,
    });
    this.hint = node("p", { id: `${id}-hint`, class: "note hint" }, HINT);
    this.input = node("input", {
      id: `${id}-input`,
      type: "text",
      role: "combobox",
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
      placeholder,
      "aria-label": label,
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      "aria-describedby": `${id}-hint`,
      maxlength: 4000,
      oninput: () => this.search(),
      onkeydown: (event) => this.key(event),
      onpaste: (event) => this.paste(event),
      onblur: () => this.close(),
    });
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    host.append(node("div", { class: "entry" }, this.input, this.list), this.hint);
  }

  search() {
    const text = this.input.value.trim();
    this.takeFirst = false;
    this.hint.textContent = HINT;
    if (!text || isList(text)) {
      this.latest.stop();
      this.close();
      return;
    }
    const query = new URLSearchParams({
      q: text.slice(0, 100),
      kind: this.settings.kind,
      limit: String(SHOWN),
    });
    this.latest.run(
      (signal) => ask(`api/codes?${query}`, undefined, signal),
      (answer) => this.show(answer.codes),
      (problem) => this.fail(problem),
    );
  }

  show(codes) {
    this.codes = codes;
    if (this.takeFirst && codes.length) return this.choose(0);
    this.takeFirst = false;
    this.list.replaceChildren(...codes.map((code, index) => this.option(code, index)));
    if (!codes.length)
      this.list.append(node("li", { class: "nothing", role: "presentation" }, "No matching code."));
    this.list.hidden = false;
    this.list.scrollTop = 0;
    this.input.setAttribute("aria-expanded", String(codes.length > 0));
    this.activate(codes.length ? 0 : -1);
    announce(codes.length ? `${count(codes.length, "code")} found.` : "No matching code.");
  }

  option(code, index) {
    return node(
      "li",
      {
        id: `${this.settings.id}-option-${index}`,
        role: "option",
        "aria-selected": "false",
        onclick: () => this.choose(index),
      },
      node("span", { class: "code" }, code.dotted),
      node("span", { class: "title" }, code.title),
      code.known ? null : node("span", { class: "tag" }, code.other_version ? code.system : "not in the model"),
    );
  }

  activate(index) {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = index;
    const option = index < 0 ? null : this.list.children[index];
    if (!option) return this.input.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
  }

  key(event) {
    const last = this.codes.length - 1;
    const open = !this.list.hidden && last >= 0;
    const moves = {
      ArrowDown: () => (open ? this.activate(this.active >= last ? 0 : this.active + 1) : this.search()),
      ArrowUp: () => open && this.activate(this.active <= 0 ? last : this.active - 1),
      PageDown: () => open && this.activate(Math.min(last, this.active + 5)),
      PageUp: () => open && this.activate(Math.max(0, this.active - 5)),
      Escape: () => (this.list.hidden ? this.clear() : this.close()),
      Enter: () => this.enter(),
    };
    if (!(event.key in moves) || event.isComposing) return;
    event.preventDefault();
    moves[event.key]();
  }

  /** Add the chosen option; or the typed code, if the server has not answered yet; or else the first option to come. */
  enter() {
    const text = this.input.value.trim();
    if (!text) return;
    if (isList(text)) return this.take(text);
    if (!this.latest.busy && !this.list.hidden && this.active >= 0) return this.choose(this.active);
    if (looksLikeCode(text)) return this.give([text], 0);
    this.takeFirst = this.latest.busy;
  }

  choose(index) {
    learnTitles([this.codes[index]]);
    this.give([this.codes[index].code], 0);
  }

  paste(event) {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!isList(text)) return;
    event.preventDefault();
    this.take(text);
  }

  take(text) {
    const { codes, skipped } = readList(text);
    this.give(codes, skipped);
  }

  give(codes, skipped) {
    const added = add(this.settings.list, codes);
    this.clear();
    const pieces = [added === 1 ? `Added ${dotted(codes[0])}.` : `Added ${count(added, "code")}.`];
    if (codes.length > added) pieces.push(`${count(codes.length - added, "code")} already listed.`);
    if (skipped) pieces.push(`Skipped ${count(skipped, "line")} without a code.`);
    this.say(pieces.slice(added ? 0 : 1).join(" ") || "Nothing to add.");
  }

  /** What was said about added codes does not outlive their removal. */
  follow(many) {
    if (many < this.held) this.hint.textContent = HINT;
    this.held = many;
  }

  say(text) {
    this.hint.textContent = text;
    announce(text);
  }

  fail(problem) {
    this.close();
    this.hint.textContent = `No suggestions: ${problem.message}`;
  }

  clear() {
    this.latest.stop();
    this.input.value = "";
    this.takeFirst = false;
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.codes = [];
    this.input.setAttribute("aria-expanded", "false");
    this.activate(-1);
  }
}
