//! Turns reads into unmapped records, for commands that import reads without aligning them.

use std::sync::Arc;

use readmill_record::bases::CODES;
use readmill_record::{Error, Flags, Read, ReadBatch, Result, edit, tag};

use crate::{Aligner, IndexContig, InsertModel, Kernel, Seeded, Sink};

/// A kernel that does not align: it writes one unmapped record per read, with its bases and
/// qualities.
///
/// Used by `readmill import`. The flags are those of Picard FastqToSam 3.4.0 and samtools import
/// 1.24: 77 and 141 for pairs, 4 for single reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAligner {
    /// Derive the read number of single reads from their names and comments, by the rules of
    /// samtools import 1.24: `/1` is read 1, `/2` read 2, and any other digit sets both flags. The
    /// slash and the digit are removed from the name.
    pub ends_by_name: bool,
    /// Parse Casava comments: `Y` in `1:Y:0:ACGT` sets the flag QC_FAIL (0x200).
    pub casava: bool,
}

impl Kernel for NoAligner {
    fn program_name(&self) -> &str {
        "none"
    }

    fn subcommand_name(&self) -> &str {
        ""
    }

    fn program_version(&self) -> String {
        String::new()
    }

    fn contigs(&self) -> &[IndexContig] {
        &[]
    }

    fn cohort_bases(&self, _: usize) -> Option<u64> {
        None
    }

    fn batch_reads(&self) -> usize {
        1
    }

    fn index_bytes(&self) -> u64 {
        0
    }

    fn scratch_bytes(&self, _: usize) -> u64 {
        0
    }

    fn long_read_bytes(&self, _: usize) -> u64 {
        0
    }

    fn seeded_bytes(&self, _: &ReadBatch) -> u64 {
        0
    }

    fn new_aligner(self: Arc<Self>) -> Result<Box<dyn Aligner>> {
        Ok(Box::new(UnmappedWriter { rules: *self, record: Vec::new() }))
    }

    fn infer_insert_sizes(&self, _: &[&Seeded]) -> Result<InsertModel> {
        Ok(InsertModel::new(()))
    }
}

struct UnmappedWriter {
    rules: NoAligner,
    record: Vec<u8>,
}

impl Aligner for UnmappedWriter {
    fn seed_reads(&mut self, _: &ReadBatch) -> Result<Seeded> {
        Ok(Seeded::new((), 0))
    }

    fn emit_records(
        &mut self,
        reads: &ReadBatch,
        _: Seeded,
        _: &InsertModel,
        group: Option<&[u8]>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        for (index, mut read) in reads.iter().enumerate() {
            let casava = self.rules.casava.then(|| Casava::parse(read.comment)).flatten();
            let end = match (reads.segments(), index % reads.segments().max(1)) {
                (2, 0) => Some(b'1'),
                (2, _) => Some(b'2'),
                _ if self.rules.ends_by_name => {
                    let (name, end) = name_and_end(read.name);
                    read.name = name;
                    // If name and comment disagree, samtools sets both flags.
                    match (end, casava.map(|it| it.end)) {
                        (Some(one), Some(other)) if one != other => Some(b'0'),
                        (end, of_comment) => end.or(of_comment),
                    }
                }
                _ => None,
            };
            let mut flags = Flags::UNMAPPED;
            if let Some(end) = end {
                flags |= Flags::PAIRED | Flags::MATE_UNMAPPED;
                flags |= match end {
                    b'1' => Flags::FIRST,
                    b'2' => Flags::LAST,
                    _ => Flags::FIRST | Flags::LAST,
                };
            }
            if casava.is_some_and(|it| it.is_filtered) {
                flags |= Flags::QC_FAIL;
            }
            self.write_record(read, flags, group)?;
            sink(index, &self.record)?;
        }
        Ok(())
    }
}

/// Splits a trailing slash and digit off a read name.
fn name_and_end(name: &[u8]) -> (&[u8], Option<u8>) {
    match name {
        [rest @ .., b'/', digit @ b'0'..=b'9'] if !rest.is_empty() => (rest, Some(*digit)),
        _ => (name, None),
    }
}

/// A comment that Illumina's Casava writes after a read name, such as `1:N:0:ACGT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Casava<'a> {
    pub end: u8,
    pub is_filtered: bool,
    /// The barcode. Empty if the last part is a sample number.
    pub barcode: &'a [u8],
}

impl<'a> Casava<'a> {
    /// Parses a comment by the rules of samtools import 1.24. Returns `None` if it is not a Casava
    /// comment.
    pub fn parse(comment: &'a [u8]) -> Option<Self> {
        let [end @ b'0'..=b'9', b':', filtered, b':', rest @ ..] = comment else { return None };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (control, rest) = rest.split_at(digits);
        let barcode = rest.strip_prefix(b":").filter(|_| !control.is_empty())?;
        let length = barcode.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let barcode = &barcode[..length];
        let barcode = if barcode.first().is_some_and(u8::is_ascii_digit) { &[][..] } else { barcode };
        Some(Casava { end: *end, is_filtered: *filtered == b'Y', barcode })
    }
}

