// The choices of the reader, which the browser keeps.

// The browser keeps what the reader chose, so that the page looks the same when it is opened again. The
// key has all names of samples: a page of other samples does not get these choices.
const viewKey = () => {
  let sum = 0;
  for (const char of data.samples.join("\n")) sum = (Math.imul(sum, 31) + char.codePointAt(0)) | 0;
  return `readmill ${count} ${sum >>> 0}`;
};
let hasView = false;

/** Stores the choices of the reader. Some browsers store nothing for files; then nothing is kept. */
const keepView = () => {
  if (!hasView) return;
  const { marked, hidden, names, groups, filter, sort, colorBy } = state;
  const view = {
    marked: [...marked],
    hidden: [...hidden],
    names: [...names],
    groups: groups.map(({ name, samples }) => [name, [...samples]]),
    filter,
    sort: sort.column && [sort.column.id, sort.up],
    colorBy,
    hiddenColumns: columns.filter((column) => !column.isShown).map((column) => column.id),
  };
  try {
    localStorage.setItem(viewKey(), JSON.stringify(view));
  } catch {
    hasView = false;
  }
};

/** Restores the stored choices, before the table and the plots are made. */
const restoreView = () => {
  hasView = true;
  let view = null;
  try {
    view = JSON.parse(localStorage.getItem(viewKey()) ?? "null");
  } catch {
    return;
  }
  if (!view) return;
  state.marked = new Map(view.marked);
  state.hidden = new Set(view.hidden);
  state.names = new Map(view.names);
  state.groups = view.groups.map(([name, samples]) => ({ name, samples: new Set(samples) }));
  state.filter = view.filter;
  byId("filter").value = view.filter;
  if (colorModes.has(view.colorBy) || (view.colorBy === GROUPS && view.groups.length > 0)) state.colorBy = view.colorBy;
  columns.forEach((column) => (column.isShown = !view.hiddenColumns.includes(column.id)));
  const column = [nameColumn, ...columns].find((column) => column.id === view.sort?.[0]);
  if (column) state.sort = { column, up: view.sort[1] };
  document.querySelectorAll("[data-name]").forEach((it) => (it.textContent = nameOf(Number(it.dataset.name))));
};

/** Forgets all choices, and shows the page as it was made. */
const forgetView = () => {
  hasView = false;
  try {
    localStorage.removeItem(viewKey());
  } catch {
    // Nothing was stored.
  }
  location.reload();
};
