//! The counts of one thread, which do not depend on the order of reads.

use readmill_record::cigar::HARD_CLIP;
use readmill_record::{Flags, RecordRef};
use serde::{Deserialize, Serialize};

use super::cycles::{StatsBases, StatsQualities};
use super::histograms::{Count, Histogram, Indels, InsertSizes, NamedCounts};
use super::options::StatsOptions;
use super::selection::Selected;
use super::settings::StatsSettings;
use super::targets::count_mapped_in;

/// Maximum read length with a row of its own. Longer reads are counted together.
pub const MAX_READ_LENGTH: usize = (1 << 16) - 2;

pub(super) const GC_BINS: usize = 200;

/// Index of first and last segments in arrays. Reads that are not paired count as first segments.
const FIRST: usize = 0;
const LAST: usize = 1;

/// CIGAR operators of `bases mapped (cigar)`: M, I, = and X, one bit each.
const MAPPED_OPS: u32 = 0b1_1000_0011;

/// The counts of one thread.
///
/// [`Stats`](super::Stats) merges the counts of all threads at the end. A job in stages stores them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StatsPartial {
    pub(super) counts: NamedCounts,
    /// Sums of the CRC-32 of names, sequences (packed as in BAM) and qualities, modulo 2^32.
    pub(super) checksums: [u32; 3],
    /// Sum of NM. Negative values wrap around, as in samtools.
    pub(super) mismatches: u64,
    pub(super) mapqs: Histogram,
    pub(super) lengths: [Histogram; 3],
    pub(super) longest: [usize; 3],
    pub(super) gc: [Histogram; 2],
    pub(super) qualities: [StatsQualities; 2],
    pub(super) bases: [StatsBases; 2],
    pub(super) indels: Indels,
    pub(super) insert_sizes: InsertSizes,
    place: Option<(i32, i32)>,
    disordered: bool,
}

impl StatsPartial {
    pub(super) fn max_bytes() -> usize {
        let lengths = 3 * (MAX_READ_LENGTH + 2) * 8;
        let others = 256 * 8
            + 2 * 256 * 8
            + Indels::BYTES
            + InsertSizes::max_bytes(StatsOptions::default().max_insert_size);
        size_of::<StatsPartial>() + lengths + others + 2 * (StatsQualities::BYTES + StatsBases::BYTES)
    }

    /// Returns the bytes that the options need beyond [`StatsPartial::max_bytes`].
    pub(super) fn extra_bytes(options: &StatsOptions) -> u64 {
        let usual = InsertSizes::max_bytes(StatsOptions::default().max_insert_size);
        // Twice, because the summary has a row for each size, too.
        (2 * InsertSizes::max_bytes(options.max_insert_size)).saturating_sub(2 * usual) as u64
    }

    /// Starts a batch. It need not follow the previous batch of this thread.
    pub(super) fn begin_batch(&mut self) {
        self.place = None;
    }

    /// Returns whether the reads of each batch were sorted.
    pub(super) fn is_sorted(&self) -> bool {
        !self.disordered
    }

    pub(super) fn count_read(&mut self, record: RecordRef<'_>, settings: &StatsSettings) {
        let target = match &settings.targets {
            None => None,
            Some(targets) => match targets.find_overlap(record, None) {
                None => return,
                found => found,
            },
        };
        match settings.selection.classify_read(record) {
            Selected::Yes => {}
            Selected::Filtered => return self.counts.add(Count::Filtered, 1),
            Selected::No => return,
        }
        self.add_checksums(record);
        let (flags, length) = (record.flags(), record.l_seq());
        if flags.is_secondary() {
            return self.counts.add(Count::Secondary, 1);
        }
        self.counts.add(Count::Supplementary, u64::from(flags.is_supplementary()));
        if length == 0 {
            return;
        }
        if flags.is_duplicate() {
            self.counts.add(Count::Duplicates, 1);
            self.counts.add(Count::DuplicateBases, length as u64);
        }
        let segment = segment_index(flags);
        self.add_length(record, segment);
        let aside = Flags::UNMAPPED | Flags::SUPPLEMENTARY | Flags::QC_FAIL | Flags::DUPLICATE;
        if flags.0 & aside == 0 {
            self.mapqs.add(usize::from(record.mapq()));
        }
        if flags.is_primary() {
            self.add_primary(record, segment, settings.options.trim_quality);
        }
        if flags.is_unmapped() {
            return;
        }
        self.indels.add_read(record, segment);
        if flags.is_primary() && flags.is_paired() && !flags.is_mate_unmapped() {
            self.insert_sizes.add_read(record, settings.options.max_insert_size);
        }
        self.add_mapped(record, target);
    }

    fn add_checksums(&mut self, record: RecordRef<'_>) {
        for (sum, bytes) in self.checksums.iter_mut().zip([record.qname(), record.seq(), record.qual()])
        {
            *sum = sum.wrapping_add(crc32fast::hash(bytes));
        }
    }

    fn add_length(&mut self, record: RecordRef<'_>, segment: Option<usize>) {
        let clipped = record.cigar().ops().filter(|&(op, _)| op == HARD_CLIP).map(|(_, n)| n as usize);
        let length = record.l_seq() + clipped.sum::<usize>();
        for group in [Some(0), segment.map(|segment| 1 + segment)].into_iter().flatten() {
            self.longest[group] = self.longest[group].max(length);
            if record.flags().is_primary() {
                self.lengths[group].add(length.min(MAX_READ_LENGTH + 1));
            }
        }
    }

