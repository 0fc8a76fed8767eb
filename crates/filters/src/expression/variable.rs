//! The variables of expressions, such as `mapq` and `flag.dup`, and their values in a record.

use std::collections::HashMap;

use readmill_record::cigar::{Cigar, HARD_CLIP, SOFT_CLIP};
use readmill_record::{Flags, Header, RecordRef};

use super::value::{ExpressionText, ExpressionValue, ValueKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Cigar,
    EndPos,
    /// FLAG masked with these bits: all bits for `flag`, one bit for `flag.dup`.
    Flag(u16),
    HardClipped,
    Library,
    MapQ,
    MatePos,
    MateRefId,
    MateRefName,
    Operators,
    Pos,
    QueryLength,
    QueryName,
    Qual,
    RefId,
    ReferenceLength,
    RefName,
    Seq,
    SoftClipped,
    TemplateLength,
}

use Variable as V;

const NAMES: [(&str, Variable); 34] = [
    ("cigar", V::Cigar),
    ("endpos", V::EndPos),
    ("flag", V::Flag(u16::MAX)),
    ("flag.paired", V::Flag(Flags::PAIRED)),
    ("flag.proper_pair", V::Flag(Flags::PROPER)),
    ("flag.unmap", V::Flag(Flags::UNMAPPED)),
    ("flag.munmap", V::Flag(Flags::MATE_UNMAPPED)),
    ("flag.reverse", V::Flag(Flags::REVERSE)),
    ("flag.mreverse", V::Flag(Flags::MATE_REVERSE)),
    ("flag.read1", V::Flag(Flags::FIRST)),
    ("flag.read2", V::Flag(Flags::LAST)),
    ("flag.secondary", V::Flag(Flags::SECONDARY)),
    ("flag.qcfail", V::Flag(Flags::QC_FAIL)),
    ("flag.dup", V::Flag(Flags::DUPLICATE)),
    ("flag.supplementary", V::Flag(Flags::SUPPLEMENTARY)),
    ("hclen", V::HardClipped),
    ("library", V::Library),
    ("mapq", V::MapQ),
    ("mpos", V::MatePos),
    ("mrefid", V::MateRefId),
    ("mrname", V::MateRefName),
    ("ncigar", V::Operators),
    ("pnext", V::MatePos),
    ("pos", V::Pos),
    ("qlen", V::QueryLength),
    ("qname", V::QueryName),
    ("qual", V::Qual),
    ("refid", V::RefId),
    ("rlen", V::ReferenceLength),
    ("rname", V::RefName),
    ("rnext", V::MateRefName),
    ("sclen", V::SoftClipped),
    ("seq", V::Seq),
    ("tlen", V::TemplateLength),
];

impl Variable {
    pub fn from_name(name: &str) -> Option<Variable> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, variable)| variable)
    }

    pub fn kind(self) -> ValueKind {
        match self {
            V::Cigar | V::Library | V::MateRefName | V::QueryName | V::Qual | V::RefName | V::Seq => {
                ValueKind::Text
            }
            _ => ValueKind::Number,
        }
    }

    /// Returns the value of the variable. Positions are 1-based, 0 if missing. Indexes of reference
    /// sequences are 0-based, -1 if missing.
    pub fn value_in<'r>(self, record: RecordRef<'r>, names: &'r HeaderNames) -> ExpressionValue<'r> {
        let text = |bytes: &'r [u8]| ExpressionValue::text(ExpressionText::Bytes(bytes));
        match self {
            V::Cigar => ExpressionValue::text(ExpressionText::Cigar),
            V::Library => text(names.library_of(record)),
            V::MateRefName => text(names.reference_name(record.next_ref_id())),
            V::QueryName => text(record.qname()),
            V::Qual => text(record.qual()),
            V::RefName => text(names.reference_name(record.ref_id())),
            V::Seq => ExpressionValue::text(ExpressionText::Seq),
            number => ExpressionValue::number(number.number_in(record) as f64),
        }
    }

    pub fn number_in(self, record: RecordRef<'_>) -> i64 {
        match self {
            V::EndPos => record.end(),
            V::Flag(bits) => i64::from(record.flags().0 & bits),
            V::HardClipped => hard_clipped_bases(record.cigar()),
            V::MapQ => i64::from(record.mapq()),
            V::MatePos => i64::from(record.next_pos()) + 1,
            V::MateRefId => i64::from(record.next_ref_id()),
            V::Operators => record.cigar().ops().len() as i64,
            V::Pos => i64::from(record.pos()) + 1,
            V::QueryLength => record.cigar().query_length(),
            V::RefId => i64::from(record.ref_id()),
            V::ReferenceLength => record.cigar().reference_length(),
            V::SoftClipped => soft_clipped_bases(record.cigar()),
            V::TemplateLength => i64::from(record.tlen()),
            _ => 0,
        }
    }
}

fn hard_clipped_bases(cigar: Cigar<'_>) -> i64 {
    let mut ops = cigar.ops();
    let clipped = |op: Option<(u32, u32)>| match op {
        Some((HARD_CLIP, length)) => i64::from(length),
        _ => 0,
    };
    clipped(ops.next()) + clipped(ops.next_back())
}

/// Returns the number of soft-clipped bases at both ends, inside hard clips. A CIGAR of a single
/// soft clip counts once.
fn soft_clipped_bases(cigar: Cigar<'_>) -> i64 {
    let mut ops = cigar.ops().peekable();
    let mut inner = ops.len();
    if inner > 1 && matches!(ops.peek(), Some(&(HARD_CLIP, _))) {
        ops.next();
        inner -= 1;
    }
    let left = match ops.peek() {
        Some(&(SOFT_CLIP, length)) => length,
        _ => 0,
    };
    let mut ends = cigar.ops().rev().take(inner.saturating_sub(1));
    let right = match ends.next() {
        Some((SOFT_CLIP, length)) => length,
        Some((HARD_CLIP, _)) => match ends.next() {
            Some((SOFT_CLIP, length)) => length,
            _ => 0,
        },
        _ => 0,
    };
    i64::from(left) + i64::from(right)
}

/// Names of reference sequences and libraries, copied from the header. Empty if no variable uses
/// them.
#[derive(Default)]
pub(super) struct HeaderNames {
    references: Vec<Box<[u8]>>,
    libraries: HashMap<Box<[u8]>, Box<[u8]>>,
}

impl HeaderNames {
    pub fn take_references(&mut self, header: &Header) {
        self.references = header.references().iter().map(|it| it.name.as_slice().into()).collect();
    }

    pub fn take_libraries(&mut self, header: &Header) {
        for group in header.lines_of_kind(b"RG") {
            if let (Some(id), Some(library)) = (group.get(b"ID"), group.get(b"LB")) {
                self.libraries.entry(id.into()).or_insert_with(|| library.into());
            }
        }
    }

    pub fn reference_name(&self, id: i32) -> &[u8] {
        let name = usize::try_from(id).ok().and_then(|id| self.references.get(id));
        name.map_or(b"*", |name| name)
    }

    /// Returns the library of a record's read group, or an empty text if either is unknown.
    pub fn library_of(&self, record: RecordRef<'_>) -> &[u8] {
        let library = record.read_group().and_then(|group| self.libraries.get(group));
        library.map_or(b"", |library| library)
    }
}
