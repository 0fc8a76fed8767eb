//! The page of several samples, which is called a plate after the plate of a sequencing library
//! preparation.
//!
//! A plate must stay small and fast with 1,000 samples, so it has little HTML. Its script makes what
//! the reader looks at: the rows of the table near the window, the plots, and the details of one
//! sample. Design note 0024 gives the reasons.
//!
//! ```text
//! PlateBuilder::add_run ─► PlateSample, for each run
//! PlateBuilder::to_html
//! ├─ header, and lists of `lists`              HTML; readable without scripts
//! ├─ table, plots and tools of `sections`       elements that the script fills
//! ├─ PlateData    script#plate-data            JSON: all values of the table
//! ├─ Curves       script#curves-KIND           deflate, base64: 16 bits for each value
//! └─ articles     script#article-N             deflate, base64: HTML of a sample without figures
//! ```

mod bars;
mod contigs;
mod curves;
mod data;
mod grid;
mod lists;
mod pack;
mod sample;
mod script;
mod sections;

use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use self::contigs::{ContigDepth, place_contigs};
use self::curves::{KINDS, Points};
use self::data::PlateData;
use self::grid::Curves;
use self::lists::{failed_list, lanes_list, outlier_list, warned_list};
use self::pack::{pack, packed_element};
use self::sample::PlateSample;
use self::script::SCRIPT;
use self::sections::{choice_bar, plot_sections, samples_section};
use crate::cohort::{MetricValue, metric_columns};
use crate::limits::Assay;
use crate::metrics::{DETAILS, METRICS};
use crate::names::name_runs;
use crate::options::PageOptions;
use crate::page::page_html;
use crate::run::RunPart;
use crate::text::{join_words, plain_number};
use crate::verdict::SampleStatus;

/// Builds the page of several samples from one run description at a time.
///
/// The builder keeps less than a tenth of a description, so that the page of 1,000 samples needs no
/// memory for 1,000 descriptions. [`render_page`](crate::render_page) uses it for several runs.
///
/// ```
/// use readmill_report::{PageOptions, PlateBuilder};
/// use serde_json::json;
///
/// let options = PageOptions::default();
/// let mut builder = PlateBuilder::new(&options);
/// for sample in ["NA1", "NA2"] {
///     builder.add_run(&json!({"format": "readmill run", "version": 1, "sample": sample}));
/// }
/// assert!(builder.render().contains("<h1>2 samples</h1>"));
/// ```
pub struct PlateBuilder<'a> {
    options: &'a PageOptions,
    samples: Vec<PlateSample>,
}

/// Ratio of the memory for the samples and their page to the memory of the samples.
const RENDER_FACTOR: u64 = 4;

impl<'a> PlateBuilder<'a> {
    pub fn new(options: &'a PageOptions) -> Self {
        PlateBuilder { options, samples: Vec::new() }
    }

    /// Adds a run, which must have passed [`check_description`](crate::check_description).
    pub fn add_run(&mut self, run: &Value) {
        let number = self.samples.len();
        self.samples.push(PlateSample::from_run(&RunPart::new(run), number, self.options));
    }

    /// Returns the memory in bytes for the runs that were added, and for rendering their page.
    ///
    /// The page has the packed articles and curves once more, and the copies that the rendering makes
    /// of them; the data of the table take less than an eighth of that.
    pub fn bytes(&self) -> u64 {
        RENDER_FACTOR * self.samples.iter().map(PlateSample::heap_bytes).sum::<u64>()
    }

    /// Gives different names to runs with the same name. `paths` are the absolute paths of the run
    /// files, in the order of the runs. Returns a warning for each name that several runs have.
    pub fn distinguish_names(&mut self, paths: &[&Path]) -> Vec<String> {
        let mut names: Vec<String> = self.samples.iter().map(|it| it.name.clone()).collect();
        let warnings = name_runs(&mut names, paths);
        for (sample, name) in self.samples.iter_mut().zip(names) {
            if sample.name != name
                && let Some(sheet) = &self.options.sheet
            {
                let own = sheet.field_names().iter().map(|field| sheet.field(&name, field));
                let own: Vec<Option<String>> = own.map(|it| it.map(str::to_string)).collect();
                // The sheet can name a run by this name or by its name in reports.
                if own.iter().any(Option::is_some) {
                    sample.fields = own;
                }
            }
            sample.name = name;
        }
        warnings
    }

