// What an element says when it is pointed at, or has the focus, stands at the foot of the window.
const hint = document.getElementById("hint");
const say = (element, text, show = ["mouseenter", "focusin"], hide = ["mouseleave", "focusout"]) => {
  for (const event of show) element.addEventListener(event, () => { hint.textContent = text; hint.hidden = false; });
  for (const event of hide) element.addEventListener(event, () => { hint.hidden = true; });
};
// On a phone, where each row of a table is a card, the tables are folded.
if (matchMedia("(max-width: 640px)").matches) for (const table of all("details.fold")) table.open = false;
// A word of the glossary says what it means, there as here; a link leads to its place.
for (const word of all("a.word")) {
  const place = word.hash.slice(1), meaning = document.getElementById(`${place}-is`);
  word.setAttribute("aria-describedby", meaning.id);
  say(word, `${document.getElementById(place).textContent}: ${meaning.textContent}`);
}
// A map is one tab stop: arrow keys, Home and End go from cell to cell.
for (const table of all("table.heat")) {
  const box = table.parentElement, stop = cell => cell.querySelector("button") ?? cell;
  const rows = () => [...table.tHead.rows, ...[...table.tBodies].flatMap(body => [...body.rows].slice(1))].filter(row => row.offsetHeight);
  table.setAttribute("role", "grid");
  box.removeAttribute("tabindex");
  for (const cell of all("thead tr > *, tbody tr:not(:first-child) > *", table)) {
    stop(cell).tabIndex = -1;
    if (!cell.title) continue;
    say(cell, cell.title);
    if (cell.matches("td")) cell.ariaLabel = cell.title; else cell.setAttribute("aria-description", cell.title);
    cell.removeAttribute("title");
  }
  let active = (rows()[0] ?? table.tBodies[0].rows[0]).cells[0];
  stop(active).tabIndex = 0;
  table.addEventListener("focusin", event => {
    stop(active).tabIndex = -1;
    active = event.target.closest("th, td");
    stop(active).tabIndex = 0;
  });
  table.addEventListener("keydown", event => {
    const shown = rows(), row = shown.indexOf(active.parentElement), column = active.cellIndex, last = active.parentElement.cells.length - 1;
    const goal = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
                   Home: [event.ctrlKey ? 0 : row, 0], End: [event.ctrlKey ? shown.length - 1 : row, last] }[event.key];
    const cell = goal && shown[goal[0]]?.cells[goal[1]];
    if (goal) event.preventDefault();
    if (cell) stop(cell).focus();
  });
}

// A table that goes on beyond its right edge says so.
const cued = new ResizeObserver(boxes => boxes.forEach(({ target }) => cue(target)));
const cue = box => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
for (const box of all(".scroll")) {
  cued.observe(box);
  box.addEventListener("scroll", () => cue(box));
}

document.getElementById("viable").addEventListener("change", event =>
  document.body.classList.toggle("viable-only", event.target.checked));

// The text for a report is copied as it is read, without the name of the button.
for (const box of all(".copy")) {
  const button = box.querySelector("button");
  button.addEventListener("click", () => {
    const range = document.createRange();
    range.setStartBefore(box.firstElementChild);
    range.setEndBefore(button);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: copy with your keyboard";
  });
}
