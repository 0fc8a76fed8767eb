//! Indexes BCF files. The index is always a CSI.

use readmill_record::{Error, Result};

use super::columns::TextPreset;
use super::{EntryCollector, Indexer};
use crate::bam::index::{IndexBuilder, IndexScheme, RecordInterval};
use crate::bgzf::VirtualOffsets;

const MAGIC: &[u8; 4] = b"BCF\x02";

const BEFORE_TEXT: usize = 9;

/// Number of bytes read of each record: the lengths of its two parts, contig, position, and length
/// on the reference.
const FIXED: usize = 20;

/// Maximum number of contig numbers (IDX) without a contig line in the header. Filtering may remove
/// contigs from the header and keep the numbers of the others.
const MAX_CONTIG_GAPS: usize = 1 << 22;

/// The contig length in bases that is assumed if the header states none.
const DEFAULT_CONTIG_LENGTH: u64 = (1 << 31) - 1;

/// Builds the index of a BCF file.
pub struct BcfIndexer {
    min_shift: u8,
    partial: Vec<u8>,
    skip_bytes: usize,
    /// Position of the current record, which is added once the end of the record is known.
    pending: Option<RecordInterval>,
    entries: Option<EntryCollector>,
    contigs: usize,
}

impl BcfIndexer {
    pub fn new(min_shift: u8) -> Self {
        BcfIndexer {
            min_shift,
            partial: Vec::new(),
            skip_bytes: 0,
            pending: None,
            entries: None,
            contigs: 0,
        }
    }

    fn header_length(&self) -> Option<usize> {
        let length = self.partial.get(5..BEFORE_TEXT)?.first_chunk::<4>()?;
        let end = BEFORE_TEXT + u32::from_le_bytes(*length) as usize;
        (self.partial.len() >= end).then_some(end)
    }

    fn open_header(&mut self, length: usize, start: u64) -> Result<()> {
        if !self.partial.starts_with(MAGIC) {
            return Err(Error::input("this is not BCF 2").hint("convert the file: bcftools view -Ob"));
        }
        let text = &self.partial[BEFORE_TEXT..length];
        let lines = text.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"##contig"));
        let (mut n_ref, mut longest) = (0, 0);
        for line in lines {
            longest = longest.max(TextPreset::Vcf.contig_length(line).unwrap_or(0));
            let number = stated_contig_number(line).unwrap_or(n_ref);
            self.contigs = self.contigs.max(number.saturating_add(1));
            n_ref += 1;
        }
        if self.contigs > n_ref + MAX_CONTIG_GAPS {
            let what =
                format!("the header has {n_ref} contigs, with numbers (IDX) up to {}", self.contigs - 1);
            return Err(Error::input(what).hint("convert the file: bcftools view -Ob"));
        }
        let longest = if longest == 0 { DEFAULT_CONTIG_LENGTH } else { longest };
        let scheme = IndexScheme::csi_for_length(self.min_shift, 0, longest)?;
        self.entries = Some(EntryCollector::new(scheme, n_ref, start));
        Ok(())
    }

    fn parse_record(bytes: &[u8; FIXED], contigs: usize) -> Result<(RecordInterval, usize)> {
        let field =
            |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let [shared, each, contig, start, length] = [0, 4, 8, 12, 16].map(field);
        let (ref_id, start) = (contig.cast_signed(), i64::from(start.cast_signed()));
        if shared < 24 || ref_id < 0 || start < -1 || length.cast_signed() < 0 {
            return Err(Error::input("the record is damaged").hint("download or create the file again"));
        }
        if contig as usize >= contigs {
            let what =
                format!("the record is on contig number {contig}, which the header does not have");
            return Err(Error::input(what).hint("the file is damaged: download or create it again"));
        }
        let end = (start + i64::from(length)).max(1);
        let interval = RecordInterval { ref_id, start: start.max(0), end, is_unmapped: false };
        Ok((interval, 8 + shared as usize + each as usize))
    }
}

