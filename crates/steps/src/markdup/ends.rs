//! Ends from a batch of reads: pairs where both mates stand together, halves and fragments else.

use std::collections::HashMap;

use readmill_record::{Batch, Error, Header, RecordRef, Result, Stamp, tag};

use super::grouping::Evidence;
use super::item::{self, End, EndKey, Fragment, Half, Pair, Read};
use super::location::Location;
use super::score::score;

/// Most bytes one record can leave: a half and a fragment, and the hash of its name.
pub const MOST_BYTES: usize = size_of::<Half>() + size_of::<Fragment>() + 8;

/// The library of reads whose read group names none.
const UNKNOWN_LIBRARY: u16 = 0;

/// Notes what duplicates are judged by.
pub struct DuplicateEnds {
    /// Index in the header and library of each read group.
    read_groups: HashMap<Vec<u8>, (u16, u16)>,
    /// Whether mates that stand together are paired at once. Otherwise all are joined by name, in the
    /// order of a coordinate-sorted file, as Picard meets them.
    together: bool,
    /// Whether to look for evidence on grouping.
    judge: bool,
}

/// One thread's scratch.
pub struct Scratch {
    pending: Pending,
    judge: bool,
}

/// What one batch leaves.
#[derive(Default)]
pub struct EndsPart {
    pub(super) pairs: Vec<Pair>,
    pub(super) present: Vec<EndKey>,
    pub(super) halves: Vec<Half>,
    pub(super) fragments: Vec<Fragment>,
    pub(super) evidence: Evidence,
    pub(super) without_read_group: u64,
    pub(super) has_dt: bool,
}

impl EndsPart {
    /// Bytes its items take.
    pub fn bytes(&self) -> u64 {
        let items = self.pairs.len() * size_of::<Pair>()
            + self.present.len() * size_of::<EndKey>()
            + self.halves.len() * size_of::<Half>()
            + self.fragments.len() * size_of::<Fragment>();
        items as u64 + self.evidence.bytes()
    }
}

impl Scratch {
    /// Judges, before any filter, whether the batch came from input grouped by name.
    pub fn judge(&mut self, batch: &Batch, part: &mut EndsPart) {
        if self.judge {
            part.evidence = Evidence::of(batch);
        }
    }
}

impl DuplicateEnds {
    /// For reads under this header, as it is after all steps. `grouped` says that the input may be
    /// grouped by name.
    pub fn new(header: &Header, grouped: bool) -> Result<Self> {
        let mut libraries: HashMap<&[u8], u16> =
            HashMap::from([(&b"Unknown Library"[..], UNKNOWN_LIBRARY)]);
        let mut read_groups = HashMap::new();
        for (index, line) in header.lines_of(b"RG").enumerate() {
            let Some(id) = line.get(b"ID") else { continue };
            let next = libraries.len();
            let library = line.get(b"LB").map_or(UNKNOWN_LIBRARY, |name| {
                *libraries.entry(name).or_insert(next.min(usize::from(u16::MAX)) as u16)
            });
            if index >= usize::from(u16::MAX) {
                return Err(Error::input("the header has more than 65,534 read groups"));
            }
            read_groups.insert(id.to_vec(), (index as u16, library));
        }
        Ok(DuplicateEnds { read_groups, together: grouped, judge: grouped })
    }

    /// Whether the input may turn out to be grouped by name.
    pub fn may_be_grouped(&self) -> bool {
        self.judge
    }

    /// A thread's scratch.
    pub fn scratch(&self) -> Scratch {
        Scratch { pending: Vec::new(), judge: self.judge }
    }

