// The data, the state, and what all files of the script use.
//
// The script of a page of several samples fills the table and draws the plots from the data in the page, and
// shows the details of one sample when its link is followed (#s3).
//
//   state ──► table    rows near the window
//         ├─► plots    two canvases each: all samples below, highlighted ones above
//         └─► details  the article of one sample, inflated from the page
//
// Everything that changes the state calls `update`, which redraws what depends on it. The page has all files in
// one function, in the order of `script.rs`.

// ---- Data and state ----

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("plate-data").textContent);
const count = data.samples.length;
for (const metric of data.details) {
  // The page leaves out shares that are counts divided by totals, which several columns have in common.
  const wholes = data.wholes[metric.whole];
  if (wholes) metric.values = metric.counts.map((part, sample) => (part === null ? null : part / wholes[sample]));
}
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
  /** Where the filter looks: a key of `filterPlaces`. */
  filterPlace: "names",
  sort: { column: null, up: true },
  colorBy: "outliers",
  /** Choices of single plots and of the numbers, by name. */
  settings: {},
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
const inflateCurves = async (kind) => {
  const bytes = await inflate(`curves-${kind.id}`);
  const numbers = bytes.length / 2;
  const scale = (kind.high - kind.low) / kind.levels;
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
/** Returns the shares of G and C among the called bases, from the curves of A, C, G and T. */
const deriveCurves = async (kind) => {
  const bases = await Promise.all(kind.derivedFrom.map((id) => readCurves(data.curves.find((other) => other.id === id))));
  return all.map((sample) => {
    const [a, c, g, t] = bases.map((curves) => curves[sample]);
    return a && c && g && t ? a.map((own, i) => (c[i] + g[i]) / (own + c[i] + g[i] + t[i])) : null;
  });
};
const curvesRead = new Map();
/** Like `inflateCurves`, but inflates the curves of a kind only once. */
const readCurves = (kind) => {
  if (!curvesRead.has(kind.id)) curvesRead.set(kind.id, kind.derivedFrom.length > 0 ? deriveCurves(kind) : inflateCurves(kind));
  return curvesRead.get(kind.id);
};

/** The kinds of curves by figure: the reader chooses one of those that share a figure. */
const curveFigures = new Map();
for (const kind of data.curves) curveFigures.set(kind.figure, [...(curveFigures.get(kind.figure) ?? []), kind]);

// ---- Numbers ----

/** Returns a number with a fixed number of decimal places, and with thousands separators. */
const fixed = (value, digits) => {
  const text = value.toFixed(digits);
  const [whole, fraction] = (/^-[0.]+$/.test(text) ? text.slice(1) : text).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction ? `${grouped}.${fraction}` : grouped;
};
const trimZeros = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** Returns the text of a number, like `NumberFormat::format_number` of the program that made the page. */
const formatNumber = (value, { kind, digits, unit }) => {
  const size = Math.abs(value);
  switch (kind) {
    case "decimal": return `${fixed(value, digits)}${unit}`;
    case "share": return `${fixed(100 * value, size === 0 ? 0 : size < 0.0001 ? 4 : size < 0.01 ? 2 : 1)}\u00a0%`;
    case "points": return `${fixed(100 * value, 1)} percentage points`;
    case "bases":
      if (value >= 1e9) return `${fixed(value / 1e9, 2)}\u00a0Gb`;
      return value >= 1e6 ? `${fixed(value / 1e6, 1)}\u00a0Mb` : `${fixed(value, 0)}\u00a0bases`;
    default:
      if (size >= 1000) return fixed(value, 0);
      if (size >= 10) return trimZeros(fixed(value, 2));
      return size >= 0.001 || size === 0 ? trimZeros(fixed(value, 4)) : value.toExponential(1);
  }
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

const allMetrics = [...data.metrics, ...data.details];
const isOutlier = (sample, keys) => allMetrics.some((metric) => keys.includes(metric.key) && metric.sides[sample]);

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

/** Functions that set the elements of a form from the state, after a view was restored. */
const syncs = new Set();
const syncForms = () => syncs.forEach((sync) => sync());

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
