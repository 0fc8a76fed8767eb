//! `./dev page`: creates HTML reports of samples with one planted fault each, and checks them in a
//! browser.
//!
//! `readmill demo --page` creates the samples, `readmill report` their pages and one page of all
//! samples. Chromium opens each page offline: light, dark, narrow, and printed. `check.mjs` reports
//! console errors, serious findings of axe-core, numbers that differ from the JSON, and elements
//! wider than the page, cells cut off at widths from 360 to 2560 pixels and on paper, and numbers
//! that no reader can read. Pages of samples with long names are checked, too. This program also
//! checks that the verdict of each page names the planted fault, and no fault for the clean sample.
//!
//! Then it makes pages of 96 and of 1,000 samples, with planted outliers, from varied runs of the
//! gallery. `plate.mjs` uses them as a reader would: it sorts, searches, highlights, hides, renames,
//! zooms, saves files, opens details and prints.

mod browser;
mod plates;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use readmill_peers::build_readmill;
use serde_json::Value;

use browser::Browser;

/// Make the gallery of reports and check each in Chromium
#[derive(Parser)]
#[command(name = "./dev page", bin_name = "./dev page", max_term_width = 100)]
struct PageArgs {
    /// Run this program instead of building the one of this checkout
    #[arg(long, value_name = "PROGRAM")]
    readmill: Option<PathBuf>,
    /// Keep pages and screenshots in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Check only the pages of many samples
    #[arg(long, conflicts_with = "pictures")]
    plates: bool,
    /// Update the images of docs/report.md
    #[arg(long)]
    pictures: bool,
}

/// A sample of the gallery.
///
/// At least one metric of `shown_by` must fail or have a warning. Metrics of `follow` may do so,
/// but no others.
struct Planted {
    name: &'static str,
    fault: Option<&'static str>,
    shown_by: &'static [&'static str],
    follow: &'static [&'static str],
}

const GALLERY: &[Planted] = &[
    Planted { name: "clean", fault: None, shown_by: &[], follow: &[] },
    Planted {
        name: "adapter",
        fault: Some("adapter"),
        shown_by: &["Inserts shorter than the reads"],
        follow: &[
            "Soft-clipped bases",
            "Median insert size",
            "Mean target coverage",
            "Target bases covered ≥ 20×",
        ],
    },
    Planted {
        name: "amplified",
        fault: Some("amplified"),
        shown_by: &["Duplicates"],
        follow: &["Mean target coverage", "Target bases covered ≥ 20×", "Genome fold-80 penalty"],
    },
    Planted {
        name: "lane",
        fault: Some("lane"),
        shown_by: &["Insert size difference between lanes"],
        follow: &["GC difference between lanes", "AT dropout"],
    },
    Planted {
        name: "cycle",
        fault: Some("cycle"),
        shown_by: &["Lowest mean quality of a cycle"],
        follow: &["Highest N content in a cycle"],
    },
    Planted {
        name: "gc",
        fault: Some("gc"),
        shown_by: &["GC dropout"],
        follow: &[
            "Genome fold-80 penalty",
            "Target bases covered ≥ 20×",
            "Mean target coverage",
            "Target bases covered ≥ 0.2× mean",
        ],
    },
    Planted {
        name: "targets",
        fault: Some("targets"),
        shown_by: &["Target bases covered ≥ 0.2× mean"],
        follow: &["Target bases covered ≥ 20×", "Mean target coverage", "Genome fold-80 penalty"],
    },
];

/// Maximum size of a page of one sample, or of a few.
const MAX_BYTES: u64 = 3 << 20;

/// Creates the gallery and checks each page. Fails if any check failed.
fn main() -> Result<()> {
    let args = PageArgs::parse();
    let readmill = match &args.readmill {
        Some(given) => given.canonicalize().with_context(|| format!("no {}", given.display()))?,
        None => build_readmill()?,
    };
    let temporary = tempfile::Builder::new().prefix("readmill-page").tempdir()?;
    let root = args.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&root)?;
    let root = root.canonicalize()?;
    let mut failed = 0;
    let mut say = |is_ok: bool, text: &str| {
        println!("{}  {text}", if is_ok { "ok  " } else { "FAIL" });
        failed += u32::from(!is_ok);
    };
    for planted in GALLERY {
        make_sample(&readmill, &root, planted)?;
    }
    let browser = Browser::new()?;
    if !args.plates {
        check_gallery(&mut say, &browser, &readmill, &root)?;
    }
    check_plates(&mut say, &browser, &root)?;
    if args.pictures {
        copy_screenshots(&root)?;
    }
    if failed > 0 {
        bail!("{failed} checks failed; --keep DIR keeps the pages and their pictures");
    }
    Ok(())
}

