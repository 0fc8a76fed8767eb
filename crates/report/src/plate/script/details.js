// Details of a sample, on a page of its own.

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
  const lead = make("p", { className: "lead" }, make("span", { "data-name": sample }, nameOf(sample)), " in colour, all other samples in grey.");
  curves.append(make("h2", { id: "detail-curves-h" }, "Curves"), lead, box);
  for (const kinds of curveFigures.values()) {
    const own = canInflate ? await readCurves(chosenKind(kinds)) : [];
    if (!own[sample]) continue;
    const plot = new CurvePlot(kinds, own, sample);
    detailPlots.push(plot);
    box.append(plot.figure);
  }
  if (detailPlots.length === 0 || current !== sample) return;
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
