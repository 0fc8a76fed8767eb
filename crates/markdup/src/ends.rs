//! Collects the ends of a batch of reads: pairs where both mates are in one template of the batch, else
//! halves and fragments.

use std::sync::Arc;

use readmill_record::{Batch, Error, Header, RecordRef, Result, Stamp, tag};
use serde::{Deserialize, Serialize};

use super::barcodes::Barcodes;
use super::grouping::Evidence;
use super::item::{
    self, Barcoded, End, HALF_REFS, HalfKind, HalfOrder, Item, ItemLayout, PositionOnly, ReadSummary,
};
use super::libraries::Libraries;
use super::location::Location;
use super::metrics::Examined;
use super::rules::{Coding, FieldCounts, Rules};
use super::samtools::{self, SamtoolsPart};
use super::umi::Umi;

/// Returns how mates find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatePairing {
    /// In their batch: the input looks grouped by name, which is verified. If it turns out not to be, ends are collected
    /// again, by [`DuplicateEnds::by_place`].
    InBatch,
    /// In their batch, and by name if the input turns out not to be grouped.
    InBatchThenName,
    /// By name, in the order of a coordinate-sorted file, as Picard meets them.
    NameCoordinate,
    /// By name, in the order of the input, and with them all other records of the template.
    NameInput,
    /// Not at all: each read says where its mate is.
    ByFields,
}

impl MatePairing {
    /// Whether mates find each other in their batch.
    pub fn in_batch(self) -> bool {
        matches!(self, MatePairing::InBatch | MatePairing::InBatchThenName)
    }
}

/// Collects the ends by which duplicates are found.
pub struct DuplicateEnds {
    /// Read groups and libraries.
    pub libraries: Arc<Libraries>,
    /// The rules of marking.
    pub rules: Arc<Rules>,
    mate_pairing: MatePairing,
}

impl DuplicateEnds {
    /// The same, with pairs counted by tile if `counts`.
    pub fn counting_tiles(mut self, counts: bool) -> Self {
        Arc::make_mut(&mut self.rules).tiles = counts;
        self
    }
}

/// The reusable state of one thread.
pub struct EndsScratch {
    collect_evidence: bool,
    /// The last read group and its number: most records have the same one as the record before.
    group: Option<(Vec<u8>, GroupKey)>,
}

/// A read group: its number, and a hash of its ID.
#[derive(Clone, Copy)]
struct GroupKey {
    number: u16,
    seed: u64,
}

/// The items of one batch, as words of 64 bits.
#[derive(Default)]
pub struct EndsPart {
    pub(super) pairs: Vec<u64>,
    pub(super) paired_ends: Vec<u64>,
    pub(super) halves: Vec<u64>,
    pub(super) fragments: Vec<u64>,
    pub(super) name_groups: Vec<u64>,
    pub(super) evidence: Evidence,
    pub(super) examined: Examined,
    pub(super) fields: FieldCounts,
    pub(super) without_read_group: u64,
    pub(super) has_dt: bool,
    pub(super) samtools: SamtoolsPart,
}

impl EndsPart {
    /// Bytes its items take.
    pub fn bytes(&self) -> u64 {
        let items = [&self.pairs, &self.paired_ends, &self.halves, &self.fragments, &self.name_groups];
        let items = items.iter().map(|words| size_of_val(&words[..]) as u64).sum::<u64>();
        items + self.evidence.bytes() + self.samtools.bytes()
    }
}

impl EndsScratch {
    /// Collects, before any filter, the evidence whether the input is grouped by name.
    pub fn collect_evidence(&mut self, batch: &Batch, part: &mut EndsPart) {
        if self.collect_evidence {
            part.evidence = Evidence::of(batch);
        }
    }
}

