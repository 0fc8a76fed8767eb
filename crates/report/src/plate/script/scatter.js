// The plot of any two columns of the table against each other, with a dot for each sample.

/**
 * Returns the number of a sample in a column; NaN if it is missing. A field of the sample sheet can have numbers, too.
 * The unit of a plot does not depend on that of the table.
 */
const numberIn = (column, sample, isCount = false) => {
  const value = column.metric ? numberOf(column.metric, sample, isCount) : column.value(sample);
  return value === null || value === undefined || value === "" ? NaN : Number(value);
};
/** Columns whose values are numbers. */
const numberColumns = columns.filter((column) => {
  if (!column.metric && !column.field) return false;
  const known = all.filter((sample) => ![null, undefined, ""].includes(column.value(sample)));
  return known.length > 0 && known.every((sample) => Number.isFinite(numberIn(column, sample)));
});
/** Returns the text of the number of a sample in a column. */
const numberText = (column, sample, isCount = false) => (column.metric ? textOf(column.metric, sample, isCount) : column.value(sample));
/** Whether a sample is an outlier in a column. */
const isOutlierIn = (column, sample) => Boolean(column.metric?.sides[sample]);

/** Width of a letter of a label in pixels, on average. */
const LETTER = 6.4;
const MAX_LABELS = 30;

class ScatterPlot extends Plot {
  get isZoomable() {
    return true;
  }

  constructor() {
    super({
      id: "scatter",
      title: "Any two columns",
      reading: "Each dot is a sample. Outliers of the two columns and highlighted samples have their names.",
    });
    const options = numberColumns.map((column) => [column.id, column.title]);
    this.selects = ["x", "y"].map((axis) => makeSelect(options, (id) => this.setColumns({ ...this.ids(), [axis]: id }), { id: `scatter-${axis}` }));
    const swap = makeButton("Swap axes", () => this.setColumns({ x: this.ids().y, y: this.ids().x }));
    this.unitSelect = makeSelect(UNITS, (unit) => {
      setSetting("unit scatter", unit);
      this.showColumns();
    }, { id: "scatter-unit" });
    const unit = make("label", {}, "Show shares as ", this.unitSelect);
    this.limitsNote = this.figure.querySelector("figcaption").appendChild(make("p", { className: "limits" }));
    this.addControls(make("label", {}, "Horizontal ", this.selects[0]), make("label", {}, "Vertical ", this.selects[1]), swap, unit);
    syncs.add(() => this.showColumns());
    this.showColumns();
  }

  isReady() {
    return numberColumns.length >= 2;
  }

  heightFor(width) {
    return Math.round(Math.min(isLarge() ? 720 : 520, Math.max(280, width * 0.6)));
  }

  /** Returns the ids of the columns of both axes. */
  ids() {
    const { x, y } = settingOf("scatter", { x: "mean_coverage", y: "duplicates" });
    const known = numberColumns.map((column) => column.id);
    const first = known.includes(x) ? x : known[0];
    return { x: first, y: known.includes(y) ? y : (known.find((id) => id !== first) ?? first) };
  }

  axes() {
    const { x, y } = this.ids();
    return [x, y].map((id) => numberColumns.find((column) => column.id === id));
  }

  /** Whether an axis shows counts of reads or bases in place of shares. */
  isCount({ metric }) {
    return settingOf("unit scatter", "percent") === "count" && metric?.counts.length > 0;
  }

  /** Returns what the caption says about thresholds. */
  limitsText() {
    const limited = this.axes().filter(({ metric }) => metric?.limit);
    const counts = limited.filter((column) => this.isCount(column)).map((column) => column.title);
    const texts = [];
    if (counts.length < limited.length) texts.push("Dashed lines are the thresholds for a warning and a failure.");
    if (counts.length > 0) texts.push(`The thresholds of ${[...new Set(counts)].join(" and ")} are percentages, so they are not shown with counts.`);
    return texts.join(" ");
  }

  setColumns(ids) {
    setSetting("scatter", ids);
    this.showColumns();
  }

  showColumns() {
    if (!this.isReady()) return;
    const { x, y } = this.ids();
    this.selects[0].value = x;
    this.selects[1].value = y;
    this.unitSelect.value = settingOf("unit scatter", "percent");
    this.limitsNote.textContent = this.limitsText();
    this.limitsNote.hidden = this.limitsNote.textContent === "";
    const [across, up] = this.axes();
    this.area.setAttribute("aria-label", `${up.title} by ${across.title}: dots of ${count} samples; the table has the values. Left and right arrow keys move by ${across.title}, up and down by ${up.title}; Enter highlights a sample; plus and minus zoom.`);
    this.setZoom(null);
  }

