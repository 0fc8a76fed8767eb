//! The summary numbers, SN.

use std::fmt::Write as _;

use super::counts::Count as C;
use super::insert_sizes::Insertion;
use super::partial::StatsPartial;

/// Writes the rows of summary numbers, in samtools' order and arithmetic (in single precision where samtools
/// uses it).
pub(super) fn write(counted: &StatsPartial, sorted: bool, insertion: &Insertion, out: &mut String) {
    let n = |count: C| counted.counts.of(count);
    let reads = n(C::First) + n(C::Last) + n(C::Other);
    let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f32 / b as f32 };
    let quality: u64 = counted.qualities.iter().map(|table| table.sum_and_highest().0).sum();
    let quality = if n(C::Bases) == 0 { 0.0 } else { quality as f64 / n(C::Bases) as f64 };
    let error_rate = exponential(ratio(counted.mismatches, n(C::CigarBases)));
    let order = if sorted { "sorted" } else { "not sorted" };
    let proper = if reads == 0 { 0.0 } else { (100 * n(C::Proper)) as f32 / reads as f32 };
    let [inward, outward, other] = insertion.pairs;
    let [longest, longest_first, longest_last] = counted.longest;
    let mut row = |name: &str, value: String, comment: &str| {
        let space = if comment.is_empty() { "" } else { "\t# " };
        let _ = writeln!(out, "SN\t{name}:\t{value}{space}{comment}");
    };
    let text = |number: u64| number.to_string();
    row("raw total sequences", text(reads), "excluding supplementary and secondary reads");
    row("filtered sequences", text(0), "");
    row("sequences", text(reads), "");
    row("is sorted", text(u64::from(sorted)), &format!("{order} by coordinate"));
    row("1st fragments", text(n(C::First)), "");
    row("last fragments", text(n(C::Last)), "");
    row("reads mapped", text(n(C::MappedInPair) + n(C::MappedAlone)), "");
    let both_mapped = "paired-end technology bit set + both mates mapped";
    row("reads mapped and paired", text(n(C::MappedInPair)), both_mapped);
    row("reads unmapped", text(n(C::Unmapped)), "");
    row("reads properly paired", text(n(C::Proper)), "proper-pair bit set");
    row("reads paired", text(n(C::Paired)), "paired-end technology bit set");
    row("reads duplicated", text(n(C::Duplicates)), "PCR or optical duplicate bit set");
    row("reads MQ0", text(n(C::MapqZero)), "mapped and MQ=0");
    row("reads QC failed", text(n(C::QcFailed)), "");
    row("non-primary alignments", text(n(C::Secondary)), "");
    row("supplementary alignments", text(n(C::Supplementary)), "");
    row("total length", text(n(C::Bases)), "ignores clipping");
    row("total first fragment length", text(n(C::FirstBases)), "ignores clipping");
    row("total last fragment length", text(n(C::LastBases)), "ignores clipping");
    row("bases mapped", text(n(C::MappedBases)), "ignores clipping");
    row("bases mapped (cigar)", text(n(C::CigarBases)), "more accurate");
    row("bases trimmed", text(0), "");
    row("bases duplicated", text(n(C::DuplicateBases)), "");
    row("mismatches", counted.mismatches.cast_signed().to_string(), "from NM fields");
    row("error rate", error_rate, "mismatches / bases mapped (cigar)");
    row("average length", format!("{:.0}", ratio(n(C::Bases), reads)), "");
    row("average first fragment length", format!("{:.0}", ratio(n(C::FirstBases), n(C::First))), "");
    row("average last fragment length", format!("{:.0}", ratio(n(C::LastBases), n(C::Last))), "");
    row("maximum length", longest.to_string(), "");
    row("maximum first fragment length", longest_first.to_string(), "");
    row("maximum last fragment length", longest_last.to_string(), "");
    row("average quality", format!("{quality:.1}"), "");
    row("insert size average", format!("{:.1}", insertion.mean), "");
    row("insert size standard deviation", format!("{:.1}", insertion.deviation), "");
    row("inward oriented pairs", text(inward), "");
    row("outward oriented pairs", text(outward), "");
    row("pairs with other orientation", text(other), "");
    row("pairs on different chromosomes", text(n(C::OtherContig) / 2), "");
    row("percentage of properly paired reads (%)", format!("{proper:.1}"), "");
}

/// C's `%e`: six digits after the point, an exponent of at least two.
fn exponential(number: f32) -> String {
    let text = format!("{:.6e}", f64::from(number));
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::exponential;

    #[test]
    fn exponents_have_two_digits_and_a_sign() {
        for (number, text) in [
            (0.0, "0.000000e+00"),
            (0.001_234_567_8, "1.234568e-03"),
            (1.0, "1.000000e+00"),
            (1e10, "1.000000e+10"),
        ] {
            assert_eq!(exponential(number), text);
        }
    }
}
