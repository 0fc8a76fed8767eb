//! The metrics file of Picard MarkDuplicates 3.4, byte for byte.
//!
//! Comment lines, a table with a row for each library, and columns of numbers by key (in Picard's words a
//! histogram): up to four, each only if it is not empty. `CoverageMult` exists if there is exactly one
//! library and its size is known; its keys are multiples of the sequencing depth, those of the others are
//! sizes of sets.
//! Numbers are written as Java writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::{DuplicationMetrics, LibraryCounts, expected_yield};

/// Columns of the table.
pub const COLUMNS: [&str; 10] = [
    "LIBRARY",
    "UNPAIRED_READS_EXAMINED",
    "READ_PAIRS_EXAMINED",
    "SECONDARY_OR_SUPPLEMENTARY_RDS",
    "UNMAPPED_READS",
    "UNPAIRED_READ_DUPLICATES",
    "READ_PAIR_DUPLICATES",
    "READ_PAIR_OPTICAL_DUPLICATES",
    "PERCENT_DUPLICATION",
    "ESTIMATED_LIBRARY_SIZE",
];

/// The largest multiple of the sequencing depth.
const DEEPEST: u64 = 100;

/// A column of the histogram: its name, and texts by key.
type HistogramColumn = (&'static str, BTreeMap<u64, String>);

impl DuplicationMetrics {
    /// Formats the metrics file as Picard does in a locale with a decimal point.
    ///
    /// MultiQC takes the sample's name from what follows `INPUT=` or `--INPUT ` in `command_line`, if that
    /// holds `MarkDuplicates`, too; the table it finds by its class. `started` is a date in any form.
    pub fn to_picard(&self, command_line: &str, started: &str) -> Vec<u8> {
        let mut text = Vec::new();
        for comment in [command_line.to_owned(), format!("Started on: {started}")] {
            let comment = comment.replace(['\n', '\r'], " ");
            put(&mut text, format_args!("## htsjdk.samtools.metrics.StringHeader\n# {comment}\n"));
        }
        text.push(b'\n');
        self.put_table(&mut text);
        text.push(b'\n');
        self.put_histogram(&mut text);
        text.push(b'\n');
        text
    }

    fn put_table(&self, text: &mut Vec<u8>) {
        if self.libraries.is_empty() {
            return;
        }
        put(
            text,
            format_args!("## METRICS CLASS\tpicard.sam.DuplicationMetrics\n{}\n", COLUMNS.join("\t")),
        );
        for (name, counts) in self.sorted() {
            text.extend_from_slice(name);
            for value in row(counts) {
                put(text, format_args!("\t{value}"));
            }
            text.push(b'\n');
        }
    }

    fn put_histogram(&self, text: &mut Vec<u8>) {
        let columns = self.columns();
        let Some((first, _)) = columns.first() else {
            return;
        };
        let label = if *first == "CoverageMult" { "BIN" } else { "set_size" };
        put(text, format_args!("## HISTOGRAM\tjava.lang.Double\n{label}"));
        for (name, _) in &columns {
            put(text, format_args!("\t{name}"));
        }
        text.push(b'\n');
        let keys: BTreeSet<u64> =
            columns.iter().flat_map(|(_, values)| values.keys().copied()).collect();
        for key in keys {
            text.extend_from_slice(double(key).as_bytes());
            for (_, values) in &columns {
                put(text, format_args!("\t{}", values.get(&key).map_or("0", |value| value)));
            }
            text.push(b'\n');
        }
    }

    /// The columns of the histogram that are not empty.
    fn columns(&self) -> Vec<HistogramColumn> {
        let sets = |sizes: &BTreeMap<u64, u64>| {
            sizes.iter().map(|(&size, sets)| (size, sets.to_string())).collect()
        };
        let mut columns = vec![
            ("all_sets", sets(&self.sets.all)),
            ("optical_sets", sets(&self.sets.optical)),
            ("non_optical_sets", sets(&self.sets.non_optical)),
        ];
        if let [(_, counts)] = &self.libraries[..] {
            columns.insert(0, ("CoverageMult", yields(counts)));
        }
        columns.retain(|(_, values): &HistogramColumn| !values.is_empty());
        columns
    }
}

/// Returns the values after the library's name.
fn row(counts: &LibraryCounts) -> [String; 9] {
    [
        counts.unpaired_examined.to_string(),
        counts.pairs_examined().to_string(),
        counts.secondary_or_supplementary.to_string(),
        counts.unmapped.to_string(),
        counts.unpaired_duplicates.to_string(),
        counts.duplicate_pairs().to_string(),
        counts.optical_pairs.to_string(),
        decimal(counts.duplication()),
        counts.library_size().map_or(String::new(), |size| size.to_string()),
    ]
}

/// Returns the gain of sequencing a library deeper, by multiples of the depth; empty if its size is unknown.
fn yields(counts: &LibraryCounts) -> BTreeMap<u64, String> {
    let Some(size) = counts.library_size() else {
        return BTreeMap::new();
    };
    let (pairs, unique) = (counts.pairs_examined(), counts.unique_pairs());
    (1..=DEEPEST)
        .map(|times| (times, decimal(expected_yield(size, times as f64, pairs, unique))))
        .collect()
}

/// Appends text.
fn put(text: &mut Vec<u8>, more: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = text.write_fmt(more);
}

/// Formats a number with at most six decimals, without trailing zeros; exact ties are rounded towards 0. NaN
/// and infinity are `?`, minus infinity `-?`.
///
/// htsjdk's FormatUtil uses java.text.DecimalFormat, which takes the fewest digits that identify a number and
/// rounds them by its exact binary value. Java 17 makes one exception: 5e-7, whose binary value is below the
/// middle, becomes 0.000001.
pub fn decimal(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if !value.is_finite() {
        return if value.is_nan() { "?".into() } else { format!("{sign}?") };
    }
    let shortest = value.to_string();
    if shortest.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 6) {
        return shortest;
    }
    let millionths = if value.abs() == 5e-7 { 1 } else { millionths(value.abs()) };
    let text = format!("{sign}{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a number that is not an integer, and not negative, in millionths: the nearest, ties down.
fn millionths(number: f64) -> u128 {
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32;
    let mantissa = bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52;
    // The number is mantissa / 2^halvings.
    let halvings = 1075 - exponent.max(1);
    if halvings > 100 {
        return 0;
    }
    let product = u128::from(mantissa) * 1_000_000;
    let whole = product >> halvings;
    let rest = product - (whole << halvings);
    whole + u128::from(2 * rest > 1 << halvings)
}

/// Formats an integer as Java's Double.toString writes it: `12.0`, and `1.25E7` from ten million on.
pub fn double(value: u64) -> String {
    if value < 10_000_000 {
        return format!("{value}.0");
    }
    let digits = value.to_string();
    let (first, rest) = digits.split_at(1);
    let rest = rest.trim_end_matches('0');
    format!("{first}.{}E{}", if rest.is_empty() { "0" } else { rest }, digits.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of htsjdk's FormatUtil.format on Java 17, x86-64: the bits of a number, and its text.
    const DECIMALS: &[(u64, &str)] = &[
        (0x3FD7_22B8_E3C4_9450, "0.361494"),
        (0x4077_2060_0000_0000, "370.023437"),
        (0x3E2E_4AA2_E905_35F3, "0"),
        (0x3FAD_90F3_01EA_BBCB, "0.057746"),
        (0x3F37_BAAB_7FD7_1D63, "0.000362"),
        (0x3FE5_77F0_2760_6B42, "0.670891"),
        (0x4014_E490_C0DD_BC00, "5.223208"),
        (0x401F_29E4_C86C_14FC, "7.790912"),
        (0x3FC6_2A64_17D2_4964, "0.173169"),
        (0x40D7_35DB_8469_313A, "23767.429957"),
        (0x3FD2_ACFD_2B73_0BCA, "0.291808"),
        (0x3FBB_262A_F635_91CC, "0.106051"),
        (0x3E51_8391_4967_C0F8, "0"),
        (0x3E70_E5F1_818F_4016, "0"),
        (0x3FB9_9978_1A95_FFAC, "0.099998"),
        (0x4082_196A_74F1_4ABD, "579.176981"),
        (0x4200_76BD_DBF7_3FAF, "8838953854.906096"),
        (0x40C7_67DF_0000_0000, "11983.742187"),
        (0x40C9_5957_0000_0000, "12978.679687"),
        (0x4006_756E_0B76_55C8, "2.807339"),
        (0x3F76_32F1_FC88_49D9, "0.00542"),
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "-0"),
        (0x7FF8_0000_0000_0000, "?"),
        (0x7FF0_0000_0000_0000, "?"),
        (0xFFF0_0000_0000_0000, "-?"),
        (0x4480_F0CF_064D_D592, "10000000000000000000000"),
        (0x430C_6BF5_2634_0000, "1000000000000000"),
        (0x437B_69B4_BA63_0F35, "123456789012345680"),
        (0x3EA0_C6F7_A0B5_ED8D, "0.000001"),
        (0x3EA0_C6F7_9B14_C6AC, "0"),
        (0x01A5_6E1F_C2F8_F359, "0"),
        (0x0000_0000_0000_0001, "0"),
        (0x3FE0_0000_0000_0000, "0.5"),
        (0xBE7A_D7F2_9ABC_AF48, "-0"),
        (0xBFF8_0000_0000_0000, "-1.5"),
        (0x40CC_1599_0000_0000, "14379.195312"),
        (0x40CB_9CDB_0000_0000, "14137.710937"),
        (0x40AE_8174_0000_0000, "3904.726562"),
        (0x40C2_3083_0000_0000, "9313.023437"),
        (0x40BD_84E6_0000_0000, "7556.898437"),
        (0x40C2_8FAB_0000_0000, "9503.335937"),
    ];

    #[test]
    fn decimals_are_those_of_java() {
        for &(bits, text) in DECIMALS {
            assert_eq!(decimal(f64::from_bits(bits)), text, "{:e}", f64::from_bits(bits));
        }
    }

    #[test]
    fn keys_are_those_of_java() {
        for (value, text) in [
            (1, "1.0"),
            (100, "100.0"),
            (9_999_999, "9999999.0"),
            (10_000_000, "1.0E7"),
            (10_000_001, "1.0000001E7"),
            (12_345_678, "1.2345678E7"),
            (1_234_567_890, "1.23456789E9"),
        ] {
            assert_eq!(double(value), text);
        }
    }
}
