//! Renders the HTML page of one sample. `plate` uses parts of it for each of its samples.
//!
//! ```text
//! render_sample_page
//! └─ sample_article
//!    ├─ sample_facts       main numbers, and fields of the sample sheet
//!    ├─ verdict_html       each graded metric, failed ones grouped by cause
//!    ├─ warnings_html      warnings of the run
//!    ├─ SECTIONS           see `sections`
//!    └─ missing_sections_html  sections without data, and the options that provide it
//! ```

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::diagnosis::{Diagnosis, group_by_cause};
use crate::limits::{Assay, Limits, Thresholds};
use crate::metrics::{find_metric, metric_title};
use crate::names::sample_name;
use crate::options::PageOptions;
use crate::run::{Quantity, RunPart};
use crate::section::{PageSample, facts_list};
use crate::sections::{MAX_SCORE, PageSection, SECTIONS, sex};
use crate::text::{NumberFormat, format_date};
use crate::verdict::{MetricOutcome, judge_sample, limit_text};

/// Format versions of run descriptions that can be read. Version 1 has another name for `usage`.
const DESCRIPTION_VERSIONS: [u64; 2] = [1, 2];

/// Checks that a JSON value is a run description in a format version that [`render_page`](crate::render_page)
/// reads.
///
/// # Errors
///
/// If the value is not a run description, or has a different format version. The message does not
/// name the file; the caller adds it.
pub fn check_description(value: &Value) -> Result<(), String> {
    if value.get("format").and_then(Value::as_str) != Some("readmill run") {
        return Err("not a run description as written by --json".into());
    }
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if DESCRIPTION_VERSIONS.contains(&version) => {
            let run = RunPart::new(value);
            if run.at("assay").is_some() {
                run.text("assay").parse::<Assay>()?;
            }
            run.at("qc_thresholds").map_or(Ok(Thresholds::default()), Thresholds::from_json)?;
            Ok(())
        }
        _ => Err(format!(
            "the format version is not {}; use the readmill version that wrote the file",
            DESCRIPTION_VERSIONS.map(|it| it.to_string()).join(" or ")
        )),
    }
}

/// Renders the page of a single sample, which has no script.
pub fn render_sample_page(run: &Value, options: &PageOptions) -> String {
    let run = RunPart::new(run);
    page_html(sample_name(&run), &sample_article(&run, 0, options, true), None)
}

/// The style sheet and the script that a page has in addition to the style sheet of all pages.
pub struct PageScript {
    pub style: &'static str,
    pub script: &'static str,
}

/// Returns the HTML page with this title and content.
pub fn page_html(title: &str, body: &Markup, more: Option<&PageScript>) -> String {
    let is_plate = more.is_some();
    let scripts = if is_plate { "; script-src 'unsafe-inline'" } else { "" };
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            "\n" head {
                "\n" meta charset="utf-8";
                "\n" meta name="viewport" content="width=device-width, initial-scale=1";
                "\n" meta http-equiv="Content-Security-Policy" content={
                    "default-src 'none'; style-src 'unsafe-inline'; img-src data:" (scripts)
                };
                "\n" meta name="color-scheme" content="light dark";
                "\n" meta name="generator" content={ "readmill " (env!("CARGO_PKG_VERSION")) };
                "\n" link rel="icon" href="data:,";
                "\n" title { (title) " – readmill" }
                "\n" style {
                    "\n" (PreEscaped(include_str!("style.css")))
                    @if let Some(more) = more { (PreEscaped(more.style)) }
                } "\n"
            }
            "\n" body {
                "\n" main class=[is_plate.then_some("plate")] { (body) }
                @if let Some(more) = more { "\n" script { "\n" (PreEscaped(more.script)) } }
            } "\n"
        } "\n"
    };
    let page = page.into_string();
    // File and sample names may contain control characters, which HTML does not allow.
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if page.contains(is_control) { page.replace(is_control, "\u{fffd}") } else { page }
}

