//! Counts the adapter bases of reads, as Picard MarkIlluminaAdapters (3.4.0) does in its metrics
//! file.

use std::collections::BTreeMap;

use readmill_format::metrics::{HistogramColumn, MetricsFile};
use readmill_format::report::DescribedReport;
use readmill_record::{Batch, Ledger, Result, SharedPrepaid, Tally, tag};
use serde::{Deserialize, Serialize};

use crate::spec::{TallyReport, TallySpec};

/// The description of this tally. It has neither `--adapters FILE` nor a subcommand: `readmill
/// align` and `readmill import` have a flag of their own for it.
pub const SPEC: TallySpec = TallySpec {
    of_input: true,
    names_sample: true,
    ..TallySpec::new("adapters", |context| {
        TallyReport::new(AdapterBases::new(context.ledger), |counts, names| {
            let command_line = (names.picard_command_line)("MarkIlluminaAdapters");
            counts.to_picard(&command_line, names.started).format_text()
        })
    })
};

pub struct AdapterBases {
    /// Charges the numbers as they appear, because XT of an input may hold any number.
    paid: SharedPrepaid,
}

impl AdapterBases {
    pub fn new(ledger: &Ledger) -> Self {
        AdapterBases { paid: SharedPrepaid::new(ledger.empty_charge("counts of adapter bases")) }
    }
}

/// Memory for each distinct number in bytes: its share of a half-full map node, its bin, and its
/// line of text, which may be copied while the text grows.
const NUMBER_BYTES: u64 = 2 * 24 + 16 + 3 * 32;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AdapterPartial {
    counts: BTreeMap<i64, u64>,
    #[serde(skip)]
    left: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct AdapterBaseCounts(pub BTreeMap<i64, u64>);

impl AdapterBaseCounts {
    /// Returns Picard's metrics file. `started` replaces the date and may have any form, so that
    /// equal runs write equal bytes.
    pub fn to_picard(&self, command_line: &str, started: &str) -> MetricsFile {
        let mut file = MetricsFile::new(command_line, started);
        let bins = self.0.iter().map(|(&bases, &reads)| (bases, reads as f64)).collect();
        let column = HistogramColumn { label: b"read_count".to_vec(), bins };
        file.set_histograms("java.lang.Integer", "clipped_bases", vec![column]);
        file
    }
}

impl Tally for AdapterBases {
    type Partial = AdapterPartial;
    type Total = AdapterBaseCounts;

    fn observe(&self, partial: &mut Self::Partial, batch: &Batch) -> Result<()> {
        for (_, record) in batch.records() {
            if !record.flags().is_primary() {
                continue;
            }
            let start = tag::find_field(record.field_bytes(), tag::XT).and_then(|field| field.integer());
            if let Some(start) = start {
                let bases = record.l_seq() as i64 - start + 1;
                if let Some(count) = partial.counts.get_mut(&bases) {
                    *count += 1;
                    continue;
                }
                self.paid.pay_bytes(&mut partial.left, NUMBER_BYTES)?;
                partial.counts.insert(bases, 1);
            }
        }
        Ok(())
    }

    fn merge(&self, into: &mut Self::Partial, from: Self::Partial) {
        let from = from.counts.into_iter();
        from.for_each(|(bases, reads)| *into.counts.entry(bases).or_default() += reads);
    }

    fn finish(&self, total: Self::Partial) -> Result<AdapterBaseCounts> {
        Ok(AdapterBaseCounts(total.counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_picard() {
        let counts = AdapterBaseCounts([(6, 2), (31, 1)].into());
        let wanted = "## htsjdk.samtools.metrics.StringHeader\n# a b\n## htsjdk.samtools.metrics.StringHeader\n\
# Started on: now\n\n\n## HISTOGRAM\tjava.lang.Integer\nclipped_bases\tread_count\n6\t2\n31\t1\n\n";
        assert_eq!(String::from_utf8_lossy(&counts.to_picard("a\nb", "now").format_text()), wanted);
    }
}
