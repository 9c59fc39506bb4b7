"use strict";
(() => {
  // The map's select boxes. All places were computed beforehand: this only moves what is drawn.
  const element = document.getElementById("data");
  const map = element && JSON.parse(element.textContent).map;
  const drawn = document.getElementById("map-drawing");
  const controls = document.getElementById("map-controls");
  if (!map || !drawn || !controls) return;
  const figure = drawn.closest("figure");
  const summary = figure.querySelector(".summary");
  const description = drawn.ownerSVGElement.querySelector("desc");
  const show = (node, shown) => {
    if (shown) node.removeAttribute("display");
    else node.setAttribute("display", "none");
  };
  const move = (node, places) => {
    for (const [name, place] of Object.entries(places)) node.setAttribute(name, place);
  };
  const select = (title, axes) => {
    const label = document.createElement("label");
    const box = document.createElement("select");
    label.append(title, box);
    for (const axis of axes) box.append(new Option(axis.title, axis.key));
    box.addEventListener("change", draw);
    controls.append(label);
    return box;
  };
  const across = select("Risk (across)", map.across);
  const up = select("Utility loss (up)", map.up);
  if (summary) summary.setAttribute("aria-live", "polite");

  function draw() {
    const x = map.across[across.selectedIndex];
    const y = map.up[up.selectedIndex];
    const pair = map.pairs[`${x.key}|${y.key}`];
    for (const node of drawn.querySelectorAll("[data-across]")) show(node, node.dataset.across === x.key);
    for (const node of drawn.querySelectorAll("[data-up]")) show(node, node.dataset.up === y.key);
    document.getElementById("map-frontier").setAttribute("d", pair.path);
    for (const node of drawn.querySelectorAll("[data-run]")) {
      const run = Number(node.dataset.run);
      const [cx, cy, [low, high]] = [x.places[run], y.places[run], x.ends[run]];
      const known = cx !== null && cy !== null;
      show(node, known);
      if (!known) continue;
      const [line, circle] = [node.querySelector("line"), node.querySelector("circle")];
      move(circle, { cx, cy, class: pair.on.includes(run) ? "fill-s1" : "line-s1" });
      const whisker = low !== null && high !== null;
      show(line, whisker);
      if (whisker) move(line, { x1: low, x2: high, y1: cy, y2: cy });
    }
    for (const node of drawn.querySelectorAll("[data-dot]")) {
      const [run, dataset] = node.dataset.dot.split("|").map(Number);
      const [cx, cy] = [x.dots[run][dataset] ?? null, y.dots[run][dataset] ?? null];
      const [runX, runY] = [x.places[run], y.places[run]];
      const known = [cx, cy, runX, runY].every((place) => place !== null);
      show(node, known);
      if (!known) continue;
      move(node.querySelector("line"), { x1: cx, y1: cy, x2: runX, y2: runY });
      move(node.querySelector("circle"), { cx, cy });
    }
    const labels = new Map(pair.labels.map((label) => [label[0], label]));
    for (const node of drawn.querySelectorAll("[data-label]")) {
      const label = labels.get(Number(node.dataset.label));
      show(node, Boolean(label));
      if (label) move(node, { x: label[1], y: label[2], "text-anchor": label[3] });
    }
    if (summary) summary.textContent = pair.words;
    if (description) description.textContent = pair.words;
  }
})();