/// Checks the pages of the gallery, and the page of all its samples.
fn check_gallery(
    say: &mut impl FnMut(bool, &str),
    browser: &Browser,
    readmill: &Path,
    root: &Path,
) -> Result<()> {
    let cohort = make_cohort_page(readmill, root)?;
    for planted in GALLERY {
        let dir = root.join(planted.name);
        let page = dir.join("report.html");
        let seen = browser.inspect_page(&page, &[&dir.join("run.json")])?;
        print_findings(say, planted.name, &page, &seen)?;
        say(compared_numbers(&seen) > 100, &format!("{}: numbers are compared", planted.name));
        let found = flagged_metrics(&seen);
        let told = found.iter().any(|it| planted.shown_by.contains(&it.as_str()));
        let only = found
            .iter()
            .all(|it| planted.shown_by.contains(&it.as_str()) || planted.follow.contains(&it.as_str()));
        let is_right = only && (told || planted.fault.is_none());
        say(is_right, &format!("{}: the verdict names {found:?}", planted.name));
    }
    let runs: Vec<PathBuf> = GALLERY.iter().map(|it| root.join(it.name).join("run.json")).collect();
    let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    let seen = browser.inspect_page(&cohort, &runs)?;
    print_findings(say, "cohort", &cohort, &seen)?;
    say(compared_numbers(&seen) > 100, "cohort: numbers are compared");
    check_long_names(say, readmill, root, browser)
}

/// Numbers of samples of the pages, and the maximum bytes of each page.
const PLATES: [(usize, u64); 2] = [(96, 3 << 20), (1000, 15 << 20)];

/// Index of the sample whose details are compared with the JSON.
const DETAILED: usize = plates::GC_BIASED;

/// Checks pages of many samples.
fn check_plates(say: &mut impl FnMut(bool, &str), browser: &Browser, root: &Path) -> Result<()> {
    let sources = plates::Sources::read(root)?;
    let planted = [plates::FAILED, plates::GC_BIASED, plates::SWAPPED[0], plates::SWAPPED[1]];
    for (count, max_bytes) in PLATES {
        let name = format!("{count} samples");
        let plate = plates::make_plate(&sources, root, count)?;
        let bytes = std::fs::metadata(&plate.page)?.len();
        say(bytes <= max_bytes, &format!("{name}: {bytes} bytes"));
        let is_thorough = count == PLATES[0].0;
        let seen = browser.use_plate(&plate.page, is_thorough, &planted)?;
        for check in seen["checks"].as_array().context("no checks")? {
            let text = check[1].as_str().unwrap_or_default();
            say(check[0] == true, &format!("{name}: {text}"));
        }
        println!("      {name}: {}", seen["measured"]);
        if is_thorough {
            let runs: Vec<&Path> = plate.runs.iter().map(PathBuf::as_path).collect();
            let detail = PathBuf::from(format!("{}#s{DETAILED}", plate.page.display()));
            for (part, page, min_numbers) in [("", &plate.page, 200), (" in detail", &detail, 200)] {
                let seen = browser.inspect_page(page, &runs)?;
                print_findings(say, &format!("{name}{part}"), &plate.page, &seen)?;
                let compared = compared_numbers(&seen);
                say(compared > min_numbers, &format!("{name}{part}: {compared} numbers are compared"));
            }
        }
    }
    Ok(())
}

