//! Optional fields that are derived from the reads: from comments, and from barcodes in names and
//! bases.

use readmill_align::Casava;
use readmill_fastq::{Purpose, template_name};
use readmill_format::sam::parse_fields;
use readmill_markdup::umi::source::parse_name_umi;
use readmill_record::tag::{self, Fields, Tag};
use readmill_record::{Error, Read, ReadBatch, Result};

use crate::plan::ReadTags;

/// Fields that the aligner writes, or that change how a record is read. They are not copied from
/// comments.
pub const ALIGNER_TAGS: [Tag; 10] =
    [*b"NM", *b"MD", tag::MC, *b"MQ", *b"AS", *b"XS", *b"SA", *b"XA", *b"pa", tag::CG];

/// The field for each kind of barcode, and the field for its qualities (SAM optional fields
/// specification). By default, qualities are stored for UMIs only, as in fgumi 0.9.0 `extract -q`.
const BARCODE_TAGS: [(Purpose, Tag, Option<Tag>); 3] = [
    (Purpose::Sample, *b"BC", None),
    (Purpose::Cell, *b"CB", None),
    (Purpose::Molecule, *b"RX", Some(*b"QX")),
];

const NAME_UMI_HINT: &str = "--umi-from-name expects the UMI after the seventh colon or the last _, and --umi-from-name=SEPARATOR after the last SEPARATOR, such as +; omit the flag if names have no UMI";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CommentKind {
    Ignored,
    /// Optional fields as SAM text (`samtools fastq -T`).
    Text {
        /// Whether the aligner writes RG, so that RG is not copied from the comment.
        has_group: bool,
    },
    /// Optional fields in BAM form, from unaligned records.
    Stored,
    /// Casava 1.8 comments, whose barcode is stored in this field.
    Casava(Tag),
}

#[derive(Clone, Default)]
struct Barcode {
    bases: Vec<u8>,
    /// Phred + 33, joined by spaces. `None` if a part has no qualities.
    qualities: Option<Vec<u8>>,
}

impl Barcode {
    fn clear(&mut self) {
        self.bases.clear();
        self.qualities.get_or_insert_default().clear();
    }

    fn append_part(&mut self, bases: &[u8], qualities: Option<&[u8]>) {
        let joined = !self.bases.is_empty();
        let join = |to: &mut Vec<u8>, by, more: &[u8]| {
            to.extend(joined.then_some(by));
            to.extend_from_slice(more);
        };
        join(&mut self.bases, b'-', bases);
        match (&mut self.qualities, qualities) {
            (Some(so_far), Some(more)) => join(so_far, b' ', more),
            (so_far, _) => *so_far = None,
        }
    }
}

/// Removes barcodes from the reads, and stores the optional fields for the records of each read.
/// Never copies the fields `of_aligner` from comments, because the aligner writes them.
///
/// # Errors
/// Fails if a read is shorter than its structure, if a name has no UMI, or if a comment is not a
/// valid list of fields.
pub fn extract_tags(
    wanted: &ReadTags,
    comments: CommentKind,
    of_aligner: &[Tag],
    reads: &mut ReadBatch,
    blame: impl Fn(Error, &ReadBatch, usize) -> Error,
) -> Result<()> {
    if wanted.is_empty() && comments == CommentKind::Ignored {
        return Ok(());
    }
    let segments = reads.segments().max(1);
    let marked = wanted.adapters.as_ref().map(|_| tag::XT);
    let group = (comments == CommentKind::Text { has_group: true }).then_some(tag::RG);
    let of_others: Vec<Tag> = of_aligner.iter().copied().chain(marked).chain(group).collect();
    let (mut barcodes, mut shared, mut own) = (<[Barcode; 3]>::default(), Vec::new(), Vec::new());
    let has_sample_reads = wanted.index_reads.iter().any(|it| it.structure.has_purpose(Purpose::Sample));
    for first in (0..reads.len()).step_by(segments) {
        barcodes.iter_mut().for_each(Barcode::clear);
        if let Some(separator) = wanted.name_umis {
            let umi = parse_name_umi(template_name(reads.read(first).name), separator);
            let umi = umi.map_err(|error| blame(error.hint(NAME_UMI_HINT), reads, first))?;
            barcodes[2].append_part(&umi.to_text(), None);
        }
        for at in first..first + segments {
            cut_barcodes(wanted, reads, at, &mut barcodes).map_err(|error| blame(error, reads, at))?;
        }
        add_index_reads(wanted, reads, first / segments, &mut barcodes)
            .map_err(|error| blame(error, reads, first))?;
        shared.clear();
        write_barcode_fields(&barcodes, has_sample_reads, &mut shared);
        for at in first..first + segments {
            own.clear();
            let comment = reads.read(at).comment;
            let kept = match comments {
                CommentKind::Ignored => Ok(()),
                CommentKind::Text { .. } => {
                    append_comment_fields(comment, &of_others, &shared, &mut own)
                }
                CommentKind::Stored => append_own_fields(comment, &of_others, &shared, &mut own),
                CommentKind::Casava(tag) => {
                    append_casava_field(comment, tag, &shared, &mut own);
                    Ok(())
                }
            };
            kept.map_err(|error| blame(error, reads, at))?;
            own.extend_from_slice(&shared);
            store_fields(&own, reads).map_err(|error| blame(error, reads, at))?;
        }
    }
    reads.drop_index_reads();
    Ok(())
}

