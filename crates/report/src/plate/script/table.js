// The table of samples: its columns, its rows near the window, its filter, and the tools above it.

/** What the values of a table or plot can be: shares in percent, or counts of reads and bases. */
const UNITS = [["percent", "percentages"], ["count", "counts"]];
/** Whether the table shows counts of reads or bases in a column, in place of shares. */
const showsCounts = (metric) => state.settings.numbers === "count" && metric.counts.length > 0;
/** Returns the value of a metric in the unit of its column: percent for shares. */
const numberOf = (metric, sample, isCount = showsCounts(metric)) => {
  const value = (isCount ? metric.counts : metric.values)[sample] ?? null;
  if (value === null || isCount || metric.factor === 1) return value;
  // Multiplication adds digits, such as 56.99999999999999.
  return Number((value * metric.factor).toPrecision(15));
};
const textOf = (metric, sample, isCount = showsCounts(metric)) => {
  const value = (isCount ? metric.counts : metric.values)[sample] ?? null;
  if (value === null) return null;
  return isCount ? fixed(value, 0) : formatNumber(value, metric.form);
};
/** Returns the title of a column with the unit of its values, for files and axes. */
const titleOf = ({ title, metric }, isCount = Boolean(metric) && showsCounts(metric)) => {
  const unit = metric && (isCount ? "count" : metric.unit);
  return unit ? `${title} (${unit})` : title;
};

const columns = [
  { id: "verdict", title: "Verdict", meaning: "The worst result of all metrics with thresholds.", value: (sample) => gradeOf(sample)?.rank ?? null },
  ...data.fields.map((field) => ({ id: `field ${field.name}`, title: field.name, meaning: "A field of the sample sheet.", field, value: (sample) => field.values[sample] })),
  ...allMetrics.map((metric) => ({ id: metric.key, title: metric.name, meaning: metric.meaning, metric, value: (sample) => numberOf(metric, sample) })),
];
columns.forEach((column) => (column.isShown = !data.details.includes(column.metric)));
const nameColumn = { id: "name", title: "Sample", meaning: "The name of the sample. The link opens its details.", value: nameOf };
const shownColumns = () => columns.filter((column) => column.isShown);

const grid = byId("window");
const table = grid.querySelector("table");
const head = table.tHead.rows[0];
const body = table.tBodies[0];
const spacers = [0, 1].map(() => make("tr", { "aria-hidden": "true", className: "spacer" }, make("td")));
body.append(...spacers);
/** Rows by sample. Only rows near the window are in it, and in the document. */
const rows = new Map();
let rowHeight = 33;
const EXTRA_ROWS = 8;
/** Height of the window in pixels before it has rows. */
const MIN_WINDOW = 560;

const makeCell = (column, sample) => {
  if (column.id === "verdict") {
    const grade = gradeOf(sample);
    const text = make("span", { className: `grade ${grade?.class ?? ""}` });
    text.innerHTML = grade?.html ?? "–";
    return make("td", { className: "t", title: data.summaries[sample] }, text);
  }
  if (column.field) return make("td", { className: "t" }, column.field.values[sample] ?? "–");
  const { metric } = column;
  const value = (showsCounts(metric) ? metric.counts : metric.values)[sample] ?? null;
  if (value === null) return make("td", {}, "–");
  const source = metric.sources[metric.source[sample] ?? 0];
  // A count is the first part of a share. Other counts are computed.
  const isComputed = showsCounts(metric) && !source.of;
  const number = make(isComputed ? "span" : "data", isComputed ? {} : { value }, textOf(metric, sample));
  if (!isComputed) Object.assign(number.dataset, showsCounts(metric) ? { json: source.json } : source);
  const cell = make("td", {}, number);
  const grade = data.grades[metric.grades[sample]];
  if (grade && grade.class !== "good") {
    cell.className = grade.class;
    cell.append(make("span", { className: "sr" }, ` ${grade.label}`));
  }
  const side = metric.sides[sample];
  if (side) cell.append(" ", make("span", { className: "out", title: `median: ${metric.median}` }, side));
  return cell;
};

const makeRow = (sample) => {
  const box = make("button", { type: "button", className: "box", "aria-label": `Highlight ${nameOf(sample)}` });
  box.addEventListener("click", () => toggleMark(sample));
  const name = make("th", { scope: "row" }, box, makeLink(sample));
  return make("tr", { "data-run": sample }, name, ...shownColumns().map((column) => makeCell(column, sample)));
};

