//! The section "UMI families": how many templates come from each molecule, if UMIs separate
//! molecules.

use maud::{Markup, html};

use crate::plot::{Axes, Figure, draw_bars};
use crate::run::{Quantity, RunPart};
use crate::section::{PageSample, wrap_figures};
use crate::table::{Cell, scrollable_table, table_of_columns};
use crate::text::{NumberFormat, plain_number};

const FAMILIES: &str = "reports/umi_families";

/// The two kinds of templates: their key in the JSON, their name in a sentence, and their title.
const KINDS: [(&str, &str, &str); 2] =
    [("pairs", "read pairs", "Read pairs"), ("single_reads", "single reads", "Single reads")];

/// Maximum number of family sizes with their own bar. One more bar counts all larger families.
const MAX_SIZE_BARS: usize = 15;

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let known: Vec<(RunPart<'_>, &str, &str)> = KINDS
        .into_iter()
        .filter_map(|(key, name, title)| Some((sample.run.part(FAMILIES)?.part(key)?, name, title)))
        .filter(|(part, ..)| has_templates(part))
        .collect();
    if known.is_empty() {
        return None;
    }
    let figures = known.iter().map(|(part, name, _)| size_figure(sample, part, name));
    Some(html! { (wrap_figures(figures, [family_table(&known)])) })
}

fn has_templates(part: &RunPart<'_>) -> bool {
    ["templates", "without_umi"].iter().any(|name| part.value(name).is_some_and(|count| count > 0.0))
}

/// Returns the table of the families, with a column for each kind of templates.
fn family_table(known: &[(RunPart<'_>, &str, &str)]) -> Markup {
    let share =
        |part: &RunPart<'_>, count: &str, of: &str| Quantity::share(part.number(count), part.number(of));
    type Find<'f> = &'f dyn Fn(&RunPart<'_>) -> Option<Quantity>;
    let fields: [(&str, NumberFormat, Find<'_>); 8] = [
        ("Templates with a UMI", NumberFormat::Plain, &|part| part.number("templates")),
        ("Templates without a UMI", NumberFormat::Plain, &|part| part.number("without_umi")),
        ("Families", NumberFormat::Plain, &|part| part.number("families")),
        ("Templates per family", NumberFormat::Decimal(2, ""), &|part| {
            share(part, "templates", "families")
        }),
        ("Families of one template", NumberFormat::Share, &|part| {
            let has_single = part.value("sizes/size/0") == Some(1.0);
            has_single.then(|| share(part, "sizes/families/0", "families"))?
        }),
        ("Largest family", NumberFormat::Plain, &|part| part.number("largest")),
        ("Corrected UMIs", NumberFormat::Share, &|part| share(part, "corrected", "templates")),
        ("Families with both strands (duplex)", NumberFormat::Share, &|part| {
            share(part, "both_strands", "families")
        }),
    ];
    let rows = fields.iter().filter_map(|(title, form, find)| {
        let numbers: Vec<Option<Quantity>> = known.iter().map(|(part, ..)| find(part)).collect();
        let cells = numbers.iter().map(|number| Cell::number(number.as_ref(), *form));
        let is_known = numbers.iter().any(Option::is_some);
        is_known.then(|| std::iter::once(Cell::text(title)).chain(cells).collect())
    });
    let titles: Vec<&str> = std::iter::once("").chain(known.iter().map(|(.., title)| *title)).collect();
    scrollable_table("UMI families", &titles, &rows.collect::<Vec<_>>())
}

fn size_figure(sample: &PageSample<'_>, part: &RunPart<'_>, name: &str) -> Option<Figure> {
    let histogram = part.part("sizes")?;
    let known: Vec<(f64, f64)> =
        histogram.column("size").into_iter().zip(histogram.column("families")).collect();
    let largest = part.value("largest").filter(|size| *size > 0.0)?;
    let families = |size: usize| {
        known.iter().find(|(known, _)| *known == size as f64).map_or(0.0, |(_, families)| *families)
    };
    let last = (largest as usize).min(MAX_SIZE_BARS);
    let mut bars: Vec<(String, f64)> =
        (1..=last).map(|size| (size.to_string(), families(size))).collect();
    let larger = known.iter().filter(|(size, _)| *size > MAX_SIZE_BARS as f64);
    let larger: f64 = larger.map(|(_, families)| families).sum();
    if larger > 0.0 {
        bars.push(("larger".into(), larger));
    }
    let x = format!("Family size ({name})");
    Some(Figure {
        id: sample.element_id(&format!("umi-{}-plot", name.replace(' ', "-"))),
        title: "UMI family sizes",
        reading: format!(
            "Families by their number of {name}. A family has the {name} at one position whose UMIs \
             belong to one molecule. A consensus needs families of two or more. The data table counts \
             families of 1,000 or more together."
        ),
        alt: format!(
            "Bars of the number of families by size; the largest family has {} {name}.",
            plain_number(largest)
        ),
        svg: draw_bars(&Axes { x: &x, y: "Families", ..Axes::default() }, bars),
        table: table_of_columns(
            &histogram,
            "UMI family sizes",
            &[("size", "Family size"), ("families", "Families")],
        ),
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use serde_json::{Value, json};

    fn section(families: &Value) -> Option<String> {
        let run = json!({"reports": {"umi_families": families}});
        let limits = Limits::for_assay(Assay::Panel);
        let sample = PageSample { run: RunPart::new(&run), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).map(Markup::into_string)
    }

    #[test]
    fn families_have_sizes_and_a_duplex_yield_if_it_is_known() {
        let none = json!({"templates": 0, "without_umi": 0, "corrected": 0, "families": 0, "both_strands": null,
            "largest": 0, "sizes": {"size": [], "families": []}});
        let mut pairs = json!({"templates": 90, "without_umi": 3, "corrected": 9, "families": 30, "both_strands": 6,
            "largest": 40, "sizes": {"size": [1, 3, 40], "families": [20, 9, 1]}});
        let text = section(&json!({"pairs": pairs, "single_reads": none})).unwrap();
        let number = |value: &str, of: &str, shown: &str| {
            let path = "/reports/umi_families/pairs";
            let (json, of) = of.split_once(" of ").unwrap();
            format!(
                "<data value=\"{value}\" data-json=\"{path}/{json}\" data-of=\"{path}/{of}\">{shown}</data>"
            )
        };
        for wanted in [
            number("3", "templates of families", "3.00"),
            number("0.2", "both_strands of families", "20.0\u{a0}%"),
            number("0.1", "corrected of templates", "10.0\u{a0}%"),
            number("0.6666666666666666", "sizes/families/0 of families", "66.7\u{a0}%"),
        ] {
            assert!(text.contains(&wanted), "{wanted}: {text}");
        }
        assert!(text.contains(">larger<") && !text.contains("Single reads"), "{text}");
        pairs["both_strands"] = Value::Null;
        let text = section(&json!({"pairs": pairs, "single_reads": none})).unwrap();
        assert!(!text.contains("duplex"), "{text}");
        assert_eq!(section(&json!({"pairs": none, "single_reads": none})), None);
    }
}