fn add_index_reads(
    wanted: &ReadTags,
    reads: &ReadBatch,
    template: usize,
    barcodes: &mut [Barcode; 3],
) -> Result<()> {
    for (index, Read { bases, qualities, .. }) in
        wanted.index_reads.iter().zip(reads.index_reads(template))
    {
        let structure = &index.structure;
        if bases.len() < structure.min_bases() {
            let what = format!(
                "the index read ({}) has {} bases, but {structure} needs at least {}",
                index.flag,
                bases.len(),
                structure.min_bases()
            );
            return Err(Error::input(what).hint("set a matching structure with --read-structures"));
        }
        for (purpose, range) in structure.segments(bases.len()) {
            if let Some(place) = BARCODE_TAGS.iter().position(|(of, ..)| *of == purpose) {
                barcodes[place].append_part(&bases[range.clone()], qualities.map(|all| &all[range]));
            }
        }
    }
    Ok(())
}

/// Adds the barcodes of read number `at`, and shortens the read to the part that is aligned.
fn cut_barcodes(
    wanted: &ReadTags,
    reads: &mut ReadBatch,
    at: usize,
    barcodes: &mut [Barcode; 3],
) -> Result<()> {
    let Some(structure) = wanted.structures.get(reads.segment_of(at)) else { return Ok(()) };
    let Read { bases, qualities, .. } = reads.read(at);
    if bases.len() < structure.min_bases() {
        let what = format!(
            "the read has {} bases, but {structure} needs at least {}",
            bases.len(),
            structure.min_bases()
        );
        return Err(Error::input(what).hint("for trimmed reads, use a structure that ends in +T"));
    }
    let mut template = 0..0;
    for (purpose, range) in structure.segments(bases.len()) {
        if purpose == Purpose::Template {
            template = range;
        } else if let Some(place) = BARCODE_TAGS.iter().position(|(of, ..)| *of == purpose) {
            barcodes[place].append_part(&bases[range.clone()], qualities.map(|all| &all[range]));
        }
    }
    reads.trim_read(at, template);
    Ok(())
}

/// Writes the barcode fields of a template. Qualities of sample barcodes are written only if they
/// come from index reads, as in samtools import.
fn write_barcode_fields(barcodes: &[Barcode; 3], has_sample_reads: bool, out: &mut Vec<u8>) {
    let mut field = |tag: Tag, text: &[u8]| {
        out.extend_from_slice(&tag);
        out.push(b'Z');
        out.extend_from_slice(text);
        out.push(0);
    };
    for (barcode, (_, tag, qualities_tag)) in barcodes.iter().zip(BARCODE_TAGS) {
        if barcode.bases.is_empty() {
            continue;
        }
        field(tag, &barcode.bases);
        let qualities_tag = qualities_tag.or((tag == *b"BC" && has_sample_reads).then_some(*b"QT"));
        if let (Some(tag), Some(qualities)) = (qualities_tag, &barcode.qualities) {
            field(tag, qualities);
        }
    }
}

/// Appends the fields of a comment, except those with tags in `of_others` and those that `shared`
/// contains.
fn append_comment_fields(
    comment: &[u8],
    of_others: &[Tag],
    shared: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    if comment.is_empty() {
        return Ok(());
    }
    let mut all = Vec::new();
    parse_fields(comment, &mut all).map_err(|error| {
        Error::input(format!("comment: {}", error.what))
            .hint("-C needs comments that are SAM optional fields, as samtools fastq -T writes them; omit -C for other comments")
    })?;
    append_own_fields(&all, of_others, shared, out)
}

fn append_casava_field(comment: &[u8], tag: Tag, shared: &[u8], out: &mut Vec<u8>) {
    let barcode = Casava::parse(comment).map_or(&[][..], |casava| casava.barcode);
    if !barcode.is_empty() && tag::find_field(shared, tag).is_none() {
        out.extend_from_slice(&tag);
        out.push(b'Z');
        out.extend_from_slice(barcode);
        out.push(0);
    }
}

/// Appends the fields of `all` that neither the aligner nor the barcodes write.
///
/// # Errors
/// Fails if a field occurs twice.
fn append_own_fields(all: &[u8], of_others: &[Tag], shared: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let mut fields = Fields::new(all);
    let mut at = 0;
    while let Some(field) = fields.next() {
        let end = all.len() - fields.rest().len();
        if !of_others.contains(&field.tag) && tag::find_field(shared, field.tag).is_none() {
            if tag::find_field(&out[start..], field.tag).is_some() {
                let name = String::from_utf8_lossy(&field.tag).into_owned();
                return Err(Error::input(format!("the optional field {name} occurs twice")));
            }
            out.extend_from_slice(&all[at..end]);
        }
        at = end;
    }
    Ok(())
}

