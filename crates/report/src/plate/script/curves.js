// Plots with a curve for each sample.

/**
 * Number of curves above which lines are as thin as one pixel of the screen. Browsers draw such lines ten
 * times faster than wider ones.
 */
const MAX_WIDE_CURVES = 150;

/** Height of a dragged box in pixels above which it also zooms the values. */
const MIN_BOX = 24;

/** Returns the kind of a figure that the reader chose, or the first. */
const chosenKind = (kinds) => kinds.find(({ id, figure }) => id === settingOf(`curves ${figure}`)) ?? kinds[0];

/** Shows what the reader chose for a figure, in the overview and in the details of a sample. */
const showChosenCurves = () => plots.forEach((plot) => plot.showChosen?.());
syncs.add(showChosenCurves);

/** Returns a share of a kind as it is stored, without its logarithm. */
const plainShare = (kind, value) => (kind.log ? 10 ** value : value);

/**
 * Returns a kind and its curves with other values: counts in place of shares (a share times the total of its sample),
 * or with another scale. On a logarithmic scale, values are decimal logarithms, and 0 has no place.
 */
const convertCurves = (kind, curves, isCount, isLog) => {
  if (!isCount && isLog === kind.log) return { kind, curves };
  const convert = (value, total) => {
    const plain = plainShare(kind, value) * total;
    return !isLog ? plain : plain > 0 ? Math.log10(plain) : NaN;
  };
  let [low, high] = [Infinity, -Infinity];
  const converted = curves.map((curve, sample) => {
    const total = isCount ? (kind.totals[sample] ?? null) : 1;
    return curve && total !== null ? curve.map((value) => convert(value, total)) : null;
  });
  for (const curve of converted) {
    curve?.forEach((value) => {
      if (value < low) low = value;
      if (value > high) high = value;
    });
  }
  if (low > high) [low, high] = [0, 1];
  const fromZero = !isLog && (kind.fromZero || kind.log);
  return { kind: { ...kind, stored: kind, isCount, percent: !isCount, log: isLog, fromZero, low, high }, curves: converted };
};

/**
 * Returns a count as text. It is computed from a share that is stored with a limited precision, so a large count
 * is rounded to the digits that are certain.
 */
const countText = (count, { stored }) => {
  const step = (stored.high - stored.low) / stored.levels / 2;
  const most = Math.max(...stored.totals);
  const error = stored.log ? count * (10 ** step - 1) : step * most;
  if (error < 0.5) return fixed(count, 0);
  const unit = 10 ** Math.ceil(Math.log10(2 * error));
  return `about ${fixed(Math.round(count / unit) * unit, 0)}`;
};

/** A curve for each sample. */
class CurvePlot extends Plot {
  get isZoomable() {
    return true;
  }

  /** Creates the plot of the kinds of a figure. `curves` are those of the kind that it shows first. */
  constructor(kinds, curves, focus) {
    const kind = chosenKind(kinds);
    super({ ...kind, id: kind.figure, focus });
    this.kinds = kinds;
    this.makeControls(kind);
    this.showKind(kind, curves);
  }

  /** Makes the lists and the switch of what the plot can show. */
  makeControls(kind) {
    const choose = (name) => (value) => {
      setSetting(`${name} ${kind.figure}`, value);
      showChosenCurves();
    };
    const controls = [];
    if (this.kinds.length > 1) {
      this.select = makeSelect(this.kinds.map(({ id, label }) => [id, label]), choose("curves"), { "aria-label": `Shown values of ${kind.title}` });
      controls.push(make("label", {}, "Show ", this.select));
    }
    if (kind.totals.length > 0) {
      this.unitSelect = makeSelect(UNITS, choose("unit"), { "aria-label": `Unit of ${kind.title}` });
      controls.push(make("label", {}, "Show ", this.unitSelect));
    }
    if (kind.percent && (kind.fromZero || kind.log)) {
      const [box, label] = makeSwitch("Log scale", choose("log"));
      this.logBox = box;
      controls.push(label);
    }
    if (controls.length > 0) this.addControls(...controls);
  }