/** Adds rows that came near the window, and removes those that left it. */
const renderTable = () => {
  const { shown } = state;
  const first = Math.max(0, Math.floor(grid.scrollTop / rowHeight) - EXTRA_ROWS);
  const last = Math.min(shown.length, Math.ceil((grid.scrollTop + Math.max(grid.clientHeight, MIN_WINDOW)) / rowHeight) + EXTRA_ROWS);
  const wanted = shown.slice(first, last);
  const wantedSet = new Set(wanted);
  for (const [sample, row] of rows) {
    if (!wantedSet.has(sample)) {
      row.remove();
      rows.delete(sample);
    }
  }
  [...body.rows].forEach((row) => row.classList.contains("spacer") || rows.get(Number(row.dataset.run)) === row || row.remove());
  let next = spacers[0].nextSibling;
  wanted.forEach((sample, i) => {
    let row = rows.get(sample);
    if (!row) rows.set(sample, (row = makeRow(sample)));
    row.setAttribute("aria-rowindex", first + i + 2);
    row.classList.toggle("is-hidden", state.hidden.has(sample));
    const box = row.querySelector(".box");
    const number = state.marked.get(sample);
    box.setAttribute("aria-pressed", number !== undefined);
    box.style.background = number === undefined ? "" : `var(--c${number % COLORS})`;
    if (row === next) next = row.nextSibling;
    else body.insertBefore(row, next);
  });
  spacers[0].firstChild.style.height = `${first * rowHeight}px`;
  spacers[1].firstChild.style.height = `${(shown.length - last) * rowHeight}px`;
  table.setAttribute("aria-rowcount", shown.length + 1);
  const measured = wanted.length && rows.get(wanted[0]).getBoundingClientRect().height;
  if (measured && Math.abs(measured - rowHeight) > 0.5) {
    rowHeight = measured;
    renderTable();
  }
};

/** Makes the headings anew, after the shown columns changed. */
const renderHead = () => {
  const shown = [nameColumn, ...shownColumns()];
  head.replaceChildren(
    ...shown.map((column) => {
      const cell = make("th", { scope: "col", className: column.metric ? "" : "t" });
      cell.setAttribute("aria-sort", state.sort.column !== column ? "none" : state.sort.up ? "ascending" : "descending");
      const { limit } = column.metric ?? {};
      cell.title = `${column.meaning}${limit ? ` Expected: ${limit.text}.` : ""}`;
      // Without a fixed width, columns would change their widths while rows come and go.
      const texts = column.metric ? all.map((sample) => textOf(column.metric, sample)) : (column.field?.values ?? []);
      const hasSides = column.metric && Object.keys(column.metric.sides).length > 0;
      const longest = texts.reduce((longest, text) => Math.max(longest, text?.length ?? 1), 0) + (hasSides ? 6 : 0);
      cell.style.minWidth = column === nameColumn ? "" : `${Math.max(6, Math.min(longest, 40))}ch`;
      cell.append(makeButton(column.title, () => sortBy(column)));
      cell.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by || !event.shiftKey || column === nameColumn) return;
        event.preventDefault();
        moveColumn(column, by);
        head.cells[1 + shownColumns().indexOf(column)].querySelector("button").focus();
      });
      return cell;
    }),
  );
  spacers.forEach((row) => (row.firstChild.colSpan = shown.length));
  rows.clear();
  renderNumbersNote();
};

const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));

const sortBy = (column) => {
  const { sort } = state;
  state.sort = { column, up: sort.column === column ? !sort.up : column === nameColumn || Boolean(column.field) };
  renderHead();
  const index = [nameColumn, ...shownColumns()].indexOf(column);
  applyFilter();
  head.cells[index].querySelector("button").focus();
};

// ---- Choice and order of the columns ----

const originalOrder = columns.map((column) => column.id);

/** Orders the columns by a list of their ids. Columns that are not in the list are last. */
const orderColumns = (ids) => {
  const place = new Map(ids.map((id, at) => [id, at]));
  columns.sort((a, b) => (place.get(a.id) ?? columns.length) - (place.get(b.id) ?? columns.length));
};

