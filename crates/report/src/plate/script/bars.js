// Plots with a stacked bar for each sample.

/** Number of pixels that a bar needs to have the name of its sample below. */
const MIN_NAMED_BAR = 13;

class BarPlot extends Plot {
  constructor(kind) {
    super(kind);
    this.kind = kind;
    this.select = makeSelect(UNITS, (unit) => this.setUnit(unit), { "aria-label": `Unit of ${kind.title}` });
    const [box, logLabel] = makeSwitch("Log scale", (isLog) => this.setLog(isLog));
    this.logBox = box;
    this.logNote = make("p", { hidden: true }, "On a log scale, compare only the tops of bars: the parts above the lowest one look too small.");
    this.figure.querySelector("figcaption").append(this.logNote);
    syncs.add(() => this.showChoices());
    this.legend = kind.parts.map((part, i) =>
      makeButton("", () => this.togglePart(part), { className: "part", title: "Show or drop this part" }),
    );
    this.legend.forEach((button, i) => button.append(make("i", { className: "swatch", style: `background: var(--c${i})` }), kind.parts[i]));
    this.addControls(make("label", {}, "Show ", this.select), logLabel, make("ul", { className: "legend" }, ...this.legend.map((button) => make("li", {}, button))));
    this.area.setAttribute("aria-label", `${kind.title}: bars of ${count} samples. Left and right arrow keys move between samples, up and down between parts; Enter highlights a sample.`);
    this.showChoices();
  }

  isReady() {
    return true;
  }

  /** Shows percentages or counts in this plot only. */
  setUnit(unit) {
    setSetting(`unit ${this.id}`, unit);
    this.showChoices();
  }

  setLog(isLog) {
    setSetting(`log ${this.id}`, isLog);
    this.showChoices();
  }

  isLog() {
    return settingOf(`log ${this.id}`, false);
  }

  showChoices() {
    this.logBox.checked = this.isLog();
    this.logNote.hidden = !this.isLog() || this.shownParts().length < 2;
    this.select.value = settingOf(`unit ${this.id}`, "percent");
    this.legend.forEach((button, i) => button.setAttribute("aria-pressed", this.hasPart(i)));
    this.draw();
  }

  /** Returns the names of the parts that the reader dropped. */
  droppedParts() {
    return settingOf(`dropped ${this.id}`, []);
  }

  hasPart(part) {
    return !this.droppedParts().includes(this.kind.parts[part]);
  }

  /** Drops a part of all bars, or shows it again. */
  togglePart(name) {
    const dropped = this.droppedParts();
    setSetting(`dropped ${this.id}`, dropped.includes(name) ? dropped.filter((other) => other !== name) : [...dropped, name]);
    this.showChoices();
  }

  /** Returns the indices of the parts that are shown. */
  shownParts() {
    return [...this.kind.parts.keys()].filter((part) => this.hasPart(part));
  }

  isPercent() {
    return settingOf(`unit ${this.id}`, "percent") !== "count";
  }

  heightFor(width) {
    return Math.round(Math.min(isLarge() ? 520 : 380, Math.max(280, width * 0.5)));
  }

  /** Returns the samples with data that are not hidden, in the order of the table. */
  order() {
    return sortSamples(this.visibleSamples().filter((sample) => this.kind.totals[sample] !== null));
  }

  /** Returns a part of a bar: a number, or a share of the total. It is 0 if the part is dropped. */
  valueOf(sample, part) {
    if (!this.hasPart(part)) return 0;
    const value = this.kind.values[part][sample] ?? 0;
    return this.isPercent() ? (100 * value) / (this.kind.totals[sample] || 1) : value;
  }

  /** Returns the places of the bars. They are the same until the plot is drawn again. */
  layout(width, height) {
    const key = `${width} ${height}`;
    if (this.layoutKey !== key) [this.layoutKey, this.places] = [key, this.placeBars(width, height)];
    return this.places;
  }

  placeBars(width, height) {
    const order = this.order();
    const step = (width - MARGIN.left - MARGIN.right) / Math.max(1, order.length);
    const hasNames = step >= MIN_NAMED_BAR;
    const longest = hasNames ? Math.max(...order.map((sample) => nameOf(sample).length)) : 0;
    const bottom = height - (hasNames ? Math.min(110, longest * LETTER + 14) : 30);
    const sums = order.map((sample) => this.kind.parts.reduce((sum, _, part) => sum + this.valueOf(sample, part), 0));
    const high = (Math.max(...sums, 0) || 1) * 1.02;
    if (!this.isLog()) {
      const toY = (value) => bottom - (value / high) * (bottom - MARGIN.top);
      return { order, step, hasNames, bottom, toY, ticks: ticksOf(0, high, 6) };
    }
    // Bars on a logarithmic scale begin at the power of ten below the lowest part of any bar.
    const lowest = Math.min(...order.map((sample) => this.shownParts().map((part) => this.valueOf(sample, part)).find((value) => value > 0) ?? high));
    const [low, top] = [Math.floor(Math.log10(lowest)), Math.log10(high)];
    const toY = (value) => bottom - (Math.max(0, Math.log10(value) - low) / (top - low)) * (bottom - MARGIN.top);
    return { order, step, hasNames, bottom, toY, ticks: logTicksOf(low, top).map((tick) => round(10 ** tick)) };
  }