  /** Returns whether the plot shows counts, and whether its scale is logarithmic. */
  choices(kind) {
    const isCount = kind.totals.length > 0 && settingOf(`unit ${kind.figure}`, "percent") === "count";
    return { isCount, isLog: this.logBox ? settingOf(`log ${kind.figure}`, kind.log) : kind.log };
  }

  showKind(kind, curves) {
    const { isCount, isLog } = this.choices(kind);
    this.shown = [kind.id, isCount, isLog].join();
    Object.assign(this, convertCurves(kind, curves, isCount, isLog));
    if (this.select) this.select.value = kind.id;
    if (this.unitSelect) this.unitSelect.value = isCount ? "count" : "percent";
    if (this.logBox) this.logBox.checked = isLog;
    this.describe();
  }

  /** Writes the caption, and the label for screen readers. */
  describe() {
    const { kind, curves } = this;
    this.figure.querySelector("figcaption > p:last-child").textContent = kind.reading;
    const own = curves.filter(Boolean).length;
    const range = `${this.valueText(kind.low)} to ${this.valueText(kind.high)}`;
    const label = kind.label ? `, ${kind.label}` : "";
    this.area.setAttribute(
      "aria-label",
      `${kind.title}${label}: ${own} curves, values from ${range}. Arrow keys move along a curve and between samples; Enter highlights a sample; plus and minus zoom.`,
    );
  }

  /** Shows the kind that the reader chose. */
  async showChosen() {
    const kind = chosenKind(this.kinds);
    const curves = await readCurves(kind);
    const { isCount, isLog } = this.choices(kind);
    if ([kind.id, isCount, isLog].join() === this.shown) return;
    this.showKind(kind, curves);
    this.setZoom(null);
  }

  isReady() {
    return true;
  }

  heightFor(width) {
    return Math.round(Math.min(isLarge() ? 560 : 340, Math.max(230, width * 0.5)));
  }

  fileName() {
    return this.kind.id;
  }

  /** Returns the curves that are not hidden: a line for each sample, a column for each x. */
  tsvLines() {
    const cells = [...Array(this.kind.count).keys()];
    const number = (value) => {
      if (value !== value) return "";
      const plain = plainShare(this.kind, value);
      return String(this.kind.isCount ? Math.round(plain) : Number(plain.toPrecision(6)));
    };
    const lines = [["Sample", ...cells.map((cell) => this.xText(cell))]];
    for (const sample of this.visibleSamples()) {
      if (this.curves[sample]) lines.push([nameOf(sample), ...Array.from(this.curves[sample], number)]);
    }
    return lines;
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
    const { log, percent, low, high, isCount } = this.kind;
    const plain = plainShare(this.kind, value);
    if (isCount) return countText(plain, this.kind);
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
    for (const y of kind.log ? logTicksOf(...scales.y) : ticksOf(...scales.y, 5)) {
      const top = scales.toY(y);
      const value = kind.log ? round(10 ** y) : y;
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
      const [top, bottom] = Math.abs(y1 - y0) > MIN_BOX ? [y0, y1] : [MARGIN.top, height - MARGIN.bottom];
      this.paintDrag(painter, [x0, top, x1, bottom]);
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

  zoomToBox(from, to) {
    const [dx, dy] = [0, 1].map((axis) => Math.abs(to[axis] - from[axis]));
    if (dx <= MIN_DRAG) return false;
    const { fromX, fromY } = this.scales(this.width, this.height);
    const sorted = (values) => values.sort((a, b) => a - b);
    const y = dy > MIN_BOX ? sorted([fromY(from[1]), fromY(to[1])]) : null;
    this.setZoom({ x: sorted([fromX(from[0]), fromX(to[0])]), y });
    return true;
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
    this.speakPoint(this.hitAt(sample, cell));
  }
}
