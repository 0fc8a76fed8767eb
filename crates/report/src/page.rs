//! The HTML page of one or several samples.
//!
//! ```text
//! render_page
//! ├─ cohort::cohort_html   several samples only: table and plots of all samples
//! └─ sample_article        for each sample
//!    ├─ sample_facts       numbers without limits, fields of the sample sheet
//!    ├─ verdict_html       each graded metric, failed ones grouped by cause
//!    ├─ make_sections      see `sections`
//!    └─ missing_sections_html  options that would fill the missing sections
//! ```

use serde_json::Value;

use crate::cohort;
use crate::diagnosis::{Diagnosis, group_by_cause};
use crate::limits::{Grade, Limits};
use crate::metrics::{find_metric, metric_title};
use crate::options::PageOptions;
use crate::run::RunDescription;
use crate::section::{PageSample, facts_list};
use crate::sections::make_sections;
use crate::text::{escape_html, format_date};
use crate::verdict::{MetricOutcome, grade_markup, grade_metrics, limit_text, summarize_outcomes};

const DESCRIPTION_VERSION: u64 = 1;

/// Checks that a JSON value is the description of a run, in the version that [`page`] reads.
///
/// Returns a message without the name of the file, which the caller adds.
///
/// # Errors
///
/// If the value is anything else, or was written by a readmill with another version of the format.
pub fn check_description(value: &Value) -> Result<(), String> {
    if value.get("format").and_then(Value::as_str) != Some("readmill run") {
        return Err("it is no description of a run, as --json writes it".into());
    }
    match value.get("version").and_then(Value::as_u64) {
        Some(DESCRIPTION_VERSION) => Ok(()),
        _ => Err(format!(
            "its version is not {DESCRIPTION_VERSION}; make the page with the readmill that \
            wrote it"
        )),
    }
}

/// Returns the HTML page of these runs, one for each sample.
///
/// One run gives a page about that sample. Several runs give a page that first compares all samples
/// and then shows each of them. The runs must have passed [`check`]; whatever they lack is omitted.
pub fn render_page(runs: &[&Value], options: &PageOptions) -> String {
    let runs: Vec<RunDescription<'_>> = runs.iter().map(|value| RunDescription::new(value)).collect();
    let (title, body) = match &runs[..] {
        [run] => {
            (run.sample().to_string(), format!("<main>{}</main>", sample_article(run, 0, options, true)))
        }
        _ => {
            let articles =
                runs.iter().enumerate().map(|(i, run)| sample_article(run, i, options, false));
            let articles: String = articles.collect();
            let body = format!("<main>{}{articles}</main>", cohort::cohort_html(&runs, options));
            (format!("{} samples", runs.len()), body)
        }
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'; img-src data:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"readmill {}\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{} – readmill</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}\n<script>\n{}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escape_html(&title),
        include_str!("style.css"),
        include_str!("script.js"),
    )
}

/// Returns everything about one sample. `is_alone` makes its name the heading of the page and omits
/// the link back to the table of samples.
fn sample_article(
    run: &RunDescription<'_>,
    number: usize,
    options: &PageOptions,
    is_alone: bool,
) -> String {
    let sample = PageSample { run: *run, prefix: format!("s{number}-"), limits: &options.limits };
    let (made, missing) = make_sections(&sample);
    let heading = if is_alone { "h1" } else { "h2" };
    let mut links: Vec<(String, &str)> =
        made.iter().map(|it| (sample.element_id(it.id), it.title)).collect();
    if !missing.is_empty() {
        links.push((sample.element_id("missing"), "Not counted"));
    }
    let link =
        |(id, title): &(String, &str)| format!("<li><a href=\"#{id}\">{}</a></li>", escape_html(title));
    let links: String = links.iter().map(link).collect();
    let body: String = made
        .iter()
        .map(|it| {
            let id = sample.element_id(it.id);
            format!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2>{}</section>",
                escape_html(it.title),
                it.body
            )
        })
        .collect();
    let name = escape_html(run.sample());
    let back = if is_alone { "" } else { "<p class=\"back\"><a href=\"#cohort\">All samples</a></p>" };
    let ended = run.at("/time/ended").and_then(Value::as_f64).map_or(String::new(), format_date);
    format!(
        "<article id=\"s{number}\" data-run=\"{number}\" aria-label=\"{name}\"><header>{back}\
         <p class=\"eyebrow\">readmill {} · {ended}</p><{heading}>{name}</{heading}>{}</header>{}{}\
         <nav aria-label=\"Sections of {name}\"><ul>{links}</ul></nav>{body}{}</article>",
        escape_html(run.text("/command/name")),
        sample_facts(run, options),
        verdict_html(&sample, made.iter().map(|it| it.id).collect::<Vec<_>>().as_slice()),
        warnings_html(run),
        missing_sections_html(&sample, &missing),
    )
}

