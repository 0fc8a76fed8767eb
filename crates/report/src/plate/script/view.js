// The choices of the reader. The browser keeps them, so that the page looks the same when it is opened again,
// and a file takes them to another browser or to another page.

// The key has all names of samples: a page of other samples does not get these choices.
const viewKey = () => {
  let sum = 0;
  for (const char of data.samples.join("\n")) sum = (Math.imul(sum, 31) + char.codePointAt(0)) | 0;
  return `readmill ${count} ${sum >>> 0}`;
};
let isKept = false;

const VIEW_FORMAT = "readmill view";

/** Returns all choices. They name samples and columns, so that other pages can use them, too. */
const readView = () => {
  const named = (samples) => [...samples].map((sample) => data.samples[sample]);
  const { marked, hidden, names, groups, filter, filterPlace, sort, colorBy } = state;
  return {
    format: VIEW_FORMAT,
    version: 1,
    highlighted: named(marked.keys()),
    hidden: named(hidden),
    names: Object.fromEntries([...names].map(([sample, name]) => [data.samples[sample], name])),
    groups: groups.map(({ name, samples }) => ({ name, samples: named(samples) })),
    filter,
    filterPlace,
    sort: sort.column && { column: sort.column.id, ascending: sort.up },
    colorBy,
    columns: columns.map((column) => column.id),
    hiddenColumns: columns.filter((column) => !column.isShown).map((column) => column.id),
    settings: state.settings,
  };
};

/** Stores the choices of the reader. Some browsers store nothing for files; then nothing is kept. */
const keepView = () => {
  if (!isKept) return;
  try {
    localStorage.setItem(viewKey(), JSON.stringify(readView()));
  } catch {
    isKept = false;
  }
};

/** Sets the state from choices. Returns how many of their samples are not on this page. */
const applyView = (view) => {
  const samples = new Map(data.samples.map((name, sample) => [name, sample]));
  const unknown = new Set();
  const known = (names) => {
    names.forEach((name) => samples.has(name) || unknown.add(name));
    return names.filter((name) => samples.has(name)).map((name) => samples.get(name));
  };
  state.marked = new Map(known(view.highlighted).map((sample, number) => [sample, number]));
  state.hidden = new Set(known(view.hidden));
  state.names = new Map(known(Object.keys(view.names)).map((sample) => [sample, view.names[data.samples[sample]]]));
  state.groups = view.groups.map(({ name, samples }) => ({ name, samples: new Set(known(samples)) }));
  state.filter = view.filter;
  state.filterPlace = filterPlaces.has(view.filterPlace) ? view.filterPlace : "names";
  if (colorModes.has(view.colorBy) || (view.colorBy === GROUPS && view.groups.length > 0)) state.colorBy = view.colorBy;
  orderColumns(view.columns ?? originalOrder);
  columns.forEach((column) => (column.isShown = !view.hiddenColumns.includes(column.id)));
  const column = [nameColumn, ...columns].find((column) => column.id === view.sort?.column);
  state.sort = { column: column ?? null, up: column ? view.sort.ascending : true };
  Object.assign(state.settings, view.settings);
  return unknown.size;
};

/** Shows the state after `applyView`, when the page is already made. */
const showView = () => {
  syncForms();
  renderHead();
  showNames();
};

/** Restores the stored choices, before the table and the plots are made. */
const restoreView = () => {
  isKept = true;
  try {
    const view = JSON.parse(localStorage.getItem(viewKey()) ?? "null");
    if (view?.format === VIEW_FORMAT) applyView(view);
  } catch {
    // The browser stores nothing for files, or the choices are of another version.
  }
};

/** Loads the choices from a file that `readView` made. */
const loadView = async (file) => {
  const before = readView();
  const note = byId("view-note");
  try {
    const view = JSON.parse(await file.text());
    if (view.format !== VIEW_FORMAT) throw new Error("another format");
    const unknown = applyView(view);
    note.textContent = unknown === 0 ? "The view is loaded." : `The view is loaded. ${unknown} of its samples ${unknown === 1 ? "is" : "are"} not on this page.`;
  } catch {
    applyView(before);
    note.textContent = `${file.name} is not a view that was saved from such a page.`;
  }
  showView();
};

/** Forgets all choices, and shows the page as it was made. */
const forgetView = () => {
  isKept = false;
  try {
    localStorage.removeItem(viewKey());
  } catch {
    // Nothing was stored.
  }
  location.reload();
};

const connectView = () => {
  byId("forget").addEventListener("click", forgetView);
  byId("view-save").addEventListener("click", () => save("view.json", "application/json", `${JSON.stringify(readView(), null, 2)}\n`));
  const input = byId("view-file");
  byId("view-load").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (file) await loadView(file);
  });
};