/// Returns the `<article>` of one sample. If `is_alone` is true, the sample name is the page heading
/// (`h1`), and there is no link back to the table of samples.
pub fn sample_article(
    run: &RunPart<'_>,
    number: usize,
    options: &PageOptions,
    is_alone: bool,
) -> Markup {
    let limits = options.limits_of(run);
    let sample = PageSample { run: run.clone(), prefix: format!("s{number}-"), limits: &limits };
    let (mut made, mut missing) = (Vec::new(), Vec::new());
    for section in SECTIONS {
        match (section.make)(&sample) {
            Some(body) => made.push((section, body)),
            None => missing.push(section),
        }
    }
    let name = sample_name(run);
    let id = |section: &str| sample.element_id(section);
    html! {
        article id={ "s" (number) } data-run=(number) aria-label=(name) {
            header {
                @if !is_alone { p class="back" { a href="#cohort" { "All samples" } } }
                p class="eyebrow" {
                    "readmill " (run.text("command/name")) " · "
                    (run.value("time/ended").map_or(String::new(), format_date))
                }
                @if is_alone { h1 { (name) } } @else { h2 { (name) } }
                (sample_facts(run, options))
            }
            (verdict_html(&sample, &made.iter().map(|(section, _)| section.id).collect::<Vec<_>>()))
            (warnings_html(run))
            nav aria-label={ "Sections of " (name) } {
                ul {
                    @for (section, _) in &made { li { a href={ "#" (id(section.id)) } { (section.title) } } }
                    @if !missing.is_empty() {
                        li { a href={ "#" (id("missing")) } { "Sections without data" } }
                    }
                }
            }
            @for (section, body) in &made {
                section id=(id(section.id)) aria-labelledby={ (id(section.id)) "-h" } {
                    h2 id={ (id(section.id)) "-h" } { (section.title) }
                    (body)
                }
            }
            (missing_sections_html(&id("missing"), &missing))
        }
    }
}

/// Metrics that the page shows below the sample name.
const FACTS: [&str; 6] =
    ["reads", "records", "mean_coverage", "insert_size", "gc_content", "library_size"];

/// Returns the facts below the sample name: the main numbers, the platform, the sex, then the sample's
/// fields in the sample sheet.
fn sample_facts(run: &RunPart<'_>, options: &PageOptions) -> Markup {
    let numbers = FACTS.into_iter().filter_map(|key| {
        let metric = find_metric(key)?;
        let number = (metric.find)(run)?;
        Some((metric_title(metric, run), number.to_html(metric.form)))
    });
    let bases = run.part("reports/quality_yield_metrics/rows/0");
    let of_bases = |name: &str| bases.as_ref()?.number(name);
    let others = [
        ("Yield", of_bases("TOTAL_BASES"), NumberFormat::Bases),
        (
            "Q20 bases",
            Quantity::share(of_bases("Q20_BASES"), of_bases("TOTAL_BASES")),
            NumberFormat::Share,
        ),
        ("Mean read length", of_bases("READ_LENGTH"), NumberFormat::Decimal(0, "\u{a0}bases")),
    ];
    let others = others
        .into_iter()
        .filter_map(|(name, number, form)| Some((name.to_string(), number?.to_html(form))));
    let platforms: Vec<&str> = run.read("platforms").unwrap_or_default();
    let texts = [("Platform", platforms.join(", ")), ("Sex", sex(run).unwrap_or_default().into())];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let texts = texts.map(|(name, text)| (name.to_string(), html! { (text) }));
    let fields = options.sheet_fields(run).into_iter();
    let fields = fields.map(|(name, value)| (name.to_string(), html! { (value) }));
    let all: Vec<(String, Markup)> = numbers.chain(others).chain(texts).chain(fields).collect();
    if all.is_empty() { Markup::default() } else { facts_list(&all) }
}

