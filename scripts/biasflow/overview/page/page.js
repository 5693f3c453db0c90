"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// What a cell or a point says, on hover and on focus alike.
const hint = document.getElementById("hint");
for (const place of all("td[aria-label], circle[aria-label]")) {
  const show = () => { hint.textContent = place.getAttribute("aria-label"); hint.hidden = false; };
  const hide = () => { hint.hidden = true; };
  place.addEventListener("mouseenter", show);
  place.addEventListener("focus", show);
  place.addEventListener("mouseleave", hide);
  place.addEventListener("blur", hide);
}

// A column's button sorts by the distance from neutral, least first, then most first. Holes stay last.
for (const button of all("button.sort")) {
  button.addEventListener("click", () => {
    const header = button.closest("th"), table = header.closest("table"), body = table.tBodies[0];
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => parseFloat(row.cells[header.cellIndex].dataset.sort);
    const order = (a, b) => (isNaN(key(a)) - isNaN(key(b))) || (down ? key(b) - key(a) : key(a) - key(b));
    body.append(...[...body.rows].sort(order));
  });
}

document.getElementById("viable").addEventListener("change", event =>
  document.body.classList.toggle("viable-only", event.target.checked));

// Without this script all plots are shown; with it, the one that is chosen.
for (const part of all(".tradeoff")) {
  const [bias, cost] = [part.querySelector(".bias"), part.querySelector(".cost")];
  const choose = () => {
    for (const plot of all(".plot", part))
      plot.hidden = plot.dataset.bias !== bias.value || plot.dataset.cost !== cost.value;
  };
  part.querySelector(".choose").hidden = false;
  bias.addEventListener("change", choose);
  cost.addEventListener("change", choose);
  choose();
}