/** Shows the columns anew, after their choice or order changed. */
const renderColumns = () => {
  state.sort.column = [nameColumn, ...shownColumns()].includes(state.sort.column) ? state.sort.column : null;
  renderHead();
  renderTable();
  fillColumnsMenu();
  keepView();
};

/** Moves a column to the place of another one. */
const placeColumn = (column, other) => {
  const [from, to] = [column, other].map((it) => columns.indexOf(it));
  columns.splice(from, 1);
  columns.splice(to, 0, column);
  renderColumns();
  live.textContent = `${column.title} is column ${shownColumns().indexOf(column) + 1} of ${shownColumns().length}.`;
};

/** Moves a shown column past the next shown one: -1 is to the left, 1 to the right. */
const moveColumn = (column, by) => {
  const shown = shownColumns();
  const other = shown[shown.indexOf(column) + by];
  if (other) placeColumn(column, other);
};

/** Fills the menu of the columns. The focus and the scroll position stay. */
const fillColumnsMenu = () => {
  const menu = byId("columns");
  const [key, top] = [menu.contains(document.activeElement) && document.activeElement.dataset.key, menu.scrollTop];
  const line = (column) => {
    const box = make("input", { type: "checkbox", checked: column.isShown, "data-key": `${column.id} box` });
    box.addEventListener("change", () => {
      column.isShown = box.checked;
      renderColumns();
    });
    const move = (by, sign, side) => makeButton(sign, () => moveColumn(column, by), { "aria-label": `Move ${column.title} to the ${side}`, "data-key": `${column.id} ${side}` });
    const moves = column.isShown ? [move(-1, "←", "left"), move(1, "→", "right")] : [];
    return make("div", { className: "column" }, make("label", { title: column.meaning }, box, ` ${column.title}`), ...moves);
  };
  const setAll = (isShown) => () => {
    columns.forEach((column) => (column.isShown = isShown));
    renderColumns();
  };
  const restoreOrder = () => {
    orderColumns(originalOrder);
    renderColumns();
  };
  const buttons = [["All", setAll(true)], ["None", setAll(false)], ["Original order", restoreOrder]];
  const tools = make("p", { className: "buttons" }, ...buttons.map(([text, action]) => makeButton(text, action, { "data-key": text })));
  menu.replaceChildren(tools, ...columns.map(line));
  menu.scrollTop = top;
  if (key) menu.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
};

/** Lets the reader drag a heading to the place of another one. Fingers scroll the table instead. */
const connectHeadings = () => {
  let drag = null;
  const cellAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("#window thead th:not(:first-child)");
  const markTarget = (cell) => [...head.cells].forEach((it) => it.classList.toggle("is-target", it === cell));
  head.addEventListener("pointerdown", (event) => {
    const cell = event.target.closest("th:not(:first-child)");
    if (cell && event.button === 0 && event.pointerType !== "touch") drag = { cell, left: event.clientX, isMoving: false };
  });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.isMoving ||= Math.abs(event.clientX - drag.left) > 5;
    const cell = drag.isMoving && cellAt(event);
    markTarget(cell !== drag.cell && cell);
  });
  addEventListener("pointerup", (event) => {
    if (!drag) return;
    const [from, to] = [drag.cell, drag.isMoving && cellAt(event)];
    drag = null;
    markTarget(null);
    if (!to || to === from) return;
    const shown = shownColumns();
    placeColumn(shown[from.cellIndex - 1], shown[to.cellIndex - 1]);
  });
  addEventListener("pointercancel", () => {
    drag = null;
    markTarget(null);
  });
};

/** Places where a filter can look, each with its title and with the texts of a sample there. */
const namesOf = (sample) => [data.samples[sample], nameOf(sample)];
const fieldsOf = (sample) => data.fields.map((field) => field.values[sample] ?? "");
const filterPlaces = new Map([["names", ["names", namesOf]]]);
if (data.fields.length > 0) filterPlaces.set("all", ["names and fields", (sample) => [...namesOf(sample), ...fieldsOf(sample)]]);
for (const field of data.fields) filterPlaces.set(`field ${field.name}`, [field.name, (sample) => [field.values[sample] ?? ""]]);
filterPlaces.set("verdict", ["verdict", (sample) => [gradeOf(sample)?.label ?? ""]]);

