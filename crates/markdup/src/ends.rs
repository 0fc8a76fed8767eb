//! Reduces a batch of reads to the items from which duplicates are found.
//!
//! Adjacent mates become a pair at once. A read whose mate is elsewhere becomes a half, which
//! `join` later pairs by name; a read without a mapped mate becomes a fragment:
//!
//! ```text
//!  one template of a batch          items
//!  read 1 + read 2            ─►    pair (+ the paired end that the pair does not store)
//!  read 1, mate elsewhere     ─►    half
//!  read, mate unmapped        ─►    fragment
//! ```
//!
//! Any thread can collect the items of a batch; [`EndStore`](super::EndStore) receives them in
//! input order.

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
use super::metrics::ExaminedCounts;
use super::rules::{Coding, FieldCounts, Rules};
use super::samtools::{self, SamtoolsPart};
use super::umi::Umi;

/// How the two mates of a template are paired. The pipeline chooses this before the first batch,
/// from the duplicate mode, the header and the first records of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatePairing {
    /// Within a batch, because the input looks grouped by name. This is verified while reading. If
    /// it is wrong, the items are collected again with [`DuplicateEnds::paired_by_coordinate`].
    InBatch,
    /// Within a batch. If the input turns out not to be grouped, the remaining reads are joined by
    /// name (template mode).
    InBatchThenName,
    /// By name, in coordinate order, as Picard reads a coordinate-sorted file.
    NameCoordinate,
    /// By name, in input order, together with all other records of the template (template mode on
    /// input that is not grouped).
    NameInput,
    /// Not at all: samtools compares each read by the mate position, MC and ms in the read itself.
    ByFields,
}

impl MatePairing {
    pub fn is_in_batch(self) -> bool {
        matches!(self, MatePairing::InBatch | MatePairing::InBatchThenName)
    }
}

/// Collects the items from which duplicates are found, batch by batch.
///
/// All threads share it; each thread has its own [`EndsScratch`]. The parts must be added to the
/// store in input order, because ties are broken by position.
///
/// ```
/// use readmill_markdup::{DuplicateEnds, EndStore, EndsPart, MatePairing, Rules};
/// use readmill_record::{Batch, Header};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n@RG\tID:a\tLB:lib1\n").unwrap();
/// let ends = DuplicateEnds::new(&header, MatePairing::InBatch, Rules::default()).unwrap();
/// let mut store = EndStore::new(&ends);
/// let mut scratch = ends.new_scratch();
/// for batch in [Batch::default()] {
///     let mut part = EndsPart::default();
///     ends.collect_ends(&mut scratch, &batch, &mut part).unwrap();
///     store.push(&part);
/// }
/// assert_eq!(store.bytes(), 0); // the batch had no reads
/// ```
pub struct DuplicateEnds {
    pub libraries: Arc<Libraries>,
    pub rules: Arc<Rules>,
    mate_pairing: MatePairing,
}

impl DuplicateEnds {
    /// Enables or disables counting pairs by tile during the scan for duplicates. The counts are
    /// part of the run description.
    pub fn with_tile_counts(mut self, counts: bool) -> Self {
        Arc::make_mut(&mut self.rules).tiles = counts;
        self
    }
}

/// The reusable state of one thread: the read group of the last record, which neighbouring records
/// usually share.
pub struct EndsScratch {
    collect_evidence: bool,
    group: Option<(Vec<u8>, GroupKey)>,
}

/// The number of a read group, and a hash of its ID. The hash distinguishes read groups that are
/// not in the header, which all have the same number.
#[derive(Clone, Copy)]
struct GroupKey {
    number: u16,
    seed: u64,
}

/// The items of one batch as 64-bit words, with the counts and the grouping evidence of the batch.
/// The pipeline charges its [`bytes`](EndsPart::bytes) and adds it to the store in input order.
#[derive(Default)]
pub struct EndsPart {
    pub(super) pairs: Vec<u64>,
    pub(super) paired_ends: Vec<u64>,
    pub(super) halves: Vec<u64>,
    pub(super) fragments: Vec<u64>,
    pub(super) name_groups: Vec<u64>,
    pub(super) evidence: Evidence,
    pub(super) examined: ExaminedCounts,
    pub(super) fields: FieldCounts,
    pub(super) without_read_group: u64,
    pub(super) has_dt: bool,
    pub(super) samtools: SamtoolsPart,
}

