//! Stacked bars: numbers of reads or bases by what became of them, one bar for each sample.

use serde_json::{Value, json};

use crate::metrics::{GENOME, TARGETS, TRIMMED_BEFORE, flagstat_count, library_rows};
use crate::run::RunPart;

/// The numbers of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Number of all reads or bases, of which the parts are shares. It can exceed the sum of the parts.
    pub total: f64,
    /// One number for each part of the kind.
    pub parts: Vec<f64>,
}

/// A plot with a stacked bar for each sample.
pub struct BarKind {
    pub id: &'static str,
    pub title: &'static str,
    pub reading: &'static str,
    /// What the numbers count, in the plural.
    pub unit: &'static str,
    /// Names of the parts, at most seven: there are seven colours.
    pub parts: &'static [&'static str],
    /// Gets the bar of a run. `None` if the run lacks the data.
    pub collect: fn(&RunPart<'_>) -> Option<Bar>,
}

pub const BAR_KINDS: &[BarKind] = &[
    BarKind {
        id: "reads",
        title: "Mapped reads",
        reading: "Sequenced reads (primary records), from samtools flagstat. Its count of duplicates includes \
            unmapped mates, so duplicates have a plot of their own.",
        unit: "reads",
        parts: &["mapped", "unmapped"],
        collect: mapped_bar,
    },
    BarKind {
        id: "duplicates",
        title: "Duplicates by kind",
        reading: "Reads by the result of duplicate marking. A pair counts as two reads. A single read is mapped, \
            but has no mapped mate. The sequencer makes optical duplicates; PCR makes most other duplicates.",
        unit: "reads",
        parts: &[
            "pairs, not duplicates",
            "single reads, not duplicates",
            "pairs, optical duplicates",
            "pairs, other duplicates",
            "single reads, duplicates",
            "unmapped reads",
        ],
        collect: duplicates_bar,
    },
    BarKind {
        id: "excluded",
        title: "Excluded bases of the genome",
        reading: "Aligned bases that CollectWgsMetrics does not count as coverage, by reason. Numbers are computed \
            from these shares and the mean coverage.",
        unit: "bases",
        parts: &[
            "low mapping quality",
            "duplicate",
            "mate unmapped",
            "low base quality",
            "overlapping mates",
            "above the maximum depth",
            "adapter",
        ],
        collect: excluded_bar,
    },
    BarKind {
        id: "excluded-targets",
        title: "Excluded bases of the targets",
        reading: "Aligned bases that CollectHsMetrics does not count as coverage of the targets, by reason.",
        unit: "bases",
        parts: &[
            "low mapping quality",
            "duplicate",
            "off target",
            "low base quality",
            "overlapping mates",
            "adapter",
        ],
        collect: excluded_target_bar,
    },
    BarKind {
        id: "trimmed",
        title: "Reads kept and dropped by trimming",
        reading: "Reads by the result of trimming and filtering.",
        unit: "reads",
        parts: &["kept", "low quality", "too many N", "too short", "too long", "low complexity"],
        collect: trimmed_bar,
    },
    BarKind {
        id: "transcripts",
        title: "Bases by part of genes",
        reading: "Aligned bases, from CollectRnaSeqMetrics.",
        unit: "bases",
        parts: &["coding", "untranslated (UTR)", "intronic", "intergenic", "ribosomal"],
        collect: transcript_bar,
    },
];

fn mapped_bar(run: &RunPart<'_>) -> Option<Bar> {
    let count = |name: &str| Some(flagstat_count(run, name)?.value);
    let (total, mapped) = (count("primary")?, count("primary mapped")?);
    Some(Bar { total, parts: vec![mapped, total - mapped] })
}

fn duplicates_bar(run: &RunPart<'_>) -> Option<Bar> {
    let rows = library_rows(run);
    let sum = |name: &str| rows.iter().map(|row| row.value(name)).sum::<Option<f64>>();
    let (pairs, pair_duplicates) = (sum("READ_PAIRS_EXAMINED")?, sum("READ_PAIR_DUPLICATES")?);
    let optical = sum("READ_PAIR_OPTICAL_DUPLICATES")?;
    let (singles, single_duplicates) =
        (sum("UNPAIRED_READS_EXAMINED")?, sum("UNPAIRED_READ_DUPLICATES")?);
    let parts = vec![
        2.0 * (pairs - pair_duplicates),
        singles - single_duplicates,
        2.0 * optical,
        2.0 * (pair_duplicates - optical),
        single_duplicates,
        sum("UNMAPPED_READS")?,
    ];
    (!rows.is_empty()).then(|| Bar { total: parts.iter().sum(), parts })
}

fn excluded_bar(run: &RunPart<'_>) -> Option<Bar> {
    let row = run.part(GENOME)?;
    let counted = row.value("MEAN_COVERAGE")? * row.value("GENOME_TERRITORY")?;
    let total = counted / (1.0 - row.value("PCT_EXC_TOTAL")?);
    let reasons = ["MAPQ", "DUPE", "UNPAIRED", "BASEQ", "OVERLAP", "CAPPED", "ADAPTER"];
    total.is_finite().then(|| shares_bar(&row, &reasons, total))
}

fn excluded_target_bar(run: &RunPart<'_>) -> Option<Bar> {
    let row = run.part(TARGETS)?;
    let total = row.value("PF_BASES_ALIGNED")?;
    row.at("PCT_EXC_DUPE")?;
    Some(shares_bar(&row, &["MAPQ", "DUPE", "OFF_TARGET", "BASEQ", "OVERLAP", "ADAPTER"], total))
}

