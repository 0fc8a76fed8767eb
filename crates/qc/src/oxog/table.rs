//! Writes the file of CollectOxoGMetrics.

use readmill_format::metrics::{MetricsFile, MetricsRow};

use super::{CONTEXTS, LIBRARY, OxoGTotals, WAYS};
use crate::substitutions::Libraries;

const COLUMNS: [&str; 20] = [
    "SAMPLE_ALIAS",
    "LIBRARY",
    "CONTEXT",
    "TOTAL_SITES",
    "TOTAL_BASES",
    "REF_NONOXO_BASES",
    "REF_OXO_BASES",
    "REF_TOTAL_BASES",
    "ALT_NONOXO_BASES",
    "ALT_OXO_BASES",
    "OXIDATION_ERROR_RATE",
    "OXIDATION_Q",
    "C_REF_REF_BASES",
    "G_REF_REF_BASES",
    "C_REF_ALT_BASES",
    "G_REF_ALT_BASES",
    "C_REF_OXO_ERROR_RATE",
    "C_REF_OXO_Q",
    "G_REF_OXO_ERROR_RATE",
    "G_REF_OXO_Q",
];

/// Minimum error rate in the file, as in Picard.
const MIN_RATE: f64 = 1e-10;

const LETTERS: &[u8; 4] = b"ACGT";

impl OxoGTotals {
    /// Sets the table, with a row for each context and library. Both are in the order of a Java
    /// `HashSet`, as in Picard.
    pub fn fill(&self, file: &mut MetricsFile, libraries: &Libraries) {
        let name = |context: usize| vec![LETTERS[context / 4], b'C', LETTERS[context % 4]];
        let mut contexts: Vec<Vec<u8>> = (0..CONTEXTS).map(name).collect();
        readmill_record::java::sort_by_hash(&mut contexts);
        let mut rows = Vec::new();
        for context in &contexts {
            let number = (0..CONTEXTS).find(|&number| name(number) == *context).unwrap_or_default();
            for (library, library_name) in libraries.listed_names().enumerate() {
                let mut row = MetricsRow::default();
                row.push_text(libraries.samples()).push_text(library_name).push_text(context);
                self.put_numbers(&mut row, library, number);
                rows.push(row);
            }
        }
        file.set_table("picard.analysis.CollectOxoGMetrics$CpcgMetrics", &COLUMNS, rows);
    }

    fn put_numbers(&self, row: &mut MetricsRow, library: usize, context: usize) {
        let ways = &self.bases[library * LIBRARY + context * WAYS..][..WAYS];
        // Reference C or G, base equal to the reference or not, category of oxidation or not.
        let bases = |g: usize, other: usize| ways[4 * g + 2 * other] + ways[4 * g + 2 * other + 1];
        let by =
            |other: usize, oxidised: usize| ways[2 * other + oxidised] + ways[4 + 2 * other + oxidised];
        let total: u64 = ways.iter().sum();
        row.push_integer(self.sites[library * CONTEXTS + context]).push_integer(total);
        row.push_integer(by(0, 0)).push_integer(by(0, 1)).push_integer(by(0, 0) + by(0, 1));
        row.push_integer(by(1, 0)).push_integer(by(1, 1));
        let more = by(1, 1).saturating_sub(by(1, 0)).max(1);
        put_rate(row, more as f64 / total as f64);
        row.push_integer(bases(0, 0))
            .push_integer(bases(1, 0))
            .push_integer(bases(0, 1))
            .push_integer(bases(1, 1));
        let rate = |g: usize| bases(g, 1) as f64 / (bases(g, 0) + bases(g, 1)) as f64;
        put_rate(row, at_least(rate(0) - rate(1)));
        put_rate(row, at_least(rate(1) - rate(0)));
    }
}

fn put_rate(row: &mut MetricsRow, rate: f64) {
    row.push_decimal(rate).push_decimal(-10.0 * rate.log10());
}

/// Returns `rate`, but at least [`MIN_RATE`]. NaN stays NaN, as in Java.
fn at_least(rate: f64) -> f64 {
    if rate < MIN_RATE { MIN_RATE } else { rate }
}
