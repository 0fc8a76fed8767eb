//! Determines which part of a read is counted and how it is aligned (GATK 4.6.2,
//! `BaseRecalibrationEngine` and `ReadClipper`).
//!
//! The counted part excludes the adaptor and soft clips, and its CIGAR is in canonical form. These
//! rules decide which base is compared with which reference base, so all of GATK's oddities are
//! kept. For example, deletions at the ends of a CIGAR are removed without moving the read, and a
//! deletion next to an insertion is moved before it.
//!
//! GATK counts only well-formed reads (4.6.2, `WellformedReadFilter`), and its ApplyBQSR drops all
//! others. [`WellFormed`] is this filter.

use readmill_record::cigar::{HARD_CLIP, SKIPPED_REGION, SOFT_CLIP, consumes_query, consumes_reference};
use readmill_record::{Header, RecordRef};

pub const INSERTION: u32 = 1;
pub const DELETION: u32 = 2;

/// A CIGAR operator (its code in BAM) and its length.
pub type Op = (u32, u32);

/// The counted part of a read and its alignment. Reuse one value for many reads, because it keeps
/// its buffers.
#[derive(Debug, Default)]
pub struct CountedAlignment {
    pub pos: i64,
    /// The operators in canonical form. Hard clips replace everything that was cut.
    pub ops: Vec<Op>,
    pub first_base: usize,
    pub end_base: usize,
    spare_ops: Vec<Op>,
}

impl CountedAlignment {
    /// Sets `self` to the record's alignment, without the parts that are not counted.
    ///
    /// Returns `false` if no base remains or the order of CIGAR operators is invalid: GATK does not
    /// count such reads.
    pub fn take_record(&mut self, record: RecordRef<'_>) -> bool {
        self.ops.clear();
        let mut builder = CigarBuilder::new(&mut self.ops);
        let built = record.cigar().ops().all(|op| builder.push(op)) && builder.finish();
        (self.pos, self.first_base, self.end_base) = (i64::from(record.pos()), 0, record.l_seq());
        built && self.clip_adaptor(record) && self.clip_soft()
    }

    pub fn len(&self) -> usize {
        self.end_base - self.first_base
    }

    pub fn is_empty(&self) -> bool {
        self.first_base == self.end_base
    }

    /// Returns the 0-based reference position after the last aligned base.
    pub fn end(&self) -> i64 {
        self.pos + count_reference_bases(&self.ops)
    }

    /// Returns the base at a reference position, as an index into the remaining bases, and its
    /// CIGAR operator.
    ///
    /// Soft clips count as aligned. In a deletion, returns the first base after the deletion.
    /// Returns `None` if the read does not extend to the position.
    pub fn find_index(&self, position: i64) -> Option<(usize, u32)> {
        let clip = self.ops.iter().take_while(|op| op.0 == SOFT_CLIP || op.0 == HARD_CLIP);
        let clipped: i64 = clip.filter(|op| op.0 == SOFT_CLIP).map(|op| i64::from(op.1)).sum();
        let (mut at, mut index) = (self.pos - clipped, 0usize);
        if position < at {
            return None;
        }
        for &(op, len) in &self.ops {
            let spans = consumes_reference(op) || op == SOFT_CLIP;
            if spans && position < at + i64::from(len) {
                let inside = if consumes_query(op) { (position - at) as usize } else { 0 };
                return Some((index + inside, op));
            }
            at += if spans { i64::from(len) } else { 0 };
            index += if consumes_query(op) { len as usize } else { 0 };
        }
        None
    }

    fn clip_adaptor(&mut self, record: RecordRef<'_>) -> bool {
        let Some(boundary) = find_adaptor_boundary(record, self.end()) else { return true };
        if boundary < self.pos || boundary >= self.end() {
            return true;
        }
        let Some((index, op)) = self.find_index(boundary) else { return true };
        if record.flags().is_reverse() {
            // In a deletion, `index` is already the base after it, which is kept.
            self.clip_bases(0, index + usize::from(consumes_query(op)))
        } else {
            self.clip_bases(index, self.len())
        }
    }

    /// Removes soft clips. The right one is removed first, because removing the left one changes
    /// the indexes.
    fn clip_soft(&mut self) -> bool {
        let (mut index, mut left, mut right, mut inside) = (0, 0, None, false);
        for &(op, len) in &self.ops {
            match op {
                SOFT_CLIP if inside => right = Some(index),
                SOFT_CLIP => left = index + len as usize,
                HARD_CLIP => {}
                _ => inside = true,
            }
            index += if consumes_query(op) { len as usize } else { 0 };
        }
        right.is_none_or(|right| self.clip_bases(right, self.len())) && self.clip_bases(0, left)
    }

