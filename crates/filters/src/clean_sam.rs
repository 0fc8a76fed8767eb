//! The flag `--clean-sam`: clips alignments that extend beyond the end of their reference sequence.

use std::sync::Arc;

use readmill_record::cigar::{HARD_CLIP, SOFT_CLIP, consumes_query, consumes_reference};
use readmill_record::realign::{self, PackedOperator};
use readmill_record::{Batch, Changes, Flags, Header, RecordRef, Result, Step, edit, tag};

use crate::flag::Flag;
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::switch(
        "clean-sam",
        "Clip alignments and MC fields that extend beyond the end of a reference sequence, and set the MAPQ of unmapped reads to 0 (Picard CleanSam)",
    )],
    parse: |given, filters| {
        filters.extend(given.is_given("clean-sam").then_some(CleanSamRequest));
        Ok(())
    },
};

#[derive(Debug)]
struct CleanSamRequest;

impl Filter for CleanSamRequest {
    fn command_words(&self) -> Vec<String> {
        vec!["--clean-sam".to_string()]
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(CleanSam::new(context.header)))
    }
}

/// Clips alignments at the end of their reference sequence, as Picard 3.4 CleanSam does: bases
/// beyond the end are soft-clipped, in the CIGAR and in MC (the mate's CIGAR), and unmapped reads
/// get MAPQ 0. NM, MD, UQ and TLEN do not change.
/// 0. NM, MD, UQ and TLEN do not change.
///
/// Picard counts the overhang in reference bases, but clips this number of read bases. So a
/// deletion in the overhang clips more than necessary, and an insertion leaves an overhang. This
/// step does the same, unless the resulting CIGAR does not fit the read or aligns no base (SEQ `*`,
/// long deletions): then the CIGAR is cut exactly at the end of the sequence. A read completely
/// beyond the end becomes unmapped without a position, as in samtools fixmate.
#[derive(Clone)]
pub struct CleanSam {
    lengths: Arc<[i64]>,
    ops: Vec<PackedOperator>,
    clipped: Vec<PackedOperator>,
    text: Vec<u8>,
    counts: CleanCounts,
}

#[derive(Clone, Copy, Default)]
struct CleanCounts {
    clipped: u64,
    mates: u64,
    mapq: u64,
    lost: u64,
}

impl CleanSam {
    pub fn new(header: &Header) -> Self {
        let lengths = header.references().iter().map(|it| i64::from(it.length)).collect();
        let [ops, clipped] = [const { Vec::new() }; 2];
        CleanSam { lengths, ops, clipped, text: Vec::new(), counts: CleanCounts::default() }
    }

    /// Returns the number of reference bases from the end of the sequence to `end` (0-based,
    /// exclusive). 0 or less if `end` is not beyond it, or if the sequence does not exist.
    fn bases_beyond_end(&self, ref_id: i32, end: i64) -> i64 {
        let length = usize::try_from(ref_id).ok().and_then(|id| self.lengths.get(id));
        length.map_or(0, |length| end - length)
    }

    /// Returns the overhang of the read in reference bases; 0 or less if nothing has to be clipped.
    fn read_overhang(&self, record: RecordRef<'_>) -> i64 {
        if record.flags().is_unmapped() || record.pos() < 0 {
            return 0;
        }
        let span = record.cigar().reference_length();
        if span == 0 {
            0
        } else {
            self.bases_beyond_end(record.ref_id(), i64::from(record.pos()) + span)
        }
    }

    /// Returns the overhang of the mate, 0 or less without an overhang. Parses the mate's CIGAR
    /// from MC into `self.ops`, for [`clip_overhang`].
    fn mate_overhang(&mut self, record: RecordRef<'_>) -> i64 {
        let flags = record.flags();
        let none = !flags.is_paired() || flags.is_mate_unmapped() || record.next_pos() < 0;
        if none || record.next_ref_id() < 0 {
            return 0;
        }
        let field = record.field(tag::MC).filter(|field| field.kind == b'Z');
        if !field.is_some_and(|field| realign::parse_cigar(field.value, &mut self.ops)) {
            return 0;
        }
        let span = reference_length(&self.ops);
        if span == 0 {
            0
        } else {
            self.bases_beyond_end(record.next_ref_id(), i64::from(record.next_pos()) + span)
        }
    }

