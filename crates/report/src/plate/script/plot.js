// What all plots have in common: numbers of axes, two canvases, the tooltip and the files.

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

/** Returns ticks of a logarithmic axis, as decimal logarithms: powers of ten, and 2 and 5 times these if they are few. */
const logTicksOf = (low, high) => {
  const powers = [];
  for (let power = Math.floor(low); power <= high; power++) powers.push(power);
  const inRange = (ticks) => ticks.filter((tick) => tick >= low && tick <= high);
  const whole = inRange(powers);
  if (whole.length > 2) return whole.filter((_, i) => i % Math.ceil(whole.length / 8) === 0);
  const more = inRange(powers.flatMap((power) => [1, 2, 5].map((factor) => power + Math.log10(factor))));
  return more.length > 2 ? more : ticksOf(10 ** low, 10 ** high, 5).filter((value) => value > 0).map(Math.log10);
};

// ---- Plots ----

/** Returns a choice of a plot, or the default. The reader's choices are part of the view. */
const settingOf = (name, fallback) => state.settings[name] ?? fallback;
const setSetting = (name, value) => {
  state.settings[name] = value;
  keepView();
};

/** Returns a list to choose from. `options` has the value and the text of each. */
const makeSelect = (options, action, properties = {}) => {
  const select = make("select", properties, ...options.map(([value, text]) => make("option", { value }, text)));
  select.addEventListener("change", () => action(select.value));
  return select;
};

/** Returns a box to switch something on, and its label. */
const makeSwitch = (text, action) => {
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => action(box.checked));
  return [box, make("label", {}, box, text)];
};

const MARGIN = { left: 62, right: 14, top: 10, bottom: 46 };

/** Whether each plot has a line of the page for itself. */
const isLarge = () => settingOf("plots", "small") === "large";

/** Steps of the arrow keys: to the right, and up. */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Minimum width and height in pixels of a dragged box that zooms. */
const MIN_DRAG = 10;

/**
 * Two canvases in a figure, with its title, buttons, tooltip and files.
 *
 * A kind of plot has these methods: `heightFor` returns its height, `paintBase` and `paintTop` paint its layers,
 * `findNear` returns the point at a position, and `moveCursor` moves to another point. A point has a sample, a
 * place and a text. If `isZoomable`, `zoomToBox` and `zoomBy` change the shown range. If a plot has `tsvLines`, its
 * values can be saved.
 */
class Plot {
  isInView = false;
  isStale = true;
  /** The point below the pointer, or the one that keys chose. */
  cursor = null;
  /** Shown ranges; `null` shows all. */
  zoom = null;
  /** The first and the last position of a drag. */
  drag = null;

