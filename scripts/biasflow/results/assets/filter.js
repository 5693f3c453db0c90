// A table can be sorted, and filtered: rows stay that hold all words of the field.
const table = document.querySelector("table"), rows = [...table.tBodies[0].rows];
const field = document.createElement("input"), left = document.createElement("span"), label = document.createElement("label");
field.type = "search";
left.setAttribute("role", "status");
label.className = "filter screen";
label.append("Rows that hold ", field, " ", left);
table.parentElement.before(label);
sortable(table);
const texts = new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) row.hidden = !words.every(word => texts.get(row).includes(word));
  left.textContent = words.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
});