/// Returns the verdict of a sample: a summary, the findings with common causes, and a tile for each
/// metric that has or had a threshold. `sections` lists the ids of the sections on the page; a tile
/// links only to these.
fn verdict_html(sample: &PageSample<'_>, sections: &[&str]) -> Markup {
    let verdict = judge_sample(&sample.run, sample.limits);
    let outcomes = &verdict.outcomes;
    if outcomes.is_empty() {
        return html! {
            p class="summary" {
                "No metric with a threshold is available: see "
                a href={ "#" (sample.element_id("missing")) } { "sections without data" } "."
            }
        };
    }
    let found = group_by_cause(outcomes);
    let class = verdict.status().map_or("open", |status| status.css_class());
    let is_changed = *sample.limits != Limits::for_assay(sample.limits.assay);
    html! {
        section class="verdict" aria-label="Verdict" {
            p class={ "summary " (class) } { (verdict.summary()) }
            @if !found.is_empty() { ul class="findings" { @for it in &found { (finding_item(it)) } } }
            ol class="tiles" {
                @for it in outcomes {
                    li class=(it.judgement.css_class()) {
                        span class="name" {
                            @if sections.contains(&it.metric.section) {
                                a href={ "#" (sample.element_id(it.metric.section)) } { (it.name) }
                            } @else { (it.name) }
                        }
                        span class="value" { (it.source.to_html(it.metric.form)) }
                        @if let Some(limit) = it.limit.filter(|_| it.grade().is_some()) {
                            span class="limit" {
                                (limit_text(&limit, it.metric.form))
                                @if it.metric.key == "oxidation" && it.source.value >= MAX_SCORE {
                                    "; 100 is Picard's maximum"
                                }
                            }
                            span class="grade" { (it.judgement.to_html()) }
                        } @else {
                            span class="reason" { (it.judgement.to_html()) }
                        }
                    }
                }
            }
            p class="note" {
                "Thresholds for " (sample.limits.assay.title())
                @if is_changed { ", modified by --qc-thresholds" }
                "."
            }
        }
    }
}

/// Returns a list item: the metric that represents a finding, its common causes, what to do about
/// them, and the metrics that probably have the same cause.
fn finding_item(finding: &Diagnosis<'_>) -> Markup {
    let sentence = |it: &MetricOutcome| {
        html! {
            span class={ "grade " (it.judgement.css_class()) } { (it.judgement.to_html()) } " "
            strong { (it.name) } ": " (it.source.to_html(it.metric.form))
            @if let Some(place) = &it.place { " (" (place) ")" }
            @if let Some(limit) = &it.limit { "; expected " (limit_text(limit, it.metric.form)) }
            "."
        }
    };
    html! {
        li {
            (sentence(finding.lead)) " Common causes: " (finding.lead.metric.hint) "."
            @if let Some(remedy) = finding.remedy { " What to do: " (remedy) "." }
            @if !finding.follow.is_empty() {
                " Also outside the limits, probably for the same reason:" ul { @for it in &finding.follow { li { (sentence(it)) } } }
            }
        }
    }
}

fn warnings_html(run: &RunPart<'_>) -> Markup {
    let warnings: Vec<&str> = run.read("warnings").unwrap_or_default();
    html! {
        @if !warnings.is_empty() {
            section class="warnings" aria-label="Warnings" {
                h2 { "Run warnings" }
                ul { @for warning in warnings { li { (warning) } } }
            }
        }
    }
}