impl EndsPart {
    pub fn bytes(&self) -> u64 {
        let items = [&self.pairs, &self.paired_ends, &self.halves, &self.fragments, &self.name_groups];
        let items = items.iter().map(|words| size_of_val(&words[..]) as u64).sum::<u64>();
        items + self.evidence.bytes() + self.samtools.bytes()
    }
}

impl EndsScratch {
    /// Examines whether the batch looks grouped by name. Must be called before any filter, because
    /// a filter may remove one mate of a template. Does nothing if mates are not paired within
    /// batches.
    pub fn collect_evidence(&mut self, batch: &Batch, part: &mut EndsPart) {
        if self.collect_evidence {
            part.evidence = Evidence::of_batch(batch);
        }
    }
}

impl DuplicateEnds {
    /// Creates the collector. `header` is the output header, because earlier steps may rename
    /// contigs or replace read groups.
    ///
    /// # Errors
    /// The header has more than [`HALF_REFS`] reference sequences or 65,534 read groups.
    pub fn new(header: &Header, mate_pairing: MatePairing, rules: Rules) -> Result<Self> {
        if header.n_ref() > HALF_REFS {
            return Err(Error::input(format!(
                "duplicates cannot be marked with more than {HALF_REFS} reference sequences"
            )));
        }
        let libraries = Arc::new(Libraries::new(header)?);
        Ok(DuplicateEnds { libraries, rules: Arc::new(rules), mate_pairing })
    }

    /// Returns a collector that joins mates by name in coordinate order. The pipeline uses it to
    /// collect all items again if input that was paired in batches turns out not to be grouped.
    pub fn paired_by_coordinate(&self) -> Self {
        let (libraries, rules) = (Arc::clone(&self.libraries), Arc::clone(&self.rules));
        DuplicateEnds { libraries, rules, mate_pairing: MatePairing::NameCoordinate }
    }

    pub fn mate_pairing(&self) -> MatePairing {
        self.mate_pairing
    }

    pub fn is_barcoded(&self) -> bool {
        self.rules.coding.is_some()
    }

    /// Returns the maximum number of bytes that one record can add: a half, a fragment, a name
    /// group and an incomplete name. It bounds the memory of a range whose items are collected
    /// again.
    pub fn max_bytes_per_record(&self) -> usize {
        fn max_item_bytes<S: ItemLayout>() -> usize {
            8 * (S::Half::WORDS + S::Fragment::WORDS + 2 + 3)
        }
        match (&self.rules.samtools, self.is_barcoded()) {
            (Some(_), _) => 8 * samtools::MAX_WORDS_PER_RECORD,
            (None, true) => max_item_bytes::<Barcoded>(),
            (None, false) => max_item_bytes::<PositionOnly>(),
        }
    }

    /// Returns the number of bytes that a typical record adds: half of a pair item if mates are
    /// adjacent, otherwise a half. Used to estimate memory before the input is read.
    pub fn typical_bytes_per_record(&self) -> u64 {
        fn typical_item_bytes<S: ItemLayout>(together: bool) -> usize {
            if together { 4 * S::Pair::WORDS } else { 8 * S::Half::WORDS }
        }
        if self.rules.samtools.is_some() {
            return samtools::TYPICAL_BYTES_PER_RECORD;
        }
        let together = self.mate_pairing.is_in_batch();
        (if self.is_barcoded() {
            typical_item_bytes::<Barcoded>(together)
        } else {
            typical_item_bytes::<PositionOnly>(together)
        }) as u64
    }

    pub fn new_scratch(&self) -> EndsScratch {
        EndsScratch { collect_evidence: self.mate_pairing.is_in_batch(), group: None }
    }