impl Indexer for BcfIndexer {
    fn take_piece(&mut self, bytes: &[u8], offsets: &mut VirtualOffsets<'_>) -> Result<()> {
        let mut at = 0;
        if self.entries.is_none() {
            let before = self.partial.len();
            self.partial.extend_from_slice(bytes);
            let Some(length) = self.header_length() else { return Ok(()) };
            at = length - before;
            self.open_header(length, offsets.offset_of(at))?;
            self.partial = Vec::new();
        }
        let Some(entries) = &mut self.entries else { return Ok(()) };
        loop {
            let skipped = self.skip_bytes.min(bytes.len() - at);
            (at, self.skip_bytes) = (at + skipped, self.skip_bytes - skipped);
            if self.skip_bytes > 0 {
                break;
            }
            if let Some(place) = self.pending.take() {
                let number = entries.records;
                let added = entries.add_record(place, offsets.offset_of(at), || {
                    "sort the file: bcftools sort -Ob".into()
                });
                added.map_err(|e| e.record(number))?;
            }
            let more = (FIXED - self.partial.len()).min(bytes.len() - at);
            self.partial.extend_from_slice(&bytes[at..at + more]);
            at += more;
            let Some(fixed) = self.partial.first_chunk::<FIXED>() else { break };
            let (place, size) =
                Self::parse_record(fixed, self.contigs).map_err(|e| e.record(entries.records))?;
            self.partial.clear();
            (self.pending, self.skip_bytes) = (Some(place), size - FIXED);
        }
        entries.flush_entries();
        Ok(())
    }

    fn heap_bytes(&self) -> u64 {
        let index = self.entries.as_ref().map_or(0, |entries| entries.builder.heap_bytes());
        index + self.partial.capacity() as u64
    }

    fn finish_file(self: Box<Self>, _: u64) -> Result<(IndexBuilder, IndexScheme, u64)> {
        if self.skip_bytes > 0 || self.pending.is_some() || !self.partial.is_empty() {
            let what = "the file ends inside a record or its header";
            return Err(Error::input(what).hint("the file is truncated: download or create it again"));
        }
        let mut entries = self.entries.ok_or_else(|| Error::input("the file ends inside its header"))?;
        entries.builder.extend_references();
        Ok((entries.builder, entries.scheme, entries.records))
    }
}

/// Returns the number in IDX. A number that is too large becomes the maximum.
fn stated_contig_number(line: &[u8]) -> Option<usize> {
    let at = memchr::memmem::rfind(line, b"IDX=")?;
    let digits = &line[at + 4..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let append = |n: usize, digit: &u8| n.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
    (end > 0).then(|| digits[..end].iter().fold(0, append))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::Chunk;

    /// Indexes a file with a record at base `start` + 1.
    fn index(number: &str, start: u32) -> Result<u64> {
        let text = format!("##fileformat=VCFv4.2\n##contig=<ID=c,length=1000,IDX={number}>\n\0");
        let mut bytes = [&MAGIC[..], &[2], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        for field in [24, 0, 0, start, 1, 0, 0, 0] {
            bytes.extend_from_slice(&u32::to_le_bytes(field));
        }
        let mut indexer = Box::new(BcfIndexer::new(14));
        indexer.take_piece(&bytes, &mut VirtualOffsets::new(&Chunk::default()))?;
        indexer.finish_file(0).map(|(_, _, records)| records)
    }

    #[test]
    fn a_contig_number_without_bounds_is_refused() {
        assert_eq!(index("0", 5), Ok(1));
        for number in ["18446744073709551615", "99999999999999999999", "18446744073709551614"] {
            let error = index(number, 5).unwrap_err().to_string();
            assert!(error.contains("with numbers (IDX) up to"), "{error}");
        }
    }

    #[test]
    fn a_record_beyond_its_contig_is_said_to_be_that() {
        let error = index("0", 20_000).unwrap_err().to_string();
        assert!(error.contains("the header states no longer contig"), "{error}");
        assert!(error.contains("bcftools reheader") && !error.contains("--csi"), "{error}");
    }
}
