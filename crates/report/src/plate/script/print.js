// Tables and plots for paper.

const COLUMNS_PER_BLOCK = 7;
const MAX_PRINTED_CELLS = 14_000;

/** Makes tables of few columns, which fit on paper, and draws all plots in the colours of paper. */
const preparePrint = () => {
  if (isPrinting) return;
  isPrinting = true;
  const shown = shownColumns();
  const maxRows = Math.max(1, Math.floor(MAX_PRINTED_CELLS / (shown.length + shown.length / COLUMNS_PER_BLOCK + 2)));
  const wanted = savedSamples();
  const samples = wanted.slice(0, maxRows);
  const blocks = [];
  const text = (column, sample) => {
    if (column.id === "verdict") return gradeOf(sample)?.label ?? "–";
    if (column.field) return column.field.values[sample] ?? "–";
    return `${textOf(column.metric, sample) ?? "–"}${column.metric.sides[sample] ? ` ${column.metric.sides[sample]}` : ""}`;
  };
  const cellClass = (column, sample) => (column.metric ? (data.grades[column.metric.grades[sample]]?.class ?? "") : "t");
  for (let i = 0; i < Math.max(1, shown.length); i += COLUMNS_PER_BLOCK) {
    const part = shown.slice(i, i + COLUMNS_PER_BLOCK);
    const head = ["Sample", ...part.map((column) => column.title)].map((title) => make("th", { scope: "col" }, title));
    const lines = samples.map((sample) => make("tr", {}, make("th", { scope: "row" }, nameOf(sample)), ...part.map((column) => make("td", { className: cellClass(column, sample) }, text(column, sample)))));
    blocks.push(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines)));
  }
  const left = wanted.length - samples.length;
  if (left > 0) blocks.push(make("p", { className: "note" }, `${left} samples are left out here; save the table as TSV to get all.`));
  byId("print-table").replaceChildren(...blocks);
  plots.forEach((plot) => plot.drawForPaper());
};
const finishPrint = () => {
  if (!isPrinting) return;
  isPrinting = false;
  byId("print-table").replaceChildren();
  plots.forEach((plot) => {
    plot.canvases[1].style.display = "";
    plot.isStale = true;
  });
  plots.forEach((plot) => plot.resize());
  redraw();
};
