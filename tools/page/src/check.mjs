// Opens a page in Chromium, takes pictures of it, and tells what is wrong with it, as JSON.
// Usage: node check.mjs CHROMIUM PAGE RUN.json…
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const [program, page, ...files] = process.argv.slice(2);
const runs = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const stem = page.replace(/\.html$/, "");
const seen = { console: [], requests: [], axe: [], wide: [], clipped: [], unequal: [], unreadable: [], compared: 0, verdict: [] };

const browser = await puppeteer.launch({ executablePath: program, args: ["--no-sandbox"] });
const tab = await browser.newPage();
const client = await tab.createCDPSession();
await tab.setOfflineMode(true);
tab.on("console", (message) => {
  if (["error", "warn", "assert"].includes(message.type())) seen.console.push(message.text());
});
tab.on("pageerror", (error) => seen.console.push(error.message));
tab.on("request", (request) => {
  if (!/^(file|data):/.test(request.url())) seen.requests.push(request.url());
});

const open = async (width, scheme, media) => {
  await tab.setViewport({ width, height: 900, deviceScaleFactor: 1 });
  // Both at once: either alone resets the other.
  await client.send("Emulation.setEmulatedMedia", { media, features: [{ name: "prefers-color-scheme", value: scheme }] });
  await tab.goto("about:blank");
  await tab.goto(`file://${page}`);
  // The script of a page of several samples goes on after the page is loaded.
  await tab.waitForFunction(() => !document.getElementById("plate-data") || document.documentElement.dataset.ready);
};
// All samples have the same sections, so layout is checked with the first two. Chromium cannot take
// screenshots of longer pages.
const openFirstSamples = async (...how) => {
  await open(...how);
  await tab.evaluate(() => [...document.querySelectorAll("article")].slice(2).forEach((it) => it.remove()));
};
const maxPictureHeight = 16000;
const picture = async (name, options = {}) => {
  const [width, height] = await tab.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollHeight]);
  const clip = { x: 0, y: 0, width, height: Math.min(height, maxPictureHeight) };
  return tab.screenshot({ path: `${stem}-${name}.png`, ...(options.fullPage ? { clip, captureBeyondViewport: true } : options) });
};

const views = [
  ["light", 1280, "light", "screen"],
  ["dark", 1280, "dark", "screen"],
  ["narrow", 390, "light", "screen"],
];
for (const [name, width, scheme, media] of views) {
  await openFirstSamples(width, scheme, media);
  await picture(name, { fullPage: true });
  if (name === "light") await picture("top", { clip: { x: 0, y: 0, width, height: 900 } });
  const wide = await tab.evaluate(() => {
    const most = document.documentElement.clientWidth;
    const scrolls = (element) => element.closest(".scroll, .sr, summary span, #contents");
    const all = [...document.querySelectorAll("body *")].filter((it) => !scrolls(it) && it.getBoundingClientRect().right > most + 1);
    all.push(...[...document.querySelectorAll(".tiles li")].filter((it) => it.scrollWidth > it.clientWidth));
    return all.slice(0, 5).map((it) => `${it.tagName} ${it.id} ${it.className}`);
  });
  seen.wide.push(...wide.map((it) => `${name}: ${it}`));
  // All tables are looked at, too.
  await tab.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const violation of found.violations) {
    if (["serious", "critical"].includes(violation.impact)) {
      const node = violation.nodes[0];
      seen.axe.push(`${name}: ${violation.id}: ${violation.nodes.length} × ${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`);
    }
  }
}
// Tables. From 768 pixels on and on paper, each cell is within its table's box and the page, except in
// the table of all samples, which has a column for each metric. Narrower pages may scroll a table, but
// never the page.
const clippedCells = (isNarrow) => {
  const found = [];
  const pageWidth = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > pageWidth + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const cell of document.querySelectorAll("th, td")) {
    const own = cell.getBoundingClientRect();
    if (own.width === 0) continue;
    const box = cell.closest(".scroll");
    const style = box && getComputedStyle(box);
    const around = box ? box.getBoundingClientRect() : { left: 0, right: pageWidth };
    const mayScroll = box && style.overflowX === "auto" && style.backgroundImage !== "none" && (isNarrow || box.id === "window");
    const reach = mayScroll ? box.scrollWidth - box.clientWidth : 0;
    const isOut = own.left < around.left - 1 || own.right > around.right + reach + 1;
    if (isOut || cell.scrollWidth > cell.clientWidth + 1) found.push(`${cell.closest("table").caption?.textContent}: ${cell.textContent}`);
  }
  return found;
};
for (const width of [360, 390, 768, 1280, 1920, 2560]) {
  await openFirstSamples(width, "light", "screen");
  await tab.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
  const found = await tab.evaluate(clippedCells, width < 768);
  seen.clipped.push(...found.slice(0, 3).map((it) => `${width}: ${it}`));
}
await openFirstSamples(718, "dark", "print");
seen.clipped.push(...(await tab.evaluate(clippedCells, false)).slice(0, 3).map((it) => `print: ${it}`));
await tab.pdf({ path: `${stem}.pdf`, format: "A4", printBackground: true });
await picture("print", { fullPage: true });

