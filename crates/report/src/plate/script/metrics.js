// The plot of all key metrics, with a row for each metric.

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
      painter.text(left, under, formatNumber(metric.values[least], metric.form), { color: palette.muted, size: 11 });
      painter.text(right, under, formatNumber(metric.values[greatest], metric.form), { color: palette.muted, size: 11, anchor: "end" });
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
    return { sample, row: i, x, y, text: `${row.metric.name}: ${formatNumber(row.metric.values[sample], row.metric.form)}` };
  }

  moveCursor(along, up) {
    let { sample, row } = this.cursor ?? { sample: 0, row: 0 };
    row = Math.max(0, Math.min(this.rows.length - 1, row - (this.cursor ? up : 0)));
    const { metric, known } = this.rows[row];
    const order = [...known].sort((a, b) => metric.values[a] - metric.values[b]);
    const at = order.indexOf(sample) + (this.cursor ? along : 0);
    sample = order[Math.max(0, Math.min(order.length - 1, at))];
    this.speakPoint(this.hitAt(sample, row));
  }
}