/// Returns the bar whose parts are the fields `PCT_EXC_REASON` of a row, times `total`.
fn shares_bar(row: &RunPart<'_>, reasons: &[&str], total: f64) -> Bar {
    let share = |reason: &&str| row.value(&format!("PCT_EXC_{reason}")).unwrap_or(0.0);
    Bar { total, parts: reasons.iter().map(|reason| share(reason) * total).collect() }
}

fn trimmed_bar(run: &RunPart<'_>) -> Option<Bar> {
    let total = run.part(TRIMMED_BEFORE)?.value("total_reads")?;
    let results = run.part("trimming/filtering_result")?;
    let names = [
        "passed_filter_reads",
        "low_quality_reads",
        "too_many_N_reads",
        "too_short_reads",
        "too_long_reads",
        "low_complexity_reads",
    ];
    results.at("passed_filter_reads")?;
    let parts = names.iter().map(|name| results.value(name).unwrap_or(0.0)).collect();
    Some(Bar { total, parts })
}

fn transcript_bar(run: &RunPart<'_>) -> Option<Bar> {
    let row = run.first_row_of_all("rna_metrics", |_| true)?;
    let total = row.value("PF_ALIGNED_BASES")?;
    let names = ["CODING_BASES", "UTR_BASES", "INTRONIC_BASES", "INTERGENIC_BASES", "RIBOSOMAL_BASES"];
    let parts = names.iter().map(|name| row.value(name).unwrap_or(0.0)).collect();
    Some(Bar { total, parts })
}

/// Returns the bars of all kinds that at least one sample has, for the script. Parts without any number
/// are left out. `samples` has the bars of each sample, in the order of [`BAR_KINDS`].
pub fn bars_json(samples: &[&[Option<Bar>]]) -> Value {
    let bars = |(number, kind): (usize, &BarKind)| {
        let bars: Vec<Option<Bar>> =
            samples.iter().map(|own| own.get(number).cloned().flatten()).collect();
        bars.iter().any(Option::is_some).then(|| kind_json(kind, &bars))
    };
    BAR_KINDS.iter().enumerate().filter_map(bars).collect()
}

fn kind_json(kind: &BarKind, bars: &[Option<Bar>]) -> Value {
    let whole = |number: f64| number.max(0.0).round() as u64;
    let numbers = |part: usize| -> Vec<Option<u64>> {
        bars.iter().map(|bar| bar.as_ref()?.parts.get(part).copied().map(whole)).collect()
    };
    let parts: Vec<(&str, Vec<Option<u64>>)> = kind
        .parts
        .iter()
        .enumerate()
        .map(|(part, name)| (*name, numbers(part)))
        .filter(|(_, numbers)| numbers.iter().flatten().any(|number| *number > 0))
        .collect();
    let totals: Vec<Option<u64>> =
        bars.iter().map(|bar| bar.as_ref().map(|bar| whole(bar.total))).collect();
    let (names, values): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    json!({
        "id": kind.id, "title": kind.title, "reading": kind.reading, "unit": kind.unit,
        "parts": names, "values": values, "totals": totals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(run: &Value, id: &str) -> Option<Bar> {
        let kind = BAR_KINDS.iter().find(|kind| kind.id == id).unwrap();
        (kind.collect)(&RunPart::new(run))
    }

    #[test]
    fn parts_of_reads_add_up_to_all_reads() {
        let both = |passed: u32, failed: u32| json!({"passed": passed, "failed": failed});
        let run = json!({"reports": {
            "flagstat": {"primary": both(90, 10), "primary mapped": both(72, 8)},
            "duplicates": {"rows": [{
                "READ_PAIRS_EXAMINED": 30, "UNPAIRED_READS_EXAMINED": 20, "READ_PAIR_DUPLICATES": 8,
                "READ_PAIR_OPTICAL_DUPLICATES": 2, "UNPAIRED_READ_DUPLICATES": 4, "UNMAPPED_READS": 20,
            }]},
        }});
        let wanted = Bar { total: 100.0, parts: vec![80.0, 20.0] };
        assert_eq!(bar(&run, "reads"), Some(wanted));
        let wanted = Bar { total: 100.0, parts: vec![44.0, 16.0, 4.0, 12.0, 4.0, 20.0] };
        assert_eq!(bar(&run, "duplicates"), Some(wanted));
        assert_eq!(bar(&json!({}), "duplicates"), None);
        assert_eq!(bar(&json!({}), "excluded"), None);
    }

    #[test]
    fn excluded_bases_are_shares_of_the_aligned_bases() {
        let run = json!({"reports": {"wgs_metrics": {"rows": [{
            "MEAN_COVERAGE": 8.0, "GENOME_TERRITORY": 100, "PCT_EXC_TOTAL": 0.2, "PCT_EXC_DUPE": 0.15,
            "PCT_EXC_BASEQ": 0.05,
        }]}}});
        let parts = vec![0.0, 150.0, 0.0, 50.0, 0.0, 0.0, 0.0];
        assert_eq!(bar(&run, "excluded"), Some(Bar { total: 1000.0, parts }));
    }

    #[test]
    fn parts_without_numbers_are_left_out() {
        let of = |parts: [f64; 2]| Some(Bar { total: 10.0, parts: parts.to_vec() });
        let found = kind_json(&BAR_KINDS[0], &[of([10.0, 0.0]), None]);
        assert_eq!(found["parts"], json!(["mapped"]));
        assert_eq!(found["values"], json!([[10, null]]));
        assert_eq!(found["totals"], json!([10, null]));
    }

    #[test]
    fn each_kind_has_a_colour_for_each_part() {
        for kind in BAR_KINDS {
            assert_eq!(BAR_KINDS.iter().filter(|it| it.id == kind.id).count(), 1);
            assert!(kind.parts.len() <= 7 && kind.reading.ends_with('.'), "{}", kind.id);
        }
    }
}