  paintBase(painter, width, height) {
    this.layoutKey = null;
    const { order, step, hasNames, bottom, toY, ticks } = this.layout(width, height);
    const right = width - MARGIN.right;
    const ink = { color: color("ink") };
    for (const value of ticks) {
      painter.line([MARGIN.left, toY(value), right, toY(value)], { color: color("grid") });
      painter.text(MARGIN.left - 7, toY(value) + 4, this.isPercent() ? `${shorten(value)} %` : shorten(value), { ...ink, anchor: "end" });
    }
    const colors = this.kind.parts.map((_, part) => color(`c${part}`));
    // Thin bars overlap a little, or gaps between them would show as stripes.
    const barWidth = step > 4 ? step * 0.85 : step + 0.3;
    order.forEach((sample, i) => {
      const alpha = state.marked.size > 0 && !state.marked.has(sample) ? 0.45 : 1;
      let below = 0;
      colors.forEach((fill, part) => {
        const value = this.valueOf(sample, part);
        if (value > 0) painter.rect(MARGIN.left + i * step, toY(below + value), barWidth, toY(below) - toY(below + value), fill, alpha);
        below += value;
      });
      if (hasNames) painter.text(MARGIN.left + (i + 0.5) * step + 3, bottom + 6, shortName(nameOf(sample), 15), { ...ink, size: 11, anchor: "end", isVertical: true });
    });
    painter.line([MARGIN.left, MARGIN.top, MARGIN.left, bottom, right, bottom], { color: color("axis") });
    if (!hasNames) painter.text((MARGIN.left + right) / 2, height - 8, `${order.length} samples, in the order of the table`, { ...ink, size: 13, anchor: "middle" });
    painter.text(13, (MARGIN.top + bottom) / 2, this.axisTitle(), { ...ink, size: 13, anchor: "middle", isVertical: true });
  }

  axisTitle() {
    const unit = this.kind.unit[0].toUpperCase() + this.kind.unit.slice(1);
    return this.isPercent() ? `${unit} (%)` : unit;
  }

  /** Frames the bar of a sample. */
  paintFrame(painter, sample, width, height, style) {
    const { order, step, bottom } = this.layout(width, height);
    const i = order.indexOf(sample);
    if (i < 0) return;
    const [left, right] = [MARGIN.left + i * step - 1.5, MARGIN.left + i * step + Math.max(step * 0.85, 1) + 1.5];
    painter.line([left, bottom + 3, left, MARGIN.top, right, MARGIN.top, right, bottom + 3, left, bottom + 3], { ...style, width: 1.8 });
  }

  paintTop(painter, width, height, hasCursor = true) {
    for (const [sample, { color }] of this.markedStyles().slice(0, 100)) this.paintFrame(painter, sample, width, height, { color });
    if (hasCursor && state.hover !== null) this.paintFrame(painter, state.hover, width, height, { color: color("ink") });
  }

  fileLegend() {
    return this.shownParts().map((i) => [this.kind.parts[i], { color: color(`c${i}`), dash: [] }]);
  }

  hitAt(sample, part) {
    const { order, step, toY } = this.layout(this.width, this.height);
    const below = this.kind.parts.slice(0, part).reduce((sum, _, i) => sum + this.valueOf(sample, i), 0);
    const value = this.valueOf(sample, part);
    const number = this.kind.values[part][sample] ?? 0;
    const share = (100 * number) / (this.kind.totals[sample] || 1);
    const text = `${this.kind.parts[part]}: ${Number(share.toPrecision(3))} %, ${fixed(number, 0)} ${this.kind.unit}`;
    return { sample, part, x: MARGIN.left + (order.indexOf(sample) + 0.5) * step, y: toY(below + value / 2), text };
  }

  findNear([left, top]) {
    const { order, step, toY, bottom } = this.layout(this.width, this.height);
    const sample = order[Math.floor((left - MARGIN.left) / step)];
    if (sample === undefined || left < MARGIN.left || top > bottom) return null;
    let below = 0;
    for (const part of this.shownParts()) {
      below += this.valueOf(sample, part);
      if (toY(below) <= top || part === this.shownParts().at(-1)) return this.hitAt(sample, part);
    }
    return null;
  }

  moveCursor(along, up) {
    const [order, parts] = [this.order(), this.shownParts()];
    if (order.length === 0 || parts.length === 0) return;
    const at = Math.max(0, parts.indexOf(this.cursor?.part)) + (this.cursor ? up : 0);
    this.speakPoint(this.hitAt(this.nextSample(order, along), parts[Math.max(0, Math.min(parts.length - 1, at))]));
  }

  /** Returns the parts of the bars that are not hidden, as percentages or numbers like the plot. */
  tsvLines() {
    const unit = this.isPercent() ? "%" : this.kind.unit;
    const parts = this.shownParts();
    const lines = [["Sample", ...parts.map((part) => `${this.kind.parts[part]} (${unit})`)]];
    for (const sample of this.order()) lines.push([nameOf(sample), ...parts.map((part) => Number(this.valueOf(sample, part).toPrecision(12)))]);
    return lines;
  }
}

/** Returns a name, or its beginning and end if it is longer than `max` letters. */
const shortName = (name, max) => (name.length <= max ? name : `${name.slice(0, max - 7)}…${name.slice(-6)}`);
