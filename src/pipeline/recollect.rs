//! Collects template ends a second time, from the reads in the sort buffer. This is needed if mates
//! were paired within batches, and the whole input then turns out not to be grouped by name.
//!
//! Coordinate mode pairs reads of the same name over the whole input, in coordinate order. Stored
//! pairs have no names, so only the reads themselves show which pairs share a name with other
//! reads.

use std::sync::Arc;

use readmill_engine::{Crew, map_ordered};
use readmill_markdup::{DuplicateEnds, EndStore, EndsPart};
use readmill_process::console::Console;
use readmill_record::{Batch, Charge, Error, Result};
use readmill_sort::{Merge, PARTITION, Partition, Range, Sources};

use super::parallel_sort::ThreadedSort;
use super::sort_context::{ENDS, crew_for};

const RECOLLECTED_READS: &str = "reads whose ends are collected again";

/// Size of the smallest possible record in bytes, which bounds the number of ends in a range.
const SMALLEST_RECORD: u64 = 37;

/// Replaces the items of `ends` by items that are collected from `sources` by the rules of
/// `duplicate_ends`. Returns the charge for their memory. First releases `charge`, which holds the
/// old items. `largest` is the size of the largest record in bytes.
pub fn collect_ends_again(
    crew: Crew,
    sources: &Arc<Sources>,
    largest: u64,
    duplicate_ends: &DuplicateEnds,
    ends: &mut EndStore,
    charge: Charge,
    console: &Console,
) -> Result<Charge> {
    console.begin_stage("pairing again", None, false);
    ends.clear_items(duplicate_ends);
    let ledger = charge.ledger().clone();
    drop(charge);
    let mut charge = ledger.empty_charge(ENDS);
    let (crew, _large) = crew_for(crew, &ledger, largest)?;
    let each =
        2 * PARTITION + 2 * PARTITION / SMALLEST_RECORD * duplicate_ends.max_bytes_per_record() as u64;
    let in_flight = crew.in_flight.min(usize::try_from(ledger.free() / 2 / each).unwrap_or(1)).max(1);
    let _batches = ledger.charge(RECOLLECTED_READS, each * in_flight as u64)?;
    let limit = ledger.free() / 2;
    let mut room = ledger.charge(ENDS, limit)?;
    let (threads, spill) = (ThreadedSort(crew), &sources.spill);
    let mut merge = Merge::new(Arc::clone(sources));
    let mut turn = 0;
    let collect = |(scratch, batch): &mut (_, Batch), range: Range| {
        Partition::from(range.order_records()?).gather_into(batch)?;
        let mut part = EndsPart::default();
        duplicate_ends.collect_ends(scratch, batch, &mut part)?;
        Ok::<_, Error>((part, batch.len() as u64))
    };
    let claim = || Ok(merge.next_range());
    map_ordered(
        Crew { in_flight, ..crew },
        claim,
        || (duplicate_ends.new_scratch(), Batch::with_capacity(0)),
        collect,
        |(part, records)| {
            console.advance(records);
            ends.push_items(&part);
            if ends.bytes() > limit {
                ends.spill(&threads, spill, turn)?;
                turn += 1;
            }
            Ok(())
        },
    )?;
    room.move_to(&mut charge, ends.bytes());
    Ok(charge)
}
