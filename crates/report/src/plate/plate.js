"use strict";
// The script of a page of several samples. It fills the table and draws the plots from the data in
// the page, and shows the details of one sample when its link is followed (#s3).
//
//   state ──► table    rows near the window
//         ├─► plots    two canvases each: all samples below, highlighted ones above
//         └─► details  the article of one sample, inflated from the page
//
// Everything that changes the state calls `update`, which redraws what depends on it.
(() => {
  // ---- Data and state ----

  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("plate-data").textContent);
  const count = data.samples.length;
  const all = [...data.samples.keys()];

  const state = {
    /** Highlighted samples, each with the number of its colour. */
    marked: new Map(),
    hidden: new Set(),
    /** Display names of renamed samples. */
    names: new Map(),
    /** Groups that the reader formed by filters, each with a name and a set of samples. */
    groups: [],
    /** Samples that match the filter, in the order of the table. */
    shown: all,
    filter: "",
    sort: { column: null, up: true },
    colorBy: "outliers",
    /** The sample below the pointer in any plot. */
    hover: null,
  };

  const nameOf = (sample) => state.names.get(sample) ?? data.samples[sample];
  const gradeOf = (sample) => data.grades[data.verdicts[sample]];

  // ---- Elements ----

  /** Creates an element. Properties that are not properties of elements become attributes. */
  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === null || value === undefined) continue;
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const makeButton = (text, action, properties = {}) => {
    const button = make("button", { type: "button", ...properties }, text);
    button.addEventListener("click", action);
    return button;
  };
  const makeLink = (sample) => make("a", { href: `#s${sample}` }, nameOf(sample));

  const live = make("div", { className: "sr", "aria-live": "polite" });
  document.body.append(live);

  // ---- Compressed data ----

  const canInflate = typeof DecompressionStream === "function";

  /** Returns the bytes of a compressed element of the page. */
  const inflate = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  /** Returns the curves of a kind, one array for each sample; NaN where a value is missing. */
  const readCurves = async (kind) => {
    const bytes = await inflate(`curves-${kind.id}`);
    const numbers = bytes.length / 2;
    const scale = (kind.high - kind.low) / 65534;
    const curves = [];
    for (let sample = 0, at = 0; sample < count; sample++) {
      const curve = new Float64Array(kind.count);
      let level = 0;
      let known = 0;
      for (let i = 0; i < kind.count; i++, at++) {
        level = (level + bytes[at] * 256 + bytes[numbers + at]) & 0xffff;
        curve[i] = level === 0xffff ? NaN : kind.low + level * scale;
        known += level !== 0xffff;
      }
      curves.push(known > 0 ? curve : null);
    }
    return curves;
  };

  // ---- Colours ----

  const COLORS = 7;
  const colorModes = new Map([["outliers", "Outliers"], ["verdict", "Verdict"]]);
  const fieldValues = new Map();
  for (const field of data.fields) {
    const values = [...new Set(field.values.map((value) => value ?? "–"))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    fieldValues.set(field, values);
    colorModes.set(`field ${field.name}`, field.name);
  }
  const coloringField = () => data.fields.find((field) => `field ${field.name}` === state.colorBy);
  const isColorable = (field) => fieldValues.get(field).length >= 2 && fieldValues.get(field).length <= COLORS;
  const GROUPS = "groups";
  const firstField = data.fields.find((field) => field.name === data.colorBy) ?? data.fields.find(isColorable);
  if (firstField) state.colorBy = `field ${firstField.name}`;

  /** The rule of the style sheet that sets the colours for paper. */
  const paperRule = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule.media?.mediaText === "print")
    .flatMap((rule) => [...rule.cssRules])
    .find((rule) => rule.selectorText === ":root");
  let isPrinting = false;

  /** Returns a colour of the style sheet, such as `c0`, for the present theme or for paper. */
  const color = (name) => {
    const style = isPrinting && paperRule ? paperRule.style : getComputedStyle(document.documentElement);
    return style.getPropertyValue(`--${name}`).trim();
  };

  const isOutlier = (sample, keys) => data.metrics.some((metric) => keys.includes(metric.key) && metric.sides[sample]);

  const gradeColor = (grade) => (!grade || grade.class === "open" ? "mark" : grade.class);

  /** Returns the number of the last group that a sample is in, or -1. */
  const groupOf = (sample) => state.groups.findLastIndex((group) => group.samples.has(sample));

  /** Returns the name of a sample's colour in a plot that marks outliers of the metrics `keys`. */
  const colorName = (sample, keys) => {
    if (state.colorBy === "outliers") return isOutlier(sample, keys) ? "c1" : "c0";
    if (state.colorBy === "verdict") return gradeColor(gradeOf(sample));
    if (state.colorBy === GROUPS) {
      const number = groupOf(sample);
      return number < 0 ? "mark" : `c${number % COLORS}`;
    }
    const field = coloringField();
    const number = fieldValues.get(field).indexOf(field.values[sample] ?? "–");
    return number < COLORS ? `c${number}` : "mark";
  };

  /** Returns the legend of the colours: the name and text of each. */
  const colorLegend = () => {
    if (state.colorBy === "outliers") return [["c0", "usual"], ["c1", "outlier in a metric of the plot"]];
    if (state.colorBy === "verdict") {
      const used = new Set(data.verdicts);
      const grades = data.grades.filter((_, i) => used.has(i)).sort((a, b) => a.rank - b.rank);
      return grades.map((grade) => [gradeColor(grade), grade.label]);
    }
    if (state.colorBy === GROUPS) {
      const legend = state.groups.map((group, i) => [`c${i % COLORS}`, `${group.name} (${all.filter((sample) => groupOf(sample) === i).length})`]);
      return [...legend, ["mark", "in no group"]];
    }
    const values = fieldValues.get(coloringField());
    const legend = values.slice(0, COLORS).map((value, i) => [`c${i}`, value]);
    if (values.length > COLORS) legend.push(["mark", `${values.length - COLORS} other values`]);
    return legend;
  };

  /** Dashes of highlighted curves by number, as in the legends of the style sheet. */
  const DASHES = [[], [7, 4], [2, 3], [7, 4], [], [], []];
  const markStyle = (number) => ({ color: color(`c${number % COLORS}`), dash: DASHES[number % COLORS] });

  // ---- Changes of the state ----

  const plots = new Set();
  let drawRequested = false;
  /** Redraws all plots that are in view, once per frame. */
  const redraw = () => {
    if (drawRequested) return;
    drawRequested = true;
    requestAnimationFrame(() => {
      drawRequested = false;
      plots.forEach((plot) => plot.draw());
    });
  };
  /** Redraws only the upper layers: highlighted samples and the one below the pointer. */
  const redrawTop = () => plots.forEach((plot) => plot.drawTop());

  const update = () => {
    renderTable();
    renderChosen();
    redraw();
    keepView();
  };

  const mark = (sample, isMarked = !state.marked.has(sample)) => {
    if (!isMarked) state.marked.delete(sample);
    else if (!state.marked.has(sample)) {
      const used = new Set(state.marked.values());
      let number = 0;
      while (used.has(number)) number += 1;
      state.marked.set(sample, number);
      state.hidden.delete(sample);
    }
  };
  const hide = (samples) => {
    for (const sample of samples) {
      state.hidden.add(sample);
      state.marked.delete(sample);
    }
  };
  const toggleMark = (sample) => {
    mark(sample);
    live.textContent = `${nameOf(sample)} ${state.marked.has(sample) ? "highlighted" : "not highlighted"}`;
    update();
  };

  /** Renames samples. An empty name, or the original one, removes the display name. */
  const rename = (pairs) => {
    for (const [sample, name] of pairs) {
      if (name && name !== data.samples[sample]) state.names.set(sample, name);
      else state.names.delete(sample);
    }
    document.querySelectorAll("[data-name]").forEach((it) => (it.textContent = nameOf(Number(it.dataset.name))));
    rows.clear();
    applyFilter();
    fillNames();
  };

  // ---- The table ----

  const columns = [
    { id: "verdict", title: "Verdict", meaning: "The worst result of all metrics with thresholds.", value: (sample) => gradeOf(sample)?.rank ?? null },
    ...data.fields.map((field) => ({ id: `field ${field.name}`, title: field.name, meaning: "A field of the sample sheet.", field, value: (sample) => field.values[sample] })),
    ...[...data.metrics, ...data.details].map((metric) => ({ id: metric.key, title: metric.name, meaning: metric.meaning, metric, value: (sample) => metric.values[sample] })),
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
    const value = metric.values[sample];
    if (value === null) return make("td", {}, "–");
    const number = make("data", { value }, metric.texts[sample]);
    Object.assign(number.dataset, metric.sources[metric.source[sample] ?? 0]);
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
        const texts = column.metric?.texts ?? column.field?.values ?? [];
        const hasSides = column.metric?.sides.some((side) => side);
        const longest = texts.reduce((longest, text) => Math.max(longest, text?.length ?? 1), 0) + (hasSides ? 6 : 0);
        cell.style.minWidth = column === nameColumn ? "" : `${Math.max(6, Math.min(longest, 40))}ch`;
        cell.append(makeButton(column.title, () => sortBy(column)));
        return cell;
      }),
    );
    spacers.forEach((row) => (row.firstChild.colSpan = shown.length));
    rows.clear();
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

  /**
   * Returns the condition that a filter states, or `null` if it is empty. All terms between spaces must
   * match a name or a field, or be the verdict; `!` before a term excludes what matches. A term is a
   * regular expression, or plain text if it is none.
   */
  const readFilter = (filter) => {
    const terms = filter.trim().split(/\s+/).filter((term) => term.replace("!", ""));
    if (terms.length === 0) return null;
    const conditions = terms.map((term) => {
      const isExcluded = term.startsWith("!");
      const word = isExcluded ? term.slice(1) : term;
      let pattern;
      try {
        pattern = new RegExp(word, "i");
      } catch {
        pattern = new RegExp(word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
      }
      const isMatch = (sample) =>
        [data.samples[sample], nameOf(sample), ...data.fields.map((field) => field.values[sample] ?? "")].some((text) => pattern.test(text)) ||
        gradeOf(sample)?.label === word.toLowerCase();
      return (sample) => isMatch(sample) !== isExcluded;
    });
    return (sample) => conditions.every((isTrue) => isTrue(sample));
  };

  /** Chooses and orders the samples of the table. Missing values are last. */
  const applyFilter = () => {
    const matches = readFilter(state.filter);
    const shown = matches ? all.filter(matches) : [...all];
    const { column, up } = state.sort;
    if (column) {
      shown.sort((a, b) => {
        const [x, y] = [column.value(a), column.value(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        return up ? compare(x, y) : compare(y, x);
      });
    }
    state.shown = shown;
    byId("shown").textContent = matches ? `${shown.length} of ${count} samples` : `${count} samples`;
    for (const id of ["mark-shown", "hide-shown", "group-shown"]) byId(id).hidden = !matches || shown.length === 0;
    grid.scrollTop = 0;
    update();
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
    const [one, many] = ["1 sample is hidden in the plots.", `${state.hidden.size} samples are hidden in the plots.`];
    byId("hidden-count").firstElementChild.textContent = state.hidden.size === 1 ? one : many;
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
    const colorSelect = byId("color-by");
    fillColorModes();
    colorSelect.addEventListener("change", () => {
      state.colorBy = colorSelect.value;
      update();
    });
    const actions = {
      "mark-shown": () => state.shown.forEach((sample) => mark(sample, true)),
      "hide-shown": () => hide(state.shown),
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
    const setColumns = (change) => {
      columns.forEach(change);
      state.sort.column = [nameColumn, ...shownColumns()].includes(state.sort.column) ? state.sort.column : null;
      renderHead();
      renderTable();
      keepView();
    };
    const boxes = columns.map((column) => {
      const box = make("input", { type: "checkbox", checked: column.isShown });
      box.addEventListener("change", () => setColumns((it) => it === column && (it.isShown = box.checked)));
      return make("label", { title: column.meaning }, box, ` ${column.title}`);
    });
    const setAll = (isShown) => () => {
      boxes.forEach((label) => (label.firstChild.checked = isShown));
      setColumns((column) => (column.isShown = isShown));
    };
    const buttons = make("p", { className: "buttons" }, makeButton("All", setAll(true)), makeButton("None", setAll(false)));
    byId("columns").append(buttons, ...boxes);
    byId("names-apply").addEventListener("click", applyNames);
    byId("forget").addEventListener("click", forgetView);
    byId("names-save").addEventListener("click", () => save("names.tsv", "text/tab-separated-values", namesText()));
    byId("save-table").addEventListener("click", () => {
      const name = state.shown.length < count ? "filtered-samples.tsv" : "samples.tsv";
      save(name, "text/tab-separated-values", tableText());
    });
    // Only one menu is open, and Escape closes it.
    const menus = [...document.querySelectorAll("details.menu")];
    document.addEventListener("click", (event) => menus.forEach((menu) => menu.contains(event.target) || (menu.open = false)));
    menus.forEach((menu) =>
      menu.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !menu.open) return;
        menu.open = false;
        menu.querySelector("summary").focus();
      }),
    );
  };

  // ---- Names ----

  const namesText = () => all.map((sample) => `${data.samples[sample]}\t${nameOf(sample)}\n`).join("");
  const fillNames = () => (byId("names").value = namesText());
  const applyNames = () => {
    const samples = new Map(data.samples.map((name, sample) => [name, sample]));
    const lines = byId("names").value.split("\n").filter((line) => line.trim()).map((line) => line.split("\t"));
    const [known, unknown] = [true, false].map((isKnown) => lines.filter(([name]) => samples.has(name) === isKnown));
    rename(known.map(([name, display]) => [samples.get(name), display?.trim()]));
    const shown = all.map(nameOf);
    const repeated = shown.find((name, sample) => shown.indexOf(name) < sample);
    const notes = [];
    if (unknown.length > 0) notes.push(`No sample has the name ${unknown[0][0]}${unknown.length > 1 ? `; ${unknown.length - 1} other lines have unknown names` : ""}.`);
    if (repeated !== undefined) notes.push(`Several samples have the display name ${repeated}.`);
    byId("names-note").textContent = notes.join(" ");
  };

  // ---- The kept view ----

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

  // ---- Files ----

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

  /** Returns the shown rows and columns of the table, with all digits of the numbers. */
  const tableText = () => {
    const shown = shownColumns();
    const cell = (column, sample) => (column.id === "verdict" ? gradeOf(sample)?.label : column.value(sample));
    const renamed = state.names.size > 0 ? ["Display name"] : [];
    const lines = [["Sample", ...renamed, ...shown.map((column) => column.title)]];
    for (const sample of state.shown) {
      lines.push([data.samples[sample], ...renamed.map(() => nameOf(sample)), ...shown.map((column) => cell(column, sample))]);
    }
    return toTsv(lines);
  };

  // ---- Painters: a canvas and an SVG file, with the same methods ----

  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "Helvetica Neue", Arial, sans-serif';

  class CanvasPainter {
    constructor(context) {
      this.context = context;
    }
    /** Draws a line through points, as x and y in turn. NaN interrupts the line. */
    line(points, { color, width = 1, alpha = 1, dash = [] }) {
      const { context } = this;
      context.globalAlpha = alpha;
      context.strokeStyle = color;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.beginPath();
      let isDown = false;
      for (let i = 0; i < points.length; i += 2) {
        const y = points[i + 1];
        if (y !== y) isDown = false;
        else if (isDown) context.lineTo(points[i], y);
        else {
          context.moveTo(points[i], y);
          isDown = true;
        }
      }
      context.stroke();
    }
    rect(x, y, width, height, color) {
      this.context.globalAlpha = 1;
      this.context.fillStyle = color;
      this.context.fillRect(x, y, width, height);
    }
    dot(x, y, radius, { color, alpha = 1, ring = null }) {
      const { context } = this;
      context.globalAlpha = alpha;
      context.fillStyle = color;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
      if (!ring) return;
      context.setLineDash([]);
      context.strokeStyle = ring;
      context.lineWidth = 1.5;
      context.stroke();
    }
    text(x, y, text, { color, size = 12, anchor = "start", isVertical = false, isBold = false }) {
      const { context } = this;
      context.save();
      context.globalAlpha = 1;
      context.fillStyle = color;
      context.font = `${isBold ? "600 " : ""}${size}px ${FONT}`;
      context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
      context.translate(x, y);
      if (isVertical) context.rotate(-Math.PI / 2);
      context.fillText(text, 0, 0);
      context.restore();
    }
    startClip(x, y, width, height) {
      this.context.save();
      this.context.beginPath();
      this.context.rect(x, y, width, height);
      this.context.clip();
    }
    endClip() {
      this.context.restore();
    }
  }

  const escapeXml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

  class SvgPainter {
    parts = [];
    clips = 0;
    line(points, { color, width = 1, alpha = 1, dash = [] }) {
      let path = "";
      let isDown = false;
      for (let i = 0; i < points.length; i += 2) {
        const y = points[i + 1];
        if (y === y) path += `${isDown ? "L" : "M"}${points[i].toFixed(1)} ${y.toFixed(1)}`;
        isDown = y === y;
      }
      const more = `${alpha < 1 ? ` opacity="${alpha.toFixed(2)}"` : ""}${dash.length ? ` stroke-dasharray="${dash}"` : ""}`;
      if (path) this.parts.push(`<path d="${path}" fill="none" stroke="${color}" stroke-width="${width}"${more}/>`);
    }
    rect(x, y, width, height, color) {
      this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${color}"/>`);
    }
    dot(x, y, radius, { color, alpha = 1, ring = null }) {
      const more = `${alpha < 1 ? ` opacity="${alpha.toFixed(2)}"` : ""}${ring ? ` stroke="${ring}" stroke-width="1.5"` : ""}`;
      this.parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${color}"${more}/>`);
    }
    text(x, y, text, { color, size = 12, anchor = "start", isVertical = false, isBold = false }) {
      const turn = isVertical ? ` transform="rotate(-90 ${x} ${y})"` : "";
      const bold = isBold ? ' font-weight="600"' : "";
      this.parts.push(`<text x="${x}" y="${y}" font-size="${size}" text-anchor="${anchor}" fill="${color}"${turn}${bold}>${escapeXml(text)}</text>`);
    }
    startClip(x, y, width, height) {
      this.clips += 1;
      this.parts.push(`<clipPath id="c${this.clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#c${this.clips})">`);
    }
    endClip() {
      this.parts.push("</g>");
    }
    toText(width, height, title) {
      const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${escapeXml(FONT)}">`;
      return `${head}<title>${escapeXml(title)}</title>${this.parts.join("\n")}</svg>\n`;
    }
  }

  // ---- Numbers of axes ----

  const round = (value) => Number(value.toPrecision(12));
  const shorten = (value) => {
    const size = Math.abs(value);
    if (size >= 1e9) return `${round(value / 1e9)}G`;
    if (size >= 1e6) return `${round(value / 1e6)}M`;
    if (size >= 1e4) return `${round(value / 1e3)}k`;
    return String(round(value));
  };

  /** Returns round numbers in a range, at most `max` of them. */
  const ticksOf = (low, high, max) => {
    const rough = (high - low) / max;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(round(i * step));
    return ticks;
  };

  // ---- Plots ----

  /** Two canvases in a figure, with its title, buttons, tooltip and files. */
  class Plot {
    isInView = false;
    isStale = true;

    /** `focus` is the sample of a plot that shows one sample before all others. */
    constructor({ id, title, reading, focus = null }) {
      Object.assign(this, { id, title, reading, focus });
      this.canvases = [0, 1].map(() => make("canvas", { "aria-hidden": "true" }));
      this.tip = make("div", { className: "tip", hidden: true });
      this.area = make("div", { className: "area", tabIndex: 0, role: "application", "aria-roledescription": "plot" }, ...this.canvases, this.tip);
      this.tools = make(
        "p",
        { className: "buttons" },
        makeButton("SVG", () => this.saveSvg(), { "aria-label": `Save as SVG: ${title}` }),
        makeButton("PNG", () => this.savePng(), { "aria-label": `Save as PNG: ${title}` }),
      );
      const caption = make("figcaption", {}, make("h3", {}, title), this.tools, make("p", {}, reading));
      this.figure = make("figure", { id: `plot-${focus === null ? "" : "detail-"}${id}` }, caption, this.area);
      this.connect();
      this.resizes = new ResizeObserver(() => this.resize());
      this.resizes.observe(this.area);
      this.views = new IntersectionObserver(
        ([entry]) => {
          this.isInView = entry.isIntersecting;
          if (this.isInView && this.isStale) this.draw();
        },
        { rootMargin: "400px" },
      );
      this.views.observe(this.area);
      plots.add(this);
    }

    remove() {
      plots.delete(this);
      this.resizes.disconnect();
      this.views.disconnect();
    }

    resize() {
      const width = this.area.clientWidth;
      if (width === 0 || isPrinting || (width === this.width && devicePixelRatio === this.ratio)) return;
      this.setSize(width);
      this.draw();
    }

    setSize(width) {
      [this.width, this.ratio] = [width, devicePixelRatio];
      this.height = this.heightFor(width);
      for (const canvas of this.canvases) {
        canvas.width = Math.round(width * this.ratio);
        canvas.height = Math.round(this.height * this.ratio);
      }
    }

    /**
     * Draws both layers on one canvas for paper. A new size empties a canvas; what a canvas was cleared
     * of with `clearRect` covers the layers below it on paper.
     */
    drawForPaper() {
      if (!this.isReady()) return;
      this.setSize(this.width || 700);
      const painter = this.clearLayer(0, false);
      this.paintBase(painter, this.width, this.height);
      this.paintTop(painter, this.width, this.height, false);
      this.canvases[1].style.display = "none";
    }

    /** Returns a painter of an empty layer: 0 has all samples, 1 the highlighted ones. */
    clearLayer(layer, hasContent = true) {
      const context = this.canvases[layer].getContext("2d");
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      if (hasContent) context.clearRect(0, 0, this.width, this.height);
      context.lineJoin = "bevel";
      return new CanvasPainter(context);
    }

    draw(isForced = false) {
      if (!isForced && !this.isInView) {
        this.isStale = true;
        return;
      }
      if (!this.width || !this.isReady()) return;
      this.isStale = false;
      const start = performance.now();
      this.paintBase(this.clearLayer(0), this.width, this.height);
      this.figure.dataset.drawMs = (performance.now() - start).toFixed(1);
      this.drawTop();
    }

    drawTop() {
      if (!this.isInView || !this.width || !this.isReady()) return;
      this.paintTop(this.clearLayer(1), this.width, this.height);
    }

    /** Returns the highlighted samples of this plot, each with the style of its line. */
    markedStyles() {
      if (this.focus !== null) return [[this.focus, { color: color("c1"), dash: [] }]];
      return [...state.marked].map(([sample, number]) => [sample, markStyle(number)]);
    }

    visibleSamples() {
      return all.filter((sample) => this.focus !== null || !state.hidden.has(sample));
    }

    /** Sets the sample below the pointer, and shows its name and value near the point. */
    setHover(hit) {
      const before = state.hover;
      state.hover = hit?.sample ?? null;
      this.tip.hidden = !hit;
      if (hit) {
        this.tip.replaceChildren(make("strong", {}, nameOf(hit.sample)), make("span", {}, hit.text));
        const left = Math.min(Math.max(hit.x + 12, 0), this.width - this.tip.offsetWidth - 4);
        this.tip.style.left = `${Math.max(0, left)}px`;
        this.tip.style.top = `${hit.y > this.height / 2 ? hit.y - this.tip.offsetHeight - 12 : hit.y + 16}px`;
      }
      if (before !== state.hover || hit) redrawTop();
    }

    position(event) {
      const box = this.canvases[0].getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    connect() {
      this.area.addEventListener("pointerleave", () => this.setHover(null));
      this.area.addEventListener("blur", () => this.setHover(null));
      this.area.addEventListener("keydown", (event) => this.press(event) && event.preventDefault());
    }

    // Files have the title above the plot, and the names of highlighted samples below it.

    paintFile(painter, width) {
      const marked = this.markedStyles().slice(0, 20);
      const legend = this.focus === null && marked.length === 0 ? colorLegend().map(([name, text]) => [text, { color: color(name), dash: [] }]) : marked.map(([sample, style]) => [nameOf(sample), style]);
      const height = this.heightFor(width);
      const total = height + 40 + 18 * legend.length + 8;
      painter.rect(0, 0, width, total, color("card"));
      painter.text(12, 24, this.title, { color: color("ink"), size: 15, isBold: true });
      const inner = painter.shift?.(36) ?? painter;
      this.paintBase(inner, width, height);
      this.paintTop(inner, width, height, false);
      painter.unshift?.();
      legend.forEach(([text, style], i) => {
        const y = height + 52 + 18 * i;
        painter.line([16, y - 4, 40, y - 4], { ...style, width: 2.5 });
        painter.text(48, y, text, { color: color("ink") });
      });
      return total;
    }

    saveSvg() {
      const painter = new SvgPainter();
      painter.shift = (y) => painter.parts.push(`<g transform="translate(0 ${y})">`) && painter;
      painter.unshift = () => painter.parts.push("</g>");
      const width = 800;
      const height = this.withSize(width, () => this.paintFile(painter, width));
      save(`${this.id}.svg`, "image/svg+xml", painter.toText(width, height, this.title));
    }

    savePng() {
      const [width, scale] = [800, 2];
      const canvas = make("canvas", { width: width * scale, height: 4 });
      const paint = () => {
        const context = canvas.getContext("2d");
        const painter = new CanvasPainter(context);
        context.setTransform(scale, 0, 0, scale, 0, 0);
        painter.shift = (y) => {
          context.save();
          context.translate(0, y);
          return painter;
        };
        painter.unshift = () => context.restore();
        return this.paintFile(painter, width);
      };
      this.withSize(width, () => {
        // The first time tells the height.
        canvas.height = Math.ceil(paint() * scale);
        paint();
      });
      canvas.toBlob((blob) => save(`${this.id}.png`, "image/png", blob));
    }

    /** Runs an action that paints with another width. */
    withSize(width, action) {
      const before = [this.width, this.height];
      [this.width, this.height] = [width, this.heightFor(width)];
      const result = action();
      [this.width, this.height] = before;
      return result;
    }
  }

  /**
   * Number of curves above which lines are as thin as one pixel of the screen. Browsers draw such lines ten
   * times faster than wider ones.
   */
  const MAX_WIDE_CURVES = 150;

  const MARGIN = { left: 62, right: 14, top: 10, bottom: 46 };

  /** A curve for each sample. */
  class CurvePlot extends Plot {
    /** Shown range of x and y; `null` shows all. */
    zoom = null;
    cursor = null;

    constructor(kind, curves, focus) {
      super({ ...kind, focus });
      this.kind = kind;
      this.curves = curves;
      this.reset = makeButton("Reset zoom", () => this.setZoom(null), { hidden: true });
      this.tools.prepend(this.reset);
      this.tools.append(makeButton("TSV", () => this.saveTsv(), { "aria-label": `Save the values as TSV: ${kind.title}` }));
      const own = curves.filter(Boolean).length;
      const range = `${this.valueText(kind.low)} to ${this.valueText(kind.high)}`;
      this.area.setAttribute(
        "aria-label",
        `${kind.title}: ${own} curves, values from ${range}. Arrow keys move along a curve and between samples; Enter highlights a sample; plus and minus zoom.`,
      );
    }

    isReady() {
      return true;
    }

    heightFor(width) {
      return Math.round(Math.min(340, Math.max(230, width * 0.5)));
    }

    /** Saves the curves that are not hidden: a line for each sample, a column for each x. */
    saveTsv() {
      const cells = [...Array(this.kind.count).keys()];
      const number = (value) => (value !== value ? "" : String(Number((this.kind.log ? 10 ** value : value).toPrecision(6))));
      const lines = [["Sample", ...cells.map((cell) => this.xText(cell))]];
      for (const sample of this.visibleSamples()) {
        if (this.curves[sample]) lines.push([nameOf(sample), ...Array.from(this.curves[sample], number)]);
      }
      save(`${this.id}.tsv`, "text/tab-separated-values", toTsv(lines));
    }

    // Values and positions. On a logarithmic axis, values are decimal logarithms.

    xOf(cell) {
      const { start, step, isSum } = this.kind;
      return start + cell * step + (isSum ? (step - 1) / 2 : 0);
    }

    xText(cell) {
      const { start, step, isSum, unit, x, labels } = this.kind;
      if (labels.length > 0) return labels[cell];
      const first = start + cell * step;
      const number = isSum && step > 1 ? `${first}–${first + step - 1}` : `${first}`;
      return unit ? `${number} ${unit}` : `${x.toLowerCase()} ${number}`;
    }

    valueText(value) {
      const { log, percent, low, high } = this.kind;
      const plain = log ? 10 ** value : value;
      if (log) return `${Number((100 * plain).toPrecision(3))} %`;
      const factor = percent ? 100 : 1;
      const digits = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(((high - low) * factor) || 1))));
      return `${(plain * factor).toFixed(digits)}${percent ? " %" : ""}`;
    }

    /** Returns the range of the axes. Without a zoom in y, it fits the curves in the x range. */
    ranges() {
      const { kind, zoom } = this;
      const x = zoom?.x ?? [this.xOf(0), this.xOf(Math.max(1, kind.count - 1))];
      if (zoom?.y) return { x, y: zoom.y };
      let [low, high] = [kind.low, kind.high];
      if (zoom) {
        const [first, last] = x.map((value) => Math.round((value - this.xOf(0)) / kind.step));
        [low, high] = [Infinity, -Infinity];
        for (const sample of this.visibleSamples()) {
          for (let i = Math.max(0, first); this.curves[sample] && i <= last && i < kind.count; i++) {
            const value = this.curves[sample][i];
            if (value < low) low = value;
            if (value > high) high = value;
          }
        }
        if (low > high) [low, high] = [kind.low, kind.high];
      }
      if (kind.fromZero && !zoom) low = Math.min(0, low);
      const space = 0.04 * (high - low || Math.abs(high) || 1);
      return { x, y: [kind.fromZero && !zoom && low === 0 ? 0 : low - space, high + space] };
    }

    /** Returns functions from values to positions, and back, in a plot of this size. */
    scales(width, height) {
      const { x, y } = this.ranges();
      const [inWidth, inHeight] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
      const [byX, byY] = [inWidth / (x[1] - x[0]), inHeight / (y[1] - y[0])];
      return {
        x,
        y,
        toX: (value) => MARGIN.left + (value - x[0]) * byX,
        toY: (value) => MARGIN.top + inHeight - (value - y[0]) * byY,
        fromX: (left) => x[0] + (left - MARGIN.left) / byX,
        fromY: (top) => y[0] + (MARGIN.top + inHeight - top) / byY,
      };
    }

    /** Returns the ticks of the x axis, each with its text: numbers, or as many contigs as fit. */
    xTicks([low, high], width) {
      const labels = this.kind.labels.map((label) => label.replace(/^chr/i, ""));
      if (labels.length === 0) return ticksOf(low, high, width < 500 ? 5 : 9).map((x) => [x, shorten(x)]);
      const longest = Math.max(...labels.map((label) => label.length));
      const step = Math.ceil(((high - low) * (longest * 7 + 7)) / (width - MARGIN.left - MARGIN.right));
      return [...labels.entries()].filter(([x]) => x >= low && x <= high && x % Math.max(1, step) === 0);
    }

    paintAxes(painter, width, height, scales) {
      const { kind } = this;
      const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
      const ink = { color: color("ink") };
      for (const [x, text] of this.xTicks(scales.x, width)) {
        const left = scales.toX(x);
        painter.line([left, MARGIN.top, left, bottom], { color: color("grid") });
        painter.text(left, bottom + 17, text, { ...ink, anchor: "middle" });
      }
      const ticks = kind.log ? ticksOf(...scales.y, 5).filter(Number.isInteger) : ticksOf(...scales.y, 5);
      for (const y of ticks) {
        const top = scales.toY(y);
        const value = kind.log ? 10 ** y : y;
        painter.line([MARGIN.left, top, right, top], { color: color("grid") });
        painter.text(MARGIN.left - 7, top + 4, kind.percent ? `${shorten(100 * value)} %` : shorten(value), { ...ink, anchor: "end" });
      }
      painter.line([MARGIN.left, MARGIN.top, MARGIN.left, bottom, right, bottom], { color: color("axis") });
      painter.text((MARGIN.left + right) / 2, height - 8, kind.x, { ...ink, size: 13, anchor: "middle" });
      painter.text(13, (MARGIN.top + bottom) / 2, kind.y, { ...ink, size: 13, anchor: "middle", isVertical: true });
    }

    /** Returns the points of a curve in the plot, as x and y in turn. */
    pointsOf(sample, { x, toX, toY }) {
      const curve = this.curves[sample];
      const cells = x.map((value) => (value - this.xOf(0)) / this.kind.step);
      const [first, last] = [Math.max(0, Math.floor(cells[0])), Math.min(curve.length - 1, Math.ceil(cells[1]))];
      const points = new Float64Array(2 * Math.max(0, last - first + 1));
      for (let i = first, at = 0; i <= last; i++) {
        points[at++] = toX(this.xOf(i));
        points[at++] = toY(curve[i]);
      }
      return points;
    }

    clipped(painter, width, height, action) {
      painter.startClip(MARGIN.left, MARGIN.top - 2, width - MARGIN.left - MARGIN.right + 2, height - MARGIN.top - MARGIN.bottom + 4);
      action();
      painter.endClip();
    }

    paintBase(painter, width, height) {
      const scales = this.scales(width, height);
      const lineWidth = this.visibleSamples().length > MAX_WIDE_CURVES ? 1 / (this.ratio ?? 1) : 1.2;
      this.paintAxes(painter, width, height, scales);
      const isBehind = this.focus !== null || state.marked.size > 0;
      const samples = this.visibleSamples().filter((sample) => this.curves[sample]);
      const alpha = Math.max(0.25, Math.min(isBehind ? 0.4 : 0.85, 5 / Math.sqrt(samples.length)));
      const styles = samples.map((sample) => [sample, isBehind ? "mark" : colorName(sample, this.kind.metrics)]);
      const isSpecial = ([sample]) => isOutlier(sample, this.kind.metrics);
      const colors = new Map([...new Set(styles.map(([, name]) => name))].map((name) => [name, color(name)]));
      // Outliers are drawn last and stronger, or the many others would cover them.
      this.clipped(painter, width, height, () => {
        for (const isLast of [false, true]) {
          for (const style of styles.filter((style) => isSpecial(style) === isLast)) {
            const [sample, name] = style;
            painter.line(this.pointsOf(sample, scales), { color: colors.get(name), alpha: isLast ? (isBehind ? 0.6 : 0.9) : alpha, width: isLast ? 1.6 : lineWidth });
          }
        }
      });
    }

    paintTop(painter, width, height, hasCursor = true) {
      const scales = this.scales(width, height);
      this.clipped(painter, width, height, () => {
        for (const [sample, style] of this.markedStyles()) {
          if (this.curves[sample]) painter.line(this.pointsOf(sample, scales), { ...style, width: 2.4 });
        }
        if (!hasCursor) return;
        const { hover } = state;
        if (hover !== null && this.curves[hover] && this.visibleSamples().includes(hover)) {
          painter.line(this.pointsOf(hover, scales), { color: color("card"), width: 5 });
          painter.line(this.pointsOf(hover, scales), { color: color("ink"), width: 2 });
          if (this.cursor && this.cursor.sample === hover) {
            painter.dot(this.cursor.x, this.cursor.y, 3.5, { color: color("ink"), ring: color("card") });
          }
        }
      });
      if (hasCursor && this.drag) {
        const [[x0, y0], [x1, y1]] = [this.drag.from, this.drag.to];
        const isBox = Math.abs(y1 - y0) > 24;
        const [top, bottom] = isBox ? [Math.min(y0, y1), Math.max(y0, y1)] : [MARGIN.top, height - MARGIN.bottom];
        const box = [x0, top, x1, top, x1, bottom, x0, bottom, x0, top];
        painter.line(box, { color: color("link"), width: 1.5, dash: [4, 3] });
      }
    }

    /** Finds the curve nearest to a position. */
    findNear([left, top], maxDistance = 30) {
      const scales = this.scales(this.width, this.height);
      const cell = (scales.fromX(left) - this.xOf(0)) / this.kind.step;
      const [low, part] = [Math.floor(cell), cell - Math.floor(cell)];
      let best = null;
      let bestDistance = maxDistance;
      for (const sample of this.visibleSamples()) {
        const curve = this.curves[sample];
        if (!curve) continue;
        const [a, b] = [curve[low], curve[low + 1]];
        const value = a !== a || a === undefined ? b : b !== b || b === undefined ? a : a + part * (b - a);
        const distance = Math.abs(scales.toY(value) - top);
        if (distance < bestDistance) [best, bestDistance] = [sample, distance];
      }
      return best === null ? null : this.hitAt(best, Math.max(0, Math.min(this.kind.count - 1, Math.round(cell))), scales);
    }

    hitAt(sample, cell, scales = this.scales(this.width, this.height)) {
      const value = this.curves[sample][cell];
      if (value !== value) return null;
      const text = `${this.xText(cell)}: ${this.valueText(value)}`;
      return { sample, cell, text, x: scales.toX(this.xOf(cell)), y: scales.toY(value) };
    }

    setCursor(hit) {
      this.cursor = hit;
      this.setHover(hit);
    }

    setZoom(zoom) {
      this.zoom = zoom;
      this.reset.hidden = zoom === null;
      this.setCursor(null);
      this.draw(true);
    }

    connect() {
      super.connect();
      const { area } = this;
      area.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        const from = this.position(event);
        this.drag = { from, to: from };
        area.setPointerCapture(event.pointerId);
      });
      area.addEventListener("pointermove", (event) => {
        const start = performance.now();
        const position = this.position(event);
        if (this.drag) this.drag.to = position;
        const isDragged = this.drag && Math.abs(position[0] - this.drag.from[0]) > 5;
        this.setCursor(isDragged ? null : this.findNear(position));
        if (isDragged) this.drawTop();
        this.figure.dataset.hoverMs = (performance.now() - start).toFixed(2);
      });
      area.addEventListener("pointerup", (event) => {
        const { drag } = this;
        if (!drag) return;
        this.drag = null;
        const to = this.position(event);
        const [dx, dy] = [Math.abs(to[0] - drag.from[0]), Math.abs(to[1] - drag.from[1])];
        if (dx > 10) {
          const { fromX, fromY } = this.scales(this.width, this.height);
          const sorted = (values) => values.sort((a, b) => a - b);
          const y = dy > 24 ? sorted([fromY(drag.from[1]), fromY(to[1])]) : null;
          this.setZoom({ x: sorted([fromX(drag.from[0]), fromX(to[0])]), y });
        } else {
          const hit = this.findNear(to);
          if (hit) toggleMark(hit.sample);
        }
      });
      area.addEventListener("pointercancel", () => (this.drag = null));
      area.addEventListener("dblclick", () => this.setZoom(null));
    }

    /** Handles a key. Returns whether the plot has a use for it. */
    press({ key }) {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (moves[key]) {
        this.moveCursor(...moves[key]);
        return true;
      }
      if (key === "Enter" && this.cursor) {
        toggleMark(this.cursor.sample);
        return true;
      }
      if (key === "+" || key === "-") {
        this.zoomBy(key === "+" ? 0.5 : 2);
        return true;
      }
      if (key === "0" || (key === "Escape" && this.zoom)) {
        this.setZoom(null);
        return true;
      }
      return false;
    }

    zoomBy(factor) {
      const { x } = this.ranges();
      const whole = [this.xOf(0), this.xOf(this.kind.count - 1)];
      const middle = this.cursor ? this.xOf(this.cursor.cell) : (x[0] + x[1]) / 2;
      const half = ((x[1] - x[0]) / 2) * factor;
      const range = [Math.max(whole[0], middle - half), Math.min(whole[1], middle + half)];
      if (range[1] - range[0] < 2 * this.kind.step) return;
      this.setZoom(factor > 1 && range[0] === whole[0] && range[1] === whole[1] ? null : { x: range, y: null });
    }

    /** Moves along a curve, or to the next curve above or below in the same cell. */
    moveCursor(along, up) {
      const samples = this.visibleSamples().filter((sample) => this.curves[sample]);
      if (samples.length === 0) return;
      let { sample, cell } = this.cursor ?? { sample: this.focus ?? samples[0], cell: Math.floor(this.kind.count / 2) };
      if (this.cursor && along) cell = Math.max(0, Math.min(this.kind.count - 1, cell + along));
      if (this.cursor && up) {
        const own = this.curves[sample][cell];
        const order = (it) => (this.curves[it][cell] - own) * up || (it - sample) * up;
        const beyond = samples.filter((it) => it !== sample && order(it) > 0);
        sample = beyond.reduce((best, it) => (best === null || order(it) < order(best) ? it : best), null) ?? sample;
      }
      const hit = this.hitAt(sample, cell);
      if (!hit) return;
      this.setCursor(hit);
      live.textContent = `${nameOf(sample)}, ${hit.text}`;
    }
  }

  /** A row for each metric, with a dot for each sample. */
  class MetricPlot extends Plot {
    constructor() {
      super({
        id: "metrics",
        title: "Samples by metric",
        reading:
          "Each row is a metric, from its minimum to its maximum; each dot is a sample. The shaded parts are beyond the thresholds for a warning and a failure.",
      });
      const isVaried = (metric) => new Set(metric.values.filter((value) => value !== null)).size > 1;
      this.rows = data.metrics.filter(isVaried).map((metric) => {
        const known = all.filter((sample) => metric.values[sample] !== null);
        const least = known.reduce((a, b) => (metric.values[b] < metric.values[a] ? b : a));
        const greatest = known.reduce((a, b) => (metric.values[b] > metric.values[a] ? b : a));
        return { metric, known, least, greatest };
      });
      this.area.setAttribute(
        "aria-label",
        `Dots of ${count} samples in ${this.rows.length} metrics; the table above has the values. Arrow keys move between samples and metrics; Enter highlights a sample.`,
      );
      this.cursor = null;
    }

    isReady() {
      return this.rows.length > 0;
    }

    layout(width) {
      const isNarrow = width < 640;
      return isNarrow ? { left: 14, right: width - 14, rowHeight: 58, middle: 31, isNarrow } : { left: 290, right: width - 24, rowHeight: 40, middle: 15, isNarrow };
    }

    heightFor(width) {
      return this.rows ? this.rows.length * this.layout(width).rowHeight + 6 : 0;
    }

    place({ metric, least, greatest }, sample, { left, right, middle, rowHeight }, row) {
      const [low, high] = [metric.values[least], metric.values[greatest]];
      const x = left + ((metric.values[sample] - low) / (high - low)) * (right - left);
      // Spreads dots of equal values by a fixed pattern.
      const spread = (((sample * 0.618034) % 1) - 0.5) * Math.min(16, count / 3);
      return [x, row * rowHeight + middle + spread];
    }

    paintBase(painter, width) {
      const layout = this.layout(width);
      const { left, right, rowHeight, middle, isNarrow } = layout;
      const radius = count > 300 ? 2.2 : 3.2;
      const names = ["ink", "muted", "grid", "line", "look-fill", "bad-fill", "axis", "mark", "good", "look", "bad"];
      const palette = Object.fromEntries([...names, ...[...Array(COLORS).keys()].map((i) => `c${i}`)].map((name) => [name, color(name)]));
      const isBehind = state.marked.size > 0;
      const samples = new Set(this.visibleSamples());
      this.rows.forEach((row, i) => {
        const { metric, known, least, greatest } = row;
        const top = i * rowHeight;
        this.paintLimits(painter, row, [left, right, top + middle - 11], palette);
        painter.line([left, top + middle, right, top + middle], { color: palette.line });
        if (isNarrow) painter.text(left, top + 14, metric.name, { color: palette.ink, size: 13 });
        else painter.text(left - 18, top + middle + 4, metric.name, { color: palette.ink, size: 13, anchor: "end" });
        const under = top + middle + 23;
        painter.text(left, under, metric.texts[least], { color: palette.muted, size: 11 });
        painter.text(right, under, metric.texts[greatest], { color: palette.muted, size: 11, anchor: "end" });
        for (const sample of known) {
          if (!samples.has(sample)) continue;
          const name = isBehind ? "axis" : colorName(sample, [metric.key]);
          painter.dot(...this.place(row, sample, layout, i), radius, { color: palette[name], alpha: isBehind ? 0.35 : 0.75 });
        }
      });
    }

    /** Shades the values beyond the thresholds. */
    paintLimits(painter, { metric, least, greatest }, [left, right, top], palette) {
      if (!metric.limit) return;
      const [low, high] = [metric.values[least], metric.values[greatest]];
      const position = (value) => Math.max(left - 8, Math.min(right + 8, left + ((value - low) / (high - low)) * (right - left)));
      const { above, look, bad } = metric.limit;
      for (const [limit, fill] of [[look, "look-fill"], [bad, "bad-fill"]]) {
        if (limit === null) continue;
        const [from, to] = above ? [position(limit), right + 8] : [left - 8, position(limit)];
        if (to > from) painter.rect(from, top, to - from, 22, palette[fill]);
      }
    }

    paintTop(painter, width, height, hasCursor = true) {
      const layout = this.layout(width);
      const ring = color("card");
      const paint = (sample, style, radius) => {
        this.rows.forEach((row, i) => {
          if (row.metric.values[sample] !== null) painter.dot(...this.place(row, sample, layout, i), radius, { ...style, ring });
        });
      };
      this.markedStyles().forEach(([sample, style]) => paint(sample, style, 5));
      if (hasCursor && state.hover !== null) paint(state.hover, { color: color("ink") }, 5);
    }

    findNear([left, top]) {
      const layout = this.layout(this.width);
      const i = Math.max(0, Math.min(this.rows.length - 1, Math.floor(top / layout.rowHeight)));
      const samples = new Set(this.visibleSamples());
      let best = null;
      let bestDistance = 20;
      for (const sample of this.rows[i].known) {
        if (!samples.has(sample)) continue;
        const [x, y] = this.place(this.rows[i], sample, layout, i);
        const distance = Math.hypot(x - left, y - top);
        if (distance < bestDistance) [best, bestDistance] = [sample, distance];
      }
      return best === null ? null : this.hitAt(best, i);
    }

    hitAt(sample, i) {
      const row = this.rows[i];
      if (row.metric.values[sample] === null) return null;
      const [x, y] = this.place(row, sample, this.layout(this.width), i);
      return { sample, row: i, x, y, text: `${row.metric.name}: ${row.metric.texts[sample]}` };
    }

    connect() {
      super.connect();
      this.area.addEventListener("pointermove", (event) => this.setHover((this.cursor = this.findNear(this.position(event)))));
      this.area.addEventListener("click", (event) => {
        const hit = this.findNear(this.position(event));
        if (hit) toggleMark(hit.sample);
      });
    }

    press({ key }) {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (moves[key]) {
        const [along, down] = moves[key];
        let { sample, row } = this.cursor ?? { sample: 0, row: 0 };
        row = Math.max(0, Math.min(this.rows.length - 1, row + (this.cursor ? down : 0)));
        const { metric, known } = this.rows[row];
        const order = [...known].sort((a, b) => metric.values[a] - metric.values[b]);
        const at = order.indexOf(sample) + (this.cursor ? along : 0);
        sample = order[Math.max(0, Math.min(order.length - 1, at))];
        this.cursor = this.hitAt(sample, row);
        this.setHover(this.cursor);
        live.textContent = `${nameOf(sample)}, ${this.cursor.text}`;
        return true;
      }
      if (key === "Enter" && this.cursor) {
        toggleMark(this.cursor.sample);
        return true;
      }
      return false;
    }
  }

  // ---- Details of a sample ----

  const allCurves = new Map();
  let current = null;
  let detailPlots = [];
  let overviewScroll = 0;

  /** Shows the overview, or the details of the sample in the address (#s3, #s3-coverage). */
  const route = async () => {
    const [, number, section] = /^#s(\d+)(?:-(.+))?$/.exec(location.hash) ?? [];
    const sample = number === undefined || Number(number) >= count ? null : Number(number);
    if (sample === null) {
      if (current === null) return;
      closeDetail();
      byId("overview").hidden = false;
      byId("contents").hidden = false;
      const target = location.hash.length > 1 && byId(location.hash.slice(1));
      if (target && location.hash !== "#cohort") target.scrollIntoView();
      else scrollTo({ top: overviewScroll, behavior: "instant" });
      document.title = title;
      redraw();
      return;
    }
    if (current === sample) return;
    if (current === null) overviewScroll = scrollY;
    await openDetail(sample);
    const target = section && byId(`s${sample}-${section}`);
    if (target) target.scrollIntoView({ behavior: "instant" });
    else scrollTo({ top: 0, behavior: "instant" });
    byId("detail").querySelector("h2").focus({ preventScroll: true });
  };

  const closeDetail = () => {
    detailPlots.forEach((plot) => plot.remove());
    detailPlots = [];
    current = null;
    byId("detail").hidden = true;
    byId("detail").replaceChildren();
  };

  const openDetail = async (sample) => {
    const html = canInflate ? new TextDecoder().decode(await inflate(`article-${sample}`)) : "";
    closeDetail();
    current = sample;
    const detail = byId("detail");
    detail.innerHTML = html;
    byId("overview").hidden = true;
    byId("contents").hidden = true;
    detail.hidden = false;
    document.title = `${nameOf(sample)} – ${title}`;
    const article = detail.querySelector("article") ?? detail.appendChild(make("article", {}, make("h2", {}, nameOf(sample))));
    const heading = article.querySelector("h2");
    heading.tabIndex = -1;
    heading.dataset.name = sample;
    heading.textContent = nameOf(sample);
    article.querySelector(".back")?.remove();
    article.prepend(makeDetailTools(sample));
    removeEmptySections(article, sample);
    const curves = make("section", { id: `s${sample}-curves`, "aria-labelledby": "detail-curves-h" });
    const box = make("div", { className: "plots" });
    curves.append(make("h2", { id: "detail-curves-h" }, "Curves"), make("p", { className: "lead" }, `${data.samples[sample]} in colour, all other samples in grey.`), box);
    for (const kind of data.curves) {
      const own = allCurves.get(kind.id);
      if (!own?.[sample]) continue;
      const plot = new CurvePlot(kind, own, sample);
      detailPlots.push(plot);
      box.append(plot.figure);
    }
    if (detailPlots.length === 0) return;
    const first = article.querySelector("section[id]");
    if (first) first.before(curves);
    else article.append(curves);
    article.querySelector("nav ul")?.prepend(make("li", {}, make("a", { href: `#s${sample}-curves` }, "Curves")));
  };

  /** Returns the links to other samples, and the form for the display name. */
  const makeDetailTools = (sample) => {
    const place = state.shown.indexOf(sample);
    const other = (by, text) => {
      const next = state.shown[place + by];
      return place < 0 || next === undefined ? "" : make("a", { href: `#s${next}` }, `${text}: ${nameOf(next)}`);
    };
    const input = make("input", { value: nameOf(sample), size: 24, spellcheck: false });
    const form = make("form", {}, make("label", {}, "Display name ", input), make("button", { type: "submit" }, "Rename"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      rename([[sample, input.value.trim()]]);
      input.value = nameOf(sample);
      live.textContent = `The display name is ${nameOf(sample)}.`;
    });
    const box = make("button", { type: "button", "aria-pressed": state.marked.has(sample) }, "Highlight");
    box.addEventListener("click", () => {
      toggleMark(sample);
      box.setAttribute("aria-pressed", state.marked.has(sample));
    });
    const links = make("p", { className: "back" }, make("a", { href: "#cohort" }, "All samples"), other(-1, "Previous"), other(1, "Next"));
    return make("div", { className: "detail-tools" }, links, make("div", { className: "tools" }, form, box));
  };

  /** Removes sections that had only figures, and leads their links to the curves. */
  const removeEmptySections = (article, sample) => {
    for (const section of article.querySelectorAll("section[id]")) {
      const hasContent = [...section.children].some((child) => child.tagName !== "H2" && child.textContent.trim());
      if (hasContent) continue;
      article.querySelector(`nav a[href="#${section.id}"]`)?.closest("li").remove();
      article.querySelectorAll(`a[href="#${section.id}"]`).forEach((link) => (link.href = `#s${sample}-curves`));
      section.remove();
    }
  };

  // ---- Contents ----

  const renderContents = () => {
    const item = (id, text, ...more) => make("li", {}, make("a", { href: `#${id}` }, text), ...more);
    const items = [...byId("overview").children].filter((section) => section.matches("section, header") && !section.hidden).map((section) => {
      const text = section.id === "summary" ? "Summary" : section.querySelector("h2").textContent;
      const figures = section.id === "curves" ? [...section.querySelectorAll("figure")] : [];
      const inner = figures.map((figure) => item(figure.id, figure.querySelector("h3").textContent));
      return item(section.id, text, ...(inner.length ? [make("ul", {}, ...inner)] : []));
    });
    byId("contents").firstElementChild.replaceChildren(...items);
    byId("contents").hidden = false;
    const links = new Map([...byId("contents").querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
    const inView = new Set();
    const observer = new IntersectionObserver(
      (entries) => {
        entries.forEach((entry) => (entry.isIntersecting ? inView.add(entry.target.id) : inView.delete(entry.target.id)));
        const first = [...links.keys()].filter((id) => inView.has(id)).at(0);
        links.forEach((link, id) => (id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
      },
      { rootMargin: "-15% 0px -60% 0px" },
    );
    [...links.keys()].map(byId).forEach((section) => section && observer.observe(section));
  };

  // ---- Paper ----

  const COLUMNS_PER_BLOCK = 7;
  const MAX_PRINTED_CELLS = 14_000;

  /** Makes tables of few columns, which fit on paper, and draws all plots in the colours of paper. */
  const preparePrint = () => {
    if (isPrinting) return;
    isPrinting = true;
    const shown = shownColumns();
    const maxRows = Math.max(1, Math.floor(MAX_PRINTED_CELLS / (shown.length + shown.length / COLUMNS_PER_BLOCK + 2)));
    const samples = state.shown.slice(0, maxRows);
    const blocks = [];
    const text = (column, sample) => {
      if (column.id === "verdict") return gradeOf(sample)?.label ?? "–";
      if (column.field) return column.field.values[sample] ?? "–";
      return `${column.metric.texts[sample] ?? "–"}${column.metric.sides[sample] ? ` ${column.metric.sides[sample]}` : ""}`;
    };
    const cellClass = (column, sample) => (column.metric ? (data.grades[column.metric.grades[sample]]?.class ?? "") : "t");
    for (let i = 0; i < Math.max(1, shown.length); i += COLUMNS_PER_BLOCK) {
      const part = shown.slice(i, i + COLUMNS_PER_BLOCK);
      const head = ["Sample", ...part.map((column) => column.title)].map((title) => make("th", { scope: "col" }, title));
      const lines = samples.map((sample) => make("tr", {}, make("th", { scope: "row" }, nameOf(sample)), ...part.map((column) => make("td", { className: cellClass(column, sample) }, text(column, sample)))));
      blocks.push(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines)));
    }
    const left = state.shown.length - samples.length;
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

  // ---- Start ----

  const { title } = document;

  const drawPlots = async () => {
    const metrics = new MetricPlot();
    if (metrics.isReady()) {
      byId("metrics").hidden = false;
      byId("metrics").querySelector(".plots").append(metrics.figure);
    } else metrics.remove();
    if (data.curves.length === 0 || !canInflate) return;
    const box = byId("curves").querySelector(".plots");
    byId("curves").hidden = false;
    for (const kind of data.curves) {
      const curves = await readCurves(kind);
      allCurves.set(kind.id, curves);
      box.append(new CurvePlot(kind, curves, null).figure);
    }
  };

  const start = async () => {
    byId("old-browser").hidden = canInflate;
    byId("samples").hidden = false;
    byId("choice").hidden = false;
    restoreView();
    connectTools();
    fillNames();
    renderHead();
    applyFilter();
    // Lets the browser paint the table before the plots are drawn.
    await new Promise((done) => setTimeout(done));
    await drawPlots();
    renderContents();
    addEventListener("hashchange", route);
    await route();
    addEventListener("beforeprint", preparePrint);
    addEventListener("afterprint", finishPrint);
    const paper = matchMedia("print");
    paper.addEventListener("change", () => (paper.matches ? preparePrint() : finishPrint()));
    if (paper.matches) preparePrint();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    document.documentElement.dataset.ready = "true";
  };
  start();
})();
