//! Decides by names which of several best reads of a set stays, in a pass over all reads once they are in order.

use std::sync::Arc;

use readmill_engine::{Crew, map_ordered};
use readmill_markdup::Verdict;
use readmill_markdup::samtools::{TiedRead, Undecided};
use readmill_record::{Error, RecordRef, Result};
use readmill_sort::{Merge, Partition, Range, Sources};

use crate::process::console::Console;

/// Decides what the verdict leaves to names.
pub fn decide(
    crew: Crew,
    sources: &Arc<Sources>,
    verdict: &mut Verdict,
    undecided: &Undecided,
    console: &Console,
) -> Result<()> {
    for mut kept in undecided.passes() {
        console.stage("comparing names", None, false);
        let sets = kept.sets();
        let mut merge = Merge::new(Arc::clone(sources));
        let find = |(): &mut (), range: Range| {
            let (mut found, mut records) = (Vec::<TiedRead>::new(), 0);
            Partition::from(range.order()?).gather(|stamp, raw| {
                records += 1;
                found.extend(undecided.tied(&sets, stamp, RecordRef::new(raw))?);
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
                found.into_iter().for_each(|read| kept.offer(read));
                Ok(())
            },
        )?;
        verdict.keep(kept);
    }
    verdict.conclude(undecided)
}
