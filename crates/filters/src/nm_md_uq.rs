//! The flag `--nm-md-uq`: write the fields that describe how a read differs from the reference.

use readmill_format::reference::{Matched, Reference, ReferenceWindow, WINDOW_BYTES};
use readmill_record::bases::CODES;
use readmill_record::realign::write_number;
use readmill_record::tag::Tag;
use readmill_record::{Batch, Changes, Error, Header, RecordRef, Result, Step, edit};

use super::exact_mapping::integer_value;
use crate::flag::Flag;
use crate::spec::{Filter, FilterFacts, FilterSpec, FilterStage, MakeContext, PlanFacts};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::switch("nm-md-uq", "Write NM, MD and UQ, as Picard SetNmMdAndUqTags does")
        .requires_flag("reference")],
    parse: |given, filters| {
        filters.extend(given.is_given("nm-md-uq").then_some(NmMdUqRequest));
        Ok(())
    },
};

#[derive(Debug)]
struct NmMdUqRequest;

impl Filter for NmMdUqRequest {
    fn command_words(&self) -> Vec<String> {
        vec!["--nm-md-uq".to_string()]
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(NmMdUq::new(context.host.open_reference()?, context.header)?))
    }

    fn stage(&self) -> FilterStage {
        FilterStage::AfterDuplicates
    }

    fn facts(&self) -> FilterFacts {
        let thread_memory = Some(("reference", WINDOW_BYTES as u64));
        FilterFacts { reference: true, thread_memory, ..FilterFacts::default() }
    }

    fn check_plan(&self, plan: PlanFacts) -> Result<()> {
        if !plan.has_reference {
            return Err(Error::usage("NM, MD and UQ need the reference").hint("add --reference"));
        }
        Ok(())
    }
}

/// Writes NM, MD and UQ of mapped reads, as Picard 3.4 SetNmMdAndUqTags does:
///
/// - NM is the number of mismatched, inserted and deleted bases.
/// - MD has the reference bases at mismatches and deletions.
/// - UQ is the sum of the qualities of mismatched bases. Without qualities, UQ is not changed.
///
/// Unmapped reads, and reads without bases, are not changed.
///
/// N in both read and reference is not a mismatch, as in Picard; samtools 1.24 calmd counts it.
/// Letters in MD are upper case, as in the SAM specification and samtools; Picard keeps the case of
/// a soft-masked reference. `=` in SEQ is not a mismatch, as in samtools. Correct fields are kept,
/// wrong ones are replaced in place, and missing ones are appended. Reads may have any order, but
/// coordinate order makes the best use of the cached reference.
pub struct NmMdUq {
    reference: Reference,
    window: ReferenceWindow,
    contigs: Matched,
    differences: ReadDifferences,
    counts: NmMdUqCounts,
}

#[derive(Clone, Copy, Default)]
struct NmMdUqCounts {
    changed: u64,
    baseless: u64,
}

#[derive(Default)]
struct ReadDifferences {
    nm: u32,
    uq: u32,
    md: Vec<u8>,
    matched: u32,
}

const NM: Tag = *b"NM";
const MD: Tag = *b"MD";
const UQ: Tag = *b"UQ";

impl NmMdUq {
    /// Creates the step for reads on the contigs of `header`. Contigs are found in the reference by
    /// name.
    ///
    /// # Errors
    /// The contigs of the header do not match those of the reference.
    pub fn new(reference: Reference, header: &Header) -> Result<Self> {
        let (window, contigs) = (reference.letter_window(), Matched::new(&reference, header)?);
        Ok(NmMdUq {
            reference,
            window,
            contigs,
            differences: ReadDifferences::default(),
            counts: NmMdUqCounts::default(),
        })
    }