    /// Removes the bases in `start..stop`, which must include the first or the last base. Returns
    /// `false` if no base remains.
    fn clip_bases(&mut self, start: usize, stop: usize) -> bool {
        if start >= stop {
            return true;
        }
        let is_left = start == 0;
        if stop - start >= self.len() {
            return false;
        }
        if is_left {
            self.pos += compute_position_shift(&self.ops, stop);
            self.first_base += stop;
        } else {
            self.end_base = self.first_base + start;
        }
        let old = std::mem::replace(&mut self.ops, std::mem::take(&mut self.spare_ops));
        self.ops.clear();
        let mut builder = CigarBuilder::new(&mut self.ops);
        let (mut at, mut built) = (0usize, true);
        for &(op, len) in &old {
            if op == HARD_CLIP {
                built &= builder.push((op, len));
                continue;
            }
            let end = at + if consumes_query(op) { len as usize } else { 0 };
            if end <= start || at >= stop {
                let at_cut = at == start || at == stop;
                built &= !consumes_query(op) && at_cut || builder.push((op, len));
            } else {
                let kept =
                    if is_left { end.saturating_sub(stop) } else { start.saturating_sub(at) } as u32;
                let cut = (HARD_CLIP, len - kept.min(len));
                let (first, second) = if is_left { (cut, (op, kept)) } else { ((op, kept), cut) };
                built &= kept == 0 && !consumes_query(op) || builder.push(first) && builder.push(second);
            }
            at = end;
        }
        built &= builder.finish();
        self.spare_ops = old;
        built
    }
}

fn count_reference_bases(ops: &[Op]) -> i64 {
    ops.iter().filter(|op| consumes_reference(op.0)).map(|op| i64::from(op.1)).sum()
}

/// Returns how far the alignment start moves if the first `clipped` bases are removed. Deletions
/// directly after these bases are also removed.
fn compute_position_shift(ops: &[Op], clipped: usize) -> i64 {
    let (mut at, mut shift) = (0usize, 0i64);
    for &(op, len) in ops.iter().filter(|op| op.0 != HARD_CLIP) {
        let end = at + if consumes_query(op) { len as usize } else { 0 };
        let aligned = consumes_reference(op);
        if end <= clipped {
            shift += if aligned { i64::from(len) } else { 0 };
        } else {
            if at < clipped && aligned {
                shift += (clipped - at) as i64;
            }
            break;
        }
        at = end;
    }
    shift
}