  get isZoomable() {
    return false;
  }

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
    if (this.tsvLines) this.tools.append(makeButton("TSV", () => this.saveTsv(), { "aria-label": `Save the values as TSV: ${title}` }));
    this.reset = makeButton("Reset zoom", () => this.setZoom(null), { hidden: true });
    if (this.isZoomable) this.tools.prepend(this.reset);
    const caption = make("figcaption", {}, make("h3", {}, title), this.tools, make("p", {}, reading));
    this.figure = make("figure", { id: `plot-${focus === null ? "" : "detail-"}${id}` }, caption, this.area);
    this.connect();
    this.resizes = new ResizeObserver(() => this.resize());
    this.resizes.observe(this.area);
    this.views = new IntersectionObserver(
      ([entry]) => {
        this.isInView = entry.isIntersecting;
        if (this.isInView && this.isStale) this.draw();
        if (!this.isInView && isLarge() && this.width) this.setSize(this.width);
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

  /** Draws the plot anew after its height changed. */
  resizeAgain() {
    this.width = 0;
    this.resize();
  }

  /** Adds elements between the title and the plot, such as lists to choose columns. */
  addControls(...controls) {
    this.figure.insertBefore(make("div", { className: "tools" }, ...controls), this.area);
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
    this.area.style.minHeight = `${this.height}px`;
    // All large plots of a page together would need hundreds of MB, so those out of view have no pixels.
    this.isEmpty = isLarge() && !this.isInView && !isPrinting;
    this.isStale ||= this.isEmpty;
    for (const canvas of this.canvases) {
      canvas.width = this.isEmpty ? 0 : Math.round(width * this.ratio);
      canvas.height = this.isEmpty ? 0 : Math.round(this.height * this.ratio);
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

  draw() {
    if (!this.isInView) {
      this.isStale = true;
      return;
    }
    if (!this.width || !this.isReady()) return;
    if (this.isEmpty) this.setSize(this.width);
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

  // The pointer and the keys.

  setCursor(hit) {
    this.cursor = hit;
    this.setHover(hit);
  }

  /** Moves the cursor to a point that the reader reached by keys, and reads it aloud. */
  speakPoint(hit) {
    if (!hit) return;
    this.setCursor(hit);
    live.textContent = `${nameOf(hit.sample)}, ${hit.text}`;
  }

  /** Returns the next sample of an order for the cursor, or the first one if there is no cursor. */
  nextSample(order, by) {
    const at = this.cursor ? order.indexOf(this.cursor.sample) + by : 0;
    return order[Math.max(0, Math.min(order.length - 1, at))];
  }

  setZoom(zoom) {
    this.zoom = zoom;
    this.reset.hidden = zoom === null;
    this.setCursor(null);
    this.draw();
  }

  connect() {
    const { area } = this;
    area.addEventListener("pointerleave", () => this.setHover(null));
    area.addEventListener("blur", () => this.setHover(null));
    area.addEventListener("keydown", (event) => this.press(event) && event.preventDefault());
    area.addEventListener("pointermove", (event) => {
      const start = performance.now();
      const position = this.position(event);
      if (this.drag) this.drag.to = position;
      const isDragged = this.drag && Math.hypot(position[0] - this.drag.from[0], position[1] - this.drag.from[1]) > 5;
      this.setCursor(isDragged ? null : this.findNear(position));
      if (isDragged) this.drawTop();
      this.figure.dataset.hoverMs = (performance.now() - start).toFixed(2);
    });
    if (this.isZoomable) this.connectDrag();
    else area.addEventListener("click", (event) => this.toggleNear(this.position(event)));
  }

  /** Connects drags, which zoom. A drag of a few pixels is a click. */
  connectDrag() {
    const { area } = this;
    area.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const from = this.position(event);
      this.drag = { from, to: from };
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointerup", (event) => {
      const { drag } = this;
      if (!drag) return;
      this.drag = null;
      const to = this.position(event);
      if (!this.zoomToBox(drag.from, to)) this.toggleNear(to);
    });
    area.addEventListener("pointercancel", () => (this.drag = null));
    area.addEventListener("dblclick", () => this.setZoom(null));
  }

  /** Highlights the sample at a position, or stops highlighting it. */
  toggleNear(position) {
    const hit = this.findNear(position);
    if (hit) toggleMark(hit.sample);
    else this.drawTop();
  }

  /** Frames the dragged box: left, top, right and bottom. */
  paintDrag(painter, [left, top, right, bottom]) {
    painter.line([left, top, right, top, right, bottom, left, bottom, left, top], { color: color("link"), width: 1.5, dash: [4, 3] });
  }

  /** Handles a key. Returns whether the plot has a use for it. */
  press({ key }) {
    if (ARROWS[key]) {
      this.moveCursor(...ARROWS[key]);
      return true;
    }
    if (key === "Enter" && this.cursor) {
      toggleMark(this.cursor.sample);
      return true;
    }
    if (this.isZoomable && (key === "+" || key === "-")) {
      this.zoomBy(key === "+" ? 0.5 : 2);
      return true;
    }
    if (this.isZoomable && (key === "0" || (key === "Escape" && this.zoom))) {
      this.setZoom(null);
      return true;
    }
    return false;
  }

  // Files have the title above the plot, and the names of highlighted samples below it.

  /** Returns the texts of the legend in a file, each with the style of its line. */
  fileLegend() {
    const marked = this.markedStyles().slice(0, 20);
    if (this.focus !== null || marked.length > 0) return marked.map(([sample, style]) => [nameOf(sample), style]);
    return colorLegend().map(([name, text]) => [text, { color: color(name), dash: [] }]);
  }

  paintFile(painter, width) {
    const legend = this.fileLegend();
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

  /** Returns the name of the files of the plot, without an extension. */
  fileName() {
    return this.id;
  }

  saveTsv() {
    save(`${this.fileName()}.tsv`, "text/tab-separated-values", toTsv(this.tsvLines()));
  }

  saveSvg() {
    save(`${this.fileName()}.svg`, "image/svg+xml", this.svgText());
  }

  async savePng() {
    save(`${this.fileName()}.png`, "image/png", await this.pngBlob());
  }

  svgText() {
    const painter = new SvgPainter();
    painter.shift = (y) => painter.parts.push(`<g transform="translate(0 ${y})">`) && painter;
    painter.unshift = () => painter.parts.push("</g>");
    const width = 800;
    const height = this.withSize(width, () => this.paintFile(painter, width));
    return painter.toText(width, height, this.title);
  }

  pngBlob() {
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
    return new Promise((done) => canvas.toBlob(done));
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