    fn add_primary(&mut self, record: RecordRef<'_>, segment: Option<usize>, trim_quality: i32) {
        let (flags, length) = (record.flags(), record.l_seq() as u64);
        let counts = &mut self.counts;
        counts.add(Count::Bases, length);
        counts.add(Count::QcFailed, u64::from(flags.is_qc_fail()));
        counts.add(Count::Paired, u64::from(flags.is_paired()));
        match segment {
            Some(FIRST) => {
                counts.add(Count::First, 1);
                counts.add(Count::FirstBases, length);
            }
            Some(_) => {
                counts.add(Count::Last, 1);
                counts.add(Count::LastBases, length);
            }
            None => counts.add(Count::Other, 1),
        }
        if trim_quality > 0 {
            counts.add(Count::TrimmedBases, count_trimmed_bases(record, trim_quality));
        }
        if flags.is_unmapped() {
            counts.add(Count::Unmapped, 1);
        } else {
            counts.add(Count::MappedBases, length);
            counts.add(Count::MapqZero, u64::from(record.mapq() == 0));
            // samtools counts a read as properly paired only if its mate is mapped.
            if flags.is_paired() && !flags.is_mate_unmapped() {
                counts.add(Count::MappedInPair, 1);
                counts.add(Count::Proper, u64::from(flags.is_proper()));
                counts.add(Count::OtherContig, u64::from(record.ref_id() != record.next_ref_id()));
            } else {
                counts.add(Count::MappedAlone, 1);
            }
        }
        if let Some(segment) = segment {
            self.qualities[segment].add_quals(record.qual(), flags.is_reverse());
            let gc = self.bases[segment].add_bases(record);
            let bin = |gc: u64| (gc * (GC_BINS as u64 - 1) / length).min(GC_BINS as u64 - 1) as usize;
            for bin in bin(gc)..bin(gc + 1) {
                self.gc[segment].add(bin);
            }
        }
    }

    /// Counts a mapped read, including supplementary ones. `target` is the first target region that it
    /// overlaps.
    fn add_mapped(&mut self, record: RecordRef<'_>, target: Option<(i64, i64)>) {
        if let Some(field) = record.field(*b"NM") {
            self.mismatches =
                self.mismatches.wrapping_add(integer_value(field.kind, field.value).cast_unsigned());
        }
        let mapped = record.cigar().ops().filter(|&(op, _)| MAPPED_OPS >> op & 1 == 1);
        let mapped = match target {
            None => mapped.map(|(_, n)| u64::from(n)).sum(),
            Some(target) => count_mapped_in(record, target),
        };
        self.counts.add(Count::CigarBases, mapped);
        let place = (record.ref_id(), record.pos());
        let before = self.place.replace(place);
        self.disordered |= before.is_some_and(|(ref_id, pos)| ref_id == place.0 && pos > place.1);
    }

    pub(super) fn merge(&mut self, from: StatsPartial) {
        self.counts.merge(&from.counts);
        for (into, from) in self.checksums.iter_mut().zip(from.checksums) {
            *into = into.wrapping_add(from);
        }
        self.mismatches = self.mismatches.wrapping_add(from.mismatches);
        self.mapqs.merge(from.mapqs);
        for (into, from) in self.lengths.iter_mut().zip(from.lengths) {
            into.merge(from);
        }
        for (into, from) in self.longest.iter_mut().zip(from.longest) {
            *into = from.max(*into);
        }
        for (into, from) in self.gc.iter_mut().zip(from.gc) {
            into.merge(from);
        }
        for (into, from) in self.qualities.iter_mut().zip(from.qualities) {
            into.merge(from);
        }
        for (into, from) in self.bases.iter_mut().zip(from.bases) {
            into.merge(from);
        }
        self.indels.merge(from.indels);
        self.insert_sizes.merge(from.insert_sizes);
        self.disordered |= from.disordered;
    }
}

/// Returns whether a read is the first or the last segment of its template. `None` if it is paired and
/// neither or both.
pub(super) fn segment_index(flags: Flags) -> Option<usize> {
    match (flags.is_paired(), flags.is_first(), flags.is_last()) {
        (false, ..) | (true, true, false) => Some(FIRST),
        (true, false, true) => Some(LAST),
        _ => None,
    }
}

/// Returns how many bases bwa's quality trimming would remove from the end of a read. At least 35 bases
/// remain. Like bwa and samtools, it removes one base less than the best sum of qualities suggests.
fn count_trimmed_bases(record: RecordRef<'_>, quality: i32) -> u64 {
    const MIN: usize = 35;
    let quals = record.qual();
    let max_trimmed = (quals.len() + 1).saturating_sub(MIN);
    if quals.len() < MIN {
        return 0;
    }
    let (mut sum, mut best, mut trimmed) = (0i64, 0, 0);
    for n in 0..max_trimmed {
        let at = if record.flags().is_reverse() { n } else { quals.len() - 1 - n };
        sum += i64::from(quality) - i64::from(quals[at]);
        if sum < 0 {
            break;
        }
        if sum > best {
            (best, trimmed) = (sum, n);
        }
    }
    trimmed as u64
}

fn integer_value(kind: u8, value: &[u8]) -> i64 {
    match (kind, value) {
        (b'c', &[a]) => i64::from(a.cast_signed()),
        (b'C', &[a]) => i64::from(a),
        (b's', &[a, b]) => i64::from(i16::from_le_bytes([a, b])),
        (b'S', &[a, b]) => i64::from(u16::from_le_bytes([a, b])),
        (b'i', &[a, b, c, d]) => i64::from(i32::from_le_bytes([a, b, c, d])),
        (b'I', &[a, b, c, d]) => i64::from(u32::from_le_bytes([a, b, c, d])),
        _ => 0,
    }
}