fn make_sample(readmill: &Path, root: &Path, planted: &Planted) -> Result<()> {
    let dir = root.join(planted.name);
    let mut command = Command::new(readmill);
    command.args(["demo", "--page", "-o"]).arg(&dir);
    if let Some(fault) = planted.fault {
        command.args(["--plant", fault]);
    }
    let done = command.output()?;
    ensure!(done.status.success(), "{}: {}", planted.name, String::from_utf8_lossy(&done.stderr));
    // The name of the fault becomes the sample name, so that the page of all samples shows it.
    let path = dir.join("run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    plates::rename_sample(&mut run, planted.name);
    std::fs::write(&path, run.to_string())?;
    let page = dir.join("report.html");
    let done = Command::new(readmill).arg("report").arg(&path).arg("-o").arg(&page).output()?;
    ensure!(done.status.success(), "{}: {}", planted.name, String::from_utf8_lossy(&done.stderr));
    Ok(())
}

fn make_cohort_page(readmill: &Path, root: &Path) -> Result<PathBuf> {
    let sheet = root.join("samples.tsv");
    let batch = |i: usize| if i.is_multiple_of(2) { "spring" } else { "autumn" };
    let lines = GALLERY.iter().enumerate().map(|(i, it)| format!("{}\t{}\n", it.name, batch(i)));
    std::fs::write(&sheet, format!("sample\tbatch\n{}", lines.collect::<String>()))?;
    let page = root.join("cohort.html");
    let mut command = Command::new(readmill);
    command.arg("report").args(GALLERY.iter().map(|it| root.join(it.name).join("run.json")));
    let done = command.arg("--sample-sheet").arg(&sheet).arg("-o").arg(&page).output()?;
    ensure!(done.status.success(), "the page of all: {}", String::from_utf8_lossy(&done.stderr));
    Ok(page)
}

/// Sizes of the cohorts of samples with long names. One is a page of a single sample.
const COHORT_SIZES: [usize; 3] = [1, 2, 12];

/// Checks pages of one and of many samples, all of whose names have [`LONG_NAME`] letters: samples,
/// libraries, lanes and contigs.
fn check_long_names(
    say: &mut impl FnMut(bool, &str),
    readmill: &Path,
    root: &Path,
    browser: &Browser,
) -> Result<()> {
    let names: Vec<&str> = GALLERY.iter().map(|it| it.name).collect();
    let mut paths = Vec::new();
    for i in 0..COHORT_SIZES.into_iter().max().unwrap_or(0) {
        let name = names.get(i % names.len()).copied().unwrap_or_default();
        let mut run: Value = serde_json::from_slice(&std::fs::read(root.join(name).join("run.json"))?)?;
        plates::rename_sample(&mut run, &format!("sample{i}"));
        let mut changed = BTreeMap::new();
        lengthen_names(&mut run, "", &mut changed);
        lengthen_histogram_columns(&mut run, &changed);
        let path = root.join(format!("long-{i}.json"));
        std::fs::write(&path, run.to_string())?;
        paths.push(path);
    }
    for count in COHORT_SIZES {
        let runs: Vec<&Path> = paths.iter().take(count).map(PathBuf::as_path).collect();
        let page = root.join(format!("long-{count}.html"));
        let done = Command::new(readmill).arg("report").args(&runs).arg("-o").arg(&page).output()?;
        ensure!(done.status.success(), "long names: {}", String::from_utf8_lossy(&done.stderr));
        let seen = browser.inspect_page(&page, &runs)?;
        print_findings(say, &format!("{count} with long names"), &page, &seen)?;
    }
    Ok(())
}

/// Number of letters of a long name.
const LONG_NAME: usize = 60;

/// Fields that hold the name of a sample, library, lane or contig.
const NAME_FIELDS: [&str; 9] = [
    "SAMPLE",
    "LIBRARY",
    "READ_GROUP",
    "SAMPLE_ALIAS",
    "contig",
    "chrom",
    "read_group",
    "sample",
    "given",
];

/// Makes all names in a run description [`LONG_NAME`] letters long, and records old and new names in
/// `changed`. `field` is the field that holds `value`.
fn lengthen_names(value: &mut Value, field: &str, changed: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| lengthen_names(value, name, changed));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| lengthen_names(value, field, changed)),
        Value::String(name) if NAME_FIELDS.contains(&field) => {
            // The rows `total` and `total_region` are no contigs.
            if name.starts_with("total") || name.ends_with("_region") {
                return;
            }
            let letters = ('a'..='z').cycle().take(LONG_NAME.saturating_sub(name.len() + 1));
            let long = format!("{name}_{}", letters.collect::<String>());
            changed.insert(std::mem::replace(name, long.clone()), long);
        }
        _ => {}
    }
}

/// Renames the columns of Picard's histograms that begin with the name of a lane or library.
fn lengthen_histogram_columns(value: &mut Value, changed: &BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            let named = |name: String| match name.rsplit_once('.') {
                Some((start, end)) => match changed.get(start) {
                    Some(long) => format!("{long}.{end}"),
                    None => name,
                },
                None => name,
            };
            *fields = std::mem::take(fields).into_iter().map(|(name, it)| (named(name), it)).collect();
            fields.values_mut().for_each(|it| lengthen_histogram_columns(it, changed));
        }
        Value::Array(list) => list.iter_mut().for_each(|it| lengthen_histogram_columns(it, changed)),
        _ => {}
    }
}

/// Prints the browser's findings about a page, one line per kind of check.
fn print_findings(
    say: &mut impl FnMut(bool, &str),
    name: &str,
    page: &Path,
    seen: &Value,
) -> Result<()> {
    let bytes = std::fs::metadata(page)?.len();
    say(bytes <= MAX_BYTES, &format!("{name}: {bytes} bytes"));
    let list = |key: &str| seen[key].as_array().cloned().unwrap_or_default();
    for (key, what) in [
        ("console", "errors on the console"),
        ("requests", "requests beside the page"),
        ("axe", "serious findings of axe-core"),
        ("wide", "parts wider than the page"),
        ("clipped", "cells cut off, or pages that scroll sideways"),
        ("unreadable", "numbers with too many digits, or without a value"),
        ("unequal", "numbers that are not those of the JSON"),
    ] {
        let found = list(key);
        say(found.is_empty(), &format!("{name}: {} {what}", found.len()));
        found.iter().take(10).for_each(|it| println!("      {it}"));
    }
    Ok(())
}

/// Returns how many numbers of a page were compared with the JSON.
fn compared_numbers(seen: &Value) -> u64 {
    seen["compared"].as_u64().unwrap_or(0)
}

/// Returns the metrics that a page marks as failed or with a warning.
fn flagged_metrics(seen: &Value) -> Vec<String> {
    let list = seen["verdict"].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

fn copy_screenshots(root: &Path) -> Result<()> {
    let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/img/report");
    std::fs::create_dir_all(&to)?;
    for planted in GALLERY {
        let from = root.join(planted.name).join("report-top.png");
        std::fs::copy(&from, to.join(format!("{}.png", planted.name)))
            .with_context(|| format!("no {}", from.display()))?;
    }
    std::fs::copy(root.join("cohort-top.png"), to.join("cohort.png"))?;
    Ok(())
}
