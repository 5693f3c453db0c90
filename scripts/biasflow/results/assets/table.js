"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// What a cell is sorted by: its data-sort, or else its text; as numbers where a column holds nothing else ("< 1/12870", too).
const said = cell => cell?.dataset.sort ?? cell?.textContent.trim() ?? "";
const number = text => { const bound = /^<\s*1\/(\d+)$/.exec(text); return bound ? 1 / bound[1] : Number(text.replace(/^[<>]\s*/, "")); };
const absent = text => text === "" || text === "\u2013";

// The headers of a table become buttons that sort its rows, least first, then most first.
function sortable(table) {
  const headers = [...table.tHead.rows].at(-1).cells, body = table.tBodies[0];
  for (const header of headers) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...[...header.childNodes].filter(node => node.nodeName !== "SMALL"));
    header.prepend(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "ascending", place = header.cellIndex;
      for (const other of headers) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = [...body.rows].map(row => [said(row.cells[place]), row]);
      const numeric = keyed.every(([text]) => absent(text) || !isNaN(number(text)));
      const order = numeric ? (a, b) => number(a) - number(b) : (a, b) => a.localeCompare(b, "en", { numeric: true });
      keyed.sort(([a], [b]) => (absent(a) - absent(b)) || (down ? order(b, a) : order(a, b)));  // what is empty stays last
      body.append(...keyed.map(([, row]) => row));
    });
  }
}
