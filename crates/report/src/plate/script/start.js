// Makes the page. This file is the last one.

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
  connectTools();
  connectNames();
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
