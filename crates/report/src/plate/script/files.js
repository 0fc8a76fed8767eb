// Files that the reader saves.

const save = (name, type, content) => {
  const url = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

/** Returns lines of values as text. Tabs and line ends in a value become spaces. */
const toTsv = (lines) => {
  const clean = (value) => String(value ?? "").replaceAll(/[\t\n]/g, " ");
  return lines.map((line) => `${line.map(clean).join("\t")}\n`).join("");
};

/** Returns the samples of the table that are not hidden, in its order. */
const savedSamples = () => state.shown.filter((sample) => !state.hidden.has(sample));

/** Returns the shown rows and columns of the table without hidden samples, with all digits. A heading has the unit. */
const tableText = () => {
  const shown = shownColumns();
  const cell = (column, sample) => (column.id === "verdict" ? gradeOf(sample)?.label : column.value(sample));
  const renamed = state.names.size > 0 ? ["Display name"] : [];
  const lines = [["Sample", ...renamed, ...shown.map((column) => titleOf(column))]];
  for (const sample of savedSamples()) {
    lines.push([data.samples[sample], ...renamed.map(() => nameOf(sample)), ...shown.map((column) => cell(column, sample))]);
  }
  return toTsv(lines);
};