    /// Notes the batch's ends.
    pub fn accept(&self, scratch: &mut Scratch, batch: &Batch, part: &mut EndsPart) {
        let mut template = None;
        for (stamp, record) in batch.records() {
            if template.replace(stamp.template()) != Some(stamp.template()) {
                flush(scratch, part);
            }
            let group = self.scan_fields(record, part);
            let flags = record.flags();
            if flags.is_unmapped() || !flags.is_primary() {
                continue;
            }
            let (read, known) = self.read(record, stamp, group);
            if !flags.is_paired() || flags.is_mate_unmapped() {
                part.fragments.push(item::fragment(&read));
                continue;
            }
            part.without_read_group += u64::from(!known);
            if record.qname() == b"*" {
                let lone = (read.next_ref_id >= 0).then(|| item::end_key(&read.end));
                part.present.extend(lone); // nothing says which read is its mate
                continue;
            }
            if read.next_ref_id < 0 {
                part.fragments.push(item::fragment(&read)); // its mate is nowhere: it is judged alone, too
            }
            let name = hash(group.unwrap_or_default(), record.qname());
            if self.together {
                let EndsPart { pairs, present, .. } = part;
                let replaced = meet(&mut scratch.pending, name, read, |seen, arriving| {
                    let (pair, second) = item::pair(seen, arriving);
                    pairs.push(pair);
                    present.extend(second);
                });
                let lone = replaced.filter(|read| read.next_ref_id >= 0);
                present.extend(lone.map(|read| item::end_key(&read.end)));
            } else {
                part.halves.push(item::half(name, &read));
            }
        }
        flush(scratch, part);
    }

    /// The read group, in one walk that also looks for DT.
    fn scan_fields<'a>(&self, record: RecordRef<'a>, part: &mut EndsPart) -> Option<&'a [u8]> {
        let mut group = None;
        for field in record.fields() {
            if field.tag == tag::RG && field.kind == b'Z' && group.is_none() {
                group = Some(field.value);
            }
            part.has_dt |= field.tag == tag::DT;
        }
        group
    }

    /// What is known of a read, and whether its read group is in the header.
    fn read(&self, record: RecordRef<'_>, stamp: Stamp, group: Option<&[u8]>) -> (Read, bool) {
        let known = group.map(|id| self.read_groups.get(id).copied());
        let unknown = (self.read_groups.len() as u16, UNKNOWN_LIBRARY);
        let (index, library) = known.map_or((0, UNKNOWN_LIBRARY), |found| found.unwrap_or(unknown));
        let location = Location::parse(record.qname());
        let flags = record.flags();
        let read = Read {
            end: End {
                library,
                ref_id: record.ref_id(),
                five_prime: record.five_prime(),
                reverse: flags.is_reverse(),
            },
            pos: record.pos(),
            score: score(record),
            location: location.unwrap_or(Location::NONE),
            read_group: if location.is_some() { index } else { u16::MAX },
            first_segment: flags.is_first(),
            next_ref_id: record.next_ref_id(),
            ordinal: stamp.ordinal(),
            lead: (stamp.ordinal() - stamp.template()) as u32,
        };
        (read, known.flatten().is_some())
    }
}

/// 128 bits of read group and name; 10^9 names collide with a probability of 10^-21.
fn hash(group: &[u8], name: &[u8]) -> u128 {
    let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
    hasher.update(group);
    hasher.update(b"\0");
    hasher.update(name);
    hasher.digest128()
}

/// A read that waits for its mate, under the hash of its read group and name.
pub(super) type Pending = Vec<(u128, Read)>;

/// Pairs the arriving read with the one that waits for a mate on its reference sequence, or lets it
/// wait. One that waits for the same is replaced and given back: it stays without a mate (Picard 3.4
/// does so on queryname-grouped input, and stops with an error on coordinate-sorted input).
pub(super) fn meet(
    pending: &mut Pending,
    name: u128,
    read: Read,
    mut paired: impl FnMut(&Read, &Read),
) -> Option<Read> {
    let waits = |next_ref_id: i32| {
        move |(other, seen): &(u128, Read)| *other == name && seen.next_ref_id == next_ref_id
    };
    if let Some(at) = pending.iter().position(waits(read.end.ref_id)) {
        paired(&pending.remove(at).1, &read);
        return None;
    }
    let replaced = pending.iter().position(waits(read.next_ref_id)).map(|at| pending.remove(at).1);
    pending.push((name, read));
    replaced
}

/// What has not met its mate by the end of its template has to be joined later.
fn flush(scratch: &mut Scratch, part: &mut EndsPart) {
    part.halves.extend(scratch.pending.drain(..).map(|(name, read)| item::half(name, &read)));
}
