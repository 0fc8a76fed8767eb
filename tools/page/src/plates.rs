//! Simulates the runs of many samples, by seeded variation of the demo's runs, with planted faults.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use readmill_report::{PageOptions, PlateBuilder, Sheet, drop_hidden_reports};
use serde_json::Value;

/// Sample whose library was amplified too much.
pub const FAILED: usize = 17;
/// Sample that lost its GC-rich fragments.
pub const GC_BIASED: usize = 42;
/// Samples that exchanged a lane. They are of different libraries, which differ in insert size.
pub const SWAPPED: [usize; 2] = [28, 35];
const SWAPPED_LANE: &str = "H7QSIMADX.3.ATCACG";

/// Runs of the gallery, which the simulated runs vary.
pub struct Sources {
    pub clean: Value,
    pub amplified: Value,
    pub gc: Value,
}

impl Sources {
    /// Reads the runs of the gallery in this directory.
    pub fn read(root: &Path) -> Result<Self> {
        let read = |name: &str| -> Result<Value> {
            let path = root.join(name).join("run.json");
            let bytes = std::fs::read(&path).with_context(|| format!("no {}", path.display()))?;
            let mut run = serde_json::from_slice(&bytes)?;
            drop_hidden_reports(&mut run);
            Ok(run)
        };
        Ok(Sources { clean: read("clean")?, amplified: read("amplified")?, gc: read("gc")? })
    }

    /// Returns the run of a sample.
    fn make_run(&self, number: usize) -> Value {
        let mut run = self.vary_run(number);
        let other = SWAPPED.iter().position(|it| *it == number).map(|at| SWAPPED[1 - at]);
        if let Some(other) = other {
            exchange_lane(&mut run, &self.vary_run(other));
        }
        run
    }

    fn vary_run(&self, number: usize) -> Value {
        let mut run = match number {
            FAILED => &self.amplified,
            GC_BIASED => &self.gc,
            _ => &self.clean,
        }
        .clone();
        let mut random = Random(number as u64);
        rename_sample(&mut run, &sample_name(number));
        let reports = &mut run["reports"];
        let shift = if library_of(number) == "long" { 90.0 } else { 0.0 } + 12.0 * random.next();
        let add = |values: &mut Value, by: f64| change_all(values, |it| it + by.round());
        for row in rows_of(&mut reports["insert_size_metrics"]) {
            for key in ["MEDIAN_INSERT_SIZE", "MODE_INSERT_SIZE", "MEAN_INSERT_SIZE"] {
                add(&mut row[key], shift);
            }
        }
        add(&mut reports["insert_size_metrics"]["histograms"][0]["insert_size"], shift);
        let (drop, slope) = (0.4 * random.next(), 0.004 * random.next());
        let mut cycle = 0.0;
        change_all(&mut reports["quality_by_cycle_metrics"]["histograms"][0]["MEAN_QUALITY"], |it| {
            cycle += 1.0;
            it - drop - slope * cycle + 0.1 * random.next()
        });
        let tilt = 0.05 * random.next();
        for row in rows_of(&mut reports["gc_bias.detail_metrics"]) {
            let gc = row["GC"].as_f64().unwrap_or(50.0);
            change_all(&mut row["NORMALIZED_COVERAGE"], |it| it * (1.0 + tilt * (gc - 50.0) / 25.0));
        }
        let depth = 1.0 + 0.08 * random.next();
        for report in ["mosdepth.global.dist.txt", "mosdepth.region.dist.txt"] {
            change_all(&mut reports[report]["share"], |it| it.powf(1.0 / depth));
        }
        for row in reports["mosdepth.summary.txt"].as_array_mut().into_iter().flatten() {
            let factor = depth * (1.0 + 0.02 * random.next());
            change_all(&mut row["mean"], |it| it * factor);
        }
        for (report, column) in [
            ("quality_distribution_metrics", "COUNT_OF_Q"),
            ("wgs_metrics", "high_quality_coverage_count"),
        ] {
            let factor = 0.1 * random.next();
            let mut bin = 0.0;
            change_all(&mut reports[report]["histograms"][0][column], |it| {
                bin += 1.0;
                it * (1.0 + factor * bin / 40.0 + 0.01 * random.next())
            });
        }
        let n_content = 1.0 + 0.5 * random.next();
        for row in rows_of(&mut reports["base_distribution_by_cycle_metrics"]) {
            change_all(&mut row["PCT_N"], |it| it * n_content);
            for base in ["PCT_A", "PCT_C", "PCT_G", "PCT_T"] {
                change_all(&mut row[base], |it| it * (1.0 + 0.01 * random.next()));
            }
        }
        let duplicates = 1.0 + 0.1 * random.next();
        for row in rows_of(&mut reports["duplicates"]) {
            change_all(&mut row["PERCENT_DUPLICATION"], |it| it * duplicates);
        }
        let reads = 1.0 + 0.1 * random.next();
        for count in reports["flagstat"].as_object_mut().into_iter().flat_map(|it| it.values_mut()) {
            change_all(&mut count["passed"], |it| (it * reads).round());
        }
        for name in
            ["properly paired", "singletons", "with mate mapped to a different chr", "supplementary"]
        {
            let factor = 1.0 - 0.02 * random.next().abs();
            change_all(&mut reports["flagstat"][name]["passed"], |it| (it * factor).round());
        }
        change_all(&mut reports["stats"]["SN"]["reads MQ0"], |it| it * reads);
        let yield_row = &mut reports["quality_yield_metrics"]["rows"][0];
        for key in ["TOTAL_BASES", "Q20_BASES", "Q30_BASES"] {
            change_all(&mut yield_row[key], |it| it * reads);
        }
        let genome = &mut reports["wgs_metrics"]["rows"][0];
        for key in ["MEAN_COVERAGE", "PCT_EXC_TOTAL", "PCT_EXC_DUPE", "PCT_EXC_MAPQ", "PCT_EXC_OVERLAP"]
        {
            let factor = 1.0 + 0.08 * random.next();
            change_all(&mut genome[key], |it| it * factor);
        }
        for row in rows_of(&mut reports["alignment_summary_metrics"]) {
            let factor = 1.0 + 0.05 * random.next();
            for key in ["PF_MISMATCH_RATE", "PCT_CHIMERAS", "PCT_SOFTCLIP"] {
                change_all(&mut row[key], |it| it * factor);
            }
        }
        run
    }
}

