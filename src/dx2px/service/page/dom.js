// All elements are made here. A string always becomes a text node or an attribute, never markup:
// a title that contains "<script>" is shown as it is written.

const SVG = "http://www.w3.org/2000/svg";

/**
 * The element with an id; the page's own ids are all in index.html.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/**
 * The elements that a selector finds.
 * @param {string} selector
 * @param {ParentNode} [host]
 * @returns {any[]}
 */
export function all(selector, host = document) {
  return [...host.querySelectorAll(selector)];
}

/**
 * A new HTML element. Attributes that are null, undefined or false are left out; `on*` are listeners.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {any}
 */
export function node(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/**
 * A new SVG element.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {any}
 */
export function shape(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined).map(asChild));
  return element;
}

function asChild(child) {
  return child instanceof Node ? child : String(child);
}

/**
 * A bar from 0 to 1. Its width goes through the style object, which the content security policy allows.
 * @param {number} share
 * @param {string} label what a screen reader says
 * @returns {HTMLElement}
 */
export function bar(share, label) {
  const filled = node("span", { class: "bar-fill" });
  filled.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  return node("span", { class: "bar", role: "img", "aria-label": label }, filled);
}

const ICONS = {
  accept: "M3.5 8.5l3 3 6-7",
  reject: "M4 4l8 8M12 4l-8 8",
  principal: "M8 2l1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.3l-3.7 2 .8-4.1L2 6.3l4.2-.5z",
  open: "M6 3.5L10.5 8 6 12.5",
  sun: "M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0z",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
};

/**
 * A small line drawing; the button around it carries the label.
 * @param {keyof typeof ICONS} name
 */
export function icon(name) {
  return shape(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" },
    shape("path", { d: ICONS[name] }),
  );
}

/**
 * Let a screen reader say something when it is idle.
 * @param {string} text
 */
export function announce(text) {
  byId("live").textContent = text;
}

/**
 * Replace elements, and return the keyboard focus to the one that had it, recognised by its data-key.
 * @param {HTMLElement} host
 * @param {() => void} change
 */
export function keepingFocus(host, change) {
  const active = document.activeElement;
  const key = host.contains(active) ? active?.getAttribute("data-key") : null;
  change();
  if (key === null) return;
  all("[data-key]", host)
    .find((one) => one.dataset.key === key)
    ?.focus({ preventScroll: true });
}
