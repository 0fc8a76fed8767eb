//! Checksums of the sequencer's data, as `samtools checksum` (1.24) and biobambam2's `bamseqchksum`
//! define them, so that both ends of a pipeline can be compared with those tools.
//!
//! For each primary record, four CRC-32 values are computed, with SEQ in the direction of
//! sequencing:
//!
//! | column | of |
//! |---|---|
//! | `seq` | the segment bits of FLAG (0xc1), SEQ |
//! | `name` | QNAME, the segment bits, SEQ |
//! | `qual` | the segment bits, SEQ, QUAL |
//! | `tags` | the segment bits, SEQ, the fields BC, FI, QT, RT, TC |
//!
//! Each column is the product of its values modulo 2^31 - 1, over all reads and for each read
//! group.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crc32fast::Hasher;
use readmill_format::report::ReportContents;
use readmill_record::bases::{COMPLEMENTS, LETTERS};
use readmill_record::tag::{Field, Tag};
use readmill_record::{Batch, Flags, Ledger, RecordRef, Result, SharedPrepaid, Tally, tag};
use serde::{Deserialize, Serialize};

use crate::spec::{TallyReport, TallySpec};

pub const SAMTOOLS_CHECKSUM: TallySpec = TallySpec::new("samtools-checksum", |context| {
    TallyReport::new(SequencingChecksum::new(context.ledger), |sums, names| {
        ReportContents::Parts(Box::new(sums.into_samtools(names.file)))
    })
});

pub const BAMSEQCHKSUM: TallySpec = TallySpec::new("bamseqchksum", |context| {
    TallyReport::new(SequencingChecksum::new(context.ledger), |sums, _| {
        ReportContents::Parts(Box::new(sums.into_bamseqchksum()))
    })
});

pub struct SequencingChecksum {
    /// Charges the sums of read groups as they appear, because reads may name groups that the
    /// header lacks.
    paid: SharedPrepaid,
}

impl SequencingChecksum {
    pub fn new(ledger: &Ledger) -> Self {
        SequencingChecksum { paid: SharedPrepaid::new(ledger.empty_charge("checksums of read groups")) }
    }
}

/// Memory of a read group's sums in bytes, excluding its name: its share of a half-full map node,
/// and the allocator's overhead.
const GROUP_BYTES: usize = 2 * size_of::<(Vec<u8>, CrcProductSet)>() + 48;

const PRIME: u64 = (1 << 31) - 1;

const SEGMENT: u16 = Flags::PAIRED | Flags::FIRST | Flags::LAST;

/// The optional fields that the sequencer determines, in the order in which they are hashed.
const TAGS: [Tag; 5] = [*b"BC", *b"FI", *b"QT", *b"RT", *b"TC"];

/// Multiplies a product by one more CRC. A CRC of 0 or of the prime counts as 1, so that the
/// product never becomes 0.
fn multiply_crc(product: u64, crc: u64) -> u64 {
    let crc = crc & PRIME;
    product * if crc == 0 || crc == PRIME { 1 } else { crc } % PRIME
}

/// Number of reads and products of their CRCs: of SEQ, with names, with QUAL, with tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CrcProducts {
    records: u64,
    products: [u64; 4],
}

impl Default for CrcProducts {
    fn default() -> Self {
        CrcProducts { records: 0, products: [1; 4] }
    }
}

impl CrcProducts {
    fn add_crcs(&mut self, crcs: [u32; 4]) {
        self.records += 1;
        for (product, crc) in self.products.iter_mut().zip(crcs) {
            *product = multiply_crc(*product, u64::from(crc));
        }
    }

    fn merge(&mut self, from: &CrcProducts) {
        self.records += from.records;
        for (product, factor) in self.products.iter_mut().zip(from.products) {
            *product = *product * factor % PRIME;
        }
    }

    /// Returns one number for all columns but QUAL, as samtools combines them.
    fn combined(&self) -> u64 {
        let [seq, name, _, tags] = self.products;
        let parts = [self.records >> 32, self.records & 0xffff_ffff, seq, name, seq, tags];
        parts.into_iter().fold(1, multiply_crc)
    }
}