    /// Appends the items of a batch to `part`. The batch must be stamped and filtered.
    ///
    /// # Errors
    /// A read has an invalid barcode or UMI, or lacks a field that the samtools rules need.
    pub fn collect_ends(
        &self,
        scratch: &mut EndsScratch,
        batch: &Batch,
        part: &mut EndsPart,
    ) -> Result<()> {
        if let Some(rules) = &self.rules.samtools {
            part.samtools.collect_keys(rules, batch, |record| {
                let group = self.find_group(scratch, record.read_group()).number;
                if self.libraries.is_known(group) { group + 1 } else { 0 }
            })
        } else if self.is_barcoded() {
            self.collect_ends_as::<Barcoded>(scratch, batch, part)
        } else {
            self.collect_ends_as::<PositionOnly>(scratch, batch, part)
        }
    }

    /// Collects items of layout `S` by Picard's rules. A template is a run of records with equal
    /// template stamps. Reads that are still pending at the end of a template are stored as halves.
    fn collect_ends_as<S: ItemLayout>(
        &self,
        scratch: &mut EndsScratch,
        batch: &Batch,
        part: &mut EndsPart,
    ) -> Result<()> {
        let mut pending: Pending<(RecordRef<'_>, u64)> = Pending::new();
        let (mut template, mut location, mut first_record_participates) = (None, None, false);
        for (stamp, record) in batch.records() {
            if template.replace(stamp.template()) != Some(stamp.template()) {
                self.flush_pending::<S>(&mut pending, part);
                location = None;
                first_record_participates = is_compared(record);
                self.note_name_group(stamp, record, part);
            }
            let id = scan_fields(record, part);
            let group = self.find_group(scratch, id);
            let flags = record.flags();
            part.examined.count_record(flags, self.libraries.library(group.number));
            if flags.is_unmapped() || !flags.is_primary() {
                if self.mate_pairing == MatePairing::NameInput {
                    self.push_half::<S>(
                        HalfKind::Bystander,
                        &summarize_bystander(record, stamp),
                        group,
                        record,
                        part,
                    );
                }
                continue;
            }
            if self.rules.coding.is_some() {
                part.fields.count_fields(&self.rules, record);
            }
            let location =
                *location.get_or_insert_with(|| self.rules.names.parse_location(record.qname()));
            let read =
                self.summarize_read(record, stamp, group.number, location.unwrap_or(Location::NONE));
            let read = read.map(|read| ReadSummary { first_record_participates, ..read });
            let read = read.map_err(|error| error.record(stamp.ordinal()))?;
            if !flags.is_paired() || flags.is_mate_unmapped() {
                self.push_single::<S>(&read, group, record, part);
                continue;
            }
            part.without_read_group += u64::from(!self.libraries.is_known(group.number));
            if record.qname() == b"*" {
                self.push_paired_end::<S>(&read, part); // "*" is not a name, so its mate cannot be found
                continue;
            }
            if !self.mate_pairing.is_in_batch() {
                self.push_half::<S>(HalfKind::Paired, &read, group, record, part);
                continue;
            }
            if read.next_ref_id < 0 {
                push_words(&mut part.fragments, &self.rules.pack_fragment::<S>(&read)); // without a mate reference, also a single read
            }
            // Pending reads share a name, so the read group is the key. Unknown IDs share a number,
            // so the hash of the ID is used.
            let known = id.is_none() || self.libraries.is_known(group.number);
            let key = if known { group.number.into() } else { u128::from(group.seed) << 16 };
            let EndsPart { pairs, paired_ends: seconds, .. } = part;
            let replaced =
                pair_or_hold(&mut pending, key, read, (record, group.seed), |seen, arriving| {
                    let end = |end: &S::EndKey| push_words(seconds, end);
                    self.rules.emit_pair::<S>(seen, arriving, |pair| push_words(pairs, pair), end);
                });
            if let Some((replaced, (record, seed))) = replaced {
                self.push_unmatched_read::<S>(replaced, record, seed, part);
            }
        }
        self.flush_pending::<S>(&mut pending, part);
        Ok(())
    }

    /// Stores the name and the first record of a name group, so that marks can be copied between
    /// groups with the same name if the input turns out not to be grouped.
    fn note_name_group(&self, stamp: Stamp, record: RecordRef<'_>, part: &mut EndsPart) {
        if self.mate_pairing == MatePairing::InBatchThenName && record.qname() != b"*" {
            let name = hash_name(NO_GROUP, record.qname());
            let first_record_participates = is_compared(record);
            let first = stamp.template() << 1 | u64::from(first_record_participates);
            part.name_groups.extend([(name >> 64) as u64, name as u64, first]);
        }
    }

    fn flush_pending<S: ItemLayout>(
        &self,
        pending: &mut Pending<(RecordRef<'_>, u64)>,
        part: &mut EndsPart,
    ) {
        for (_, read, (record, seed)) in pending.drain(..) {
            self.push_unmatched_read::<S>(read, record, seed, part);
        }
    }

    /// Stores a read whose mate is not adjacent as a half. With [`MatePairing::InBatchThenName`],
    /// the half has the ordinal of its template, and read groups are ignored, because the name
    /// alone identifies a template.
    fn push_unmatched_read<S: ItemLayout>(
        &self,
        read: ReadSummary,
        record: RecordRef<'_>,
        seed: u64,
        part: &mut EndsPart,
    ) {
        let half = if self.mate_pairing == MatePairing::InBatchThenName {
            let read = ReadSummary { ordinal: read.ordinal - u64::from(read.template_offset), ..read };
            item::pack_half::<S>(
                hash_name(NO_GROUP, record.qname()),
                &read,
                HalfKind::Paired,
                HalfOrder::Input,
            )
        } else {
            let name = hash_name(seed, record.qname());
            item::pack_half::<S>(name, &read, HalfKind::Paired, HalfOrder::Place)
        };
        push_words(&mut part.halves, &half);
    }

    fn find_group(&self, scratch: &mut EndsScratch, id: Option<&[u8]>) -> GroupKey {
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

    /// Stores a read that is compared without a mate. With [`MatePairing::NameInput`], it becomes a
    /// half, so that the marks of its template reach all records with that name.
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
            push_words(&mut part.fragments, &self.rules.pack_fragment::<S>(read));
        }
    }

    /// Stores a record that is to be joined with others of the same name. In template mode, the
    /// name alone defines a template, as in grouped input. In coordinate mode, Picard also requires
    /// the same read group.
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
            let name = hash_name(seed, record.qname());
            push_words(&mut part.halves, &item::pack_half::<S>(name, read, kind, order));
        }
        if kind == HalfKind::Paired && order == HalfOrder::Place && read.next_ref_id < 0 {
            // Without a mate reference, the read also counts as a single read.
            push_words(&mut part.fragments, &self.rules.pack_fragment::<S>(read));
        }
    }

    /// Stores only the end of a read whose mate cannot be identified. Picard still treats every
    /// fragment with this end as a duplicate.
    fn push_paired_end<S: ItemLayout>(&self, read: &ReadSummary, part: &mut EndsPart) {
        if read.next_ref_id >= 0 {
            push_words(&mut part.paired_ends, &self.rules.pack_paired_end::<S>(read));
        }
    }

    fn summarize_read(
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
            code: self.rules.compute_read_code(record)?,
        })
    }
}