/// Returns the 0-based reference position of the adaptor base next to the insert, or `None` if the
/// read is not known to contain adaptor.
///
/// A read runs into the adaptor if the insert is shorter than the read. `end` is the position after
/// the last aligned base of the read. (GATK 4.6.2, `ReadUtils.getAdaptorBoundary`.)
fn find_adaptor_boundary(record: RecordRef<'_>, end: i64) -> Option<i64> {
    let flags = record.flags();
    let placed = |ref_id: i32, pos: i32| ref_id >= 0 && pos >= 0;
    let mapped = !flags.is_unmapped() && placed(record.ref_id(), record.pos());
    let mate = !flags.is_mate_unmapped() && placed(record.next_ref_id(), record.next_pos());
    let (pos, mate_pos) = (i64::from(record.pos()), i64::from(record.next_pos()));
    let tlen = i64::from(record.tlen());
    let faces = flags.is_reverse() != flags.is_mate_reverse();
    if !(tlen != 0 && flags.is_paired() && mapped && mate && faces) {
        return None;
    }
    if flags.is_reverse() {
        (end - 1 > mate_pos).then_some(mate_pos - 1)
    } else {
        (pos <= mate_pos + tlen).then_some(pos + tlen.abs())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CigarSection {
    LeftHard,
    LeftSoft,
    Inside,
    RightSoft,
    RightHard,
}

/// Builds a CIGAR in canonical form (GATK 4.6.2, `CigarBuilder`).
///
/// Merges adjacent equal operators, drops operators of length 0, moves deletions before insertions,
/// and removes deletions at the ends.
struct CigarBuilder<'a> {
    ops: &'a mut Vec<Op>,
    last: Option<u32>,
    section: CigarSection,
}

fn is_clip(op: u32) -> bool {
    op == SOFT_CLIP || op == HARD_CLIP
}

impl<'a> CigarBuilder<'a> {
    fn new(ops: &'a mut Vec<Op>) -> Self {
        CigarBuilder { ops, last: None, section: CigarSection::LeftHard }
    }

    /// Returns the operator of the `n`th element from the end, counted from 1.
    fn nth_last_operator(&self, n: usize) -> Option<u32> {
        self.ops.len().checked_sub(n).map(|at| self.ops[at].0)
    }

    /// Appends an operator. Returns `false` if the operator is invalid at this position.
    fn push(&mut self, (op, len): Op) -> bool {
        if len == 0 || op == DELETION && self.is_at_start() {
            return true;
        }
        if !self.enter_section(op) {
            return false;
        }
        let n = self.ops.len();
        if self.last == Some(op) {
            self.ops[n - 1].1 += len;
        } else if is_clip(op) && self.last.is_some_and(|last| !consumes_query(last) && !is_clip(last)) {
            self.ops[n - 1] = (op, len);
            self.last = Some(op);
        } else if is_clip(op) && self.ends_with_deletion_and_insertion() {
            self.ops[n - 2] = self.ops[n - 1];
            self.ops[n - 1] = (op, len); // `last` stays the insertion
        } else if op == DELETION && self.last == Some(INSERTION) {
            if self.nth_last_operator(2) == Some(DELETION) {
                self.ops[n - 2].1 += len;
            } else {
                self.ops.insert(n - 1, (op, len));
            }
        } else {
            self.ops.push((op, len));
            self.last = Some(op);
        }
        true
    }

    /// Returns whether the CIGAR so far has only clips, or clips and an insertion. A deletion that
    /// follows is dropped.
    fn is_at_start(&self) -> bool {
        match self.last {
            None => true,
            Some(INSERTION) => self.nth_last_operator(2).is_none_or(is_clip),
            Some(last) => is_clip(last),
        }
    }

    fn ends_with_deletion_and_insertion(&self) -> bool {
        self.last == Some(INSERTION) && self.nth_last_operator(2) == Some(DELETION)
    }

    fn enter_section(&mut self, op: u32) -> bool {
        let next = match (op, self.section) {
            (HARD_CLIP, CigarSection::LeftHard) => CigarSection::LeftHard,
            (HARD_CLIP, _) => CigarSection::RightHard,
            (SOFT_CLIP, CigarSection::LeftHard | CigarSection::LeftSoft) => CigarSection::LeftSoft,
            (SOFT_CLIP, _) => CigarSection::RightSoft,
            _ => CigarSection::Inside,
        };
        let valid = next >= self.section;
        self.section = next;
        valid
    }

    /// Ends the CIGAR. Returns `false` if the CIGAR is empty, or has nothing after its left soft
    /// clips.
    fn finish(self) -> bool {
        if self.last == Some(DELETION) {
            self.ops.pop();
        } else if self.ends_with_deletion_and_insertion() {
            let at = self.ops.len() - 2;
            self.ops.remove(at);
        }
        !self.ops.is_empty() && self.section != CigarSection::LeftSoft
    }
}

/// GATK's filter for well-formed reads. It uses the contig lengths of the header.
#[derive(Clone, Debug)]
pub struct WellFormed {
    header: Header,
}

impl WellFormed {
    pub fn new(header: &Header) -> Self {
        WellFormed { header: header.clone() }
    }

    /// Returns whether SEQ, CIGAR and POS agree and the CIGAR has no skipped regions.
    ///
    /// The caller checks the other requirements, a read group and qualities.
    pub fn has_sound_alignment(&self, record: RecordRef<'_>) -> bool {
        let bases = record.l_seq();
        let mapped = !record.flags().is_unmapped() && record.ref_id() >= 0 && record.pos() >= 0;
        let agrees = || record.cigar().query_length() == bases as i64 && self.starts_inside(record);
        bases > 0 && (!mapped || agrees()) && record.cigar().ops().all(|(op, _)| op != SKIPPED_REGION)
    }

    fn starts_inside(&self, record: RecordRef<'_>) -> bool {
        let contigs = self.header.references();
        let contig = usize::try_from(record.ref_id()).ok().and_then(|id| contigs.get(id));
        contig.is_some_and(|contig| i64::from(record.pos()) < i64::from(contig.length))
    }
}

#[cfg(test)]
mod tests {
    use readmill_record::cigar::OPERATORS;
    use readmill_record::{Flags, edit};

    use super::*;

    fn read(cigar: &str, flags: u16, next_pos: i32, tlen: i32) -> Vec<u8> {
        let (mut ops, mut n) = (Vec::new(), 0u32);
        for c in cigar.bytes() {
            match OPERATORS.iter().position(|&op| op == c) {
                Some(op) => ops.push((op as u32, std::mem::take(&mut n))),
                None => n = n * 10 + u32::from(c - b'0'),
            }
        }
        let bases: u32 = ops.iter().filter(|op| consumes_query(op.0)).map(|op| op.1).sum();
        let mut raw = vec![0u8; 36];
        raw[8..12].copy_from_slice(&100i32.to_le_bytes());
        raw[12] = 2;
        raw[16..18].copy_from_slice(&(ops.len() as u16).to_le_bytes());
        raw[20..24].copy_from_slice(&bases.to_le_bytes());
        edit::set_flags(&mut raw, flags);
        edit::set_next_pos(&mut raw, next_pos);
        edit::set_tlen(&mut raw, tlen);
        raw.extend_from_slice(b"r\0");
        ops.iter().for_each(|op| raw.extend(((op.1 << 4) | op.0).to_le_bytes()));
        raw.resize(raw.len() + (bases.div_ceil(2) + bases) as usize, 0x11);
        edit::set_block_size(&mut raw, 0);
        raw
    }

    /// Returns POS, CIGAR and the range of the counted bases.
    fn taken(raw: &[u8]) -> Option<(i64, String, (usize, usize))> {
        let mut alignment = CountedAlignment::default();
        let record = RecordRef::new(raw);
        alignment.take_record(record).then(|| {
            let shown = |op: &Op| format!("{}{}", op.1, char::from(OPERATORS[op.0 as usize]));
            let cigar = alignment.ops.iter().filter(|op| op.0 != HARD_CLIP).map(shown).collect();
            (alignment.pos, cigar, (alignment.first_base, alignment.end_base))
        })
    }

    #[test]
    fn cigars_become_canonical_and_lose_their_clips() {
        for (cigar, expected) in [
            ("10M", Some((100, "10M", (0, 10)))),
            ("4M6M", Some((100, "10M", (0, 10)))),
            ("3S10M2S", Some((100, "10M", (3, 13)))),
            ("5H3S10M2S1H", Some((100, "10M", (3, 13)))),
            ("2D10M", Some((100, "10M", (0, 10)))), // the position does not change
            ("3S2D10M", Some((100, "10M", (3, 13)))),
            ("3S2I2D10M", Some((100, "2I10M", (3, 15)))),
            ("10M2D", Some((100, "10M", (0, 10)))),
            ("10M2D3S", Some((100, "10M", (0, 10)))),
            ("5M3I2D5M", Some((100, "5M2D3I5M", (0, 13)))),
            ("5M1D3I2D5M", Some((100, "5M3D3I5M", (0, 13)))),
            ("10S", None),
            ("5M3S5M", None),
        ] {
            let found = taken(&read(cigar, 0, -1, 0));
            assert_eq!(found, expected.map(|(pos, ops, kept)| (pos, ops.to_string(), kept)), "{cigar}");
        }
    }

    #[test]
    fn what_lies_beyond_the_fragment_is_cut_off() {
        let forward = Flags::PAIRED | Flags::MATE_REVERSE;
        let reverse = Flags::PAIRED | Flags::REVERSE;
        for (cigar, flags, next_pos, tlen, expected) in [
            ("50M", forward, 100, 30, Some((100, "30M", (0, 30)))),
            ("50M", forward, 100, 50, Some((100, "50M", (0, 50)))),
            ("50M", forward, 100, 0, Some((100, "50M", (0, 50)))),
            ("50M", reverse, 120, -30, Some((120, "30M", (20, 50)))),
            ("50M", reverse, 100, -50, Some((100, "50M", (0, 50)))),
            ("50M", reverse | Flags::MATE_REVERSE, 120, -30, Some((100, "50M", (0, 50)))),
            ("50M", reverse | Flags::MATE_UNMAPPED, 120, -30, Some((100, "50M", (0, 50)))),
            ("20M10D30M", forward, 100, 25, Some((100, "20M", (0, 20)))),
            ("20M10D30M", reverse, 126, -30, Some((130, "30M", (20, 50)))),
            ("5S45M", forward, 100, 30, Some((100, "30M", (5, 35)))),
            ("5S45M", reverse, 120, -30, Some((120, "25M", (25, 50)))),
        ] {
            let found = taken(&read(cigar, flags, next_pos, tlen));
            let expected = expected.map(|(pos, ops, kept): (i64, &str, _)| (pos, ops.to_string(), kept));
            assert_eq!(found, expected, "{cigar} {flags:#x} {next_pos} {tlen}");
        }
    }

    #[test]
    fn positions_have_an_index_and_a_deletion_that_of_the_base_behind_it() {
        let raw = read("5S10M2I3D10M", 0, -1, 0);
        let mut alignment = CountedAlignment::default();
        assert!(alignment.take_record(RecordRef::new(&raw)));
        let found: Vec<Option<(usize, u32)>> =
            [99, 100, 109, 110, 112, 113, 122, 123].map(|at| alignment.find_index(at)).into();
        let (m, d) = (0, DELETION);
        // In canonical order, the deletion precedes the insertion.
        let expected = [
            None,
            Some((0, m)),
            Some((9, m)),
            Some((10, d)),
            Some((10, d)),
            Some((12, m)),
            Some((21, m)),
            None,
        ];
        assert_eq!(found, expected);
    }
}
