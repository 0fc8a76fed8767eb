// Makes the page. This file is the last one.

const { title } = document;

/** Shows plots side by side, or each on a line of the page for itself. */
const connectPlotSize = () => {
  const select = byId("plot-size");
  select.addEventListener("change", () => {
    setSetting("plots", select.value);
    syncForms();
  });
  const show = () => {
    select.value = settingOf("plots", "small");
    byId("overview").classList.toggle("large-plots", isLarge());
    plots.forEach((plot) => plot.resizeAgain());
  };
  syncs.add(show);
  show();
};

const drawPlots = async () => {
  const metrics = new MetricPlot();
  if (metrics.isReady()) {
    byId("metrics").hidden = false;
    byId("metrics").querySelector(".plots").append(metrics.figure);
  } else metrics.remove();
  const add = (id, plot) => {
    if (!plot.isReady()) {
      plot.remove();
      return;
    }
    byId(id).hidden = false;
    byId(id).querySelector(".plots").append(plot.figure);
  };
  if (numberColumns.length >= 2) add("scatter", new ScatterPlot());
  if (hasWells) add("wells", new WellPlot());
  for (const kind of data.bars) add("bars", new BarPlot(kind));
  connectPlotSize();
  if (data.curves.length === 0 || !canInflate) return;
  const box = byId("curves").querySelector(".plots");
  byId("curves").hidden = false;
  for (const kinds of curveFigures.values()) {
    box.append(new CurvePlot(kinds, await readCurves(chosenKind(kinds)), null).figure);
  }
};

const start = async () => {
  byId("old-browser").hidden = canInflate;
  byId("samples").hidden = false;
  byId("choice").hidden = false;
  connectTools();
  connectNames();
  connectFiles();
  connectView();
  restoreView();
  showView();
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