/// Returns the ID in the RG field. Also records in `part` whether any record has a DT field, which
/// `apply` then has to remove.
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

/// Summarizes a record that is not compared but gets the marks of its template: a secondary,
/// supplementary or unmapped record.
fn summarize_bystander(record: RecordRef<'_>, stamp: Stamp) -> ReadSummary {
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
    fn compute_read_code(&self, record: RecordRef<'_>) -> Result<u128> {
        match &self.coding {
            None => Ok(0),
            Some(Coding::Barcodes(barcodes)) => barcodes.hash_barcodes(record),
            Some(Coding::Umis(umis)) => umis.compute_read_code(record),
        }
    }

    /// Packs two mates, and passes the pair to `pairs` and its paired ends to `ends`.
    ///
    /// Without barcodes, only the second end is passed, because the first can be derived from the
    /// pair. With barcodes, both are passed, because each end has its own code, while the code of
    /// the pair combines both reads.
    pub(super) fn emit_pair<S: ItemLayout>(
        &self,
        seen: &ReadSummary,
        arriving: &ReadSummary,
        pairs: impl FnOnce(&S::Pair),
        mut ends: impl FnMut(&S::EndKey),
    ) {
        let code = match &self.coding {
            None => 0,
            Some(Coding::Barcodes(_)) => Barcodes::combine_codes(seen, arriving),
            Some(Coding::Umis(umis)) => umis.compute_pair_code(seen, arriving),
        };
        let (pair, second) = item::pack_pair::<S>(seen, arriving, code);
        pairs(&pair);
        if self.coding.is_none() {
            second.iter().for_each(|end| ends(&item::end_key::<S>(end, 0)));
            return;
        }
        // Each end has its own code, while the code of the pair combines both reads.
        for read in [seen, arriving].into_iter().filter(|read| read.next_ref_id >= 0) {
            let code = match &self.coding {
                Some(Coding::Umis(umis)) => umis.compute_mate_code(seen, arriving, read),
                _ => read.code,
            };
            ends(&item::end_key::<S>(&read.end, code));
        }
    }

    pub(super) fn pack_fragment<S: ItemLayout>(&self, read: &ReadSummary) -> S::Fragment {
        item::pack_fragment::<S>(&ReadSummary { code: self.compute_single_end_code(read), ..*read })
    }

    pub(super) fn pack_paired_end<S: ItemLayout>(&self, read: &ReadSummary) -> S::EndKey {
        item::end_key::<S>(&read.end, self.compute_single_end_code(read))
    }

    /// Returns the code for comparing a read as a single end. Its UMI is combined with an empty UMI
    /// for the missing mate.
    fn compute_single_end_code(&self, read: &ReadSummary) -> u128 {
        let umi = Umi::from_code(read.code);
        match &self.coding {
            Some(Coding::Umis(umis)) if read.first_segment => {
                umis.compute_end_code(umi, Umi::NONE, true)
            }
            Some(Coding::Umis(umis)) => umis.compute_end_code(Umi::NONE, umi, false),
            _ => read.code,
        }
    }
}

