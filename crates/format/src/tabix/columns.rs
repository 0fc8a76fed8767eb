//! The columns of a text line that contain its position.

use super::numbers::parse_number;
use super::vcf::record_end;

/// A text format that tabix indexes, named like tabix's presets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPreset {
    Vcf,
    Bed,
    Gff,
}

/// The position of a line: contig, first base (0-based), and the base after the last.
pub(super) type LinePlace<'a> = (&'a [u8], i64, i64);

impl TextPreset {
    /// Returns the numbers that an index stores (tabix specification): format, columns of contig,
    /// start and end, comment character, and number of lines to skip.
    pub(super) fn stored_numbers(self) -> [u32; 6] {
        match self {
            TextPreset::Vcf => [2, 1, 2, 0, u32::from(b'#'), 0],
            TextPreset::Bed => [0x10000, 1, 2, 3, u32::from(b'#'), 0],
            TextPreset::Gff => [0, 1, 4, 5, u32::from(b'#'), 0],
        }
    }

    /// Returns the metadata of an index: the columns, and `names`, the contig names in order, each
    /// followed by a NUL.
    pub fn index_metadata(self, names: &[u8]) -> Vec<u8> {
        let columns = self.stored_numbers().into_iter().flat_map(u32::to_le_bytes);
        columns.chain((names.len() as u32).to_le_bytes()).chain(names.iter().copied()).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            TextPreset::Vcf => "VCF",
            TextPreset::Bed => "BED",
            TextPreset::Gff => "GFF",
        }
    }

    pub(super) fn sort_hint(self) -> &'static str {
        match self {
            TextPreset::Vcf => "sort the file: bcftools sort -Oz",
            TextPreset::Bed => {
                "sort the file: (zgrep ^# FILE; zgrep -v ^# FILE | sort -k1,1 -k2,2n) | bgzip"
            }
            TextPreset::Gff => {
                "sort the file: (zgrep ^# FILE; zgrep -v ^# FILE | sort -k1,1 -k4,4n) | bgzip"
            }
        }
    }

    /// Returns whether a line looks like this format.
    pub fn is_line_of_kind(self, line: &[u8]) -> bool {
        let columns = line.iter().filter(|&&byte| byte == b'\t').count() + 1;
        let min_columns = match self {
            TextPreset::Vcf => 8,
            TextPreset::Bed => 3,
            TextPreset::Gff => 8,
        };
        columns >= min_columns && self.parse_place(line).is_some()
    }

    pub(super) fn parse_place(self, line: &[u8]) -> Option<LinePlace<'_>> {
        let mut columns = line.split(|&byte| byte == b'\t');
        let contig = columns.next()?;
        let (start, end) = match self {
            TextPreset::Vcf => {
                let start = (parse_number(columns.next()?)? - 1).max(0);
                (start, record_end(start, columns)?.max(1))
            }
            TextPreset::Bed => {
                let start = parse_number(columns.next()?)?.max(0);
                (start, columns.next().map_or(Some(start + 1), parse_number)?)
            }
            TextPreset::Gff => {
                let start = (parse_number(columns.nth(2)?)? - 1).max(0);
                (start, parse_number(columns.next()?)?)
            }
        };
        (end >= start).then_some((contig, start, end.max(1)))
    }

    pub(super) fn contig_length(self, line: &[u8]) -> Option<u64> {
        let fields = line.strip_prefix(b"##contig").filter(|_| self == TextPreset::Vcf)?;
        let at = memchr::memmem::find(fields, b"length")?;
        let value = fields[at + 6..].trim_ascii_start().strip_prefix(b"=")?;
        u64::try_from(parse_number(value)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_tabix() {
        let vcf = |line: &str| TextPreset::Vcf.parse_place(line.as_bytes()).map(|it| (it.1, it.2));
        assert_eq!(vcf("1\t10\t.\tACG\tA\t.\t.\tDP=3"), Some((9, 12)));
        assert_eq!(vcf("1\t10\t.\tN\t<DEL>\t.\t.\tSVTYPE=DEL;END=500;X=1"), Some((9, 500)));
        assert_eq!(vcf("1\t10\t.\tN\t<DEL>\t.\t.\tEND=400"), Some((9, 400)));
        assert_eq!(vcf("1\t10\t.\tNN\t<DEL>\t.\t.\tCIEND=400;END=3"), Some((9, 11)));
        assert_eq!(vcf("1\t0\t.\tN\tT\t.\t.\t."), Some((0, 1)));
        assert_eq!(vcf("1\tx\t.\tN\tT\t.\t.\t."), None);
        let bed = |line: &str| TextPreset::Bed.parse_place(line.as_bytes()).map(|it| (it.1, it.2));
        assert_eq!(bed("chr1\t0\t100\tname"), Some((0, 100)));
        assert_eq!(bed("chr1\t5\t5"), Some((5, 5)));
        assert_eq!(bed("chr1\t5"), Some((5, 6)));
        assert_eq!(bed("chr1\t5\t4"), None);
        assert_eq!(bed("track name=x"), None);
        let gff = TextPreset::Gff.parse_place(b"c\tsource\texon\t7\t9\t.\t+\t.\tID=1").unwrap();
        assert_eq!(gff, (&b"c"[..], 6, 9));
        assert_eq!(
            TextPreset::Vcf.contig_length(b"##contig=<ID=1,length=249250621>"),
            Some(249_250_621)
        );
    }
}