/// Returns the facts below the name of the sample: the main numbers, then its fields in the sample
/// sheet.
fn sample_facts(run: &RunDescription<'_>, options: &PageOptions) -> String {
    let numbers =
        ["reads", "mean_coverage", "insert_size", "library_size"].into_iter().filter_map(|key| {
            let metric = find_metric(key)?;
            let number = (metric.find)(run)?;
            Some((metric_title(metric, run), number.to_html(metric.form)))
        });
    let sheet = options.sheet.as_ref();
    let fields = sheet.map_or(Vec::new(), |sheet| sheet.fields_of(run.sample()));
    let fields = fields.into_iter().map(|(name, value)| (name.to_string(), escape_html(value)));
    let all: Vec<(String, String)> = numbers.chain(fields).collect();
    let all: Vec<(&str, String)> =
        all.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    if all.is_empty() { String::new() } else { facts_list(&all) }
}

/// Returns the graded metrics of a sample: a summary, the failed metrics with their usual causes,
/// and a tile for each metric. `sections` holds the ids of the sections that a tile may link to.
fn verdict_html(sample: &PageSample<'_>, sections: &[&str]) -> String {
    let outcomes = grade_metrics(&sample.run, sample.limits);
    if outcomes.is_empty() {
        return "<p class=\"summary\">No number with a limit was counted: see <a \
            href=\"#s0-missing\">what was not counted</a>.</p>"
            .replace("s0-", &sample.prefix);
    }
    let tile = |it: &MetricOutcome| {
        let (class, word) = grade_markup(it.grade);
        let name = escape_html(&it.name);
        let name = if sections.contains(&it.metric.section) {
            format!("<a href=\"#{}\">{name}</a>", sample.element_id(it.metric.section))
        } else {
            name
        };
        format!(
            "<li class=\"{class}\"><span class=\"name\">{name}</span><span class=\"value\">{}</span>\
             <span class=\"limit\">{}</span><span class=\"grade\">{word}</span></li>",
            it.source.to_html(it.metric.form),
            limit_text(&it.limit, it.metric.form)
        )
    };
    let found = group_by_cause(&outcomes);
    let said = |it: &MetricOutcome| {
        let (class, word) = grade_markup(it.grade);
        format!(
            "<span class=\"grade {class}\">{word}</span> <strong>{}</strong> is {}{}; {} is expected.",
            escape_html(&it.name),
            it.source.to_html(it.metric.form),
            it.place.as_ref().map(|place| format!(" ({})", escape_html(place))).unwrap_or_default(),
            limit_text(&it.limit, it.metric.form),
        )
    };
    let finding = |it: &Diagnosis<'_>| {
        let hint = escape_html(it.lead.metric.hint);
        let follow: String = it.follow.iter().map(|it| format!("<li>{}</li>", said(it))).collect();
        let follow = match follow.is_empty() {
            true => follow,
            false => format!(" What may follow from it:<ul>{follow}</ul>"),
        };
        format!("<li>{} Usual causes: {hint}.{follow}</li>", said(it.lead))
    };
    let findings: String = found.iter().map(finding).collect();
    let findings =
        if findings.is_empty() { findings } else { format!("<ul class=\"findings\">{findings}</ul>") };
    let tiles: String = outcomes.iter().map(tile).collect();
    format!(
        "<section class=\"verdict\" aria-label=\"Verdict\"><p class=\"summary {}\">{}</p>{findings}<ol class=\"tiles\">{tiles}</ol>\
         <p class=\"note\">Limits for {}{}.</p></section>",
        grade_markup(found.first().map_or(Grade::Good, |it| it.lead.grade)).0,
        summarize_outcomes(&outcomes),
        sample.limits.assay.title(),
        if *sample.limits == Limits::for_assay(sample.limits.assay) {
            ""
        } else {
            ", changed by a file of limits"
        }
    )
}