fn is_compared(record: RecordRef<'_>) -> bool {
    !record.flags().is_unmapped() && record.flags().is_primary()
}

const NO_GROUP: u64 = 0;

/// Hashes read group and name to 128 bits. The probability of a collision among 10^9 names is
/// 10^-21.
fn hash_name(group: u64, name: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128_with_seed(name, group)
}

pub(super) type Pending<T> = Vec<(u128, ReadSummary, T)>;

/// Pairs the arriving read with its pending mate, or makes it pending.
///
/// Mates are recognized by `key` and the reference sequence of the mate. A pending read with the
/// same key and mate reference is replaced and returned; it remains without a mate. Picard 3.4 does
/// the same for queryname-grouped input, but fails for coordinate-sorted input.
pub(super) fn pair_or_hold<T>(
    pending: &mut Pending<T>,
    key: u128,
    read: ReadSummary,
    from: T,
    mut paired: impl FnMut(&ReadSummary, &ReadSummary),
) -> Option<(ReadSummary, T)> {
    let is_mate_at = |next_ref_id: i32| {
        move |(other, seen, _): &(u128, ReadSummary, T)| *other == key && seen.next_ref_id == next_ref_id
    };
    if let Some(at) = pending.iter().position(is_mate_at(read.end.ref_id)) {
        paired(&pending.remove(at).1, &read);
        return None;
    }
    let replaced = pending.iter().position(is_mate_at(read.next_ref_id)).map(|at| pending.remove(at));
    pending.push((key, read, from));
    replaced.map(|(_, read, from)| (read, from))
}

fn push_words<T: Item>(words: &mut Vec<u64>, item: &T) {
    words.extend_from_slice(item.as_ref());
}
