// Files that the reader saves.

const save = (name, type, content) => {
  const url = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

// A ZIP file without compression: for each file a header and its bytes, then the list of all files.

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
const crcOf = (bytes) => {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff];
  return (crc ^ 0xffffffff) >>> 0;
};

/** Returns numbers as bytes, the lowest byte first. `fields` has the bytes and the value of each number. */
const littleEndian = (fields) => Uint8Array.from(fields.flatMap(([size, value]) => [...Array(size).keys()].map((at) => (value >>> (8 * at)) & 0xff)));

/** Returns a ZIP file. `files` has the name and the bytes of each file. */
const makeZip = (files) => {
  const now = new Date();
  const time = (now.getHours() << 11) | (now.getMinutes() << 5) | (now.getSeconds() >> 1);
  const date = ((now.getFullYear() - 1980) << 9) | ((now.getMonth() + 1) << 5) | now.getDate();
  const parts = [];
  const list = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const path = new TextEncoder().encode(name);
    // Version 2.0, names in UTF-8, no compression.
    const common = [[2, 20], [2, 0x800], [2, 0], [2, time], [2, date], [4, crcOf(bytes)], [4, bytes.length], [4, bytes.length], [2, path.length], [2, 0]];
    const header = littleEndian([[4, 0x04034b50], ...common]);
    list.push(littleEndian([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]), path);
    parts.push(header, path, bytes);
    offset += header.length + path.length + bytes.length;
  }
  const listBytes = list.reduce((sum, part) => sum + part.length, 0);
  const end = littleEndian([[4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, listBytes], [4, offset], [2, 0]]);
  return new Blob([...parts, ...list, end], { type: "application/zip" });
};

/** Saves all plots of the overview as they are shown, their values, and the table as one ZIP file. `format` is `svg` or `png`. */
const saveAll = async (format) => {
  const note = byId("save-note");
  const shown = [...plots].filter((plot) => plot.focus === null && plot.isReady());
  const encode = (text) => new TextEncoder().encode(text);
  const files = [["samples.tsv", encode(tableText())]];
  for (const [i, plot] of shown.entries()) {
    note.textContent = `Plot ${i + 1} of ${shown.length}`;
    // Lets the browser show the note, and stay responsive.
    await new Promise((done) => setTimeout(done));
    const content = format === "svg" ? encode(plot.svgText()) : new Uint8Array(await (await plot.pngBlob()).arrayBuffer());
    files.push([`${plot.fileName()}.${format}`, content]);
    if (plot.tsvLines) files.push([`${plot.fileName()}.tsv`, encode(toTsv(plot.tsvLines()))]);
  }
  save("plots.zip", "application/zip", makeZip(files));
  note.textContent = `${shown.length} plots and the table are saved in plots.zip.`;
};

/** Copies the table as text with tabs, which spreadsheets paste as cells. */
const copyTable = async () => {
  const note = byId("save-note");
  const rows = savedSamples().length;
  try {
    await navigator.clipboard.writeText(tableText());
    note.textContent = `The table is copied: ${rows} ${rows === 1 ? "sample" : "samples"}, ${shownColumns().length} columns.`;
  } catch {
    note.textContent = "This browser does not let the page copy; save the table as TSV.";
  }
};

const connectFiles = () => {
  byId("save-table").addEventListener("click", () => {
    const name = savedSamples().length < count ? "some-samples.tsv" : "samples.tsv";
    save(name, "text/tab-separated-values", tableText());
  });
  byId("copy-table").addEventListener("click", copyTable);
  for (const format of ["svg", "png"]) {
    const button = byId(`save-all-${format}`);
    button.addEventListener("click", async () => {
      button.disabled = true;
      await saveAll(format).finally(() => (button.disabled = false));
    });
  }
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
