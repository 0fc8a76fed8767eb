// Display names of samples: a table of all names, and patterns that change them all. The last changes can be undone.

const namesText = () => all.map((sample) => `${data.samples[sample]}\t${nameOf(sample)}\n`).join("");
const fillNames = () => (byId("names").value = namesText());

/** The display names before each change, the latest last. */
const nameHistory = [];

/** Shows the present display names everywhere. */
const showNames = () => {
  document.querySelectorAll("[data-name]").forEach((it) => (it.textContent = nameOf(Number(it.dataset.name))));
  rows.clear();
  applyFilter();
  fillNames();
  byId("names-undo").disabled = nameHistory.length === 0;
};

/** Renames samples. An empty name, or the original one, removes the display name. */
const rename = (pairs) => {
  nameHistory.push(new Map(state.names));
  for (const [sample, name] of pairs) {
    if (name && name !== data.samples[sample]) state.names.set(sample, name);
    else state.names.delete(sample);
  }
  showNames();
};

const undoNames = () => {
  state.names = nameHistory.pop() ?? state.names;
  showNames();
  byId("names-note").textContent = "The last change of names is undone.";
};

/** Returns a note if samples have the same display name. */
const repeatedNote = () => {
  const seen = new Set();
  const repeated = all.map(nameOf).find((name) => seen.size === seen.add(name).size);
  return repeated === undefined ? "" : `Several samples have the display name ${repeated}.`;
};

/** Renames the samples of the table in the text box. A line has a name and a display name, with a tab or a comma between. */
const applyNames = () => {
  const samples = new Map([...all.map((sample) => [nameOf(sample), sample]), ...all.map((sample) => [data.samples[sample], sample])]);
  const lines = byId("names").value.split(/\r?\n/).filter((line) => line.trim());
  const pairs = lines.map((line) => line.split(line.includes("\t") ? "\t" : ",").map((part) => part.trim()));
  const [known, unknown] = [true, false].map((isKnown) => pairs.filter(([name]) => samples.has(name) === isKnown));
  const before = new Map(state.names);
  rename(known.map(([name, display]) => [samples.get(name), display]));
  const changed = all.filter((sample) => before.get(sample) !== state.names.get(sample)).length;
  const notes = [`${changed} of ${count} names are changed.`];
  if (unknown.length > 0) notes.push(`No sample has the name ${unknown[0][0]}${unknown.length > 1 ? `; ${unknown.length - 1} other lines have unknown names` : ""}.`);
  byId("names-note").textContent = [...notes, repeatedNote()].join(" ");
};

/** Returns the samples whose names a search and replacement changes, each with its new name. */
const findReplacements = (search, replacement) => {
  const pattern = new RegExp(search, "g");
  const pairs = all.map((sample) => [sample, nameOf(sample).replace(pattern, replacement).trim()]);
  return pairs.filter(([sample, name]) => name && name !== nameOf(sample));
};

/** Says how the names would change, or changes them if `isApplied`. */
const replaceNames = (isApplied) => {
  const [search, replacement] = ["names-find", "names-replace"].map((id) => byId(id).value);
  const note = byId("replace-note");
  note.textContent = "";
  if (!search) return;
  const fault = patternFault(search);
  if (fault !== null) {
    note.textContent = `This is not a valid pattern: ${fault}.`;
    return;
  }
  const pairs = findReplacements(search, replacement);
  if (pairs.length === 0) note.textContent = "No name changes.";
  else if (isApplied) {
    rename(pairs);
    note.textContent = `${pairs.length} of ${count} names are changed. ${repeatedNote()}`;
  } else {
    const [sample, name] = pairs[0];
    note.textContent = `${pairs.length} of ${count} names will change, such as ${nameOf(sample)} to ${name}.`;
  }
};

const connectNames = () => {
  byId("names-apply").addEventListener("click", applyNames);
  byId("names-undo").addEventListener("click", undoNames);
  byId("names-original").addEventListener("click", () => {
    rename(all.map((sample) => [sample, ""]));
    byId("names-note").textContent = "All samples have their original names.";
  });
  byId("names-save").addEventListener("click", () => save("names.tsv", "text/tab-separated-values", namesText()));
  for (const id of ["names-find", "names-replace"]) byId(id).addEventListener("input", () => replaceNames(false));
  byId("names-form").addEventListener("submit", (event) => {
    event.preventDefault();
    replaceNames(true);
  });
};
