// Uses a page of many samples in Chromium as a reader would, and prints what it saw as JSON: a list of
// checks, and measurements. Usage: node plate.mjs CHROMIUM PAGE THOROUGH FAILED GC_BIASED SWAPPED SWAPPED
// THOROUGH is true or false: whether to try all widths and axe-core, too.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import puppeteer from "puppeteer-core";

const [program, page, isThorough, ...planted] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [failed, biased, ...swapped] = planted.map((number) => `S${String(Number(number) + 1).padStart(4, "0")}`);
const seen = { checks: [], measured: {} };
const check = (isOk, text) => seen.checks.push([Boolean(isOk), text]);

const browser = await puppeteer.launch({ executablePath: program, args: ["--no-sandbox"] });
const tab = await browser.newPage();
const errors = [];
tab.on("console", (message) => {
  if (["error", "warn", "assert"].includes(message.type())) errors.push(message.text());
});
tab.on("pageerror", (error) => errors.push(error.message));
const client = await tab.createCDPSession();
await client.send("Browser.setDownloadBehavior", { behavior: "deny" });

const openAgain = async (hash = "") => {
  await tab.goto("about:blank");
  await tab.goto(`file://${page}${hash}`);
  await tab.waitForSelector("html[data-ready]", { timeout: 120_000 });
};
/** Opens the page as somebody sees it for the first time: the browser keeps the choices of readers. */
const open = async (hash = "") => {
  await openAgain();
  await tab.evaluate(() => localStorage.clear());
  await openAgain(hash);
};
const count = (selector) => tab.$$eval(selector, (list) => list.length);
const text = (selector) => tab.$eval(selector, (it) => it.textContent.trim());
const texts = (selector) => tab.$$eval(selector, (list) => list.map((it) => it.textContent.trim()));
const nextFrame = () => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const click = async (selector) => {
  await tab.$eval(selector, (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
  await tab.click(selector);
  await nextFrame();
};
const setFilter = async (word) => {
  await tab.$eval("#filter", (it, word) => ((it.value = word), it.dispatchEvent(new Event("input"))), word);
  await nextFrame();
};
const choose = async (selector, value) => {
  await tab.$eval(selector, (it, value) => ((it.value = value), it.dispatchEvent(new Event("change"))), value);
  await nextFrame();
};
const setValue = (selector, value) => tab.$eval(selector, (it, value) => ((it.value = value), it.dispatchEvent(new Event("input"))), value);
const numberOfShown = () => tab.$eval("#shown", (it) => Number.parseInt(it.textContent, 10));

// Loading.
await tab.setViewport({ width: 1280, height: 900 });
const begin = Date.now();
await openAgain();
seen.measured.ready_ms = Date.now() - begin;
const paint = await tab.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
seen.measured.first_paint_ms = Math.round(paint);
check(paint < 3000, `first contentful paint after ${Math.round(paint)} ms`);
const samples = Number((await text("h1")).split(" ")[0].replace(",", ""));
const nodes = async (when) => {
  const found = await count("*");
  seen.measured.max_nodes = Math.max(found, seen.measured.max_nodes ?? 0);
  check(found <= 20_000, `${found} nodes ${when}`);
};
await nodes("at the start");

// The planted faults are named.
const named = (list, names) => names.every((name) => list.some((it) => it.startsWith(`${name}:`)));
const failures = await texts("#failed li");
check(named(failures, [failed, biased, ...swapped]), `failed samples: ${failures.length}`);
const outliers = await texts("#outliers li");
check(named(outliers, [failed, biased, ...swapped]), `outlier samples: ${outliers.length}`);
const lanes = await texts("#lanes li");
const isExchange = lanes.length === 1 && swapped.every((name) => lanes[0].includes(` of ${name} `));
check(isExchange && lanes[0].includes("were probably exchanged"), `lanes: ${lanes}`);

// The table: rows near the window, order, filter and columns.
const heading = (title) => `#window thead th:nth-child(${titles.indexOf(title) + 1}) button`;
const titles = await texts("#window thead th");
check((await tab.$eval("#window table", (it) => it.ariaRowCount)) === String(samples + 1), "the number of rows is in the table");
await tab.$eval("#window", (it) => (it.scrollTop = it.scrollHeight));
await nextFrame();
await nextFrame();
const last = await tab.$eval("#window tbody tr:nth-last-child(2)", (it) => [it.getAttribute("aria-rowindex"), it.cells[0].textContent]);
check(last[0] === String(samples + 1) && last[1] === `S${String(samples).padStart(4, "0")}`, `the last row is ${last}`);
await click(heading("Duplicates"));
check((await text("#window tbody tr:nth-child(2) th")) === failed, "sorted by duplicates, the failed library is first");
check((await count("#window th[aria-sort=descending]")) === 1, "one heading says the order");
await click(heading("Duplicates"));
check((await text("#window tbody tr:nth-child(2) th")) !== failed, "a second click turns the order");
await setFilter(biased.toLowerCase());
check((await text("#shown")) === `1 of ${samples} samples` && (await text("#window tbody tr:nth-child(2) th")) === biased, "the filter finds a name");
await setFilter("long");
check((await numberOfShown()) === 0 && /match in a field/.test(await text("#shown")), `the filter looks in names only: ${await text("#shown")}`);
await choose("#filter-place", "all");
const inFields = await numberOfShown();
check(inFields > 20, `the filter finds a field: ${await text("#shown")}`);
await choose("#filter-place", "field library");
check((await numberOfShown()) === inFields, "the filter looks in one field");
await setFilter("S0");
check((await numberOfShown()) === 0, "a filter of a field does not look at names");
await choose("#filter-place", "verdict");
await setFilter("^fail");
check((await numberOfShown()) > 0, `the filter finds verdicts: ${await text("#shown")}`);
await choose("#filter-place", "all");
await setFilter("^S000[12]$");
check((await text("#shown")) === `2 of ${samples} samples`, "the filter takes a regular expression");
await setFilter("long !S0009|S0010");
const others = await numberOfShown();
await setFilter("long");
check(others === (await numberOfShown()) - 2, "the filter excludes names");
await choose("#filter-place", "names");
await setFilter("S0001(");
check((await text("#shown")) === `0 of ${samples} samples`, "what is no regular expression is taken as text");
const fault = await text("#filter-note");
check(/^“S0001\(” is not a valid pattern: \w+.*\. The filter looks for exactly this text\.$/.test(fault), `an invalid pattern is explained: ${fault}`);
check((await tab.$eval("#filter", (it) => it.ariaInvalid)) === "true", "the filter is marked as invalid");
await setFilter("S0001");
check(await tab.$eval("#filter-note", (it) => it.hidden), "a valid pattern needs no note");
await tab.$eval("#samples details.menu", (it) => (it.open = true));
await tab.evaluate(() => [...document.querySelectorAll("#columns label")].find((it) => it.textContent.includes("Mapped reads")).click());
check((await count("#window thead th")) === titles.length - 1, "a column is removed");
await tab.evaluate(() => [...document.querySelectorAll("#columns label")].find((it) => it.textContent.includes("Mapped reads")).click());
const plate = await tab.evaluate(() => JSON.parse(document.getElementById("plate-data").textContent));
const details = plate.details.map((it) => it.name);
check(details.length >= 15 && !details.some((name) => titles.includes(name)), `${details.length} columns are hidden at first`);
const press = (name) => tab.evaluate((name) => [...document.querySelectorAll("#columns label, #columns button")].find((it) => it.textContent.trim() === name).click(), name);
await press("Yield");
check((await texts("#window thead th")).at(-1) === "Yield" && (await texts("#window tr[data-run] td:last-child data")).every((it) => /^[\d.,]+\s[GM]b$/.test(it)), "a hidden column is shown");
await press("All");
check((await count("#window thead th")) === titles.length + details.length, "all columns are shown");
const meanings = await tab.$$eval("#window thead th", (list) => list.map((it) => it.title));
check(meanings.every((it) => it.endsWith(".")), "each heading has a definition");
const limits = meanings.filter((it) => it.includes("Expected: "));
check(limits.length > 5 && limits.every((it) => /Expected: at (least|most) .*; fails (below|above) [\d.]+/.test(it)), `headings name both thresholds: ${limits[0]}`);
await nodes("with all columns");
for (const name of details) await press(name);
check((await texts("#window thead th")).join() === titles.join(), "the columns are as at first");
await tab.$eval("#samples details.menu", (it) => (it.open = false));

// The order of the columns: by keys, by dragging, and by the buttons of the menu.
const headings = () => texts("#window thead th");
const moved = (list, from, to) => list.toSpliced(from, 1).toSpliced(to, 0, list[from]);
await tab.$eval("#window", (it) => (it.scrollIntoView({ block: "center", behavior: "instant" }), (it.scrollLeft = 0)));
await tab.focus("#window thead th:nth-child(3) button");
await tab.keyboard.down("Shift");
await tab.keyboard.press("ArrowRight");
await tab.keyboard.up("Shift");
check((await headings()).join() === moved(titles, 2, 3).join(), `a column is moved by keys: ${await text("body > .sr")}`);
check((await tab.evaluate(() => document.activeElement.textContent)) === titles[2], "the moved heading keeps the focus");
const sortBefore = await count("#window th[aria-sort=descending], #window th[aria-sort=ascending]");
const middleOf = async (place) => {
  const { x, y, width, height } = await (await tab.$(`#window thead th:nth-child(${place})`)).boundingBox();
  return [x + width / 2, y + height / 2];
};
await tab.mouse.move(...(await middleOf(4)));
await tab.mouse.down();
await tab.mouse.move(...(await middleOf(3)), { steps: 4 });
await nextFrame();
check((await count("#window th.is-target")) === 1, "a dragged heading shows where it would be");
await tab.mouse.up();
check((await headings()).join() === titles.join() && (await count("#window th.is-target")) === 0, "a column is moved by dragging");
check((await count("#window th[aria-sort=descending], #window th[aria-sort=ascending]")) === sortBefore, "dragging does not sort");
await tab.$eval("#samples details.menu", (it) => (it.open = true));
await tab.focus(`#columns [aria-label="Move ${titles[2]} to the right"]`);
await tab.keyboard.press("Enter");
check((await headings()).join() === moved(titles, 2, 3).join() && (await tab.evaluate(() => document.activeElement.ariaLabel)) === `Move ${titles[2]} to the right`, "a column is moved by a button, which keeps the focus");
await press("Original order");
check((await headings()).join() === titles.join(), "the columns have their original order");
await tab.$eval("#samples details.menu", (it) => (it.open = false));

// Groups.
await setFilter("^S000");
await click("#group-shown");
check((await texts("#colors li")).join() === `^S000 (9),in no group`, `groups: ${await texts("#colors li")}`);
check((await tab.$eval("#color-by", (it) => it.value)) === "groups", "the colours show the groups");
await click("#clear-groups");
check(!(await texts("#colors li")).includes("in no group"), "the groups are removed");
await setFilter("");

// Highlighting, by the table and in a plot.
const box = async (name) => {
  await setFilter(name);
  await click("#window tbody tr:nth-child(2) .box");
  await setFilter("");
};
await box(failed);
await box(biased);
check((await count("#chips li")) === 2, "two samples are highlighted");
check(await tab.$eval("#colors", (it) => it.hidden), "the legend of all samples is hidden while some are highlighted");
const area = "#plot-inserts .area";
await tab.$eval(area, (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await tab.waitForSelector("#plot-inserts[data-draw-ms]");
const bounds = await (await tab.$(area)).boundingBox();
const times = [];
for (let i = 0; i < 60; i++) {
  await tab.mouse.move(bounds.x + 90 + ((bounds.width - 120) * i) / 60, bounds.y + bounds.height - 60 - (i % 5));
  times.push(Number(await tab.$eval("#plot-inserts", (it) => it.dataset.hoverMs ?? NaN)));
}
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
seen.measured.hover_ms = median(times);
check(!(await tab.$eval("#plot-inserts .tip", (it) => it.hidden)) && /^S\d{4}.*%$/.test(await text("#plot-inserts .tip")), `hover: ${await text("#plot-inserts .tip")}`);
await tab.mouse.down();
await tab.mouse.up();
await nextFrame();
check((await count("#chips li")) === 3, "a click on a curve highlights it");
await tab.mouse.move(bounds.x + 150, bounds.y + 50);
await tab.mouse.down();
await tab.mouse.move(bounds.x + 300, bounds.y + 60, { steps: 3 });
await tab.mouse.up();
check(!(await tab.$eval("#plot-inserts .buttons button", (it) => it.hidden)), "dragging zooms");
await tab.$eval("#plot-inserts .buttons button", (it) => it.click());
await tab.focus(area);
for (const key of ["ArrowRight", "ArrowRight", "ArrowUp", "+", "0", "ArrowDown"]) await tab.keyboard.press(key);
const spoken = await text("body > .sr");
check(/^S\d{4}, .*%$/.test(spoken), `keys read a value: ${spoken}`);
await tab.keyboard.press("Enter");
await nextFrame();
check((await count("#chips li")) !== 3, "Enter changes the highlighted samples");
const draws = {};
for (const id of await tab.$$eval("#overview figure", (list) => list.map((it) => it.id))) {
  await tab.$eval(`#${id}`, (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
  await tab.waitForSelector(`#${id}[data-draw-ms]`);
  draws[id.replace("plot-", "")] = Number(await tab.$eval(`#${id}`, (it) => it.dataset.drawMs));
}
seen.measured.paint_calls_ms = draws;
// The time until the pixels are there. Without reading one, it would only be the time to record the calls.
await tab.$eval("#plot-inserts", (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await nextFrame();
seen.measured.draw_ms = await tab.evaluate(async () => {
  const select = document.getElementById("color-by");
  select.value = "verdict";
  const canvas = document.querySelector("#plot-inserts canvas");
  const begin = performance.now();
  select.dispatchEvent(new Event("change"));
  await new Promise((done) => requestAnimationFrame(done));
  canvas.getContext("2d").getImageData(0, 0, 1, 1);
  return Math.round(performance.now() - begin);
});

// The x axis of contigs has their names.
const kinds = new Map(plate.curves.map((it) => [it.id, it]));
check(["qualities", "n-1", "n-2", "base-gc-1", "base-t-2", "depths", "contigs", "contigs-depth"].every((id) => kinds.has(id)), `plots: ${[...kinds.keys()]}`);
check(kinds.get("contigs").labels.join() === "chr1,chr2,chr3", `contigs: ${kinds.get("contigs").labels}`);
await tab.focus("#plot-contigs .area");
for (const key of ["ArrowRight", "ArrowRight"]) await tab.keyboard.press(key);
check((await text("#plot-contigs .tip")).includes("chr"), `a contig has its name: ${await text("#plot-contigs .tip")}`);


// Some plots show one of several kinds of values.
await choose("#plot-contigs select", "contigs-depth");
await tab.waitForFunction(() => document.querySelector("#plot-contigs .area").getAttribute("aria-label").includes("in ×"));
await tab.focus("#plot-contigs .area");
await tab.keyboard.press("ArrowRight");
check(/chr\d: [23]\d\.\d+$/.test(await text("#plot-contigs .tip")), `the depth of a contig in ×: ${await text("#plot-contigs .tip")}`);
await choose("#plot-contigs select", "contigs");
const contentOf = async (kind) => {
  await choose("#plot-bases-1 select", kind);
  await tab.waitForFunction((label) => document.querySelector("#plot-bases-1 .area").getAttribute("aria-label").includes(`, ${label}:`), {}, kinds.get(kind).label);
  await tab.focus("#plot-bases-1 .area");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("ArrowRight");
  return Number.parseFloat((await text("#plot-bases-1 .tip span")).split(": ")[1]);
};
const content = {};
for (const base of ["a", "c", "g", "t"]) content[base] = await contentOf(`base-${base}-1`);
content.gc = await contentOf("base-gc-1");
check(Math.abs(content.a + content.c + content.g + content.t - 100) < 2, `A, C, G and T of a cycle: ${JSON.stringify(content)}`);
check(Math.abs(content.c + content.g - content.gc) < 1, "the GC content is computed from the bases");

// Large plots, one per line.
const widthOf = (id) => tab.$eval(`#${id}`, (it) => [it.getBoundingClientRect().width, it.querySelector(".area").getBoundingClientRect().height]);
const smallSize = await widthOf("plot-inserts");
await choose("#plot-size", "large");
const largeSize = await widthOf("plot-inserts");
check(largeSize[0] > 1.7 * smallSize[0] && largeSize[1] > 1.4 * smallSize[1], `large plots: ${smallSize} and ${largeSize}`);
const largePixels = await tab.$$eval("#overview canvas", (list) => list.reduce((sum, it) => sum + it.width * it.height, 0));
check(largePixels < 16_000_000, `large plots have pixels only near the window: ${largePixels}`);
const drawn = [];
for (const id of await tab.$$eval("#overview figure", (list) => list.map((it) => it.id))) {
  await tab.$eval(`#${id}`, (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
  const isDrawn = tab.waitForFunction((id) => document.querySelector(`#${id} canvas`).width > 300, { timeout: 5000 }, id);
  drawn.push(await isDrawn.then(() => true, () => false));
}
check(drawn.length >= 15 && drawn.every(Boolean), `${drawn.length} large plots are drawn when they come into view`);
await choose("#plot-size", "small");

// Two columns against each other.
const area2 = "#plot-scatter .area";
const columnNames = await texts("#scatter-x option");
check(["Reads", "Yield", "Mean read length"].every((name) => columnNames.includes(name)), "columns with equal values can be compared");
check(columnNames.includes("Duplicates") && columnNames.includes("Median insert size") && !columnNames.includes("library"), `${columnNames.length} columns for the axes`);
await choose("#scatter-x", "duplicates");
check((await text("#plot-scatter .limits")).startsWith("Dashed lines are the thresholds"), "the caption names the thresholds");
await choose("#scatter-unit", "count");
check(/thresholds of .*Duplicates.* are percentages/.test(await text("#plot-scatter .limits")), `thresholds with counts: ${await text("#plot-scatter .limits")}`);
check((await tab.$eval("#numbers", (it) => it.value)) === "percent", "the unit of the dots is not that of the table");
await choose("#scatter-unit", "percent");
await choose("#scatter-x", "insert_size");
await choose("#scatter-y", "mean_genome_coverage");
await tab.$eval(area2, (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await nextFrame();
await tab.focus(area2);
await tab.keyboard.press("ArrowRight");
check(/^\w+, Median insert size: [\d.]+.*; Mean genome coverage: [\d.]+×$/.test(await text("body > .sr")), `keys read a dot: ${await text("body > .sr")}`);
await tab.keyboard.press("+");
check(!(await tab.$eval("#plot-scatter .buttons button", (it) => it.hidden)), "the dots are zoomed");
await tab.keyboard.press("0");
const chipsBefore = await count("#chips li");
await tab.keyboard.press("ArrowRight");
await tab.keyboard.press("Enter");
await nextFrame();
check((await count("#chips li")) === chipsBefore + 1, "Enter highlights a dot");
await tab.keyboard.press("Enter");

// The plate map.
await choose("#wells-column", "duplicates");
await tab.$eval("#plot-wells .area", (it) => it.scrollIntoView({ block: "start", behavior: "instant" }));
await nextFrame();
await tab.focus("#plot-wells .area");
await tab.keyboard.press("ArrowRight");
check(/^S0001, plate P1, A01, Duplicates: [\d.]+\s%$/.test(await text("body > .sr")), `the first well: ${await text("body > .sr")}`);
await tab.keyboard.press("ArrowDown");
check(/plate P1, B01/.test(await text("body > .sr")), `the well below: ${await text("body > .sr")}`);

// Stacked bars.
await tab.$eval("#plot-excluded .area", (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await nextFrame();
check((await texts("#plot-excluded .legend li")).includes("low base quality"), `excluded bases: ${await texts("#plot-excluded .legend li")}`);
await tab.focus("#plot-excluded .area");
await tab.keyboard.press("ArrowRight");
check(/^\w+, low mapping quality: [\d.]+ %, [\d,]+ bases$/.test(await text("body > .sr")), `keys read a bar: ${await text("body > .sr")}`);
await choose("#plot-excluded select", "count");
const units = await tab.$$eval("#numbers, #scatter-unit, #bars select", (list) => list.map((it) => it.value));
check(units.filter((it) => it === "count").length === 1 && units.length > 4, `the unit of one plot does not change the others: ${units}`);
await choose("#plot-excluded select", "percent");

// The legend of the bars drops parts.
const parts = await texts("#plot-duplicates .legend li");
const pictureOf = async (id) => tab.$eval(`#plot-${id} canvas`, (it) => it.toDataURL());
await tab.$eval("#plot-duplicates .area", (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await nextFrame();
check(parts.length >= 4 && (await tab.$$eval("#plot-duplicates .part", (list) => list.every((it) => it.ariaPressed === "true"))), `parts: ${parts}`);
const pictureBefore = await pictureOf("duplicates");
await click("#plot-duplicates .legend li:nth-child(1) button");
check((await tab.$eval("#plot-duplicates .part", (it) => it.ariaPressed)) === "false" && (await pictureOf("duplicates")) !== pictureBefore, "a click on the legend drops a part");
await tab.focus("#plot-duplicates .area");
await tab.keyboard.press("ArrowRight");
check((await text("#plot-duplicates .tip span")).startsWith(`${parts[1]}:`), `keys skip a dropped part: ${await text("#plot-duplicates .tip span")}`);
await tab.focus("#plot-duplicates .legend li:nth-child(1) button");
await tab.keyboard.press("Space");
await nextFrame();
check((await tab.$eval("#plot-duplicates .part", (it) => it.ariaPressed)) === "true", "a key shows the part again");
await tab.$eval("#plot-duplicates input[type=checkbox]", (it) => it.click());
await nextFrame();
check(!(await tab.$eval("#plot-duplicates figcaption > p:last-child", (it) => it.hidden)), "a note explains bars on a log scale");
await tab.$eval("#plot-duplicates input[type=checkbox]", (it) => it.click());

// Hiding, and what the filter concerns.
await choose("#filter-place", "all");
await setFilter("long");
check((await text("#plots-note")) === `The filter is only for the table: the plots show all ${samples} samples.`, await text("#plots-note"));
const filtered = await numberOfShown();
await click("#only-shown");
check((await text("#hidden-count span")).startsWith(`${samples - filtered} samples are hidden`) && (await text("#plots-note")) === "", "the plots show only the samples of the filter");
await click("#show-all");
await click("#hide-shown");
check(/^\d+ samples are hidden/.test(await text("#hidden-count span")), await text("#hidden-count span"));
await click("#show-all");
check(await tab.$eval("#hidden-count", (it) => it.hidden), "all samples are shown again");
await setFilter("");
await choose("#filter-place", "names");
// Hidden samples are not highlighted any more.
if ((await count("#chips li")) === 0) await box(failed);

// Names by a pattern and by a table.
const renamed = () => tab.$eval("#names", (it) => it.value.trim().split("\n").filter((line) => line.split("\t")[0] !== line.split("\t")[1]).length);
await setValue("#names-find", "^S0*(\\d+)$");
await setValue("#names-replace", "NA$1");
check((await text("#replace-note")) === `${samples} of ${samples} names will change, such as S0001 to NA1.`, await text("#replace-note"));
await tab.$eval("#names-form", (it) => it.requestSubmit());
check((await renamed()) === samples && (await texts("#failed a")).includes(failed.replace(/^S0*/, "NA")), "a pattern renames all samples");
await setFilter("^NA18$");
check((await text("#window tbody tr:nth-child(2) th")) === failed.replace(/^S0*/, "NA"), "the filter finds a new name");
await setFilter("");
await tab.$eval("#names", (it) => (it.value = "S0001\tfirst\nNA2,second\nS9999\tnobody\n"));
await tab.$eval("#names-apply", (it) => it.click());
check((await text("#names-note")) === `2 of ${samples} names are changed. No sample has the name S9999.`, await text("#names-note"));
check((await tab.$eval("#names", (it) => it.value)).startsWith("S0001\tfirst\nS0002\tsecond\nS0003\tNA3\n"), "a table renames two samples");
await tab.$eval("#names-undo", (it) => it.click());
check((await tab.$eval("#names", (it) => it.value)).startsWith("S0001\tNA1\nS0002\tNA2\n"), "the table is undone");
await tab.$eval("#names-undo", (it) => it.click());
check((await renamed()) === 0 && (await tab.$eval("#names-undo", (it) => it.disabled)), "the pattern is undone");
await setValue("#names-find", "S(");
check((await text("#replace-note")).startsWith("This is not a valid pattern: "), await text("#replace-note"));

// Numbers in place of shares.
const mappedAt = titles.indexOf("Mapped reads") + 1;
const mappedTexts = () => texts(`#window tr[data-run] td:nth-child(${mappedAt}) data`);
check((await mappedTexts()).every((it) => it.endsWith("%")), "shares are percentages at first");
await choose("#numbers", "count");
check((await mappedTexts()).every((it) => /^\d{3},\d{3}$/.test(it)), `numbers of mapped reads: ${(await mappedTexts())[0]}`);
const left = await text("#numbers-note");
const percentColumns = await tab.$$eval("#window tbody tr[data-run]:nth-child(2) td", (list) => list.flatMap((it, i) => (it.textContent.includes("%") ? [i + 1] : [])));
check(percentColumns.length > 0 && percentColumns.every((at) => left.includes(titles[at])), `the note names ${percentColumns.length} columns in percent: ${left}`);
await choose("#numbers", "percent");
check(await tab.$eval("#numbers-note", (it) => it.hidden), "percentages need no note");

// Details, and a display name.
await setFilter(failed);
await click("#window tbody tr:nth-child(2) th a");
await tab.waitForFunction((name) => document.querySelector("#detail h2")?.textContent === name, {}, failed);
check((await text("#detail .findings li")).includes("Duplicates"), "the details name the fault");
await tab.waitForSelector("#plot-detail-inserts");
await tab.$eval("#plot-detail-inserts", (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await tab.waitForSelector("#plot-detail-inserts[data-draw-ms]");
await nodes("with the details of a sample");
await tab.$eval("#detail form input", (it) => (it.value = "Renamed <b>"));
await tab.click("#detail form button");
check((await text("#detail h2")) === "Renamed <b>", "a sample is renamed");
await tab.goBack();
await tab.waitForFunction(() => !document.getElementById("overview").hidden);
check((await texts("#window tbody th")).includes("Renamed <b>") && (await texts("#failed a")).includes("Renamed <b>"), "the new name is in the table and in the lists");
check((await tab.$eval("#names", (it) => it.value)).includes(`${failed}\tRenamed <b>\n`), "the new name can be saved");
await setFilter("");

// Files.
await tab.evaluate(() => {
  globalThis.saved = [];
  const create = URL.createObjectURL;
  URL.createObjectURL = (blob) => (globalThis.saved.push(blob), create.call(URL, blob));
});
const saved = async (selector) => {
  const before = await tab.evaluate(() => globalThis.saved.length);
  await tab.$eval(selector, (it) => it.click());
  await tab.waitForFunction((before) => globalThis.saved.length > before, { timeout: 300_000 }, before);
};
await saved("#save-table");
const table = (await tab.evaluate(() => globalThis.saved.at(-1).text())).trimEnd().split("\n").map((line) => line.split("\t"));
const wanted = await tab.evaluate(() => JSON.parse(document.getElementById("plate-data").textContent));
const isEqual = wanted.metrics.every((metric) => {
  const at = table[0].indexOf(metric.unit ? `${metric.name} (${metric.unit})` : metric.name);
  const values = new Map(table.slice(1).map((line) => [line[0], line[at]]));
  const isNear = (text, value) => (value === null ? text === "" : Math.abs(Number(text) - value * metric.factor) <= 1e-13 * Math.abs(value * metric.factor));
  return at > 0 && wanted.samples.every((name, i) => isNear(values.get(name), metric.values[i]));
});
check(table[0].includes("Mapped reads (%)") && table[0].some((it) => it.endsWith("(×)")), `headings have units: ${table[0]}`);
check(table.length === samples + 1 && isEqual, `the saved table has ${table.length - 1} samples with all digits`);
await saved("#plot-inserts .buttons button:nth-child(2)");
const svg = await tab.evaluate(async () => {
  const text = await globalThis.saved.at(-1).text();
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const words = [...parsed.querySelectorAll("text")].map((it) => it.textContent);
  return { bytes: text.length, isWrong: Boolean(parsed.querySelector("parsererror")), paths: parsed.querySelectorAll("path").length, words };
});
check(!svg.isWrong && svg.paths > samples && svg.words.includes("Renamed <b>") && svg.words.includes("Insert size"), `SVG: ${svg.paths} paths, ${svg.bytes} bytes`);
await saved("#plot-inserts .buttons button:nth-child(3)");
const png = await tab.evaluate(async () => {
  const image = await createImageBitmap(globalThis.saved.at(-1));
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  return { width: image.width, colors: new Set(pixels).size };
});
check(png.width === 1600 && png.colors > 20, `PNG: ${png.width} pixels wide, ${png.colors} colours`);

await saved("#plot-inserts .buttons button:nth-child(4)");
const values = (await tab.evaluate(() => globalThis.saved.at(-1).text())).trimEnd().split("\n").map((line) => line.split("\t"));
const first = values.slice(1).find(([name]) => name === "S0001");
const sum = first.slice(1).reduce((sum, it) => sum + Number(it), 0);
check(values.length === samples + 1 && values.every((line) => line.length === values[0].length) && /bases$/.test(values[0][1]), `the saved curves: ${values.length} lines`);
check(sum > 0.9 && sum <= 1.01, `a saved curve of insert sizes adds up to ${sum.toFixed(3)}`);

// Counts in place of shares, and a logarithmic scale. The counts are those of the JSON.
const lastTsv = async () => (await tab.evaluate(() => globalThis.saved.at(-1).text())).trimEnd().split("\n").map((line) => line.split("\t"));
const run = JSON.parse(readFileSync(join(dirname(page), "S0001.json"), "utf8")).reports;
const labelOf = (id) => tab.$eval(`#plot-${id} .area`, (it) => it.ariaLabel);
const countsOf = async (id) => {
  await choose(`#plot-${id} select`, "count");
  await tab.waitForFunction((id) => !document.querySelector(`#plot-${id} .area`).ariaLabel.includes("%"), {}, id);
  await saved(`#plot-${id} .buttons button:nth-child(4)`);
  const lines = await lastTsv();
  return [lines[0].slice(1).map((it) => Number(it.match(/-?\d+/)[0])), lines.find(([name]) => name === "S0001").slice(1).map(Number)];
};
const compareCounts = async (id, keys, values) => {
  const [starts, counts] = await countsOf(id);
  const wanted = starts.map((start, i) => keys.reduce((sum, key, at) => sum + (key >= start && key < (starts[i + 1] ?? Infinity) ? values[at] : 0), 0));
  // A curve ends before the greatest values, and its last cell can have a part of them.
  const apart = counts.slice(0, counts.findLastIndex((it) => it > 0)).map((it, i) => Math.abs(it - wanted[i]));
  const most = Math.max(...apart);
  check(counts.some((it) => it > 100) && most <= Math.max(1, Math.max(...wanted) / 60_000), `${id}: counts are those of the JSON, at most ${most} apart`);
};
const pairs = run.insert_size_metrics.histograms[0];
const pairColumns = Object.keys(pairs).filter((name) => name.startsWith("All_Reads."));
await compareCounts("inserts", pairs.insert_size, pairs.insert_size.map((_, i) => pairColumns.reduce((sum, name) => sum + (pairs[name][i] ?? 0), 0)));
const bases = run.quality_distribution_metrics.histograms[0];
await compareCounts("qualities", bases.QUALITY, bases.COUNT_OF_Q);
const depths = (run.hs_metrics ?? run.wgs_metrics).histograms[0];
const depthKey = (isCount) => Object.keys(depths).find((name) => (isCount ? name.includes("count") : name.includes("coverage") && !name.includes("count")));
await compareCounts("depths", depths[depthKey(false)], depths[depthKey(true)]);
await tab.$eval("#plot-inserts input[type=checkbox]", (it) => it.click());
await tab.waitForFunction(() => document.querySelector("#plot-inserts input[type=checkbox]").checked);
await tab.$eval("#plot-inserts .area", (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await nextFrame();
await tab.focus("#plot-inserts .area");
await tab.keyboard.press("ArrowRight");
check(/bases: (about )?[\d,]+$/.test(await text("#plot-inserts .tip span")), `a count on a log scale: ${await text("#plot-inserts .tip span")}`);
await saved("#plot-inserts .buttons button:nth-child(4)");
check((await lastTsv()).every((line) => !line.includes("NaN")), "0 has no logarithm, and no number in the file");
check(/curves, values from [\d,about ]+ to/.test(await labelOf("inserts")), await labelOf("inserts"));
await tab.$eval("#plot-inserts input[type=checkbox]", (it) => it.click());

// A plot that is not in view shows highlighted samples after a change.
await tab.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
await nextFrame();
await nextFrame();
for (const id of ["inserts", "qualities", "depths"]) await choose(`#plot-${id} select`, "percent");
await tab.waitForFunction(() => document.querySelector("#plot-depths .area").ariaLabel.includes("%"));
await tab.$eval("#plot-depths .area", (it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
await nextFrame();
await nextFrame();
const hasMarked = await tab.$eval("#plot-depths canvas + canvas", (it) => {
  const empty = new OffscreenCanvas(it.width, it.height).getContext("2d").getImageData(0, 0, it.width, it.height).data;
  return it.getContext("2d").getImageData(0, 0, it.width, it.height).data.some((value, i) => value !== empty[i]);
});
check(hasMarked && (await count("#chips li")) > 0, "a plot that was out of view shows highlighted samples");

// The table is copied, hidden samples are left out, and all plots are in one file.
await tab.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (globalThis.copied = text) } }));
await setFilter("^S000[1-4]$");
await click("#hide-shown");
await tab.evaluate(() => [...document.querySelectorAll("#window tbody a")].length);
await setFilter("^S00");
await tab.$eval("#copy-table", (it) => it.click());
await tab.waitForFunction(() => globalThis.copied);
const copied = (await tab.evaluate(() => globalThis.copied)).trimEnd().split("\n");
const kept = (await numberOfShown()) - 4;
check(copied.length === kept + 1 && !copied.some((line) => line.startsWith("S0001\t")), `hidden samples are not copied: ${await text("#save-note")}`);
await click("#show-all");
await setFilter("");
for (const format of ["svg", "png"]) {
  await saved(`#save-all-${format}`);
  const bytes = Buffer.from(
    await tab.evaluate(async () => {
      const blob = globalThis.saved.at(-1);
      return new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.split(",")[1]);
        reader.readAsDataURL(blob);
      });
    }),
    "base64",
  );
  const names = [];
  const end = bytes.length - 22;
  let isWhole = bytes.readUInt32LE(end) === 0x06054b50;
  for (let at = bytes.readUInt32LE(end + 16), left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [crc, size, length, start] = [16, 24, 28, 42].map((field) => (field === 28 ? bytes.readUInt16LE(at + field) : bytes.readUInt32LE(at + field)));
    names.push(bytes.toString("utf8", at + 46, at + 46 + length));
    const content = bytes.subarray(start + 30 + length, start + 30 + length + size);
    isWhole &&= bytes.readUInt32LE(start) === 0x04034b50 && crc32(content) === crc && size > 100;
    at += 46 + length;
  }
  const figures = await count("#overview figure");
  const own = names.filter((name) => name.endsWith(`.${format}`));
  check(isWhole && own.length === figures && new Set(names).size === names.length && names.includes("samples.tsv") && names.includes("inserts.tsv"), `one file has ${own.length} of ${figures} plots as ${format}: ${bytes.length} bytes`);
}
await tab.waitForFunction(() => document.getElementById("save-note").textContent.includes("are saved"));

await saved("#plot-scatter .buttons button:nth-child(4)");
const dots = await lastTsv();
check(dots[0].join() === "Sample,Median insert size (bases),Mean genome coverage (×)" && dots.length === samples + 1, `the saved dots: ${dots[0]}`);
await saved("#plot-scatter .buttons button:nth-child(2)");
const dotsSvg = await tab.evaluate(() => globalThis.saved.at(-1).text());
check((dotsSvg.match(/<circle/g) ?? []).length >= samples && dotsSvg.includes("Renamed &lt;b&gt;</text>"), "the dots and the names of highlighted samples are in the SVG file");
await saved("#plot-wells .buttons button:nth-child(3)");
const wells = await lastTsv();
check(wells[0].join() === "Sample,plate,Well,Duplicates (%)" && wells.length === samples + 1 && wells[1].slice(1, 3).join() === "P1,A01", `the saved wells: ${wells[1]}`);
await saved("#plot-reads .buttons button:nth-child(3)");
const bars = await lastTsv();
check(bars.length === samples + 1 && bars.slice(1).every((line) => Math.abs(line.slice(1).reduce((sum, it) => sum + Number(it), 0) - 100) < 0.01), `the saved bars: ${bars[0]}`);
await saved("#plot-excluded .buttons button:nth-child(2)");

// What the reader chose is there again, until it is reset.
const chosen = await texts("#chips a");
await tab.$eval('#columns [aria-label="Move Mapped reads to the right"]', (it) => it.click());
const order = (await headings()).join();
await tab.$eval("#plot-duplicates .part", (it) => it.click());
await setFilter("S00");
await openAgain();
check((await texts("#chips a")).join() === chosen.join() && chosen.length > 0, `still highlighted: ${chosen}`);
check((await tab.$eval("#filter", (it) => it.value)) === "S00" && (await texts("#failed a")).includes("Renamed <b>"), "the filter and the names are kept");
check((await headings()).join() === order && order !== titles.join(), "the order of the columns is kept");
check((await tab.$eval("#plot-duplicates .part", (it) => it.ariaPressed)) === "false", "dropped parts are kept");
await tab.evaluate(() => {
  globalThis.saved = [];
  const create = URL.createObjectURL;
  URL.createObjectURL = (blob) => (globalThis.saved.push(blob), create.call(URL, blob));
});
await saved("#view-save");
const view = await tab.evaluate(() => globalThis.saved.at(-1).text());
await Promise.all([tab.waitForNavigation(), tab.$eval("#forget", (it) => it.click())]);
await tab.waitForSelector("html[data-ready]", { timeout: 120_000 });
check((await count("#chips li")) === 0 && (await text("#shown")) === `${samples} samples` && !(await texts("#failed a")).includes("Renamed <b>"), "the view is reset");
check((await headings()).join() === titles.join(), "the columns have their original order again");

// A view from a file.
const loadFile = async (name, content) => {
  await tab.evaluate(
    (name, content) => {
      const files = new DataTransfer();
      files.items.add(new File([content], name));
      const input = document.getElementById("view-file");
      input.files = files.files;
      document.getElementById("view-note").textContent = "";
      input.dispatchEvent(new Event("change"));
    },
    name,
    content,
  );
  await tab.waitForFunction(() => document.getElementById("view-note").textContent !== "");
};
await loadFile("view.json", view);
check((await texts("#chips a")).join() === chosen.join() && (await tab.$eval("#filter", (it) => it.value)) === "S00", `a view is loaded: ${await text("#view-note")}`);
check((await texts("#failed a")).includes("Renamed <b>") && (await text("#shown")) !== `${samples} samples`, "a view has the names and the filter");
check((await headings()).join() === order, "a view has the order of the columns");
const strange = { ...JSON.parse(view), hidden: ["S0001", "nobody"] };
await loadFile("view.json", JSON.stringify(strange));
check((await text("#view-note")) === "The view is loaded. 1 of its samples is not on this page." && (await text("#hidden-count span")).startsWith("1 sample is hidden"), "samples of other pages are left out");
await loadFile("other.json", "[1]");
check((await text("#view-note")).startsWith("other.json is not a view") && (await texts("#chips a")).join() === chosen.join(), await text("#view-note"));

// Widths, accessibility, paper, and a browser without scripts.
for (const hash of isThorough === "true" ? ["", "#s3"] : []) {
  await open(hash);
  for (const width of [360, 390, 768, 1280, 1920, 2560]) {
    await tab.setViewport({ width, height: 900 });
    await nextFrame();
    const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(over <= 0, `${hash || "overview"}: no sideways scrolling at ${width} px`);
  }
}
for (const scheme of isThorough === "true" ? ["light", "dark"] : []) {
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  for (const hash of ["", "#s3"]) {
    await tab.setViewport({ width: 1280, height: 900 });
    await open(hash);
    if (!hash) {
      await box(failed);
      await tab.$$eval("details", (list) => list.forEach((it) => (it.open = true)));
    }
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = found.violations.filter((it) => ["serious", "critical"].includes(it.impact));
    check(serious.length === 0, `${scheme} ${hash || "overview"}: axe-core: ${serious.map((it) => `${it.id} ${it.nodes[0].html.slice(0, 150)}`)}`);
    await tab.screenshot({ path: page.replace(/\.html$/, `-${scheme}${hash.replace("#", "-")}.png`) });
  }
}
await open();
await tab.evaluate(() => dispatchEvent(new Event("beforeprint")));
const printed = await tab.$$eval("#print-table table", (list) => [list.length, list.reduce((sum, it) => sum + it.tBodies[0].rows.length, 0)]);
check(printed[0] >= 3 && printed[1] >= 3 * Math.min(samples, 400), `paper: ${printed[0]} tables with ${printed[1]} rows`);
await nodes("while it is printed");
const layers = await tab.$$eval("#overview .area", (list) =>
  list.map(({ children: [base, top] }) => {
    const pixels = new Uint32Array(base.getContext("2d").getImageData(0, 0, base.width, base.height).data.buffer);
    return getComputedStyle(top).display === "none" && new Set(pixels).size > 10;
  }),
);
check(layers.length >= 5 && layers.every(Boolean), `paper: ${layers.length} plots, each on one canvas`);
await tab.evaluate(() => dispatchEvent(new Event("afterprint")));
check((await tab.$$eval("#overview .area canvas", (list) => list.every((it) => it.style.display === ""))), "after printing, plots have two layers again");
check((await count("#print-table *")) === 0, "after printing, the tables are removed");
check(errors.length === 0, `console: ${errors}`);
await tab.setJavaScriptEnabled(false);
await tab.goto(`file://${page}`);
const visible = await tab.evaluate(() => document.body.innerText);
check(visible.includes("readmill report SAMPLE.json") && visible.includes(failed), "without scripts, the page has a summary");
await browser.close();
console.log(JSON.stringify(seen));