/// Gives a run the name that its page shows, as `--sample` would.
pub fn rename_sample(run: &mut Value, name: &str) {
    run["sample"] = name.into();
    run["sample_names"]["given"] = name.into();
}

pub fn sample_name(number: usize) -> String {
    format!("S{:04}", number + 1)
}

fn library_of(number: usize) -> &'static str {
    if (number / 8).is_multiple_of(2) { "short" } else { "long" }
}

/// Numbers between -1 and 1 (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

fn rows_of(report: &mut Value) -> impl Iterator<Item = &mut Value> {
    report.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten()
}

/// Changes a number, or all numbers of a list. Whole numbers stay whole numbers.
fn change_all(value: &mut Value, mut change: impl FnMut(f64) -> f64) {
    let mut one = |value: &mut Value| {
        let Some(number) = value.as_f64() else { return };
        let changed = change(number);
        *value = if value.is_f64() { changed.into() } else { (changed.round() as i64).into() };
    };
    match value {
        Value::Array(list) => list.iter_mut().for_each(one),
        other => one(other),
    }
}

/// Gives a run the insert size and the GC of a lane of another run.
fn exchange_lane(run: &mut Value, other: &Value) {
    for report in ["insert_size_metrics", "gc_bias.summary_metrics", "gc_bias.detail_metrics"] {
        let is_lane = |row: &&Value| row["READ_GROUP"] == SWAPPED_LANE;
        let others = other["reports"][report]["rows"].as_array().into_iter().flatten();
        let mut others = others.filter(is_lane);
        for row in rows_of(&mut run["reports"][report]).filter(|row| is_lane(&&**row)) {
            if let Some(other) = others.next() {
                *row = other.clone();
            }
        }
    }
}

/// A page of simulated samples.
pub struct Plate {
    pub page: PathBuf,
    /// Descriptions of the first samples, for a comparison with the page.
    pub runs: Vec<PathBuf>,
}

/// Number of samples whose description is kept as a file.
const KEPT_RUNS: usize = 48;

/// Makes a page of this many samples. All descriptions together would need too much memory.
pub fn make_plate(sources: &Sources, root: &Path, count: usize) -> Result<Plate> {
    let dir = root.join(format!("plate-{count}"));
    std::fs::create_dir_all(&dir)?;
    let well = |i: usize| format!("{}{:02}", char::from(b'A' + (i % 96 / 12) as u8), i % 12 + 1);
    let line =
        |i: usize| format!("{}\t{}\tP{}\t{}\n", sample_name(i), library_of(i), i / 96 + 1, well(i));
    let sheet = format!("sample\tlibrary\tplate\twell\n{}", (0..count).map(line).collect::<String>());
    std::fs::write(dir.join("samples.tsv"), &sheet)?;
    let sheet = Some(Sheet::parse(&sheet).map_err(anyhow::Error::msg)?);
    let options = PageOptions { sheet, ..PageOptions::default() };
    let mut builder = PlateBuilder::new(&options);
    let mut runs = Vec::new();
    for number in 0..count {
        let run = sources.make_run(number);
        if number < KEPT_RUNS {
            let path = dir.join(format!("{}.json", sample_name(number)));
            std::fs::write(&path, run.to_string())?;
            runs.push(path);
        }
        builder.add_run(&run);
    }
    let page = dir.join("plate.html");
    std::fs::write(&page, builder.render())?;
    Ok(Plate { page, runs })
}