/// Stores the fields of the next read in the text of the batch.
fn store_fields(fields: &[u8], reads: &mut ReadBatch) -> Result<()> {
    let start = reads.text().len();
    let (Ok(from), Ok(to)) = (u32::try_from(start), u32::try_from(start + fields.len())) else {
        return Err(Error::usage("the reads need more memory than a batch can use"));
    };
    reads.text_mut().extend_from_slice(fields);
    reads.push_fields(from..to);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(records: &[(&str, &str, &str)]) -> ReadBatch {
        let mut reads = ReadBatch::new(2, 0);
        for (name, comment, bases) in records {
            let [name, comment, bases] = [name, comment, bases].map(|text| text.as_bytes());
            let qualities: Vec<u8> = (b'0'..).take(bases.len()).collect();
            reads.push_read(Read { name, comment, bases, qualities: Some(&qualities) });
        }
        reads
    }

    fn carried(
        wanted: &ReadTags,
        comments: CommentKind,
        records: &[(&str, &str, &str)],
    ) -> Result<ReadBatch> {
        let mut reads = reads(records);
        extract_tags(wanted, comments, &ALIGNER_TAGS, &mut reads, |error, reads, at| {
            error.qname(reads.read(at).name).record(at as u64)
        })?;
        Ok(reads)
    }

    fn structures(text: &str) -> Vec<readmill_fastq::ReadStructure> {
        text.split(',').map(|text| text.parse().expect("a structure")).collect()
    }

    #[test]
    fn both_reads_of_a_template_carry_the_barcodes_of_both() {
        let wanted = ReadTags { structures: structures("2M1S+T,3M1B+T"), ..ReadTags::default() };
        let reads = carried(&wanted, CommentKind::Ignored, &[("a", "x", "ACGTTT"), ("a", "x", "GGGCA")])
            .expect("reads");
        let fields = b"BCZC\0RXZAC-GGG\0QXZ01 012\0";
        assert_eq!([reads.fields(0), reads.fields(1)], [&fields[..]; 2]);
        assert_eq!((reads.read(0).bases, reads.read(1).bases), (&b"TTT"[..], &b"A"[..]));
        assert_eq!(reads.read(0).qualities, Some(&b"345"[..]));
        let error = carried(&wanted, CommentKind::Ignored, &[("a", "", "ACG"), ("a", "", "GGG")])
            .expect_err("too short");
        assert_eq!(
            (error.place.record, &error.what[..]),
            (Some(2), "the read has 3 bases, but 3M1B+T needs at least 4")
        );
    }

    #[test]
    fn single_reads_among_pairs_have_the_structure_of_their_end() {
        let wanted = ReadTags { structures: structures("2M+T,+T"), ..ReadTags::default() };
        let mut reads = ReadBatch::new(2, 0);
        reads.allow_singles(0);
        for is_last in [false, true] {
            let read = Read { name: b"a", comment: b"", bases: b"ACGTT", qualities: Some(b"IIIII") };
            reads.push_single(read, is_last);
        }
        let mut singles = reads.take_singles().expect("single reads").reads;
        extract_tags(&wanted, CommentKind::Ignored, &[], &mut singles, |e, _, _| e).expect("reads");
        assert_eq!([0, 1].map(|at| singles.read(at).bases), [&b"GTT"[..], b"ACGTT"]);
        assert_eq!([0, 1].map(|at| singles.fields(at)), [&b"RXZAC\0QXZII\0"[..], b""]);
    }

    #[test]
    fn barcodes_of_names_come_before_those_of_bases() {
        let wanted =
            ReadTags { name_umis: Some(None), structures: structures("2M+T,+T"), ..ReadTags::default() };
        let name = "M:1:F:1:1101:20:30:AAA+CC/1";
        let reads = carried(&wanted, CommentKind::Ignored, &[(name, "", "GTAA"), (name, "", "A")])
            .expect("reads");
        assert_eq!(reads.fields(1), b"RXZAAA-CC-GT\0", "qualities of some bases only are no qualities");
        assert!(carried(&wanted, CommentKind::Ignored, &[("a", "", "GTAA"), ("a", "", "A")]).is_err());
    }

    #[test]
    fn comments_are_fields_but_for_those_of_the_aligner() {
        let wanted = ReadTags { comments: true, ..ReadTags::default() };
        let with = |group, comment| {
            let comments = CommentKind::Text { has_group: group };
            let reads = carried(&wanted, comments, &[("a", comment, "A"), ("a", "", "A")])?;
            assert_eq!(reads.fields(1), b"");
            Ok::<_, Error>(reads.fields(0).to_vec())
        };
        let comment = "RG:Z:x\tNM:i:3\tBC:Z:AC GT\tXX:i:300";
        assert_eq!(with(true, comment), Ok(b"BCZAC GT\0XXS\x2c\x01".to_vec()));
        assert_eq!(with(false, "RG:Z:x"), Ok(b"RGZx\0".to_vec()));
        for wrong in ["1:N:0:ACGT", "BC:Z:A\t", "BC:Z:A\tBC:Z:C", "XX:i:x", "B:Z:A", "XX:Z:\u{7f}"] {
            assert!(with(true, wrong).is_err(), "{wrong}");
        }
    }
}