/// The sums of all reads, and of the reads that pass quality control (0x200 not set).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CrcProductSet {
    all: CrcProducts,
    pass: CrcProducts,
}

impl CrcProductSet {
    fn add_crcs(&mut self, crcs: [u32; 4], passes: bool) {
        self.all.add_crcs(crcs);
        if passes {
            self.pass.add_crcs(crcs);
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SequencingSums {
    all: CrcProductSet,
    without_group: CrcProductSet,
    groups: BTreeMap<Vec<u8>, CrcProductSet>,
    #[serde(skip)]
    paid: u64,
    #[serde(skip)]
    seq: Vec<u8>,
    #[serde(skip)]
    qual: Vec<u8>,
}

impl SequencingSums {
    fn add_record(&mut self, record: RecordRef<'_>, tally: &SequencingChecksum) -> Result<()> {
        let group = record.fields().filter(|field| field.tag == tag::RG && field.kind == b'Z').last();
        let crcs = self.record_crcs(record);
        let passes = !record.flags().is_qc_fail();
        self.all.add_crcs(crcs, passes);
        match group {
            None => self.without_group.add_crcs(crcs, passes),
            Some(field) => match self.groups.get_mut(field.value) {
                Some(set) => set.add_crcs(crcs, passes),
                None => {
                    tally.paid.pay_bytes(&mut self.paid, (GROUP_BYTES + field.value.len()) as u64)?;
                    self.groups.entry(field.value.to_vec()).or_default().add_crcs(crcs, passes);
                }
            },
        }
        Ok(())
    }

    fn record_crcs(&mut self, record: RecordRef<'_>) -> [u32; 4] {
        self.decode_sequence(record);
        let segment = [(record.flags().0 & SEGMENT) as u8];
        let crc = |before: u32, parts: &[&[u8]]| {
            let mut hasher = Hasher::new_with_initial(before);
            parts.iter().for_each(|part| hasher.update(part));
            hasher.finalize()
        };
        let seq = crc(0, &[&segment, &self.seq]);
        let name = crc(0, &[record.qname(), &[0], &segment, &self.seq]);
        [seq, name, crc(seq, &[&self.qual]), self.crc_with_tags(record, seq)]
    }

    fn decode_sequence(&mut self, record: RecordRef<'_>) {
        let (packed, l_seq) = (record.seq(), record.l_seq());
        let base = |i: usize| usize::from(packed[i / 2] >> (4 * (1 - i % 2)) & 15);
        self.seq.clear();
        self.qual.clear();
        let quals = record.qual().iter().map(|q| q.wrapping_add(b'!'));
        if record.flags().is_reverse() {
            self.seq.extend((0..l_seq).rev().map(|i| COMPLEMENTS[base(i)]));
            self.qual.extend(quals.rev());
        } else {
            self.seq.extend((0..l_seq).map(|i| LETTERS[base(i)]));
            self.qual.extend(quals);
        }
    }

    fn crc_with_tags(&self, record: RecordRef<'_>, seq: u32) -> u32 {
        let mut found: [Option<Field<'_>>; TAGS.len()] = [None; TAGS.len()];
        for field in record.fields() {
            if let Some(place) = TAGS.iter().position(|tag| *tag == field.tag) {
                found[place] = Some(field);
            }
        }
        let mut hasher = Hasher::new_with_initial(seq);
        for field in found.iter().flatten() {
            hash_field(&mut hasher, field);
        }
        hasher.finalize()
    }

    /// Returns the text of `samtools checksum FILE` as a sequence of parts: with many read groups,
    /// it is too long for one buffer.
    pub fn into_samtools(self, file: &str) -> impl Iterator<Item = Vec<u8>> + use<> {
        let head = format!(
            "# Checksum 1.0 for file: {file}\n# Aux tags:          BC,FI,QT,RT,TC\n# BAM flags:         \
             PAIRED,READ1,READ2\n\n# Group    QC          count  flag+seq  +name     +qual     +aux      combined\n"
        )
        .into_bytes();
        self.format_parts(head, b"-", |out, name, set| {
            let CrcProducts { records, products: [seq, names, qual, tags] } = set.all;
            if records == 0 {
                return;
            }
            out.extend_from_slice(name);
            out.extend(std::iter::repeat_n(b' ', 10usize.saturating_sub(name.len())));
            let mut row = String::new();
            let _ = writeln!(
                row,
                " all  {records:12}  {seq:08x}  {names:08x}  {qual:08x}  {tags:08x}  {:08x}",
                set.all.combined()
            );
            out.extend_from_slice(row.as_bytes());
        })
    }

    pub fn into_bamseqchksum(self) -> impl Iterator<Item = Vec<u8>> {
        let head =
            b"###\tset\tcount\t\tb_seq\tname_b_seq\tb_seq_qual\tb_seq_tags(BC,FI,QT,RT,TC)\n".to_vec();
        self.format_parts(head, b"", |out, name, set| {
            for (which, sums) in [("all", &set.all), ("pass", &set.pass)] {
                let CrcProducts { records, products: [seq, names, qual, tags] } = sums;
                out.extend_from_slice(name);
                let row = format!("\t{which}\t{records}\t\t{seq:x}\t{names:x}\t{qual:x}\t{tags:x}\n");
                out.extend_from_slice(row.as_bytes());
            }
        })
    }

    /// Returns the text after `head` in parts of about [`PART_BYTES`]: the sums of all reads, of
    /// reads without a read group (which `without` names), and of each read group in the order of
    /// their names.
    fn format_parts(
        self,
        head: Vec<u8>,
        without: &[u8],
        put: impl Fn(&mut Vec<u8>, &[u8], &CrcProductSet),
    ) -> impl Iterator<Item = Vec<u8>> {
        let first = [(b"all".to_vec(), self.all), (without.to_vec(), self.without_group)];
        let mut sets = first.into_iter().chain(self.groups);
        let mut part = Some(head);
        std::iter::from_fn(move || {
            let mut part = part.take().or_else(|| {
                let (name, set) = sets.next()?;
                let mut part = Vec::new();
                put(&mut part, &name, &set);
                Some(part)
            })?;
            while part.len() < PART_BYTES {
                let Some((name, set)) = sets.next() else { break };
                put(&mut part, &name, &set);
            }
            Some(part)
        })
    }
}

const PART_BYTES: usize = 64 << 10;

/// Adds a field to a hash as BAM stores it, with integers in the smallest type, unsigned if they
/// are not negative.
fn hash_field(hasher: &mut Hasher, field: &Field<'_>) {
    hasher.update(&field.tag);
    let Some(value) = field.integer() else {
        hasher.update(&[field.kind]);
        hasher.update(field.value);
        if matches!(field.kind, b'Z' | b'H') {
            hasher.update(&[0]);
        }
        return;
    };
    let (kind, width) = match value {
        0..=0xff => (b'C', 1),
        0x100..=0xffff => (b'S', 2),
        0x1_0000.. => (b'I', 4),
        -0x80..0 => (b'c', 1),
        -0x8000..0 => (b's', 2),
        _ => (b'i', 4),
    };
    hasher.update(&[kind]);
    hasher.update(&value.to_le_bytes()[..width]);
}

impl Tally for SequencingChecksum {
    type Partial = SequencingSums;
    type Total = SequencingSums;

    fn observe(&self, partial: &mut SequencingSums, batch: &Batch) -> Result<()> {
        let mut primary = batch.records().filter(|(_, record)| record.flags().is_primary());
        primary.try_for_each(|(_, record)| partial.add_record(record, self))
    }

    fn merge(&self, into: &mut SequencingSums, from: SequencingSums) {
        let merge = |into: &mut CrcProductSet, from: &CrcProductSet| {
            into.all.merge(&from.all);
            into.pass.merge(&from.pass);
        };
        merge(&mut into.all, &from.all);
        merge(&mut into.without_group, &from.without_group);
        into.paid += from.paid;
        for (name, set) in from.groups {
            merge(into.groups.entry(name).or_default(), &set);
        }
    }

    fn finish(&self, total: SequencingSums) -> Result<SequencingSums> {
        Ok(total)
    }
}
