"use strict";
(() => {
  // Without this script the page says the same; it sorts, filters and picks.
  document.documentElement.classList.add("js");

  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  };
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  const read = () => {
    const element = document.getElementById("data");
    if (!element) return {};
    try {
      return JSON.parse(element.textContent);
    } catch (error) {
      return {};
    }
  };

  // --- tables that can be sorted: numbers by value, those without one always last
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return null;
    if (cell.dataset.raw !== undefined) return Number(cell.dataset.raw);
    return cell.classList.contains("number") ? null : cell.textContent.trim();
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true }));

  const sort = (table, column, header) => {
    const numeric = header.classList.contains("number");
    const now = header.getAttribute("aria-sort");
    // the first click on a number shows the largest
    const ascending = now ? now === "descending" : !numeric;
    const rows = Array.from(table.tBodies[0].rows).map((row, i) => [key(row, column), i, row]);
    rows.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      return (ascending ? compare(a, b) : compare(b, a)) || i - j;
    });
    table.tBodies[0].append(...rows.map((row) => row[2]));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  };

  for (const table of all("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
      const button = make("button", { type: "button" }, header.textContent);
      button.addEventListener("click", () => sort(table, column, header));
      // browsers leave buttons out where a heading is repeated on the next printed page
      header.replaceChildren(button, make("span", { class: "printed" }, header.textContent));
    });
  }

  // --- long tables that can be sorted can be filtered
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    if (body.rows.length <= 15) continue;
    const input = make("input", { type: "search", autocomplete: "off" });
    const count = make("span", { role: "status", class: "muted-text" });
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = words.length ? `${shown} of ${body.rows.length} rows` : "";
    });
    const box = make("div", { class: "controls" }, make("label", {}, "Show only rows with", input), count);
    table.closest(".scroll").before(box);
  }

  // --- parts that are folded: links open them, and one button opens all
  const open = (place) => {
    for (let box = place; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
    }
    const part = place.querySelector(":scope > details.part");
    if (part) part.open = true;
  };
  const arrive = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    open(place);
    place.scrollIntoView();
  };
  for (const link of all("a[href^='#']")) link.addEventListener("click", () => setTimeout(arrive));
  window.addEventListener("hashchange", arrive);
  const parts = all("details.part");
  const contents = document.querySelector("nav ol");
  if (parts.length && contents) {
    const every = make("button", { type: "button", "aria-pressed": "false" }, "Open all parts");
    every.addEventListener("click", () => {
      const now = every.getAttribute("aria-pressed") !== "true";
      every.setAttribute("aria-pressed", String(now));
      every.textContent = now ? "Close all parts" : "Open all parts";
      parts.forEach((part) => { part.open = now; });
    });
    contents.after(make("div", { class: "controls" }, every));
  }
  for (const box of all("details")) box.addEventListener("toggle", () => measure());

  // --- pairs: the map, the list and the tables behind them
  const data = read();
  const view = document.getElementById("pair-view");
  const tables = new Map((data.pairs || []).map((pair) => [JSON.stringify([...pair.variables].sort()), pair]));

  const counts = (pair, side, caption, marked) => {
    const marks = new Map(marked.map(([row, column, more]) => [`${row},${column}`, more]));
    const corner = make("th", { scope: "col" }, `${pair.variables[0]} \\ ${pair.variables[1]}`);
    const heads = pair.columns.map((label) => make("th", { scope: "col", class: "number" }, label));
    const rows = side.map((row, i) => make("tr", {}, make("th", { scope: "row" }, pair.rows[i]), ...row.map((count, j) => {
      const shown = Math.round(count).toLocaleString("en-US");
      const more = marks.get(`${i},${j}`);
      if (more === undefined) return make("td", { class: "number" }, shown);
      const words = more ? "more than in the original: " : "fewer than in the original: ";
      return make("td", { class: `number ${more ? "more" : "less"}` },
        make("span", { "aria-hidden": "true" }, more ? "▲ " : "▼ "), make("span", { class: "sr" }, words), shown);
    })));
    const table = make("table", { class: "cross" }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, corner, ...heads)), make("tbody", {}, ...rows));
    return make("div", { class: "scroll", "data-name": `${pair.variables.join(" and ")}, ${caption}` }, table);
  };

  const showPair = (names, value, from) => {
    const pair = tables.get(JSON.stringify([...names].sort()));
    const heading = make("h3", { tabindex: "-1", class: "pair-title" }, `${names[0]} with ${names[1]}${value ? `, S_pMSE ${value}` : ""}`);
    const back = make("button", { type: "button", class: "linklike" }, "Back to where it was chosen");
    back.addEventListener("click", () => { from.focus(); from.scrollIntoView({ block: "center" }); });
    const body = pair
      ? [make("div", { class: "beside" }, counts(pair, pair.original, `Original ${data.units}`, []),
        counts(pair, pair.synthetic, `Synthetic ${data.units}, mean over the datasets`, pair.marked)),
      make("p", { class: "summary" }, pair.words)]
      : [make("p", {}, "The table behind this pair is not on the page: only the worst pairs are.")];
    view.replaceChildren(make("div", { class: "pair-tables" }, heading, ...body), back);
    measure();
    heading.focus({ preventScroll: true });
    // the table is in view as a whole where the window has room for it
    view.scrollIntoView({ block: view.offsetHeight < window.innerHeight ? "nearest" : "start" });
  };

  for (const map of view && data.names ? all("g.heat") : []) {
    const cells = all(".pair", map);
    const at = new Map(cells.map((cell) => [`${cell.dataset.row},${cell.dataset.column}`, cell]));
    const names = (cell) => [data.names[cell.dataset.row], data.names[cell.dataset.column]];
    const words = (cell) => cell.querySelector("title").textContent;
    let current = null;
    const choose = (cell) => {
      if (current) current.setAttribute("tabindex", "-1");
      current = cell;
      cell.setAttribute("tabindex", "0");
    };
    const open = (cell) => {
      choose(cell);
      all(".pair.chosen").forEach((other) => other.classList.remove("chosen"));
      cell.classList.add("chosen");
      showPair(names(cell), map.classList.contains("distance") ? words(cell).split(": ").pop() : "", cell);
    };
    // a picture cannot hold what the keyboard reaches; a group can
    map.ownerSVGElement.setAttribute("role", "group");
    for (const cell of cells) {
      cell.setAttribute("role", "button");
      cell.setAttribute("tabindex", "-1");
      cell.setAttribute("aria-label", words(cell));
      cell.addEventListener("click", () => open(cell));
    }
    if (cells.length) choose(cells[0]);
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    map.addEventListener("keydown", (event) => {
      const cell = event.target.closest(".pair");
      if (!cell) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        open(cell);
      } else if (moves[event.key]) {
        event.preventDefault();
        const [down, right] = moves[event.key];
        let [row, column] = [Number(cell.dataset.row), Number(cell.dataset.column)];
        let to;
        do {  // over cells that are blank
          [row, column] = [row + down, column + right];
          to = at.get(`${row},${column}`);
        } while (!to && Math.min(row, column) >= 0 && Math.max(row, column) < data.names.length);
        if (to) { choose(to); to.focus(); }
      }
    });
  }

  const list = document.getElementById("pair-list");
  if (list && view && tables.size) {
    const table = list.querySelector("table");
    const column = Array.from(table.tHead.rows[0].cells).findIndex((cell) => cell.firstChild.textContent === "S_pMSE");
    for (const row of table.tBodies[0].rows) {
      const first = row.cells[0];
      const mark = first.querySelector(".mark");
      const name = (mark ? first.textContent.slice(mark.textContent.length) : first.textContent);
      const names = [name, row.cells[1].textContent];
      const button = make("button", { type: "button", class: "linklike", "aria-label": `${names.join(" with ")}: show its table` }, name);
      const value = column < 0 ? "" : row.cells[column].textContent;
      button.addEventListener("click", () => showPair(names, value, button));
      first.replaceChildren(...(mark ? [mark] : []), button);
    }
  }

  // --- boxes that scroll can be reached by keyboard
  function measure() {
    const names = new Map();
    for (const box of all(".scroll, .canvas")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (scrolls) {
        box.setAttribute("tabindex", "0");
        box.setAttribute("role", "region");
        const name = box.dataset.name || "table";
        const before = names.get(name) || 0;
        names.set(name, before + 1);
        box.setAttribute("aria-label", before ? `${name} (${before + 1})` : name);
      } else if (box.getAttribute("role") === "region") {
        ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
      }
    }
  }
  measure();
  arrive();
  window.addEventListener("resize", measure);
})();
