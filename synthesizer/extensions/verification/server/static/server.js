"use strict";
(() => {
  // Without this script every page does the same: it asks for news, filters, and fills in names.
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  // --- pages that wait: ask from time to time, and open the page anew when there is news
  const FRESH = "fresh";
  const poll = (place) => {
    const words = place.querySelector("[data-words]");
    let pause = 1500;
    const ask = async () => {
      try {
        const reply = await fetch(place.dataset.poll, { headers: { Accept: "application/json" } });
        if (!reply.ok) throw new Error(reply.status);
        const news = await reply.json();
        if (news.state !== place.dataset.state) {
          sessionStorage.setItem(FRESH, location.pathname);
          location.reload();
          return;
        }
        if (words.textContent !== news.words) words.textContent = news.words;
        pause = Math.min(pause * 1.1, 10000);
      } catch (error) {
        words.textContent = "The server does not answer just now; this page asks again.";
        pause = Math.min(pause * 2, 60000);
      }
      setTimeout(ask, pause);
    };
    setTimeout(ask, pause);
  };
  all("[data-poll]").forEach(poll);

  // --- where reading begins: at what is wrong, or at what has come
  const summary = document.querySelector(".problems");
  if (summary) {
    summary.focus();
  } else if (sessionStorage.getItem(FRESH) === location.pathname) {
    const heading = document.querySelector("h1");
    heading.tabIndex = -1;
    heading.focus();
  }
  sessionStorage.removeItem(FRESH);

  // --- tables that can be searched
  for (const input of all("input[data-filter]")) {
    const table = document.getElementById(input.dataset.filter);
    const count = document.getElementById(`${input.dataset.filter}-count`);
    const filter = () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${table.tBodies[0].rows.length} variables`;
    };
    input.addEventListener("input", filter);
    input.form.hidden = false;
    input.form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  // --- names of variables go where one was typing
  const texts = all("input[data-takes-names]");
  if (texts.length) {
    let last = texts[0];
    texts.forEach((input) => input.addEventListener("focus", () => { last = input; }));
    for (const cell of all("[data-name-of]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "insert";
      button.textContent = "insert";
      button.setAttribute("aria-label", `insert ${cell.dataset.nameOf} into the form`);
      button.addEventListener("click", () => {
        const [from, to] = [last.selectionStart, last.selectionEnd];
        last.setRangeText(cell.dataset.nameOf, from, to, "end");
        last.focus();
      });
      cell.append(" ", button);
    }
  }

  // --- boxes that scroll can be reached by keyboard
  const measure = () => {
    for (const box of all("[data-name].scroll, .canvas")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      const marks = { tabindex: "0", role: "region", "aria-label": box.dataset.name };
      for (const [name, value] of Object.entries(marks)) {
        if (scrolls) box.setAttribute(name, value); else box.removeAttribute(name);
      }
    }
  };
  measure();
  window.addEventListener("resize", measure);
  document.addEventListener("toggle", measure, true);

  // --- a form is sent once
  for (const form of all("form[method=post]")) {
    form.addEventListener("submit", () => setTimeout(() => {
      all("button", form).forEach((button) => { button.disabled = true; });
    }, 0));
  }
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) all("form button").forEach((button) => { button.disabled = false; });
  });
})();