impl UnmappedWriter {
    fn write_record(&mut self, read: Read<'_>, flags: u16, group: Option<&[u8]>) -> Result<()> {
        let out = &mut self.record;
        let name_bytes = u8::try_from(read.name.len() + 1).map_err(|_| {
            Error::input("the read name is longer than 254 characters, which BAM cannot store")
                .qname(read.name)
        })?;
        let nowhere = (-1i32).to_le_bytes();
        out.clear();
        out.extend([0; 4]);
        out.extend([nowhere, nowhere].as_flattened());
        out.extend([name_bytes, 0, 0, 0, 0, 0]);
        out.extend(flags.to_le_bytes());
        out.extend((read.bases.len() as u32).to_le_bytes());
        out.extend([nowhere, nowhere, [0; 4]].as_flattened());
        out.extend_from_slice(read.name);
        out.push(0);
        let code = |base: u8| CODES[usize::from(base)];
        let pack = |two: &[u8]| code(two[0]) << 4 | two.get(1).map_or(0, |&low| code(low));
        out.extend(read.bases.chunks(2).map(pack));
        match read.qualities {
            Some(qualities) => out.extend(qualities.iter().map(|quality| quality.wrapping_sub(33))),
            None => out.resize(out.len() + read.bases.len(), 0xff),
        }
        edit::set_bin(out);
        match group {
            Some(group) => edit::append_text(out, 0, tag::RG, group),
            None => edit::set_block_size(out, 0),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use readmill_record::RecordRef;

    use super::*;

    fn records(
        rules: NoAligner,
        segments: usize,
        reads: &[Read<'_>],
        group: Option<&[u8]>,
    ) -> Vec<Vec<u8>> {
        let mut batch = ReadBatch::new(segments, 0);
        reads.iter().for_each(|read| batch.push_read(*read));
        let (mut aligner, mut records) =
            (Arc::new(rules).new_aligner().expect("an aligner"), Vec::new());
        let (seeded, model) = (
            aligner.seed_reads(&batch).expect("seeds"),
            rules.infer_insert_sizes(&[]).expect("a model"),
        );
        let mut keep = |_: usize, record: &[u8]| {
            records.push(record.to_vec());
            Ok(())
        };
        aligner.emit_records(&batch, seeded, &model, group, &mut keep).expect("records");
        records
    }

    #[test]
    fn pairs_are_77_and_141_and_single_reads_4() {
        let read = Read { name: b"r", comment: b"", bases: b"ACGTn", qualities: Some(b"!+5?I") };
        let pair = records(
            NoAligner::default(),
            2,
            &[read, Read { bases: b"", qualities: None, ..read }],
            Some(b"g"),
        );
        let [first, last] = [0, 1].map(|at| RecordRef::new(&pair[at]));
        assert_eq!([first.flags().0, last.flags().0], [77, 141]);
        assert_eq!((first.ref_id(), first.pos(), first.mapq(), first.qname()), (-1, -1, 0, &b"r"[..]));
        assert_eq!(first.qual(), [0, 10, 20, 30, 40]);
        assert_eq!(first.field_bytes(), b"RGZg\0");
        assert_eq!(RecordRef::check(&pair[0], 0), Ok(()));
        assert_eq!(RecordRef::check(&pair[1], 0), Ok(()));
        let single = records(NoAligner::default(), 1, &[Read { qualities: None, ..read }], None);
        let only = RecordRef::new(&single[0]);
        assert_eq!((only.flags().0, only.qual(), only.field_bytes()), (4, &[0xff; 5][..], &b""[..]));
        assert_eq!(single[0][14..16], 4680u16.to_le_bytes(), "the bin of no position");
    }

    #[test]
    fn names_and_comments_tell_ends_as_samtools_import_takes_them() {
        let rules = NoAligner { ends_by_name: true, casava: true };
        for (name, comment, expected) in [
            ("a/1", "", ("a", 77)),
            ("a/2", "x", ("a", 141)),
            ("a/3", "", ("a", 205)),
            ("a/1/2", "", ("a/1", 141)),
            ("a/12", "", ("a/12", 4)),
            ("a", "1:N:0:ACGT", ("a", 77)),
            ("a", "2:Y:18:", ("a", 653)),
            ("a", "0:N:0:AC", ("a", 205)),
            ("a/2", "1:N:0:A", ("a", 205)),
            ("a/2", "2:Y:0:A", ("a", 653)),
            ("a", "1:N:0", ("a", 4)),
            ("a", "12:N:0:AC", ("a", 4)),
            ("a", "1:N::AC", ("a", 4)),
            ("a", "foo 1:N:0:AC", ("a", 4)),
        ] {
            let read = Read {
                name: name.as_bytes(),
                comment: comment.as_bytes(),
                bases: b"A",
                qualities: None,
            };
            let made = records(rules, 1, &[read], None);
            let record = RecordRef::new(&made[0]);
            let found = (String::from_utf8_lossy(record.qname()).into_owned(), record.flags().0);
            assert_eq!(found, (expected.0.to_string(), expected.1), "{name} {comment}");
            let plain = records(NoAligner::default(), 1, &[read], None);
            assert_eq!(RecordRef::new(&plain[0]).flags().0, 4);
        }
    }

    #[test]
    fn barcodes_of_casava_end_at_a_blank_and_are_no_numbers() {
        let barcode = |text: &'static str| {
            let comment = Casava::parse(text.as_bytes())?;
            Some(String::from_utf8_lossy(comment.barcode).into_owned())
        };
        for (text, expected) in [
            ("1:N:0:ACGT+TT", Some("ACGT+TT")),
            ("1:N:0:AC more", Some("AC")),
            ("2:Y:18:AC\tRX:Z:A", Some("AC")),
            ("1:N:0:12", Some("")),
            ("1:N:0:", Some("")),
            ("1:N:x:AC", None),
            ("", None),
        ] {
            assert_eq!(barcode(text).as_deref(), expected, "{text}");
        }
    }
}