/** Returns why a text is not a valid regular expression, in the words of the browser; `null` if it is one. */
const patternFault = (text) => {
  try {
    new RegExp(text);
    return null;
  } catch (error) {
    return error.message.split(": ").at(-1).toLowerCase();
  }
};

/** Returns the regular expression of a text, or one that finds the text itself if it is none. */
const readPattern = (text) => new RegExp(patternFault(text) === null ? text : text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");

/** Returns the terms of a filter. */
const termsOf = (filter) => filter.trim().split(/\s+/).filter((term) => term.replace("!", ""));

/**
 * Returns the condition that a filter states, or `null` if it is empty. All terms between spaces must
 * match one of the texts at the place where the filter looks; `!` before a term excludes what matches.
 */
const readFilter = (filter, place = state.filterPlace) => {
  const terms = termsOf(filter);
  if (terms.length === 0) return null;
  const [, textsOf] = filterPlaces.get(place);
  const conditions = terms.map((term) => {
    const isExcluded = term.startsWith("!");
    const pattern = readPattern(isExcluded ? term.slice(1) : term);
    return (sample) => textsOf(sample).some((text) => pattern.test(text)) !== isExcluded;
  });
  return (sample) => conditions.every((isTrue) => isTrue(sample));
};

/** Returns how many samples are shown. If no name matches, says how many samples match in a field. */
const shownText = (isFiltered) => {
  if (!isFiltered) return `${count} samples`;
  const text = `${state.shown.length} of ${count} samples`;
  const inFields = state.shown.length > 0 || !filterPlaces.has("all") ? 0 : all.filter(readFilter(state.filter, "all")).length;
  return inFields > 0 ? `${text}; ${inFields} match in a field: choose “Filter in: names and fields”` : text;
};

/** Says which terms of the filter are not valid patterns, and why. */
const renderFilterNote = () => {
  const faults = termsOf(state.filter).map((term) => [term.replace(/^!/, ""), patternFault(term.replace(/^!/, ""))]);
  const texts = faults.filter(([, fault]) => fault !== null).map(([term, fault]) => `“${term}” is not a valid pattern: ${fault}. The filter looks for exactly this text.`);
  byId("filter").setAttribute("aria-invalid", texts.length > 0);
  byId("filter-note").hidden = texts.length === 0;
  byId("filter-note").textContent = texts.join(" ");
};

/** Says which samples the plots show while the table is filtered. */
const renderPlotsNote = () => {
  const isFiltered = readFilter(state.filter) !== null;
  const visible = all.filter((sample) => !state.hidden.has(sample));
  const shown = new Set(state.shown);
  const isSame = visible.length === shown.size && visible.every((sample) => shown.has(sample));
  const which = visible.length === count ? `all ${count} samples` : `${visible.length} samples`;
  byId("plots-note").textContent = isFiltered && !isSame ? `The filter is only for the table: the plots show ${which}.` : "";
  byId("only-shown").hidden = !isFiltered || isSame || shown.size === 0;
};

/** Orders samples like the table. Missing values are last. */
const sortSamples = (samples) => {
  const { column, up } = state.sort;
  if (!column) return samples;
  return samples.sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return up ? compare(x, y) : compare(y, x);
  });
};

/** Chooses and orders the samples of the table. */
const applyFilter = () => {
  const matches = readFilter(state.filter);
  const shown = matches ? all.filter(matches) : [...all];
  state.shown = sortSamples(shown);
  byId("shown").textContent = shownText(matches !== null);
  renderFilterNote();
  for (const id of ["mark-shown", "hide-shown", "group-shown"]) byId(id).hidden = !matches || shown.length === 0;
  grid.scrollTop = 0;
  update();
};

/** Names the shown columns that stay in percent because the runs have no counts for them. */
const renderNumbersNote = () => {
  const isLeft = ({ metric }) => metric?.unit === "%" && metric.counts.length === 0;
  const left = state.settings.numbers === "count" ? shownColumns().filter(isLeft) : [];
  byId("numbers-note").hidden = left.length === 0;
  byId("numbers-note").textContent = `Still in percent, because the runs have no counts for them: ${left.map((column) => column.title).join(", ")}.`;
};

/** Shows shares as percentages, or as counts of reads and bases. */
const setNumbers = (numbers) => {
  state.settings.numbers = numbers;
  syncForms();
  renderHead();
  applyFilter();
};

