"use strict";
// The map of codes: what is under the pointer or the keyboard, its nearest codes, chapters switched on and off, search.
(() => {
  const source = document.getElementById("map-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const picture = document.getElementById("map-picture"), marks = document.getElementById("map-marks");
  const labels = document.getElementById("map-labels"), tip = document.getElementById("map-tip");
  const point = document.getElementById("map-point"), lines = document.getElementById("map-lines");
  const status = document.getElementById("map-status"), search = document.getElementById("map-search");
  const results = document.getElementById("map-results");
  const found = { diagnosis: document.getElementById("map-found-round"), procedure: document.getElementById("map-found-corner") };
  const caps = { diagnosis: "h0", procedure: "l.01.01" };
  const whole = picture.viewBox.baseVal.width, tall = picture.viewBox.baseVal.height;
  const hidden = new Set();
  const view = { x: 0, y: 0, zoom: 1 };
  let current = -1, held = false;

  const kindOf = (i) => data.groups[data.group[i]].kind;
  const shown = (i) => !hidden.has(data.group[i]);
  const unit = () => 1 / (picture.getScreenCTM()?.a || 1); // of the map, per pixel of the screen

  function look() {
    const w = whole / view.zoom, h = tall / view.zoom;
    view.x = Math.min(Math.max(view.x, 0), whole - w);
    view.y = Math.min(Math.max(view.y, 0), tall - h);
    picture.setAttribute("viewBox", `${view.x} ${view.y} ${w} ${h}`);
    picture.style.setProperty("--unit", unit());
    picture.classList.toggle("zoomed", view.zoom > 1);
    labels.classList.toggle("close", view.zoom >= 3);
    if (current >= 0) show(current, held);
  }
  function zoom(factor, x = view.x + whole / view.zoom / 2, y = view.y + tall / view.zoom / 2) {
    const next = Math.min(Math.max(view.zoom * factor, 1), 24), ratio = view.zoom / next;
    view.x = x - (x - view.x) * ratio;
    view.y = y - (y - view.y) * ratio;
    view.zoom = next;
    look();
  }
  function place(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    return [at.x, at.y];
  }
  function nearestTo(x, y, reach, allowed = () => true) {
    let best = -1, least = reach * reach;
    for (let i = 0; i < data.codes.length; i++) {
      if (!shown(i) || !allowed(i)) continue;
      const d = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }
  function words(i) {
    const group = data.groups[data.group[i]];
    const parts = [`${data.codes[i]} ${data.titles[i]}`, `${group.kind}, ${group.name}`];
    if (data.band) parts.push(data.bands[data.band[i]]);
    return parts;
  }
  function line(tag, text) {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }
  function show(i, hold) {
    current = i; held = hold;
    const r = 8 * unit(), x = data.x[i], y = data.y[i];
    point.setAttribute("d", `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`);
    lines.setAttribute("d", data.nearest[i].map((j) => `M${x} ${y}L${data.x[j]} ${data.y[j]}`).join(""));
    const [first, ...rest] = words(i);
    tip.replaceChildren(line("strong", first), ...rest.map((text) => line("span", text)));
    tip.hidden = false;
    const frame = picture.getBoundingClientRect(), at = new DOMPoint(x, y).matrixTransform(picture.getScreenCTM());
    const left = at.x - frame.left, top = at.y - frame.top;
    tip.style.left = `${Math.min(Math.max(left + 14, 4), Math.max(frame.width - tip.offsetWidth - 4, 4))}px`;
    tip.style.top = `${top + 16 + tip.offsetHeight > frame.height ? Math.max(top - tip.offsetHeight - 12, 4) : top + 16}px`;
    if (hold) {
      const near = data.nearest[i].map((j) => `${data.codes[j]} ${data.titles[j]}`).join("; ");
      status.textContent = `${words(i).join("; ")}. Nearest by vector: ${near}.`;
    }
  }
  function letGo() {
    current = -1; held = false;
    point.removeAttribute("d"); lines.removeAttribute("d");
    tip.hidden = true;
    status.textContent = "";
  }
  function reveal(i) {
    const w = whole / view.zoom, h = tall / view.zoom;
    if (data.x[i] < view.x || data.x[i] > view.x + w || data.y[i] < view.y || data.y[i] > view.y + h) {
      view.x = data.x[i] - w / 2; view.y = data.y[i] - h / 2;
      look();
    }
    show(i, true);
  }

  let drag = null;
  picture.addEventListener("pointermove", (event) => {
    if (drag) {
      view.x = drag.x - (event.clientX - drag.left) * unit();
      view.y = drag.y - (event.clientY - drag.top) * unit();
      drag.moved ||= Math.hypot(event.clientX - drag.left, event.clientY - drag.top) > 4;
      return look();
    }
    if (held) return;
    const i = nearestTo(...place(event), 14 * unit());
    if (i < 0) letGo(); else if (i !== current) show(i, false);
  });
  picture.addEventListener("pointerdown", (event) => {
    drag = view.zoom > 1 ? { x: view.x, y: view.y, left: event.clientX, top: event.clientY, moved: false } : null;
    if (drag) picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointerup", (event) => {
    const moved = drag && drag.moved;
    drag = null;
    if (moved) return;
    const i = nearestTo(...place(event), 18 * unit());
    if (i < 0) letGo(); else show(i, true);
  });
  picture.addEventListener("pointercancel", () => { drag = null; });
  picture.addEventListener("pointerleave", () => { if (!held) letGo(); });
  picture.addEventListener("dblclick", (event) => zoom(2, ...place(event)));
  // A wheel without Ctrl scrolls the page, as everywhere else.
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), ...place(event));
  }, { passive: false });
  document.querySelector(".map-zoom").addEventListener("click", (event) => {
    const how = event.target.dataset.zoom;
    if (how === "all") { view.zoom = 1; look(); } else if (how) zoom(how === "in" ? 1.6 : 1 / 1.6);
  });

  // Arrows: the nearest code within a quarter turn of the direction.
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function step([dx, dy]) {
    if (current < 0) return nearestTo(view.x + whole / view.zoom / 2, view.y + tall / view.zoom / 2, whole);
    const x = data.x[current], y = data.y[current];
    const ahead = (i) => {
      const a = (data.x[i] - x) * dx + (data.y[i] - y) * dy, b = Math.abs((data.x[i] - x) * dy) + Math.abs((data.y[i] - y) * dx);
      return i !== current && a > 0 && a >= b;
    };
    return nearestTo(x, y, 2 * whole, ahead);
  }
  picture.addEventListener("keydown", (event) => {
    if (event.key in ways) {
      const i = step(ways[event.key]);
      if (i >= 0) reveal(i);
    } else if (event.key === "+" || event.key === "=") zoom(1.6, ...(current < 0 ? [] : [data.x[current], data.y[current]]));
    else if (event.key === "-") zoom(1 / 1.6);
    else if (event.key === "0") { view.zoom = 1; look(); }
    else if (event.key === "Escape") letGo();
    else return;
    event.preventDefault();
  });

  // Chapters
  const switches = [...document.querySelectorAll(".map-legend [data-group]")];
  function apply() {
    for (const button of switches) button.setAttribute("aria-pressed", String(!hidden.has(Number(button.dataset.group))));
    for (const element of [...marks.children, ...labels.children]) {
      element.style.display = hidden.has(Number(element.dataset.group)) ? "none" : "";
    }
    if (current >= 0 && !shown(current)) letGo();
  }
  function light(group) {
    marks.classList.toggle("dimmed", group !== null);
    for (const element of marks.children) element.classList.toggle("lit", element.dataset.group === group);
  }
  for (const button of switches) {
    button.addEventListener("click", () => {
      const group = Number(button.dataset.group);
      if (!hidden.delete(group)) hidden.add(group);
      light(null);
      apply();
    });
    for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => light(button.dataset.group));
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => light(null));
  }
  for (const button of document.querySelectorAll(".map-legend .every")) {
    button.addEventListener("click", () => {
      const groups = data.groups.map((one, i) => [one, i]).filter(([one]) => one.kind === button.dataset.kind).map(([, i]) => i);
      const on = groups.some((i) => hidden.has(i));
      for (const i of groups) if (on) hidden.delete(i); else hidden.add(i);
      apply();
    });
  }

  // Search
  const texts = data.codes.map((code, i) => `${code} ${code.replace(".", "")} ${data.titles[i]}`.toLowerCase());
  let hits = [], chosen = -1;
  function find() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = wanted.length ? texts.flatMap((text, i) => (wanted.every((word) => text.includes(word)) ? [i] : [])) : [];
    hits.sort((a, b) => Number(texts[b].startsWith(wanted[0])) - Number(texts[a].startsWith(wanted[0])));
    for (const kind of Object.keys(found)) {
      const own = hits.filter((i) => kindOf(i) === kind && shown(i));
      found[kind].setAttribute("d", own.map((i) => `M${data.x[i]} ${data.y[i]}${caps[kind]}`).join(""));
    }
    marks.classList.toggle("dimmed", hits.length > 0);
    choose(-1);
    results.hidden = !wanted.length;
    search.setAttribute("aria-expanded", String(!results.hidden));
    if (wanted.length) status.textContent = hits.length ? `${hits.length} ${hits.length === 1 ? "code" : "codes"} found.` : "No code of this model matches.";
    else letGo();
  }
  function choose(place) {
    chosen = place;
    results.replaceChildren(...hits.slice(0, 12).map((i, at) => {
      const item = line("li", `${data.codes[i]} ${data.titles[i]}`);
      item.id = `map-result-${at}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(at === place));
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); take(at); });
      return item;
    }));
    if (place >= 0) search.setAttribute("aria-activedescendant", `map-result-${place}`);
    else search.removeAttribute("aria-activedescendant");
  }
  function take(place) {
    const i = hits[place];
    if (i === undefined) return;
    results.hidden = true;
    search.setAttribute("aria-expanded", "false");
    hidden.delete(data.group[i]);
    apply();
    reveal(i);
  }
  search.addEventListener("input", find);
  search.addEventListener("blur", () => { results.hidden = true; search.setAttribute("aria-expanded", "false"); });
  search.addEventListener("keydown", (event) => {
    const last = Math.min(hits.length, 12) - 1;
    if (event.key === "ArrowDown") choose(Math.min(chosen + 1, last));
    else if (event.key === "ArrowUp") choose(Math.max(chosen - 1, 0));
    else if (event.key === "Enter") take(Math.max(chosen, 0));
    else if (event.key === "Escape") { search.value = ""; find(); }
    else return;
    event.preventDefault();
  });
  document.getElementById("map-form").addEventListener("submit", (event) => event.preventDefault());

  new ResizeObserver(look).observe(picture);
  look();
})();
