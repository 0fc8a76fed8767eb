//! Decides by read names which of several equally good reads of a duplicate set is kept (the rules
//! of samtools markdup). Names are not stored with the ends, so this needs passes over all reads in
//! sorted order.

use std::sync::Arc;

use readmill_engine::{Crew, map_ordered};
use readmill_markdup::Verdict;
use readmill_markdup::samtools::{NamedRead, Undecided};
use readmill_process::console::Console;
use readmill_record::{Charge, Error, RecordRef, Result};
use readmill_sort::{Merge, Partition, Range, Sources};

use super::parallel_sort::ThreadedSort;

const CHARGE_STEP_BYTES: u64 = 1 << 20;

/// Completes `verdict` for the sets in which names decide. `charge` holds the memory of the passes,
/// and grows if a group of candidates is too large for it. Warns if names do not contain the
/// position on the flow cell.
pub fn decide_by_names(
    crew: Crew,
    sources: &Arc<Sources>,
    verdict: &mut Verdict,
    mut undecided: Undecided,
    charge: &mut Charge,
    console: &Console,
) -> Result<()> {
    let threads = ThreadedSort(crew);
    for pass in 0..undecided.pass_count() {
        console.begin_stage("comparing names", None, false);
        let mut kept = undecided.begin_pass(pass);
        let choice = kept.pass_choice();
        let mut room = undecided.pass_bytes();
        let mut merge = Merge::new(Arc::clone(sources));
        let find = |(): &mut (), range: Range| {
            let (mut found, mut records) = (Vec::<NamedRead>::new(), 0);
            Partition::from(range.order_records()?).gather(|stamp, raw| {
                records += 1;
                found.extend(undecided.find_named_read(&choice, stamp, RecordRef::new(raw))?);
                Ok(())
            })?;
            Ok::<_, Error>((found, records))
        };
        let claim = || Ok(merge.next_range());
        map_ordered(
            crew,
            claim,
            || (),
            find,
            |(found, records)| {
                console.advance(records);
                found.into_iter().for_each(|read| kept.offer_read(read));
                if kept.bytes() > room {
                    let more = (kept.bytes() - room).next_multiple_of(CHARGE_STEP_BYTES);
                    charge.grow(more)?;
                    room += more;
                }
                Ok(())
            },
        )?;
        verdict.unmark_kept_reads(kept, &mut undecided, &threads)?;
    }
    if let Some((reads, name)) = undecided.unlocated_reads() {
        console.write_warning(&format!(
            "the names of {reads} reads with duplicates do not contain coordinates, so these duplicates are not counted as optical; the first name is {} (set the name format with --read-coords)",
            String::from_utf8_lossy(name)
        ));
    }
    verdict.mark_other_records(undecided, &threads)
}
