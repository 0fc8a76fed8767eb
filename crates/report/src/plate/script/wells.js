// The map of a plate of 96 or 384 wells, coloured by a column of the table.

/** Returns the well that a text names, such as A01 or h12; `null` if it names none. */
const readWell = (text) => {
  const [, row, column] = /^([A-P])(0?[1-9]|1\d|2[0-4])$/i.exec(text?.trim() ?? "") ?? [];
  return row ? { row: row.toUpperCase().charCodeAt(0) - 65, column: Number(column) - 1 } : null;
};
const wellName = ({ row, column }) => `${String.fromCharCode(65 + row)}${String(column + 1).padStart(2, "0")}`;
const wellField = data.fields.find((field) => {
  // Names of plates can look like wells, such as P1.
  if (!/well|position/i.test(field.name)) return false;
  const known = field.values.filter(Boolean);
  return known.length >= 2 && known.every(readWell);
});
/** The well of each sample: of a field of the sample sheet, or of a part of its name such as _B07_. */
const wells = wellField
  ? wellField.values.map(readWell)
  : data.samples.map((name) => readWell(/(?:^|[^A-Za-z0-9])([A-P](?:0[1-9]|1\d|2[0-4]))(?=$|[^A-Za-z0-9])/.exec(name)?.[1]));
/** Whether the samples have wells. Some names can look as if they had one. */
const hasWells = wells.filter(Boolean).length >= Math.max(2, count / 2);
const plateField = data.fields.find((field) => field !== wellField && /plate/i.test(field.name));
const plateNames = plateField ? fieldValues.get(plateField) : [""];
const plateOf = (sample) => (plateField ? plateNames.indexOf(plateField.values[sample] ?? "–") : 0);
/** Rows and columns of the plates: 96 wells, or 384. */
const wellRows = wells.some((well) => well && (well.row > 7 || well.column > 11)) ? 16 : 8;
const wellColumns = wellRows * 1.5;

class WellPlot extends Plot {
  constructor() {
    super({
      id: "wells",
      title: "Plate map",
      reading: "Each dot is the well of a sample. A stronger colour is a greater value. Wells with a ring are outliers of the column; crosses are samples without a value.",
    });
    this.samples = all.filter((sample) => wells[sample]);
    this.plates = [...new Set(this.samples.map(plateOf))].sort((a, b) => a - b);
    // Several samples can be in one well.
    this.shares = new Map();
    for (const sample of this.samples) {
      const key = `${plateOf(sample)} ${wellName(wells[sample])}`;
      this.shares.set(key, [...(this.shares.get(key) ?? []), sample]);
    }
    const options = [columns[0], ...data.fields.filter(isColorable).map((field) => columns.find((column) => column.field === field)), ...numberColumns.filter((column) => column.metric)];
    this.columns = options;
    this.select = makeSelect(options.map((column) => [column.id, column.title]), (id) => {
      setSetting("wells", id);
      this.draw();
    }, { id: "wells-column" });
    this.addControls(make("label", {}, "Colour wells by ", this.select));
    syncs.add(() => this.showColumn());
    this.showColumn();
    this.area.setAttribute("aria-label", `Plate map of ${this.samples.length} samples; the table has the values. Arrow keys move between wells; Enter highlights a sample.`);
  }

  isReady() {
    return hasWells;
  }

  column() {
    const id = settingOf("wells", "mean_coverage");
    return this.columns.find((column) => column.id === id) ?? this.columns[0];
  }

  showColumn() {
    this.select.value = this.column().id;
    this.draw();
  }

  /** Returns the places of the plates in a plot of this width. */
  layout(width) {
    const minWidth = wellRows === 8 ? 340 : 560;
    const perLine = Math.max(1, Math.min(this.plates?.length ?? 1, Math.floor(width / minWidth)));
    const cell = Math.min(46, (width / perLine - 16) / (wellColumns + 1));
    const height = cell * (wellRows + 1) + 34;
    return { perLine, cell, plateWidth: cell * (wellColumns + 1) + 16, plateHeight: height };
  }