impl DuplicateEnds {
    /// Creates the collector for reads under this header, as it is after all steps.
    pub fn new(header: &Header, mate_pairing: MatePairing, rules: Rules) -> Result<Self> {
        if header.n_ref() > HALF_REFS {
            return Err(Error::input(format!(
                "duplicates cannot be marked among more than {HALF_REFS} reference sequences"
            )));
        }
        let libraries = Arc::new(Libraries::new(header)?);
        Ok(DuplicateEnds { libraries, rules: Arc::new(rules), mate_pairing })
    }

    /// The same, with mates that find each other in the order of a coordinate-sorted file.
    pub fn by_place(&self) -> Self {
        let (libraries, rules) = (Arc::clone(&self.libraries), Arc::clone(&self.rules));
        DuplicateEnds { libraries, rules, mate_pairing: MatePairing::NameCoordinate }
    }

    /// How mates find each other.
    pub fn mate_pairing(&self) -> MatePairing {
        self.mate_pairing
    }

    /// Whether items carry a code.
    pub fn is_barcoded(&self) -> bool {
        self.rules.coding.is_some()
    }

    /// The most bytes that one record can add: a half, a fragment, and hashes of its name.
    pub fn most_bytes(&self) -> usize {
        fn of<S: ItemLayout>() -> usize {
            8 * (S::Half::WORDS + S::Fragment::WORDS + 2 + 3)
        }
        match (&self.rules.samtools, self.is_barcoded()) {
            (Some(_), _) => 8 * samtools::MOST_WORDS,
            (None, true) => of::<Barcoded>(),
            (None, false) => of::<PositionOnly>(),
        }
    }

    /// The bytes that a typical record adds: half a pair where mates are adjacent, else a half.
    pub fn usual_bytes(&self) -> u64 {
        fn of<S: ItemLayout>(together: bool) -> usize {
            if together { 4 * S::Pair::WORDS } else { 8 * S::Half::WORDS }
        }
        if self.rules.samtools.is_some() {
            return samtools::USUAL_BYTES;
        }
        let together = self.mate_pairing.in_batch();
        (if self.is_barcoded() { of::<Barcoded>(together) } else { of::<PositionOnly>(together) }) as u64
    }

    /// Creates the state of a thread.
    pub fn scratch(&self) -> EndsScratch {
        EndsScratch { collect_evidence: self.mate_pairing.in_batch(), group: None }
    }

    /// Collects the ends of a batch.
    pub fn accept(&self, scratch: &mut EndsScratch, batch: &Batch, part: &mut EndsPart) -> Result<()> {
        if let Some(rules) = &self.rules.samtools {
            part.samtools.collect(rules, batch, |record| {
                let group = self.group(scratch, record.read_group()).number;
                if self.libraries.is_known(group) { group + 1 } else { 0 }
            })
        } else if self.is_barcoded() {
            self.accept_as::<Barcoded>(scratch, batch, part)
        } else {
            self.accept_as::<PositionOnly>(scratch, batch, part)
        }
    }