fn warnings_html(run: &RunDescription<'_>) -> String {
    let list = run.list("/warnings").iter().filter_map(Value::as_str);
    let list: String = list.map(|text| format!("<li>{}</li>", escape_html(text))).collect();
    if list.is_empty() {
        return list;
    }
    format!(
        "<section class=\"warnings\" aria-label=\"Warnings\"><h2>Warnings of the \
            run</h2><ul>{list}</ul></section>"
    )
}

fn missing_sections_html(sample: &PageSample<'_>, missing: &[(&str, &str)]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let line = |(title, flags): &(&str, &str)| {
        format!("<div><dt>{}</dt><dd><code>{}</code></dd></div>", escape_html(title), escape_html(flags))
    };
    let lines: String = missing.iter().map(line).collect();
    let id = sample.element_id("missing");
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">Not counted</h2>\
         <p class=\"lead\">This run did not count what these sections show. Add the flags, and the page has them.</p>\
         <dl class=\"facts flags\">{lines}</dl></section>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A run that only read its input and wrote no report.
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
        assert!(page.contains("--qc PREFIX") && page.contains("No number with a limit"), "{page}");
        assert!(page.contains("readmill sort &#39;a b&#39;"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded");
    }

    #[test]
    fn numbers_are_graded_and_explained() {
        let mut value = bare("x");
        let both = |n: u32| json!({"passed": n, "failed": 0});
        value["reports"]["flagstat"] =
            json!({"primary": both(100), "primary mapped": both(70), "primary duplicates": both(10)});
        let text = render_page(&[&value], &PageOptions::default());
        assert!(text.contains("1 of 2 numbers is bad."), "{text}");
        assert!(text.contains("<strong>Mapped reads</strong> is <data value=\"0.7\""), "{text}");
        let limits = Limits::default().with_json_text(r#"{"mapped": {"look_below": 0.5}}"#).unwrap();
        let options = PageOptions { limits, ..PageOptions::default() };
        let text = render_page(&[&value], &options);
        assert!(
            text.contains("All 2 numbers with limits are good.") && text.contains("changed by a file"),
            "{text}"
        );
    }

    #[test]
    fn what_may_follow_from_a_finding_stands_below_it() {
        let mut value = bare("x");
        let both = |n: u32| json!({"passed": n, "failed": 0});
        value["reports"] = json!({
            "flagstat": {"primary": both(100), "primary mapped": both(50), "primary duplicates": both(1)},
            "mosdepth.summary.txt": [{"chrom": "total", "length": 9, "bases": 18, "mean": 2.0}],
        });
        let text = render_page(&[&value], &PageOptions::default());
        let (_, follow) = text.split_once("What may follow from it:<ul><li>").unwrap();
        let (follow, _) = follow.split_once("</ul>").unwrap();
        assert!(follow.contains("<strong>Mean coverage</strong> is <data value=\"2\""), "{follow}");
        assert!(!follow.contains("Usual causes"), "{follow}");
    }

    #[test]
    fn samples_are_side_by_side() {
        let (one, two) = (bare("one"), bare("two"));
        let text = render_page(&[&one, &two], &PageOptions::default());
        assert!(text.contains("<h1>2 samples</h1>") && text.contains("data-run=\"1\""), "{text}");
        assert_eq!(check_description(&one), Ok(()));
        assert!(check_description(&json!({"format": "readmill run", "version": 2})).is_err());
        assert!(check_description(&json!([])).is_err());
    }
}
