//! The number of reads, as `samtools view -c` writes it.

use readmill_record::{Batch, Detail, Result, Tally};

use super::spec::{Report, TallySpec};

/// The specification of the tally. `readmill view -c` asks for it; it has no flag or subcommand of its own.
pub const SPEC: TallySpec =
    TallySpec::new("count", |_| Report::new(Count, |reads, _| format!("{reads}\n").into_bytes()));

/// Counts reads.
struct Count;

impl Tally for Count {
    type Partial = u64;
    type Total = u64;

    fn detail(&self) -> Detail {
        Detail::Flags
    }

    fn observe(&self, reads: &mut u64, batch: &Batch) -> Result<()> {
        *reads += batch.len() as u64;
        Ok(())
    }

    fn merge(&self, into: &mut u64, from: u64) {
        *into += from;
    }

    fn finish(&self, total: u64) -> Result<u64> {
        Ok(total)
    }
}