// Numbers: each says where it comes from.
await open(1280, "light", "screen");
seen.unreadable = await tab.evaluate(() => {
  const wrong = /\d\.\d{5,}|(^|[^\w.,/:-])-0(\.0*)?(?![\w.,/:-])|\bNaN\b|\bundefined\b|\binf\b/;
  // The command line and file names are shown as given.
  const given = "code, pre, style, script, .warnings";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.parentElement.closest(given) && wrong.test(node.textContent)) found.push(node.textContent.trim());
  }
  return found;
});
// The table of samples has all its columns.
await tab.evaluate(() => document.querySelector("#columns button")?.click());
const numbers = await tab.evaluate(() => {
  const run = (element) => Number(element.closest("[data-run]")?.dataset.run ?? 0);
  const singles = [...document.querySelectorAll("data[value]")].map((it) => ({ run: run(it), value: Number(it.value), text: it.textContent, ...it.dataset }));
  const cells = [];
  for (const table of document.querySelectorAll("table[data-columns], table[data-rows]")) {
    const keys = [...table.tHead.rows[0].cells].map((it) => it.dataset.key);
    [...table.tBodies[0].rows].forEach((row, i) => {
      [...row.cells].forEach((cell, column) => {
        const path = table.dataset.columns ? `${table.dataset.columns}/${keys[column]}/${i}` : `${row.dataset.row}/${keys[column]}`;
        cells.push({ run: run(table), path, text: cell.textContent });
      });
    });
  }
  const bad = [...document.querySelectorAll(".tiles li.look .name, .tiles li.bad .name")].map((it) => it.textContent);
  return { singles, cells, bad };
});
seen.verdict = numbers.bad;