    /// Renders the page of the runs that were added.
    pub fn render(&self) -> String {
        page_html(&sample_count(&self.samples), &self.to_html(), Some(&SCRIPT))
    }

    fn to_html(&self) -> Markup {
        let samples = &self.samples[..];
        let values: Vec<&[Option<MetricValue>]> = samples.iter().map(|it| &it.values[..]).collect();
        let columns = metric_columns(METRICS, &values);
        let values: Vec<&[Option<MetricValue>]> = samples.iter().map(|it| &it.details[..]).collect();
        let details = metric_columns(DETAILS, &values);
        let curves: Vec<Curves> = (0..KINDS.len()).filter_map(|n| self.place_curves(n)).collect();
        let data = PlateData { samples, columns: &columns, details: &details, curves: &curves };
        let findings = [
            failed_list(samples),
            warned_list(samples),
            outlier_list(samples, &columns),
            lanes_list(samples),
        ];
        html! {
            nav id="contents" aria-label="Contents" hidden { ul {} }
            div id="overview" {
                (header_html(samples))
                @for section in findings.into_iter().flatten() { (section) }
                (samples_section()) (plot_sections()) (choice_bar())
            }
            div id="detail" hidden {}
            (data.to_element(self.options))
            @for it in curves.iter().filter(|it| !it.is_derived()) { (packed_element(&format!("curves-{}", it.id()), &pack(&it.to_bytes()))) }
            @for (i, sample) in samples.iter().enumerate() {
                (packed_element(&format!("article-{i}"), &sample.article))
            }
        }
    }

    /// Places the curves of the kind with this index. `None` if no sample has such a curve.
    fn place_curves(&self, number: usize) -> Option<Curves> {
        let kind = KINDS.get(number)?;
        if let Some(value) = kind.by_contig {
            let contigs: Vec<&[ContigDepth]> = self.samples.iter().map(|it| &it.contigs[..]).collect();
            let (names, points) = place_contigs(&contigs, value)?;
            return Curves::place(kind, &points.iter().collect::<Vec<_>>(), names, Vec::new());
        }
        let totals = self.samples.iter().map(|it| it.totals.get(number).copied().flatten());
        let points: Option<Vec<&Points>> = self.samples.iter().map(|it| it.points.get(number)).collect();
        Curves::place(kind, &points?, Vec::new(), totals.collect())
    }
}

fn summarize_samples(samples: &[PlateSample]) -> String {
    let count = |status| samples.iter().filter(|it| it.verdict.status() == status).count();
    let named = [
        (Some(SampleStatus::Fail), "failed", true),
        (Some(SampleStatus::Warn), "with warnings", true),
        (Some(SampleStatus::Pass), "passed", true),
        (
            Some(SampleStatus::Incomplete),
            "passed what was measured, but essential metrics are missing",
            false,
        ),
        (None, "not judged", false),
    ];
    let counts = named.into_iter().map(|(status, text, always)| (count(status), text, always));
    let shown = counts.filter(|(count, _, always)| *always || *count > 0);
    let texts: Vec<String> = shown.map(|(count, text, _)| format!("{count} {text}")).collect();
    format!("{}.", texts.join(", "))
}

/// Returns a sentence that names the assays whose thresholds were used.
fn thresholds_note(samples: &[PlateSample]) -> String {
    let mut texts = Vec::new();
    for (_, assay) in Assay::ALL {
        let count = samples.iter().filter(|it| it.assay == assay).count();
        let of_samples = if count == 1 { "sample" } else { "samples" };
        if count == samples.len() {
            return format!("Thresholds for {}.", assay.title());
        }
        if count > 0 {
            texts.push(format!("{} ({count} {of_samples})", assay.title()));
        }
    }
    format!("Each sample has the thresholds of its assay: {}.", join_words(&texts))
}