    fn accept_as<S: ItemLayout>(
        &self,
        scratch: &mut EndsScratch,
        batch: &Batch,
        part: &mut EndsPart,
    ) -> Result<()> {
        let mut pending: Pending<(RecordRef<'_>, u64)> = Pending::new();
        let (mut template, mut location, mut first_record_participates) = (None, None, false);
        for (stamp, record) in batch.records() {
            if template.replace(stamp.template()) != Some(stamp.template()) {
                self.flush::<S>(&mut pending, part);
                location = None;
                first_record_participates = takes_part(record);
                self.note_name_group(stamp, record, part);
            }
            let id = scan_fields(record, part);
            let group = self.group(scratch, id);
            let flags = record.flags();
            part.examined.count(flags, self.libraries.library(group.number));
            if flags.is_unmapped() || !flags.is_primary() {
                if self.mate_pairing == MatePairing::NameInput {
                    self.push_half::<S>(
                        HalfKind::Bystander,
                        &bystander(record, stamp),
                        group,
                        record,
                        part,
                    );
                }
                continue;
            }
            if self.rules.coding.is_some() {
                part.fields.count(&self.rules, record);
            }
            let location = *location.get_or_insert_with(|| self.rules.names.location(record.qname()));
            let read = self.read(record, stamp, group.number, location.unwrap_or(Location::NONE));
            let read = read.map(|read| ReadSummary { first_record_participates, ..read });
            let read = read.map_err(|error| error.record(stamp.ordinal()))?;
            if !flags.is_paired() || flags.is_mate_unmapped() {
                self.push_single::<S>(&read, group, record, part);
                continue;
            }
            part.without_read_group += u64::from(!self.libraries.is_known(group.number));
            if record.qname() == b"*" {
                self.paired_end::<S>(&read, part); // its mate cannot be identified
                continue;
            }
            if !self.mate_pairing.in_batch() {
                self.push_half::<S>(HalfKind::Paired, &read, group, record, part);
                continue;
            }
            if read.next_ref_id < 0 {
                push(&mut part.fragments, &self.rules.fragment::<S>(&read)); // also a single read
            }
            // Records of a template have one name; its read groups are distinguished by their numbers.
            let known = id.is_none() || self.libraries.is_known(group.number);
            let key = if known { group.number.into() } else { u128::from(group.seed) << 16 };
            let EndsPart { pairs, paired_ends: seconds, .. } = part;
            let replaced = meet(&mut pending, key, read, (record, group.seed), |seen, arriving| {
                let end = |end: &S::EndKey| push(seconds, end);
                self.rules.pair::<S>(seen, arriving, |pair| push(pairs, pair), end);
            });
            if let Some((replaced, (record, seed))) = replaced {
                self.push_unmatched::<S>(replaced, record, seed, part);
            }
        }
        self.flush::<S>(&mut pending, part);
        Ok(())
    }

    /// Notes where a name group begins, in case other records of the name are elsewhere.
    fn note_name_group(&self, stamp: Stamp, record: RecordRef<'_>, part: &mut EndsPart) {
        if self.mate_pairing == MatePairing::InBatchThenName && record.qname() != b"*" {
            let name = hash(NO_GROUP, record.qname());
            let first_record_participates = takes_part(record);
            let first = stamp.template() << 1 | u64::from(first_record_participates);
            part.name_groups.extend([(name >> 64) as u64, name as u64, first]);
        }
    }

    /// Stores the reads without a mate at the end of their template, to be joined later.
    fn flush<S: ItemLayout>(&self, pending: &mut Pending<(RecordRef<'_>, u64)>, part: &mut EndsPart) {
        for (_, read, (record, seed)) in pending.drain(..) {
            self.push_unmatched::<S>(read, record, seed, part);
        }
    }

    /// Stores a read whose mate is not adjacent, but may be elsewhere.
    fn push_unmatched<S: ItemLayout>(
        &self,
        read: ReadSummary,
        record: RecordRef<'_>,
        seed: u64,
        part: &mut EndsPart,
    ) {
        let push_half = if self.mate_pairing == MatePairing::InBatchThenName {
            let read = ReadSummary { ordinal: read.ordinal - u64::from(read.template_offset), ..read };
            item::half::<S>(hash(NO_GROUP, record.qname()), &read, HalfKind::Paired, HalfOrder::Input)
        } else {
            let name = hash(seed, record.qname());
            item::half::<S>(name, &read, HalfKind::Paired, HalfOrder::Place)
        };
        push(&mut part.halves, &push_half);
    }

    /// The read group of this ID.
    fn group(&self, scratch: &mut EndsScratch, id: Option<&[u8]>) -> GroupKey {
        let Some(id) = id else {
            return GroupKey { number: self.libraries.group(None), seed: NO_GROUP };
        };
        match &scratch.group {
            Some((last, group)) if last == id => *group,
            _ => {
                let seed = xxhash_rust::xxh3::xxh3_64(id);
                let group = GroupKey { number: self.libraries.group(Some(id)), seed };
                scratch.group = Some((id.to_vec(), group));
                group
            }
        }
    }

    /// Stores a single read, which is compared without a mate.
    fn push_single<S: ItemLayout>(
        &self,
        read: &ReadSummary,
        group: GroupKey,
        record: RecordRef<'_>,
        part: &mut EndsPart,
    ) {
        if self.mate_pairing == MatePairing::NameInput && record.qname() != b"*" {
            self.push_half::<S>(HalfKind::Alone, read, group, record, part);
        } else {
            push(&mut part.fragments, &self.rules.fragment::<S>(read));
        }
    }

    /// Stores a record that is to be joined with others of its name. In template mode the name alone makes a
    /// template, as in grouped input.
    fn push_half<S: ItemLayout>(
        &self,
        kind: HalfKind,
        read: &ReadSummary,
        group: GroupKey,
        record: RecordRef<'_>,
        part: &mut EndsPart,
    ) {
        let (seed, order) = match self.mate_pairing {
            MatePairing::NameInput => (NO_GROUP, HalfOrder::Input),
            _ => (group.seed, HalfOrder::Place),
        };
        if record.qname() != b"*" {
            let name = hash(seed, record.qname());
            push(&mut part.halves, &item::half::<S>(name, read, kind, order));
        }
        if kind == HalfKind::Paired && order == HalfOrder::Place && read.next_ref_id < 0 {
            push(&mut part.fragments, &self.rules.fragment::<S>(read)); // it has no mate: it is also a single read
        }
    }

    /// Stores this read's end alone; every single read with the same end is a duplicate.
    fn paired_end<S: ItemLayout>(&self, read: &ReadSummary, part: &mut EndsPart) {
        if read.next_ref_id >= 0 {
            push(&mut part.paired_ends, &self.rules.paired_end::<S>(read));
        }
    }

    /// Returns the properties of a read that decide about duplicates.
    fn read(
        &self,
        record: RecordRef<'_>,
        stamp: Stamp,
        group: u16,
        location: Location,
    ) -> Result<ReadSummary> {
        let flags = record.flags();
        Ok(ReadSummary {
            end: End {
                library: self.libraries.library(group),
                ref_id: record.ref_id(),
                five_prime: record.five_prime(),
                reverse: flags.is_reverse(),
            },
            pos: record.pos(),
            score: self.rules.strategy.score(record),
            location,
            read_group: group,
            first_segment: flags.is_first() || !flags.is_paired(),
            next_ref_id: record.next_ref_id(),
            ordinal: stamp.ordinal(),
            template_offset: (stamp.ordinal() - stamp.template()) as u32,
            first_record_participates: false,
            code: self.rules.code(record)?,
        })
    }
}

/// Returns the read group, in one scan that also looks for DT.
fn scan_fields<'a>(record: RecordRef<'a>, part: &mut EndsPart) -> Option<&'a [u8]> {
    let mut group = None;
    for field in record.fields() {
        if field.tag == tag::RG && field.kind == b'Z' && group.is_none() {
            group = Some(field.value);
        }
        part.has_dt |= field.tag == tag::DT;
    }
    group
}

