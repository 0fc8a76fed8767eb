//! Mates that did not stand together, joined by read group and name.

use readmill_format::spill::Spill;
use readmill_record::Result;

use super::collect::Sorter;
use super::ends::{Pending, meet};
use super::item::{self, Read};

/// Where joined ends go.
pub struct Joined<'a> {
    /// Pairs.
    pub pairs: &'a mut Sorter<6>,
    /// Ends that count as paired.
    pub present: &'a mut Sorter<2>,
    /// Called now and then, so that what has been joined can be spilled.
    pub relieve: &'a mut dyn FnMut(&mut Sorter<6>, &mut Sorter<2>) -> Result<()>,
}

/// Joins the halves of each name in the order of a coordinate-sorted file; where `pair` is false none
/// of them has a mate and all are only noted as present.
pub fn join(halves: Sorter<7>, spill: &Spill, pair: bool, into: Joined<'_>) -> Result<()> {
    let mut halves = halves.merge(spill)?;
    let mut pending = Pending::new();
    let mut previous = None;
    let mut since_relief = 0u32;
    while let Some(half) = halves.next_item()? {
        if previous.is_none_or(|previous| !item::same_name(&previous, &half)) {
            leave(&mut pending, into.present);
        }
        let read = item::half_read(&half);
        if pair {
            let replaced = meet(&mut pending, 0, read, |seen, arriving| {
                let (pair, second) = item::pair(seen, arriving);
                into.pairs.extend(&[pair]);
                into.present.extend(second.as_slice());
            });
            stay_alone(replaced.as_ref(), into.present);
        } else {
            pending.push((0, read));
        }
        previous = Some(half);
        since_relief += 1;
        if since_relief == 1 << 16 {
            (into.relieve)(into.pairs, into.present)?;
            since_relief = 0;
        }
    }
    leave(&mut pending, into.present);
    Ok(())
}

/// Reads without a mate in the file: they still make every single read at their end a duplicate.
fn leave(pending: &mut Pending, present: &mut Sorter<2>) {
    for (_, read) in pending.drain(..) {
        stay_alone(Some(&read), present);
    }
}

fn stay_alone(read: Option<&Read>, present: &mut Sorter<2>) {
    if let Some(read) = read.filter(|read| read.next_ref_id >= 0) {
        present.extend(&[item::end_key(&read.end)]);
    }
}