  heightFor(width) {
    const { perLine, plateHeight } = this.layout(width);
    return Math.ceil(34 + Math.ceil((this.plates?.length ?? 1) / perLine) * plateHeight);
  }

  /** Returns the place and the radius of the dot of a sample. */
  place(sample, layout) {
    const { perLine, cell, plateWidth, plateHeight } = layout;
    const plate = this.plates.indexOf(plateOf(sample));
    const { row, column } = wells[sample];
    const own = this.shares.get(`${plateOf(sample)} ${wellName(wells[sample])}`);
    const radius = (cell * 0.42) / own.length;
    const shift = (own.indexOf(sample) - (own.length - 1) / 2) * 2 * radius;
    const left = (plate % perLine) * plateWidth + cell * (column + 1.5) + shift;
    const top = 34 + Math.floor(plate / perLine) * plateHeight + 24 + cell * (row + 1.5);
    return [left, top, radius];
  }

  /** Returns the colour of each sample: its name and opacity. Outliers do not stretch the scale. */
  colors(column) {
    if (!column.metric) {
      const values = column.field && fieldValues.get(column.field);
      return { of: (sample) => [values ? `c${values.indexOf(column.field.values[sample] ?? "–") % COLORS}` : gradeColor(gradeOf(sample)), 0.85] };
    }
    const known = this.samples.filter((sample) => !Number.isNaN(numberIn(column, sample)) && !state.hidden.has(sample));
    const usual = known.filter((sample) => !isOutlierIn(column, sample));
    const sorted = (usual.length > 1 ? usual : known).sort((a, b) => numberIn(column, a) - numberIn(column, b));
    if (sorted.length === 0) return { of: () => null };
    const [least, greatest] = [sorted[0], sorted.at(-1)];
    const [low, high] = [numberIn(column, least), numberIn(column, greatest)];
    const of = (sample) => {
      const value = numberIn(column, sample);
      if (Number.isNaN(value)) return null;
      return ["c0", 0.12 + 0.88 * Math.max(0, Math.min(1, high > low ? (value - low) / (high - low) : 0.5))];
    };
    return { of, ends: [least, greatest].map((sample) => numberText(column, sample)) };
  }

  /** Writes the legend above the plates: both ends of the scale, or the name of each colour. */
  paintLegend(painter, column, ends) {
    const ink = { color: color("ink") };
    if (ends) {
      painter.text(4, 18, column.title, ink);
      let left = 4 + column.title.length * 7 + 14;
      painter.text(left, 18, ends[0], { color: color("muted") });
      left += ends[0].length * 7 + 6;
      for (let i = 0; i < 12; i++) painter.rect(left + 9 * i, 8, 9, 12, color("c0"), 0.12 + (0.88 * i) / 11);
      painter.text(left + 114, 18, ends[1], { color: color("muted") });
      return;
    }
    const grades = data.grades.filter((_, i) => data.verdicts.includes(i)).map((grade) => [gradeColor(grade), grade.label]);
    const entries = column.field ? fieldValues.get(column.field).map((value, i) => [`c${i % COLORS}`, value]) : grades;
    let left = 4;
    for (const [name, text] of entries) {
      painter.rect(left, 8, 12, 12, color(name), 0.85);
      painter.text(left + 17, 18, text, ink);
      left += text.length * 7 + 34;
    }
  }