    /// Compares a read with the reference and stores the result in `self.differences`. Returns
    /// `false` if there is nothing to compare: the read is unmapped or has no bases.
    fn compare_with_reference(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let Ok(pos) = u32::try_from(record.pos()) else { return Ok(false) };
        if record.flags().is_unmapped() {
            return Ok(false);
        }
        if record.l_seq() == 0 {
            self.counts.baseless += u64::from(record.ref_id() >= 0);
            return Ok(false);
        }
        let Some((contig, length)) = self.contigs.locate_contig(record.ref_id())? else {
            return Ok(false);
        };
        let differences = &mut self.differences;
        (differences.nm, differences.uq, differences.matched) = (0, 0, 0);
        differences.md.clear();
        differences.compare_alignment(record, &mut self.window, contig, length, pos)?;
        write_number(differences.matched, &mut differences.md);
        Ok(true)
    }

    /// Appends the record with updated NM, MD and UQ to `out`. Returns whether any of them changed.
    fn write_fields(&self, record: RecordRef<'_>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.extend_from_slice(record.raw());
        let says = |tag, n: u32| record.field(tag).and_then(integer_value) == Some(i64::from(n));
        let mut changed = false;
        if !says(NM, self.differences.nm) {
            edit::set_field(out, start, NM, &smallest_integer_field(self.differences.nm));
            changed = true;
        }
        if record.field(MD).is_none_or(|field| field.kind != b'Z' || field.value != self.differences.md)
        {
            edit::set_field(out, start, MD, &[b"Z", &self.differences.md[..], b"\0"].concat());
            changed = true;
        }
        if has_qualities(record) && !says(UQ, self.differences.uq) {
            edit::set_field(out, start, UQ, &smallest_integer_field(self.differences.uq));
            changed = true;
        }
        changed
    }
}

fn has_qualities(record: RecordRef<'_>) -> bool {
    record.qual().first().is_some_and(|&quality| quality != 0xff)
}

fn smallest_integer_field(n: u32) -> Vec<u8> {
    match (u8::try_from(n), u16::try_from(n)) {
        (Ok(n), _) => vec![b'C', n],
        (_, Ok(n)) => [&b"S"[..], &n.to_le_bytes()].concat(),
        _ => [&b"I"[..], &n.to_le_bytes()].concat(),
    }
}

impl ReadDifferences {
    /// Compares along the alignment, up to the end of the read and of the contig.
    ///
    /// Bases beyond the end of the contig are not mismatches, as in samtools calmd: a read that
    /// starts there gets `NM:i:0 MD:Z:0`.
    fn compare_alignment(
        &mut self,
        record: RecordRef<'_>,
        window: &mut ReferenceWindow,
        contig: u32,
        length: u32,
        mut at: u32,
    ) -> Result<()> {
        let mut base = 0u32; // index in the read
        let l_seq = record.l_seq() as u32;
        for (op, n) in record.cigar().ops() {
            let on_contig = n.min(length.saturating_sub(at));
            match op {
                0 | 7 | 8 => {
                    let n_here = on_contig.min(l_seq.saturating_sub(base));
                    if n_here > 0 {
                        let letters = window.codes(contig, at, at + n_here)?;
                        self.compare_bases(record, base as usize, letters);
                    }
                    if n_here < n {
                        return Ok(());
                    }
                    (at, base) = (at + n, base + n);
                }
                2 => {
                    self.end_match_run();
                    self.md.push(b'^');
                    if on_contig > 0 {
                        self.md.extend_from_slice(window.codes(contig, at, at + on_contig)?);
                    }
                    self.nm += on_contig;
                    if on_contig < n {
                        return Ok(());
                    }
                    at += n;
                }
                3 => at = at.saturating_add(n),
                1 => (base, self.nm) = (base.saturating_add(n), self.nm.saturating_add(n)),
                4 => base = base.saturating_add(n),
                _ => {}
            }
        }
        Ok(())
    }