/// Returns the entry of a record that does not take part itself, but gets the marks of its template.
fn bystander(record: RecordRef<'_>, stamp: Stamp) -> ReadSummary {
    ReadSummary {
        end: End { library: 0, ref_id: record.ref_id(), five_prime: 0, reverse: false },
        pos: record.pos(),
        score: 0,
        location: Location::NONE,
        read_group: 0,
        first_segment: false,
        next_ref_id: -1,
        ordinal: stamp.ordinal(),
        template_offset: 0,
        first_record_participates: false,
        code: 0,
    }
}

impl Rules {
    /// A read's share of the code.
    fn code(&self, record: RecordRef<'_>) -> Result<u128> {
        match &self.coding {
            None => Ok(0),
            Some(Coding::Barcodes(barcodes)) => barcodes.code(record),
            Some(Coding::Umis(umis)) => umis.code(record),
        }
    }

    /// Makes a pair of two mates, and those of its paired ends that cannot be derived from the pair.
    pub(super) fn pair<S: ItemLayout>(
        &self,
        seen: &ReadSummary,
        arriving: &ReadSummary,
        pairs: impl FnOnce(&S::Pair),
        mut ends: impl FnMut(&S::EndKey),
    ) {
        let code = match &self.coding {
            None => 0,
            Some(Coding::Barcodes(_)) => Barcodes::of_pair(seen, arriving),
            Some(Coding::Umis(umis)) => umis.of_pair(seen, arriving),
        };
        let (pair, second) = item::pair::<S>(seen, arriving, code);
        pairs(&pair);
        if self.coding.is_none() {
            second.iter().for_each(|end| ends(&item::end_key::<S>(end, 0)));
            return;
        }
        // Each end counts with its own barcodes, and the pair has those of both.
        for read in [seen, arriving].into_iter().filter(|read| read.next_ref_id >= 0) {
            let code = match &self.coding {
                Some(Coding::Umis(umis)) => umis.of_mate(seen, arriving, read),
                _ => read.code,
            };
            ends(&item::end_key::<S>(&read.end, code));
        }
    }

