//! The number of reads, as `samtools view -c` prints it.

use readmill_record::{Batch, Detail, Result, Tally};

use crate::spec::{TallyReport, TallySpec};

/// The description of this tally. `readmill view -c` asks for it; it has no flag and no subcommand.
pub const SPEC: TallySpec = TallySpec::new("count", |_| {
    TallyReport::new(ReadCount, |reads, _| format!("{reads}\n").into_bytes())
});

struct ReadCount;

impl Tally for ReadCount {
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