/** Shows which samples are highlighted or hidden. */
const renderChosen = () => {
  byId("chosen").hidden = state.marked.size === 0;
  const chip = ([sample, number]) => {
    const remove = makeButton("×", () => toggleMark(sample), { "aria-label": `Do not highlight ${nameOf(sample)}` });
    return make("li", {}, make("i", { className: `stroke s${number % COLORS}` }), makeLink(sample), remove);
  };
  const MAX_CHIPS = 12;
  const chips = [...state.marked].slice(0, MAX_CHIPS).map(chip);
  if (state.marked.size > MAX_CHIPS) chips.push(make("li", {}, `and ${state.marked.size - MAX_CHIPS} more`));
  byId("chips").replaceChildren(...chips);
  byId("hidden-count").hidden = state.hidden.size === 0;
  const hidden = state.hidden.size === 1 ? "1 sample is" : `${state.hidden.size} samples are`;
  byId("hidden-count").firstElementChild.textContent = `${hidden} hidden in the plots, and left out of files and on paper.`;
  renderPlotsNote();
  const legend = ([name, text]) => make("li", {}, make("i", { className: "swatch", style: `background: var(--${name})` }), text);
  byId("colors").replaceChildren(...colorLegend().map(legend));
  // Then the other samples are grey, and highlighted ones have the same colours.
  byId("colors").hidden = state.marked.size > 0;
  byId("clear-groups").hidden = state.groups.length === 0;
};

/** Fills the list of what the colours can show. */
const fillColorModes = () => {
  const modes = [...colorModes, ...(state.groups.length > 0 ? [[GROUPS, "Groups"]] : [])];
  byId("color-by").replaceChildren(...modes.map(([value, text]) => make("option", { value }, text)));
  byId("color-by").value = state.colorBy;
};

const connectTools = () => {
  grid.addEventListener("scroll", () => requestAnimationFrame(renderTable), { passive: true });
  byId("filter").addEventListener("input", (event) => {
    state.filter = event.target.value;
    applyFilter();
  });
  const placeSelect = byId("filter-place");
  placeSelect.append(...[...filterPlaces].map(([value, [title]]) => make("option", { value }, title)));
  placeSelect.addEventListener("change", () => {
    state.filterPlace = placeSelect.value;
    applyFilter();
  });
  syncs.add(() => {
    byId("filter").value = state.filter;
    placeSelect.value = state.filterPlace;
  });
  const colorSelect = byId("color-by");
  syncs.add(fillColorModes);
  colorSelect.addEventListener("change", () => {
    state.colorBy = colorSelect.value;
    update();
  });
  const actions = {
    "mark-shown": () => state.shown.forEach((sample) => mark(sample, true)),
    "hide-shown": () => hide(state.shown),
    "only-shown": () => {
      const shown = new Set(state.shown);
      state.hidden.clear();
      hide(all.filter((sample) => !shown.has(sample)));
    },
    "group-shown": () => {
      const name = state.filter.trim();
      state.groups = [...state.groups.filter((group) => group.name !== name), { name, samples: new Set(state.shown) }];
      state.colorBy = GROUPS;
      fillColorModes();
    },
    "clear-groups": () => {
      state.groups = [];
      if (state.colorBy === GROUPS) state.colorBy = [...colorModes.keys()][0];
      fillColorModes();
    },
    "only-marked": () => hide(all.filter((sample) => !state.marked.has(sample))),
    "hide-marked": () => hide([...state.marked.keys()]),
    "clear-marked": () => state.marked.clear(),
    "show-all": () => state.hidden.clear(),
  };
  for (const [id, action] of Object.entries(actions)) {
    byId(id).addEventListener("click", () => {
      action();
      update();
    });
  }
  syncs.add(fillColumnsMenu);
  connectHeadings();
  const numbersSelect = byId("numbers");
  numbersSelect.addEventListener("change", () => setNumbers(numbersSelect.value));
  syncs.add(() => (numbersSelect.value = state.settings.numbers ?? "percent"));
  // Only one menu is open, and Escape closes it.
  const menus = [...document.querySelectorAll("details.menu")];
  document.addEventListener("click", (event) => menus.forEach((menu) => event.composedPath().includes(menu) || (menu.open = false)));
  menus.forEach((menu) =>
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    }),
  );
};