    fn is_clean(&mut self, record: RecordRef<'_>) -> bool {
        let idle = record.flags().is_unmapped() && record.mapq() != 0;
        !idle && self.read_overhang(record) <= 0 && self.mate_overhang(record) <= 0
    }

    /// Appends the record to `out`, with CIGAR and MC clipped, and with MAPQ 0 if it is unmapped.
    fn write_cleaned(&mut self, record: RecordRef<'_>, out: &mut Vec<u8>) {
        let (start, own) = (out.len(), self.read_overhang(record));
        if own > 0 {
            self.ops.clear();
            self.ops.extend(record.cigar().ops().map(|(op, n)| n << 4 | op));
            self.counts.clipped += 1;
            if clip_overhang(&self.ops, own, &mut self.clipped) {
                realign::copy_with_cigar(record, &self.clipped, out);
            } else {
                realign::copy_with_cigar(record, &[], out);
                unmap_read(&mut out[start..]);
                self.counts.lost += 1;
            }
        } else {
            out.extend_from_slice(record.raw());
        }
        if record.flags().is_unmapped() && record.mapq() != 0 {
            edit::set_mapq(&mut out[start..], 0);
            self.counts.mapq += 1;
        }
        let mate = self.mate_overhang(record);
        if mate > 0 && clip_overhang(&self.ops, mate, &mut self.clipped) {
            self.text.clear();
            realign::write_cigar(self.clipped.iter().map(|op| (op & 15, op >> 4)), &mut self.text);
            let copy = out.split_off(start);
            edit::copy_with_text(RecordRef::new(&copy), tag::MC, &self.text, out);
            self.counts.mates += 1;
        }
    }
}

fn unmap_read(raw: &mut [u8]) {
    let flags = RecordRef::new(raw).flags().0;
    edit::set_flags(raw, flags & !Flags::PROPER | Flags::UNMAPPED);
    edit::set_ref_id(raw, -1);
    edit::set_pos(raw, -1);
    edit::set_mapq(raw, 0);
    edit::set_bin(raw);
}

pub(super) fn reference_length(ops: &[PackedOperator]) -> i64 {
    ops.iter().filter(|&&op| consumes_reference(op & 15)).map(|&op| i64::from(op >> 4)).sum()
}

fn query_length(ops: &[PackedOperator]) -> i64 {
    ops.iter().filter(|&&op| consumes_query(op & 15)).map(|&op| i64::from(op >> 4)).sum()
}

fn aligns_bases(op: PackedOperator) -> bool {
    consumes_query(op & 15) && consumes_reference(op & 15)
}

/// Writes `ops` to `out`, with an overhang of `overhang` reference bases clipped: as Picard does if
/// the result is usable, otherwise exactly at the end of the sequence. Returns `false` if no base
/// before the end is aligned; the read must become unmapped then.
fn clip_overhang(ops: &[PackedOperator], overhang: i64, out: &mut Vec<PackedOperator>) -> bool {
    let fits = clip_as_picard(ops, overhang, out) && query_length(out) == query_length(ops);
    if fits && out.iter().any(|&op| aligns_bases(op)) {
        return true;
    }
    clip_at_end(ops, overhang, out)
}

/// Replaces an overhang of `overhang` reference bases by a soft clip; hard clips at the end are
/// kept. Returns `false` if no base before the end is aligned. Also used by `--fix-mates samtools`.
pub(super) fn clip_at_end(ops: &[PackedOperator], overhang: i64, out: &mut Vec<PackedOperator>) -> bool {
    let hard = ops.iter().rposition(|op| op & 15 != HARD_CLIP).map_or(0, |last| last + 1);
    let (mut left, mut soft) = (reference_length(ops) - overhang, 0);
    out.clear();
    for &op in &ops[..hard] {
        let (kind, n) = (op & 15, i64::from(op >> 4));
        let kept =
            if !consumes_reference(kind) { if left > 0 { n } else { 0 } } else { n.min(left.max(0)) };
        let leads = kind == HARD_CLIP || kind == SOFT_CLIP && !out.iter().any(|&op| aligns_bases(op));
        if leads {
            out.push(op);
            continue;
        }
        if kept > 0 {
            out.push((kept as u32) << 4 | kind);
        }
        soft += if consumes_query(kind) { n - kept } else { 0 };
        left -= if consumes_reference(kind) { n } else { 0 };
    }
    while out.last().is_some_and(|&op| !aligns_bases(op) && op & 15 != SOFT_CLIP && op & 15 != HARD_CLIP)
    {
        let op = out.pop().unwrap_or_default(); // a deletion or insertion next to the clip is meaningless
        soft += if consumes_query(op & 15) { i64::from(op >> 4) } else { 0 };
    }
    if soft > 0 {
        out.push((soft as u32) << 4 | SOFT_CLIP);
    }
    out.extend_from_slice(&ops[hard..]);
    out.iter().any(|&op| aligns_bases(op))
}