  paintBase(painter, width) {
    const layout = this.layout(width);
    const { perLine, cell, plateWidth, plateHeight } = layout;
    const column = this.column();
    const { of, ends } = this.colors(column);
    this.paintLegend(painter, column, ends);
    const small = { color: color("muted"), size: cell < 20 ? 8 : 11, anchor: "middle" };
    this.plates.forEach((plate, i) => {
      const [left, top] = [(i % perLine) * plateWidth, 34 + Math.floor(i / perLine) * plateHeight];
      if (plateField) painter.text(left + cell, top + 16, `${plateField.name} ${plateNames[plate]}`, { color: color("ink"), size: 13, isBold: true });
      for (let n = 0; n < wellColumns; n++) painter.text(left + cell * (n + 1.5), top + 24 + cell * 0.75, String(n + 1), small);
      for (let n = 0; n < wellRows; n++) painter.text(left + cell * 0.55, top + 24 + cell * (n + 1.5) + 4, String.fromCharCode(65 + n), small);
      for (let n = 0; n < wellRows * wellColumns; n++) {
        const [x, y] = [left + cell * ((n % wellColumns) + 1.5), top + 24 + cell * (Math.floor(n / wellColumns) + 1.5)];
        painter.dot(x, y, cell * 0.42, { color: color("grid"), alpha: 0.8 });
      }
    });
    const ink = color("ink");
    const palette = new Map();
    const colorOf = (name) => palette.get(name) ?? palette.set(name, color(name)).get(name);
    for (const sample of this.samples) {
      if (state.hidden.has(sample)) continue;
      const [x, y, radius] = this.place(sample, layout);
      const own = of(sample);
      painter.dot(x, y, radius, { color: color("card"), alpha: 1 });
      if (own) painter.dot(x, y, radius, { color: colorOf(own[0]), alpha: own[1] });
      else for (const side of [-1, 1]) painter.line([x - 4, y - 4 * side, x + 4, y + 4 * side], { color: small.color });
      if (isOutlierIn(column, sample)) this.paintRing(painter, [x, y, radius - 1], { color: ink, width: 2 });
    }
  }

  /** Draws a circle as a line, which SVG and canvas have in common. */
  paintRing(painter, [x, y, radius], style) {
    const points = [];
    for (let i = 0; i <= 24; i++) points.push(x + radius * Math.cos((i * Math.PI) / 12), y + radius * Math.sin((i * Math.PI) / 12));
    painter.line(points, style);
  }

  paintTop(painter, width, height, hasCursor = true) {
    const layout = this.layout(width);
    for (const [sample, style] of this.markedStyles()) {
      if (wells[sample]) this.paintRing(painter, this.place(sample, layout), { color: style.color, width: 3 });
    }
    if (hasCursor && state.hover !== null && wells[state.hover] && !state.hidden.has(state.hover)) {
      this.paintRing(painter, this.place(state.hover, layout), { color: color("ink"), width: 2.5 });
    }
  }

  fileLegend() {
    return this.markedStyles().slice(0, 20).map(([sample, style]) => [nameOf(sample), style]);
  }

  findNear([left, top]) {
    const layout = this.layout(this.width);
    const found = this.samples.find((sample) => {
      const [x, y, radius] = this.place(sample, layout);
      return !state.hidden.has(sample) && Math.hypot(x - left, y - top) <= radius + 2;
    });
    return found === undefined ? null : this.hitAt(found);
  }

  hitAt(sample) {
    const [x, y] = this.place(sample, this.layout(this.width));
    const column = this.column();
    const value = column.metric ? numberText(column, sample) : column.field ? column.field.values[sample] : gradeOf(sample)?.label;
    const plate = plateField ? `${plateField.name} ${plateField.values[sample] ?? "–"}, ` : "";
    return { sample, x, y, text: `${plate}${wellName(wells[sample])}, ${column.title}: ${value ?? "–"}` };
  }

  /** Moves along the rows of the plates, or along their columns. */
  moveCursor(along, up) {
    const orderOf = (sample) => {
      const { row, column } = wells[sample];
      return plateOf(sample) * 1000 + (along ? row * wellColumns + column : column * wellRows + row);
    };
    const order = this.samples.filter((sample) => !state.hidden.has(sample)).sort((a, b) => orderOf(a) - orderOf(b));
    if (order.length > 0) this.speakPoint(this.hitAt(this.nextSample(order, along || -up)));
  }

  tsvLines() {
    const column = this.column();
    const value = (sample) => {
      if (column.id === "verdict") return gradeOf(sample)?.label;
      return column.metric ? numberOf(column.metric, sample, false) : column.value(sample);
    };
    const plate = plateField ? [plateField.name] : [];
    const lines = this.samples.filter((sample) => !state.hidden.has(sample)).map((sample) => [nameOf(sample), ...plate.map(() => plateField.values[sample]), wellName(wells[sample]), value(sample)]);
    return [["Sample", ...plate, "Well", titleOf(column, false)], ...lines];
  }
}