fn missing_sections_html(id: &str, missing: &[&PageSection]) -> Markup {
    html! {
        @if !missing.is_empty() {
            section id=(id) aria-labelledby={ (id) "-h" } {
                h2 id={ (id) "-h" } { "Sections without data" }
                p class="lead" {
                    "This run has no data for these sections. "
                    "To include a section, add its options to the command line."
                }
                dl class="facts flags" {
                    @for it in missing { div { dt { (it.title) } dd { code { (it.flags) } } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::render_page;
    use serde_json::json;

    /// The description of a run that wrote no reports.
    fn bare(sample: &str) -> Value {
        json!({
            "format": "readmill run", "version": 1, "program": {"name": "readmill", "version": "1", "commit": null},
            "command": {"name": "sort", "arguments": ["readmill", "sort", "a b"], "line": "readmill sort"},
            "steps": [], "sample": sample, "inputs": [], "outputs": [], "reports": {},
            "reads": {"read": 1234, "written": 1234, "written_elsewhere": 0, "counts": []},
            "resources": {"threads": 1, "memory_limit_bytes": 1 << 30, "memory_peak_bytes": null},
            "time": {"ended": 0.5, "seconds": 1.5, "cpu_seconds": 1.0}, "stages": [], "warnings": ["<b>odd</b>"],
        })
    }

    #[test]
    fn a_run_without_reports_has_a_page_that_says_how_to_get_more() {
        let value = bare("<i>x</i>");
        let page = render_page(&[&value], &PageOptions::default());
        assert!(
            page.contains("<h1>&lt;i&gt;x&lt;/i&gt;</h1>") && page.contains("&lt;b&gt;odd"),
            "{page}"
        );
        assert!(page.contains("<data value=\"1234\" data-json=\"/reads/read\">1,234</data>"), "{page}");
        assert!(page.contains("--qc PREFIX") && page.contains("No metric with a threshold"), "{page}");
        assert!(page.contains("readmill sort 'a b'"), "{page}");
        let named = render_page(&[&bare("a\u{7}&\"b\"")], &PageOptions::default());
        assert!(named.contains("aria-label=\"a\u{fffd}&amp;&quot;b&quot;\""), "{named}");
        assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded");
    }

    #[test]
    fn numbers_are_graded_and_explained() {
        let mut value = bare("x");
        let both = |n: u32| json!({"passed": n, "failed": 0});
        value["reports"]["flagstat"] = json!({"primary": both(5000), "primary mapped": both(3500), "primary duplicates": both(500)});
        let text = render_page(&[&value], &PageOptions::default());
        let summary = "1 of 2 measured metrics failed; coverage was not measured.";
        assert!(text.contains(summary), "{text}");
        assert!(text.contains("<strong>Mapped reads</strong>: <data value=\"0.7\""), "{text}");
        let options = |text: &str| {
            let thresholds = Some(Thresholds::parse(text).unwrap());
            PageOptions { thresholds, ..PageOptions::default() }
        };
        let text = render_page(&[&value], &options(r#"{"mapped": {"look_below": 0.5}}"#));
        let summary =
            "<p class=\"summary open\">All 2 measured metrics passed; coverage was not measured.";
        assert!(text.contains(summary) && text.contains("modified by --qc-thresholds"), "{text}");
        let text = render_page(&[&value], &options(r#"{"mapped": null, "mean_coverage": null}"#));
        assert!(text.contains("<p class=\"summary good\">The only metric passed."), "{text}");
        assert!(text.contains("no threshold"), "the tile of a metric without a threshold stays: {text}");
    }

    #[test]
    fn what_has_too_little_data_is_not_judged() {
        let mut value = bare("x");
        let both = |n: u32| json!({"passed": n, "failed": 0});
        value["reports"] = json!({
            "flagstat": {"primary": both(999), "primary mapped": both(10), "primary duplicates": both(1)},
            "mosdepth.summary.txt": [{"chrom": "total", "length": 9, "bases": 11, "mean": 1.2}],
            "mosdepth.global.dist.txt": {"depth": [2, 1, 0], "share": [0.3, 0.6, 1]},
        });
        let text = render_page(&[&value], &PageOptions::default());
        assert!(text.contains("not judged: fewer than 1,000 reads"), "{text}");
        assert!(text.contains("not judged: mean coverage is below 10×"), "{text}");
        let summary = "The only judged metric failed; too few reads to judge 4 of 5 metrics, including mapped \
            reads and duplicates.";
        assert!(text.contains(&format!("<p class=\"summary bad\">{summary}")), "{text}");
        let (_, findings) = text.split_once("<ul class=\"findings\">").unwrap();
        assert!(findings.starts_with("<li><span class=\"grade bad\">"), "{findings}");
        assert!(findings.contains("<strong>Mean coverage</strong>"), "{findings}");
    }

    #[test]
    fn reads_are_primary_records_and_records_are_called_so() {
        let mut value = bare("x");
        let shows = |value: &Value, name: &str, count: &str| {
            let text = render_page(&[value], &PageOptions::default());
            text.contains(&format!("<dt>{name}</dt><dd><data value=\"{count}\""))
        };
        assert!(shows(&value, "Records", "1234") && !shows(&value, "Reads", "1234"));
        let row = |category: &str, reads: u32| json!({"CATEGORY": category, "TOTAL_READS": reads});
        value["reports"]["alignment_summary_metrics"] =
            json!({"rows": [row("FIRST_OF_PAIR", 550), row("PAIR", 1100), row("UNPAIRED", 30)]});
        assert!(shows(&value, "Reads", "1130") && !shows(&value, "Records", "1234"));
        value["reports"]["flagstat"] = json!({"primary": {"passed": 1100, "failed": 31}});
        assert!(shows(&value, "Reads", "1131"));
    }

    #[test]
    fn what_may_follow_from_a_finding_stands_below_it() {
        let mut value = bare("x");
        let both = |n: u32| json!({"passed": n, "failed": 0});
        value["reports"] = json!({
            "flagstat": {"primary": both(9000), "primary mapped": both(4500), "primary duplicates": both(1)},
            "mosdepth.summary.txt": [{"chrom": "total", "length": 9, "bases": 180, "mean": 19.0}],
        });
        let text = render_page(&[&value], &PageOptions::default());
        let (_, follow) =
            text.split_once("Also outside the limits, probably for the same reason:<ul><li>").unwrap();
        let (follow, _) = follow.split_once("</ul>").unwrap();
        assert!(follow.contains("<strong>Mean coverage</strong>: <data value=\"19\""), "{follow}");
        assert!(!follow.contains("Common causes"), "{follow}");
    }

    #[test]
    fn a_remedy_is_apart_from_the_causes() {
        let mut value = bare("x");
        let both = |n: u32| json!({"passed": n, "failed": 0});
        let flagstat = |mapped: u32, duplicates: u32| json!({"primary": both(9000), "primary mapped": both(mapped), "primary duplicates": both(duplicates)});
        value["reports"] = json!({"flagstat": flagstat(9000, 8000)});
        let text = render_page(&[&value], &PageOptions::default());
        let wanted =
            "Common causes: a library amplified from few molecules. What to do: prepare a library";
        assert!(text.contains(wanted), "{text}");
        value["reports"] = json!({"flagstat": flagstat(4000, 0)});
        let text = render_page(&[&value], &PageOptions::default());
        assert!(text.contains("Common causes: ") && !text.contains("What to do"), "{text}");
    }

    #[test]
    fn the_highest_score_of_picard_is_called_so() {
        let page_of = |score: u32| {
            let mut value = bare("x");
            let row = json!({"REF_BASE": "G", "ALT_BASE": "T", "TOTAL_QSCORE": score});
            value["reports"] = json!({
                "pre_adapter_summary_metrics": {"rows": [row]},
                "alignment_summary_metrics": {"rows": [{"CATEGORY": "PAIR", "PF_ALIGNED_BASES": 2e6}]},
            });
            render_page(&[&value], &PageOptions::default())
        };
        let text = page_of(100);
        assert!(text.contains("at least 35; fails below 30; 100 is Picard's maximum</span>"), "{text}");
        assert!(text.contains("100 is the highest score that Picard states."), "{text}");
        // The bait bias is missing, so its bar has the highest score.
        assert!(!page_of(40).contains("Picard's maximum"));
    }

    #[test]
    fn contigs_and_libraries_named_by_digits_are_drawn() {
        let mut value = bare("x");
        let contig = |name: Value| json!({"chrom": name, "length": 9, "bases": 18, "mean": 2.0});
        let library = |name: u32| json!({"LIBRARY": name, "ESTIMATED_LIBRARY_SIZE": 900, "READ_PAIRS_EXAMINED": 50});
        value["reports"] = json!({
            "mosdepth.summary.txt": [contig(json!(22)), contig(json!("total"))],
            "duplicates": {"rows": [library(7), library(8)]},
        });
        let text = render_page(&[&value], &PageOptions::default());
        for (title, name) in
            [("Coverage by contig", ">22<"), ("Expected yield of more sequencing", ">8<")]
        {
            let figure = text.split("<figure").find(|it| it.contains(title)).unwrap_or(&text);
            assert!(figure.split("<table").next().unwrap().contains(name), "{title}: {figure}");
        }
    }

    #[test]
    fn samples_are_side_by_side() {
        let (one, two) = (bare("one"), bare("two"));
        let text = render_page(&[&one, &two], &PageOptions::default());
        assert!(text.contains("<h1>2 samples</h1>") && text.contains("id=\"article-1\""), "{text}");
        assert_eq!(check_description(&one), Ok(()));
        assert!(check_description(&json!({"format": "readmill run", "version": 3})).is_err());
        assert!(check_description(&json!([])).is_err());
    }
}