    /// Packs a single read.
    pub(super) fn fragment<S: ItemLayout>(&self, read: &ReadSummary) -> S::Fragment {
        item::fragment::<S>(&ReadSummary { code: self.single(read), ..*read })
    }

    /// Packs only this read's end, and not the end of its mate.
    pub(super) fn paired_end<S: ItemLayout>(&self, read: &ReadSummary) -> S::EndKey {
        item::end_key::<S>(&read.end, self.single(read))
    }

    fn single(&self, read: &ReadSummary) -> u128 {
        let umi = Umi::from_code(read.code);
        match &self.coding {
            Some(Coding::Umis(umis)) if read.first_segment => umis.of_end(umi, Umi::NONE, true),
            Some(Coding::Umis(umis)) => umis.of_end(Umi::NONE, umi, false),
            _ => read.code,
        }
    }
}

/// Whether a record takes part in marking.
fn takes_part(record: RecordRef<'_>) -> bool {
    !record.flags().is_unmapped() && record.flags().is_primary()
}

/// The hash of no read group.
const NO_GROUP: u64 = 0;

/// 128 bits of read group and name; 10^9 names collide with a probability of 10^-21.
fn hash(group: u64, name: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128_with_seed(name, group)
}

/// Reads that wait for their mates: the key of read group and name, the read, and its origin.
pub(super) type Pending<T> = Vec<(u128, ReadSummary, T)>;

/// Pairs the arriving read with the pending read whose mate it is, or makes it pending. A pending read with
/// the same key and mate reference is replaced and returned: it stays without a mate (Picard 3.4 does so on
/// queryname-grouped input, and stops with an error on coordinate-sorted input).
pub(super) fn meet<T>(
    pending: &mut Pending<T>,
    key: u128,
    read: ReadSummary,
    from: T,
    mut paired: impl FnMut(&ReadSummary, &ReadSummary),
) -> Option<(ReadSummary, T)> {
    let push_unmatched = |next_ref_id: i32| {
        move |(other, seen, _): &(u128, ReadSummary, T)| *other == key && seen.next_ref_id == next_ref_id
    };
    if let Some(at) = pending.iter().position(push_unmatched(read.end.ref_id)) {
        paired(&pending.remove(at).1, &read);
        return None;
    }
    let replaced =
        pending.iter().position(push_unmatched(read.next_ref_id)).map(|at| pending.remove(at));
    pending.push((key, read, from));
    replaced.map(|(_, read, from)| (read, from))
}

fn push<T: Item>(words: &mut Vec<u64>, item: &T) {
    words.extend_from_slice(item.as_ref());
}