/// Clips as many read bases as the overhang has reference bases (`AbstractAlignmentMerger` of
/// Picard 3.4, `CigarUtil.softClipEndOfRead` of htsjdk 4.2). Returns `false` for a CIGAR with which
/// these fail.
fn clip_as_picard(ops: &[PackedOperator], overhang: i64, out: &mut Vec<PackedOperator>) -> bool {
    out.clear();
    let Some(&last) = ops.last() else { return false };
    let of_kind = |kind| if last & 15 == kind { i64::from(last >> 4) } else { 0 };
    let length = query_length(ops);
    // Number of read bases that remain, and number of read bases to clip, which includes an
    // existing soft clip.
    let stay = length - overhang - of_kind(SOFT_CLIP);
    let clipped = length - stay;
    let mut before = 0;
    for &op in ops {
        let (kind, n) = (op & 15, i64::from(op >> 4));
        let end = before + if consumes_query(kind) { n } else { 0 };
        if end < stay {
            out.push(op);
            before = end;
            continue;
        }
        let within = stay - before; // bases of this operator that remain
        let mut soft = clipped;
        if !consumes_query(kind) {
            if within != 0 {
                return false;
            }
        } else if consumes_reference(kind) {
            if within > 0 {
                out.push((within as u32) << 4 | kind);
            }
        } else {
            soft += within;
        }
        if soft <= 0 || soft >= 1 << 28 {
            return false;
        }
        out.push((soft as u32) << 4 | SOFT_CLIP);
        if of_kind(HARD_CLIP) > 0 {
            out.push(last);
        }
        return true;
    }
    false
}

impl Step for CleanSam {
    fn name(&self) -> &'static str {
        "clean-sam"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    /// A clip adds at most two operators (8 bytes) to the CIGAR and their text (10 bytes) to MC.
    fn max_growth_bytes(&self) -> usize {
        8 + 10
    }

    fn changes(&self) -> Changes {
        Changes { flags: true, alignment: true, ..Changes::of_tags(&[tag::MC, tag::CG]) }
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let dirty = batch.find_positions(|record| !self.is_clean(record));
        batch.amend_records(&dirty, |_, record, out| {
            self.write_cleaned(record, out);
            Ok(())
        })
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let CleanCounts { clipped, mates, mapq, lost } = self.counts;
        vec![
            ("reads clipped at the end of their reference sequence", clipped - lost),
            ("MC fields clipped at the end of the mate's reference sequence", mates),
            ("reads wholly beyond their reference sequence made unmapped", lost),
            ("mapping qualities of unmapped reads set to 0", mapq),
        ]
    }
}

#[cfg(test)]
mod tests {
    //! Expected results are from Picard 3.4.0 CleanSam, for a sequence of 100 bases.

    use super::super::testing::{applied, header};
    use super::*;

    /// Returns columns 2 to 6 and the optional fields of a read after the step.
    fn cleaned(line: &str) -> String {
        let header = header("@SQ SN:c LN:100;@SQ SN:d LN:1000");
        let after = applied(&mut CleanSam::new(&header), &header, &header, &[line]).remove(0);
        let words: Vec<&str> = after.split(' ').collect();
        let mut shown = words[1..6].join(" ");
        words[11..].iter().for_each(|field| shown += &format!(" {field}"));
        shown
    }

    /// Returns the CIGAR after the step of a read with this CIGAR at this position.
    fn cigar(pos: u32, cigar: &str) -> String {
        let mut ops = Vec::new();
        assert!(realign::parse_cigar(cigar.as_bytes(), &mut ops));
        let bases = "A".repeat(query_length(&ops) as usize);
        let after = cleaned(&format!("r 0 c {pos} 60 {cigar} * 0 0 {bases} *"));
        let words: Vec<&str> = after.split(' ').collect();
        assert_eq!(words[..4], ["0", "c", &pos.to_string(), "60"]);
        words[4].to_owned()
    }

