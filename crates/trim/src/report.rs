//! Trimming counts as JSON, with the keys of fastp's report.

use serde_json::{Map, Value, json};

use crate::counts::TrimReadCounts;
use crate::filter::FilterVerdict;
use crate::options::TrimOptions;
use crate::poly::BASES;
use crate::tally::{MAX_INSERT_SIZE, TrimTally};

/// Returns the part of fastp's JSON report that trimming determines.
///
/// Sections are omitted under the same conditions as in fastp: sections about pairs if all reads
/// are single, and sections of disabled steps. Per-cycle curves and duplication are not included.
pub fn build_report(options: &TrimOptions, tally: &TrimTally) -> Value {
    let pairs = tally.has_pairs();
    let cycles = |of: usize| tally.before[of].longest;
    let sequencing = match pairs {
        true => format!("paired end ({} cycles + {} cycles)", cycles(0), cycles(1)),
        false => format!("single end ({} cycles)", cycles(0)),
    };
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.into(), value);
    };
    put(
        "summary",
        json!({
            "sequencing": sequencing,
            "before_filtering": summary_json(&tally.before, pairs),
            "after_filtering": summary_json(&tally.after, pairs),
        }),
    );
    put("filtering_result", filtering_json(options, tally));
    if pairs {
        put("insert_size", insert_size_json(&tally.inserts));
    }
    if let Some(adapters) = options.adapters.as_ref().filter(|both| pairs || both[0].is_some()) {
        put("adapter_cutting", adapter_json(adapters, pairs, tally));
    }
    if options.min_poly_x_bases.is_some() {
        put("polyx_trimming", poly_x_json(tally));
    }
    put("read1_before_filtering", counts_json(&tally.before[0]));
    if pairs {
        put("read2_before_filtering", counts_json(&tally.before[1]));
    }
    put("read1_after_filtering", counts_json(&tally.after[0]));
    if pairs {
        put("read2_after_filtering", counts_json(&tally.after[1]));
    }
    Value::Object(all)
}

fn summary_json(reads: &[TrimReadCounts; 2], pairs: bool) -> Value {
    let mut all = reads[0];
    all += reads[1];
    let mut fields = json!({
        "total_reads": all.reads,
        "total_bases": all.bases,
        "q20_bases": all.q20,
        "q30_bases": all.q30,
        "q20_rate": round_rate(all.q20, all.bases),
        "q30_rate": round_rate(all.q30, all.bases),
        "read1_mean_length": reads[0].mean_length(),
        "gc_content": round_rate(all.gc, all.bases),
    });
    if pairs {
        fields["read2_mean_length"] = reads[1].mean_length().into();
    }
    fields
}

/// Returns `part / of`, rounded to six significant digits as fastp prints it; 0 if `of` is 0.
fn round_rate(part: u64, of: u64) -> f64 {
    let exact = if of == 0 { 0.0 } else { part as f64 / of as f64 };
    format!("{exact:.5e}").parse().unwrap_or(exact)
}

fn filtering_json(options: &TrimOptions, tally: &TrimTally) -> Value {
    let mut fields = json!({
        "passed_filter_reads": tally.reads_with_verdict(FilterVerdict::Passed),
        "low_quality_reads": tally.reads_with_verdict(FilterVerdict::LowQuality),
        "too_many_N_reads": tally.reads_with_verdict(FilterVerdict::TooManyN),
        "too_short_reads": tally.reads_with_verdict(FilterVerdict::TooShort),
        "too_long_reads": tally.reads_with_verdict(FilterVerdict::TooLong),
    });
    if options.correction && tally.has_pairs() {
        fields["corrected_reads"] = tally.corrected[0].into();
        fields["corrected_bases"] = tally.corrected[1].into();
    }
    if options.complexity.is_some() {
        fields["low_complexity_reads"] = tally.reads_with_verdict(FilterVerdict::LowComplexity).into();
    }
    fields
}

fn insert_size_json(sizes: &[u64]) -> Value {
    let (known, unknown) = sizes.split_at(MAX_INSERT_SIZE);
    let max_pairs = known.iter().copied().max().unwrap_or(0);
    json!({
        "peak": known.iter().position(|&pairs| pairs == max_pairs),
        "unknown": unknown[0],
        "histogram": known,
    })
}

fn adapter_json(adapters: &[Option<Vec<u8>>; 2], pairs: bool, tally: &TrimTally) -> Value {
    let name = |of: &Option<Vec<u8>>| match of {
        Some(bases) => String::from_utf8_lossy(bases).into_owned(),
        None => "unspecified".to_owned(),
    };
    let mut fields = json!({
        "adapter_trimmed_reads": tally.adapters[0],
        "adapter_trimmed_bases": tally.adapters[1],
        "read1_adapter_sequence": name(&adapters[0]),
    });
    if pairs {
        fields["read2_adapter_sequence"] = name(&adapters[1]).into();
    }
    fields
}

fn poly_x_json(tally: &TrimTally) -> Value {
    let by_base = |counts: &[u64; 4]| -> Map<String, Value> {
        let named = BASES.iter().zip(counts);
        named.map(|(&base, &count)| (char::from(base).to_string(), count.into())).collect()
    };
    let [reads, bases] = &tally.tails;
    json!({
        "total_polyx_trimmed_reads": reads.iter().sum::<u64>(),
        "polyx_trimmed_reads": by_base(reads),
        "total_polyx_trimmed_bases": bases.iter().sum::<u64>(),
        "polyx_trimmed_bases": by_base(bases),
    })
}

fn counts_json(reads: &TrimReadCounts) -> Value {
    json!({
        "total_reads": reads.reads,
        "total_bases": reads.bases,
        "q20_bases": reads.q20,
        "q30_bases": reads.q30,
        "total_cycles": reads.longest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_six_digits() {
        assert_eq!(
            [round_rate(2, 3), round_rate(1, 30_000), round_rate(0, 0), round_rate(5, 5)],
            [0.666667, 3.33333e-5, 0.0, 1.0]
        );
    }

    #[test]
    fn fields_are_those_of_what_was_asked_for() {
        let has = |options: &TrimOptions, name: &str| {
            build_report(options, &TrimTally::default()).get(name).is_some()
        };
        let options = TrimOptions::default();
        assert!(!has(&options, "polyx_trimming") && !has(&options, "adapter_cutting"));
        assert!(has(&TrimOptions { min_poly_x_bases: Some(10), ..options.clone() }, "polyx_trimming"));
        let named = Some([Some(b"ACGT".to_vec()), None]);
        assert!(has(&TrimOptions { adapters: named, ..options }, "adapter_cutting"));
    }
}