fn sample_count(samples: &[PlateSample]) -> String {
    format!("{} samples", plain_number(samples.len() as f64))
}

fn header_html(samples: &[PlateSample]) -> Markup {
    html! {
        header id="summary" {
            p class="eyebrow" { "readmill report" }
            h1 { (sample_count(samples)) }
            p class="summary" { (summarize_samples(samples)) }
            p class="note" { (thresholds_note(samples)) }
            noscript {
                p class="warnings" {
                    "The table of all samples and the plots need scripts, which this browser does not "
                    "run here. For a page of one sample, which works without scripts, use "
                    code { "readmill report SAMPLE.json -o SAMPLE.html" } "."
                }
            }
            p class="warnings" id="old-browser" hidden {
                "This browser cannot inflate the plots and the details of the samples. Use Chrome or "
                "Edge 80, Firefox 113 or Safari 16.4, or a later version."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::render_page;
    use crate::sheet::Sheet;
    use serde_json::json;

    /// The description of a run with some metrics and all curves of a usual run.
    fn simulated(i: u32) -> Value {
        let noise =
            |n: u32| f64::from((i.wrapping_mul(2_654_435_761) ^ n.wrapping_mul(40_503)) % 997) / 997.0;
        let column = |count: u32, of: &dyn Fn(f64) -> f64| -> Vec<f64> {
            (0..count).map(|n| of(f64::from(n)) * (1.0 + 0.05 * noise(n))).collect()
        };
        let line = |count: u32| (0..count).collect::<Vec<u32>>();
        let gc = |n: u32| json!({"GC": n, "WINDOWS": 100, "READ_STARTS": 10, "NORMALIZED_COVERAGE": 1.0 + noise(n) / 9.0});
        let base = |n: u32| json!({"READ_END": 1 + n / 151, "CYCLE": n + 1, "PCT_A": 30.0 + noise(n), "PCT_C": 20.0 + noise(n + 1), "PCT_G": 20.0 + noise(n + 2), "PCT_T": 30.0, "PCT_N": noise(n) / 10.0});
        let contig =
            |name: &str, n: u32| json!({"chrom": name, "length": 1000, "mean": 30.0 + noise(n)});
        let contigs = (1..=24).map(|n| contig(&format!("chr{n}"), n)).chain([contig("total", 0)]);
        let bell = |middle: f64, width: f64| move |x: f64| (-((x - middle) / width).powi(2)).exp() * 1e5;
        let both = |n: u32| json!({"passed": n, "failed": 0});
        json!({
            "format": "readmill run", "version": 1, "program": {"name": "readmill", "version": "1", "commit": null},
            "command": {"name": "prep", "arguments": ["readmill", "prep"], "line": "readmill prep"},
            "steps": [], "sample": format!("S{i:04}"), "inputs": [], "outputs": [], "warnings": [], "stages": [],
            "reads": {"read": 1000 + i, "written": 1000, "written_elsewhere": 0, "counts": []},
            "resources": {"threads": 1, "memory_limit_bytes": 1 << 30, "memory_peak_bytes": null},
            "time": {"ended": 0.5, "seconds": 1.5, "cpu_seconds": 1.0},
            "reports": {
                "flagstat": {"primary": both(1000), "primary mapped": both(900 + i % 100), "primary duplicates": both(i % 300)},
                "insert_size_metrics": {
                    "rows": [{"MEDIAN_INSERT_SIZE": 350, "PAIR_ORIENTATION": "FR"}],
                    "histograms": [{"insert_size": line(600), "All_Reads.fr_count": column(600, &bell(350.0, 60.0))}],
                },
                "quality_by_cycle_metrics": {"histograms": [{"CYCLE": (1..=302).collect::<Vec<u32>>(), "MEAN_QUALITY": column(302, &|_| 35.0)}]},
                "base_distribution_by_cycle_metrics": {"rows": (0..302).map(base).collect::<Vec<_>>()},
                "quality_distribution_metrics": {"histograms": [{"QUALITY": line(42), "COUNT_OF_Q": column(42, &bell(38.0, 9.0))}]},
                "wgs_metrics": {"histograms": [{"coverage": line(250), "high_quality_coverage_count": column(250, &bell(90.0, 40.0))}]},
                "mosdepth.summary.txt": contigs.collect::<Vec<_>>(),
                "gc_bias.summary_metrics": {"rows": [{"AT_DROPOUT": 1.0, "GC_DROPOUT": 2.0 + noise(3)}]},
                "gc_bias.detail_metrics": {"rows": (0..=100).map(gc).collect::<Vec<_>>()},
                "mosdepth.global.dist.txt": {"depth": line(60), "share": column(60, &|x| 1.0 / (1.0 + (x - 30.0).exp()))},
                "mosdepth.region.dist.txt": {"depth": line(60), "share": column(60, &|x| 1.0 / (1.0 + (x - 40.0).exp()))},
            },
        })
    }

    fn page_of(count: u32) -> String {
        let values: Vec<Value> = (0..count).map(simulated).collect();
        render_page(&values.iter().collect::<Vec<_>>(), &PageOptions::default())
    }

    #[test]
    fn pages_of_48_and_of_1000_samples_are_small() {
        let (few, many) = (page_of(48).len(), page_of(1000).len());
        assert!(few <= 3 << 20 && many <= 15 << 20, "{few} {many}");
    }

    #[test]
    fn odd_names_cannot_leave_their_elements() {
        let mut values: Vec<Value> = (0..6).map(simulated).collect();
        let long = "N".repeat(60);
        for (value, name) in
            values.iter_mut().zip(["</script><b>x", "a\u{7}b", "&amp;\u{2028}\"'", &long])
        {
            value["sample"] = name.into();
        }
        let sheet = Sheet::parse("sample\tba</script>tch\n</script><b>x\t<!--\n").unwrap();
        let options = PageOptions { sheet: Some(sheet), ..PageOptions::default() };
        let page = render_page(&values.iter().collect::<Vec<_>>(), &options);
        assert!(!page.contains("</script><b>") && !page.contains("<!--"), "names are escaped");
        assert!(!page.contains('\u{7}') && !page.contains("\\u0007"), "control characters are replaced");
        let (_, data) = page.split_once("<script id=\"plate-data\" type=\"application/json\">").unwrap();
        let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
        assert_eq!(data["samples"][0], "</script><b>x");
        assert_eq!(data["samples"][1], "a\u{fffd}b");
        assert_eq!(data["samples"][3], long);
        assert_eq!(data["fields"][0]["values"][0], "<!--");
        assert_eq!(data["metrics"][0]["values"][2], 1000.0);
    }

    /// Adds four lanes to a run, with this insert size and GC, except for one lane.
    fn add_lanes(run: &mut Value, values: (u32, u32), foreign: Option<(usize, (u32, u32))>) {
        let lanes = [0, 1, 2, 3].map(|n| match foreign {
            Some((at, other)) if at == n => (format!("H7.{n}"), other),
            _ => (format!("H7.{n}"), values),
        });
        let rows = |row: &dyn Fn(&str, (u32, u32)) -> Value| -> Vec<Value> {
            lanes.iter().map(|(name, values)| row(name, *values)).collect()
        };
        let of_lane = |name: &str| json!({"READ_GROUP": name, "READ_STARTS": 5000, "READ_PAIRS": 5000});
        let with = |mut row: Value, key: &str, value: u32| {
            row[key] = value.into();
            row
        };
        let reports = [
            ("insert_size_metrics", rows(&|name, it| with(of_lane(name), "MEDIAN_INSERT_SIZE", it.0))),
            ("gc_bias.summary_metrics", rows(&|name, _| of_lane(name))),
            ("gc_bias.detail_metrics", rows(&|name, it| with(of_lane(name), "GC", it.1))),
        ];
        for (report, rows) in reports {
            run["reports"][report]["rows"].as_array_mut().unwrap().extend(rows);
        }
    }

    #[test]
    fn exchanged_lanes_are_named_in_one_sentence() {
        let mut values: Vec<Value> = (0..6).map(simulated).collect();
        let (short, long) = ((350, 41), (480, 46));
        for (i, value) in values.iter_mut().enumerate() {
            let (own, other) = if i % 2 == 0 { (short, long) } else { (long, short) };
            add_lanes(value, own, [0, 3].contains(&i).then_some((2, other)));
        }
        let lanes = |values: &[Value]| {
            let page = render_page(&values.iter().collect::<Vec<_>>(), &PageOptions::default());
            let (_, section) = page.split_once("<section id=\"lanes\"").unwrap();
            section.split("</section>").next().unwrap().to_string()
        };
        let link = |i: u32| format!("<a href=\"#s{i}\" data-name=\"{i}\">S{i:04}</a>");
        let (one, other) = (link(0), link(3));
        let text = lanes(&values);
        let wanted = format!(
            "<li>Lane <code>H7.2</code> of {one} and lane <code>H7.2</code> of {other} were probably \
            exchanged: each matches the other sample better than its own.</li>"
        );
        assert!(text.contains(&wanted) && text.matches("<li>").count() == 1, "{text}");
        values.remove(3);
        let text = lanes(&values);
        let wanted = format!(
            "<li>Lane <code>H7.2</code> of {one} matches {} and 1 other sample better than its own.</li>",
            link(1)
        );
        assert!(text.contains(&wanted), "{text}");
    }

    #[test]
    fn samples_that_failed_or_have_warnings_are_listed_with_their_metrics() {
        let mut values: Vec<Value> = (0..3).map(simulated).collect();
        let both = |n: u32| json!({"passed": n, "failed": 0});
        for (value, mapped) in values.iter_mut().zip([700, 900, 990]) {
            let reports = &mut value["reports"];
            reports["flagstat"] = json!({"primary": both(1000), "primary mapped": both(mapped), "primary duplicates": both(0)});
            reports["mosdepth.summary.txt"] =
                json!([{"chrom": "total", "mean": 40.0}, {"chrom": "total_region", "mean": 40.0}]);
            reports["mosdepth.region.dist.txt"] = json!({"depth": [20, 8, 0], "share": [0.99, 0.99, 1]});
        }
        values[0]["reports"]["mosdepth.summary.txt"][1]["mean"] = 19.0.into();
        values[0]["reports"]["mosdepth.region.dist.txt"]["share"][0] = 0.4.into();
        let page = render_page(&values.iter().collect::<Vec<_>>(), &PageOptions::default());
        let section = |id: &str| {
            let (_, section) = page.split_once(&format!("<section id=\"{id}\"")).unwrap();
            section.split("</section>").next().unwrap().to_string()
        };
        let failed = section("failed");
        assert!(failed.contains("Mapped reads <data value=\"0.7\""), "{failed}");
        let wanted = ", and 2 more: Mean target coverage, Target bases covered ≥ 20×</span>.</li>";
        assert!(failed.contains(wanted) && !failed.contains("S0001"), "{failed}");
        let warned = section("warned");
        assert!(
            warned.contains("<summary>1 sample<") && warned.contains("S0001</a>: Mapped reads"),
            "{warned}"
        );
        assert!(!warned.contains("S0002"), "{warned}");
        // The table of samples has the same names as their pages.
        for name in ["Mean target coverage", "Target bases covered ≥ 20×"] {
            assert!(page.contains(&format!("\"name\":\"{name}\"")), "{name}");
        }
        values[1]["reports"]["mosdepth.summary.txt"].as_array_mut().unwrap().pop();
        let page = render_page(&values.iter().collect::<Vec<_>>(), &PageOptions::default());
        assert!(page.contains("\"name\":\"Mean coverage\""), "the samples have different names");
    }
}