    #[test]
    fn alignments_end_where_picard_ends_them() {
        for (pos, before, after) in [
            (91, "10M", "10M"),
            (95, "10M", "6M4S"),
            (95, "3M2D5M2S", "3M2D1M6S"),
            (95, "5M5H", "5M5H"),
            (97, "6M2H", "4M2S2H"),
            (97, "4M2I2M", "4M4S"),
            (98, "2M1D2M", "2M2S"),
            (100, "1S1M", "1S1M"),
            (95, "2S10M", "2S6M4S"),
            // Picard counts reference bases and clips read bases.
            (97, "4M1I3M1I1M", "4M1I1M4S"),
            // Picard does not look for a soft clip before a hard clip.
            (97, "5M3S2H", "5M3S2H"),
        ] {
            assert_eq!(cigar(pos, before), after, "{before} at {pos}");
        }
    }

    #[test]
    fn where_picards_cigar_does_not_fit_it_is_cut_at_the_end() {
        for (pos, before, after) in [
            (95, "2M6D8M", "2M8S"),     // Picard: 10S
            (95, "2M20D8M", "2M8S"),    // Picard: 24S
            (98, "2M100N2M", "2M2S"),   // Picard: 101S
            (99, "5H1M3D9M", "5H1M9S"), // Picard stops
            (99, "3S1M50D2I4M2S1H", "3S1M8S1H"),
        ] {
            assert_eq!(cigar(pos, before), after, "{before} at {pos}");
        }
        assert_eq!(cleaned("r 256 c 95 60 10M * 0 0 * *"), "256 c 95 60 6M4S"); // Picard: 14S
    }

    #[test]
    fn mates_are_clipped_by_mc() {
        let mate = |flags, pos, mc| {
            cleaned(&format!("r {flags} c 97 60 4M = {pos} 6 ACGT IIII MC:Z:{mc} NM:i:0"))
        };
        assert_eq!(mate(99, 98, "10M"), "99 c 97 60 4M MC:Z:3M7S NM:i:0");
        assert_eq!(mate(107, 98, "10M"), "107 c 97 60 4M MC:Z:10M NM:i:0", "the mate is unmapped");
        assert_eq!(mate(99, 91, "10M"), "99 c 97 60 4M MC:Z:10M NM:i:0");
        assert_eq!(mate(99, 98, "*"), "99 c 97 60 4M MC:Z:* NM:i:0");
        assert_eq!(mate(99, 98, "nonsense"), "99 c 97 60 4M MC:Z:nonsense NM:i:0");
        let other = "r 97 c 95 60 10M d 998 0 ACGTACGTAC IIIIIIIIII MC:Z:4M";
        assert_eq!(cleaned(other), "97 c 95 60 6M4S MC:Z:3M1S");
    }

    #[test]
    fn unmapped_reads_have_no_quality_and_reads_beyond_the_end_become_unmapped() {
        assert_eq!(cleaned("r 4 * 0 60 * * 0 0 ACGT IIII"), "4 * 0 0 *");
        assert_eq!(cleaned("r 69 c 105 60 * = 105 0 ACGT IIII"), "69 c 105 0 *");
        // Picard: 14S, still mapped
        assert_eq!(cleaned("r 3 c 105 60 10M * 0 0 ACGTACGTAC IIIIIIIIII"), "5 * 0 0 *");
    }

    #[test]
    fn changes_are_counted() {
        let header = header("@SQ SN:c LN:100");
        let mut step = CleanSam::new(&header);
        let reads = [
            "a 99 c 95 60 10M = 98 6 ACGTACGTAC IIIIIIIIII MC:Z:10M",
            "b 0 c 105 60 10M * 0 0 ACGTACGTAC IIIIIIIIII",
            "c 4 * 0 9 * * 0 0 ACGT IIII",
            "d 0 c 1 60 4M * 0 0 ACGT IIII",
        ];
        applied(&mut step, &header, &header, &reads);
        assert_eq!(step.counts().into_iter().map(|(_, n)| n).collect::<Vec<_>>(), [1, 1, 1, 1]);
    }
}