    /// Compares the read bases from index `base` on with the reference letters at the same
    /// positions.
    fn compare_bases(&mut self, record: RecordRef<'_>, base: usize, letters: &[u8]) {
        let (seq, qual) = (record.seq(), record.qual());
        let counts_qualities = has_qualities(record);
        for (i, &letter) in letters.iter().enumerate() {
            let i = base + i;
            let code = seq[i / 2] >> (4 * (1 - i % 2)) & 15;
            if code == CODES[letter as usize] || code == 0 {
                self.matched += 1;
                continue;
            }
            self.end_match_run();
            self.md.push(letter);
            self.nm += 1;
            self.uq += if counts_qualities { u32::from(qual[i]) } else { 0 };
        }
    }

    /// Writes the number of matching bases to MD, and resets it. Called before each mismatch or
    /// deletion.
    fn end_match_run(&mut self) {
        write_number(std::mem::take(&mut self.matched), &mut self.md);
    }
}

impl Step for NmMdUq {
    fn name(&self) -> &'static str {
        "nm-md-uq"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        let (reference, contigs) = (self.reference.clone(), self.contigs.clone());
        let window = reference.letter_window();
        let (differences, counts) = Default::default();
        Box::new(NmMdUq { reference, window, contigs, differences, counts })
    }

    fn changes(&self) -> Changes {
        Changes::of_tags(&[NM, MD, UQ])
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        batch.rewrite_records(|_, record, out| {
            if self.compare_with_reference(record)? {
                self.counts.changed += u64::from(self.write_fields(record, out));
            } else {
                out.extend_from_slice(record.raw());
            }
            Ok(())
        })
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = vec![("reads with updated NM, MD or UQ", self.counts.changed)];
        if self.counts.baseless > 0 {
            counts.push((
                "mapped reads without bases, whose NM, MD and UQ were kept",
                self.counts.baseless,
            ));
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{applied, header};
    use super::*;

    /// Returns NM, MD and UQ of a read with this position, CIGAR, SEQ and QUAL. Contig `c` is
    /// ACGTACGTNNacgt.
    fn differences(pos: u32, cigar: &str, seq: &str, qual: &str) -> String {
        fields(&format!("r 0 c {pos} 60 {cigar} * 0 0 {seq} {qual}"))
    }

    fn fields(line: &str) -> String {
        let file = tempfile::Builder::new().suffix(".fa").tempfile().unwrap();
        std::fs::write(file.path(), ">c\nACGTACGTNN\nacgt\n").unwrap();
        let reference = Reference::open(file.path(), &readmill_record::Ledger::unlimited()).unwrap();
        let header = header("@SQ SN:c LN:14;@SQ SN:d LN:9");
        let mut step = NmMdUq::new(reference, &header).unwrap();
        let after = applied(&mut step, &header, &header, &[line]).remove(0);
        after.split(' ').skip(11).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn differences_are_written() {
        assert_eq!(differences(1, "4M", "ACGT", "IIII"), "NM:i:0 MD:Z:4 UQ:i:0");
        assert_eq!(differences(1, "4M", "TCGA", "5III"), "NM:i:2 MD:Z:0A2T0 UQ:i:60");
        assert_eq!(differences(2, "1S2M2D2M1S", "GCGCGA", "IIIIII"), "NM:i:2 MD:Z:2^TA2 UQ:i:0");
        assert_eq!(differences(1, "2M2D2M", "ACCC", "IIII"), "NM:i:3 MD:Z:2^GT0A1 UQ:i:40");
        assert_eq!(differences(1, "2M3I2M", "ACTTTGT", "IIIIIII"), "NM:i:3 MD:Z:4 UQ:i:0");
        assert_eq!(differences(1, "2M4N2M", "ACGT", "IIII"), "NM:i:0 MD:Z:4 UQ:i:0");
        assert_eq!(differences(3, "2=1X1=", "GTTC", "IIII"), "NM:i:1 MD:Z:2A1 UQ:i:40");
        assert_eq!(differences(7, "8M", "GTNAAGGT", "IIIIII!I"), "NM:i:2 MD:Z:3N1C2 UQ:i:80");
        assert_eq!(differences(11, "4M", "TTTT", "!!!I"), "NM:i:3 MD:Z:0A0C0G1 UQ:i:0", "upper case");
        assert_eq!(differences(1, "4M", "A==R", "IIII"), "NM:i:1 MD:Z:3T0 UQ:i:40");
        assert_eq!(differences(1, "4M", "ACGA", "*"), "NM:i:1 MD:Z:3T0", "no qualities, no UQ");
        assert_eq!(differences(13, "4M", "GTAA", "IIII"), "NM:i:0 MD:Z:2 UQ:i:0", "beyond the contig");
    }

    /// Guards against former defects: deleted bases before the end of the contig were not counted,
    /// and a read that starts beyond the contig ended the run. Expected results are from samtools
    /// 1.24 calmd.
    #[test]
    fn what_reaches_or_lies_beyond_the_contig_is_told_as_by_calmd() {
        assert_eq!(differences(9, "4M3D4M", "NNACACGT", "IIIIIIII"), "NM:i:2 MD:Z:4^GT0 UQ:i:0");
        assert_eq!(differences(11, "4M2D4M", "ACGTACGT", "IIIIIIII"), "NM:i:0 MD:Z:4^0 UQ:i:0");
        assert_eq!(differences(11, "4M2I4M", "ACGTGGACGT", "IIIIIIIIII"), "NM:i:2 MD:Z:4 UQ:i:0");
        assert_eq!(differences(13, "4M2I4M", "GTGTGGACGT", "IIIIIIIIII"), "NM:i:0 MD:Z:2 UQ:i:0");
        assert_eq!(differences(13, "2M4N2M", "GTAC", "IIII"), "NM:i:0 MD:Z:2 UQ:i:0");
        for pos in [15, 16, 20, 500, i32::MAX as u32] {
            assert_eq!(differences(pos, "4M", "ACGT", "IIII"), "NM:i:0 MD:Z:0 UQ:i:0", "{pos}");
            assert_eq!(differences(pos, "1S2I2M1D", "ACGTA", "IIIII"), "NM:i:2 MD:Z:0 UQ:i:0", "{pos}");
        }
    }

    #[test]
    fn correct_fields_stay_and_wrong_ones_change_in_their_place() {
        let with = |fields_given: &str| fields(&format!("r 0 c 1 60 4M * 0 0 ACGA IIII {fields_given}"));
        assert_eq!(with("UQ:i:40 XA:i:1 MD:Z:3T0 NM:i:1"), "UQ:i:40 XA:i:1 MD:Z:3T0 NM:i:1");
        assert_eq!(with("UQ:i:4 XA:i:1 MD:Z:4 NM:i:70000"), "UQ:i:40 XA:i:1 MD:Z:3T0 NM:i:1");
        assert_eq!(with("NM:Z:x"), "NM:i:1 MD:Z:3T0 UQ:i:40");
        assert_eq!(fields("r 4 c 1 0 * * 0 0 ACGA IIII NM:i:9"), "NM:i:9");
        assert_eq!(fields("r 256 c 1 60 4M * 0 0 * * NM:i:9"), "NM:i:9");
    }

    #[test]
    fn a_contig_that_the_reference_lacks_is_an_error_where_a_read_needs_it() {
        let file = tempfile::Builder::new().suffix(".fa").tempfile().unwrap();
        std::fs::write(file.path(), ">c\nACGTACGTNNACGT\n").unwrap();
        let reference = Reference::open(file.path(), &readmill_record::Ledger::unlimited()).unwrap();
        let header = header("@SQ SN:c LN:14;@SQ SN:d LN:9");
        let mut step = NmMdUq::new(reference, &header).unwrap();
        let mut batch = super::super::testing::batch(&header, &["r 0 d 1 60 4M * 0 0 ACGT IIII"]);
        assert!(step.apply(&mut batch).is_err());
    }
}