const at = (run, pointer) => pointer.split("/").slice(1).reduce((value, key) => value?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], runs[run]);
const sum = (run, text) => text.split(" + ").reduce((total, pointer) => total + at(run, pointer), 0);
const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  return (sorted[sorted.length >> 1] + sorted[(sorted.length - 1) >> 1]) / 2;
};
const lane = (row) => row.READ_GROUP ?? "";
const gcRows = (run, name) => at(run, "/reports/gc_bias.detail_metrics/rows").filter((row) => String(lane(row)) === name && (row.READS_USED ?? "ALL") === "ALL");
const readStarts = (run, name) => gcRows(run, name).reduce((total, row) => total + row.READ_STARTS, 0);
const meanGc = (run, name) => {
  const rows = gcRows(run, name);
  const reads = readStarts(run, name);
  return rows.reduce((total, row) => total + row.READ_STARTS * row.GC, 0) / reads / 100;
};
const apart = (values, distance) => Math.max(...values.map((own, i) => distance(own, median(values.filter((_, other) => other !== i)))));
const lanesOf = (run, report) => [...new Map(at(run, `/reports/${report}/rows`).filter((row) => lane(row) !== "").reverse().map((row) => [String(lane(row)), row])).entries()];
// Lanes with few reads are not compared if two others have enough.
const compared = (lanes, reads) => {
  const large = lanes.filter((lane) => reads(lane) >= 1000);
  return large.length >= 2 ? large : lanes;
};
const wanted = (it) => {
  const { run, json, of, is } = it;
  switch (is) {
    case undefined: return of ? sum(run, json) / sum(run, of) : sum(run, json);
    case "min": return Math.min(...at(run, json));
    case "max": return Math.max(...at(run, json).map((row) => row[it.key]));
    case "none-above": return Math.max(...at(run, json)) < Number(it.above) ? 0 : NaN;
    case "below":
    case "from": {
      const [counts, keys] = [at(run, json), at(run, it.keys)];
      const low = counts.reduce((total, count, i) => total + (keys[i] < Number(it.below) ? count : 0), 0);
      const all = counts.reduce((total, count) => total + count, 0);
      return is === "below" ? low / all : (all - low) / all;
    }
    case "median-depth": {
      const { depth, share } = at(run, json);
      return Math.max(...depth.filter((_, i) => share[i] >= 0.5));
    }
    case "gc": return meanGc(run, it.lane);
    case "gc-of-cycles": {
      const rows = at(run, json).filter((row) => row.PCT_A !== null);
      const total = (...keys) => rows.reduce((all, row) => all + keys.reduce((sum, key) => sum + row[key], 0), 0);
      return total("PCT_G", "PCT_C") / total("PCT_A", "PCT_C", "PCT_G", "PCT_T");
    }
    case "gc-of-fastqc": {
      const columns = at(run, json).map((file) => file.modules.find((it) => it.name === "Per sequence GC content")?.columns ?? {});
      const points = columns.flatMap((it) => (it["GC Content"] ?? []).map((gc, i) => [gc, it.Count[i]]));
      return points.reduce((all, [gc, n]) => all + gc * n, 0) / 100 / points.reduce((all, [, n]) => all + n, 0);
    }
    case "inserts-apart": return apart(compared(lanesOf(run, "insert_size_metrics"), ([, row]) => row.READ_PAIRS).map(([, row]) => row.MEDIAN_INSERT_SIZE), (own, others) => Math.abs(own - others) / others);
    case "gc-apart": return apart(compared(lanesOf(run, "gc_bias.summary_metrics"), ([name]) => readStarts(run, name)).map(([name]) => meanGc(run, name)), (own, others) => Math.abs(own - others));
    default: return NaN;
  }
};
// The number that a text shows, with half a unit of its last digit.
const units = { "%": 0.01, percentage: 0.01, Mb: 1e6, Gb: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, h: 3600, min: 60, s: 1 };
const shows = (text, value) => {
  const parts = [...text.replaceAll(",", "").matchAll(/(-?\d+(?:\.(\d+))?(?:e-?\d+)?)\s*([A-Za-z%]*)/g)];
  const read = (percentIsUnit) => {
    const unit = (name) => (name === "%" && !percentIsUnit ? 1 : (units[name] ?? 1));
    const shown = parts.reduce((total, part) => total + Number(part[1]) * unit(part[3]), 0);
    const last = parts.at(-1);
    const exponent = Number(last[1].split("e")[1] ?? 0);
    const digits = (last[2] ?? "").length - exponent;
    return Math.abs(shown - value) <= 0.51 * 10 ** -digits * unit(last[3]);
  };
  return parts.length > 0 && (read(true) || read(false));
};
// Whether a cell of a column or row shows a number: integers in full, others to the last shown digit.
const isNumber = (text, value) => (Number.isInteger(value) ? Number(text) === value : shows(text, value));
// Of a page of many samples, only the runs of the first ones are given.
for (const it of numbers.singles.filter(({ run }) => run < runs.length)) {
  const value = wanted(it);
  seen.compared += 1;
  const isNear = Math.abs(value - it.value) <= 1e-9 * Math.max(1, Math.abs(value));
  if (!isNear || !shows(it.text, it.value)) seen.unequal.push(`${it.json}: ${it.text} (${it.value}) is ${value}`);
}
for (const cell of numbers.cells) {
  const value = at(cell.run, cell.path);
  seen.compared += 1;
  const text = cell.text.replaceAll(",", "");
  const isEqual = value === null || value === undefined ? text === "–" : typeof value === "number" ? isNumber(text, value) : cell.text === String(value);
  if (!isEqual) seen.unequal.push(`${cell.path}: ${cell.text} is ${value}`);
}
await browser.close();
console.log(JSON.stringify(seen));