  /** Returns the values of both axes, which are read again only if the columns changed. */
  points() {
    const axes = this.axes();
    const key = [...axes.map((column) => column.id), settingOf("unit scatter", "percent")].join();
    if (this.pointsKey !== key) {
      this.pointsKey = key;
      this.values = axes.map((column) => all.map((sample) => numberIn(column, sample, this.isCount(column))));
      this.known = all.filter((sample) => this.values.every((values) => !Number.isNaN(values[sample])));
    }
    return this.values;
  }

  /** Returns the samples that the plot shows. */
  shownSamples() {
    this.points();
    return state.hidden.size === 0 ? [...this.known] : this.known.filter((sample) => !state.hidden.has(sample));
  }

  ranges() {
    if (this.zoom) return this.zoom;
    const samples = this.shownSamples();
    return this.points().map((values) => {
      const shown = samples.map((sample) => values[sample]);
      const [low, high] = shown.length > 0 ? [Math.min(...shown), Math.max(...shown)] : [0, 1];
      const space = 0.05 * (high - low || Math.abs(high) || 1);
      return [low - space, high + space];
    });
  }

  scales(width, height) {
    const [x, y] = this.ranges();
    const bottom = height - MARGIN.bottom;
    const [byX, byY] = [(width - MARGIN.left - MARGIN.right) / (x[1] - x[0]), (bottom - MARGIN.top) / (y[1] - y[0])];
    return {
      x,
      y,
      toX: (value) => MARGIN.left + (value - x[0]) * byX,
      toY: (value) => bottom - (value - y[0]) * byY,
      fromX: (left) => x[0] + (left - MARGIN.left) / byX,
      fromY: (top) => y[0] + (bottom - top) / byY,
    };
  }

  place(sample, { toX, toY }) {
    const [x, y] = this.points();
    return [toX(x[sample]), toY(y[sample])];
  }

  paintAxes(painter, width, height, scales) {
    const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
    const ink = { color: color("ink") };
    for (const value of ticksOf(...scales.x, width < 500 ? 4 : 8)) {
      painter.line([scales.toX(value), MARGIN.top, scales.toX(value), bottom], { color: color("grid") });
      painter.text(scales.toX(value), bottom + 17, shorten(value), { ...ink, anchor: "middle" });
    }
    for (const value of ticksOf(...scales.y, 6)) {
      painter.line([MARGIN.left, scales.toY(value), right, scales.toY(value)], { color: color("grid") });
      painter.text(MARGIN.left - 7, scales.toY(value) + 4, shorten(value), { ...ink, anchor: "end" });
    }
    this.axes().forEach((column, axis) => {
      const { metric } = column;
      if (!metric?.limit || this.isCount(column)) return;
      for (const grade of ["look", "bad"]) {
        const limit = metric.limit[grade] === null ? NaN : metric.limit[grade] * metric.factor;
        const [low, high] = axis === 0 ? scales.x : scales.y;
        if (!(limit > low && limit < high)) continue;
        const at = axis === 0 ? scales.toX(limit) : scales.toY(limit);
        painter.line(axis === 0 ? [at, MARGIN.top, at, bottom] : [MARGIN.left, at, right, at], { color: color(grade), dash: [5, 4] });
      }
    });
    painter.line([MARGIN.left, MARGIN.top, MARGIN.left, bottom, right, bottom], { color: color("axis") });
    const [across, up] = this.axes().map((column) => titleOf(column, this.isCount(column)));
    painter.text((MARGIN.left + right) / 2, height - 8, across, { ...ink, size: 13, anchor: "middle" });
    painter.text(13, (MARGIN.top + bottom) / 2, up, { ...ink, size: 13, anchor: "middle", isVertical: true });
  }

  clipped(painter, width, height, action) {
    painter.startClip(MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom);
    action();
    painter.endClip();
  }

