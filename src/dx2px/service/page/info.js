// The "i" beside a heading opens what explains it, below the button. Opening and closing is the browser's own.

import { all, byId } from "./dom.js";

const MARGIN = 16; // pixels to the edges of the window
const WIDEST = 420;

/** Put each explanation below its button before it opens. */
export function start() {
  for (const button of all("button[popovertarget]")) {
    button.addEventListener("click", () => place(button, byId(button.getAttribute("popovertarget")).style));
  }
}

function place(button, style) {
  const { left, bottom } = button.getBoundingClientRect();
  const width = Math.min(WIDEST, document.documentElement.clientWidth - 2 * MARGIN);
  const furthest = document.documentElement.clientWidth - width - MARGIN;
  style.width = `${width}px`;
  style.left = `${Math.max(MARGIN, Math.min(left, furthest))}px`;
  style.top = `${bottom + scrollY + 6}px`;
}