  paintBase(painter, width, height) {
    const scales = this.scales(width, height);
    this.paintAxes(painter, width, height, scales);
    const isBehind = state.marked.size > 0;
    const radius = count > 300 ? 2.6 : 3.6;
    const keys = this.axes().map((column) => column.id);
    const colors = new Map();
    const colorOf = (name) => colors.get(name) ?? colors.set(name, color(name)).get(name);
    this.clipped(painter, width, height, () => {
      for (const sample of this.shownSamples()) {
        const name = isBehind ? "mark" : colorName(sample, keys);
        painter.dot(...this.place(sample, scales), radius, { color: colorOf(name), alpha: isBehind ? 0.4 : 0.75 });
      }
    });
    if (isBehind) return;
    const axes = this.axes();
    this.paintLabels(painter, this.shownSamples().filter((sample) => axes.some((column) => isOutlierIn(column, sample))), scales, width, height);
  }

  /** Writes the names of samples beside their dots, except those that would cover another name. */
  paintLabels(painter, samples, scales, width, height) {
    const taken = [];
    for (const sample of samples) {
      if (taken.length >= MAX_LABELS) break;
      const [x, y] = this.place(sample, scales);
      if (x < MARGIN.left || x > width - MARGIN.right || y < MARGIN.top || y > height - MARGIN.bottom) continue;
      const text = nameOf(sample);
      const length = text.length * LETTER;
      const places = [[x + 7, y + 4], [x - 7 - length, y + 4], [x - length / 2, y - 9], [x - length / 2, y + 17]];
      const isFree = ([left, base]) =>
        left >= MARGIN.left && left + length <= width && base >= MARGIN.top + 8 &&
        taken.every(([l, b, r]) => left > r + 2 || left + length < l - 2 || Math.abs(base - b) > 12);
      const free = places.find(isFree);
      if (!free) continue;
      taken.push([free[0], free[1], free[0] + length]);
      painter.text(...free, text, { color: color("ink"), size: 11 });
    }
  }

  paintTop(painter, width, height, hasCursor = true) {
    const scales = this.scales(width, height);
    const shown = new Set(this.shownSamples());
    const marked = this.markedStyles().filter(([sample]) => shown.has(sample));
    this.clipped(painter, width, height, () => {
      for (const [sample, style] of marked) painter.dot(...this.place(sample, scales), 5.5, { color: style.color, ring: color("card") });
      if (hasCursor && shown.has(state.hover)) painter.dot(...this.place(state.hover, scales), 6, { color: color("ink"), ring: color("card") });
    });
    this.paintLabels(painter, marked.map(([sample]) => sample), scales, width, height);
    if (hasCursor && this.drag) this.paintDrag(painter, [...this.drag.from, ...this.drag.to]);
  }

  findNear([left, top]) {
    const scales = this.scales(this.width, this.height);
    let best = null;
    let bestDistance = 20;
    for (const sample of this.shownSamples()) {
      const [x, y] = this.place(sample, scales);
      const distance = Math.hypot(x - left, y - top);
      if (distance < bestDistance) [best, bestDistance] = [sample, distance];
    }
    return best === null ? null : this.hitAt(best);
  }

  hitAt(sample) {
    const [x, y] = this.place(sample, this.scales(this.width, this.height));
    const text = this.axes().map((column) => `${column.title}: ${numberText(column, sample, this.isCount(column))}`).join("; ");
    return { sample, x, y, text };
  }

  zoomToBox(from, to) {
    if ([0, 1].some((axis) => Math.abs(to[axis] - from[axis]) <= MIN_DRAG)) return false;
    const { fromX, fromY } = this.scales(this.width, this.height);
    const sorted = (values) => values.sort((a, b) => a - b);
    this.setZoom([sorted([fromX(from[0]), fromX(to[0])]), sorted([fromY(from[1]), fromY(to[1])])]);
    return true;
  }

  zoomBy(factor) {
    const middle = this.cursor && this.points().map((values) => values[this.cursor.sample]);
    this.setZoom(
      this.ranges().map(([low, high], axis) => [-1, 1].map((side) => (middle?.[axis] ?? (low + high) / 2) + (side * factor * (high - low)) / 2)),
    );
  }

  /** Moves to the sample with the next value on an axis. */
  moveCursor(along, up) {
    const values = this.points()[along ? 0 : 1];
    const order = this.shownSamples().sort((a, b) => values[a] - values[b]);
    if (order.length > 0) this.speakPoint(this.hitAt(this.nextSample(order, along || up)));
  }

  tsvLines() {
    const axes = this.axes();
    const values = this.points();
    const lines = this.shownSamples().map((sample) => [nameOf(sample), ...values.map((numbers) => numbers[sample])]);
    return [["Sample", ...axes.map((column) => titleOf(column, this.isCount(column)))], ...lines];
  }
}
