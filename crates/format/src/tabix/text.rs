//! Indexes VCF, BED and GFF files.

use std::collections::HashMap;

use readmill_record::{Error, Result};

use super::columns::TextPreset;
use super::{EntryCollector, Indexer, LineSplitter};
use crate::bam::index::{IndexBuilder, IndexFormat, IndexScheme, RecordInterval};
use crate::bgzf::VirtualOffsets;

/// Number of position bits that every CSI of text supports, as in tabix 1.16.
const POSITION_BITS: u8 = 31;

const BYTES_PER_NAME: u64 = 64;

/// Builds the index of a VCF, BED or GFF file. Contigs are numbered in order of first occurrence.
pub struct TextIndexer {
    preset: TextPreset,
    kind: IndexFormat,
    min_shift: u8,
    lines: LineSplitter,
    longest: u64,
    start: u64,
    entries: Option<EntryCollector>,
    names: HashMap<Vec<u8>, i32>,
    list: Vec<u8>,
    last: i32,
}

impl TextIndexer {
    /// Returns an indexer that builds a TBI, or a CSI whose smallest bins span 2^`min_shift` bases.
    pub fn new(preset: TextPreset, kind: IndexFormat, min_shift: u8) -> Self {
        TextIndexer {
            preset,
            kind,
            min_shift,
            lines: LineSplitter::default(),
            longest: 0,
            start: 0,
            entries: None,
            names: HashMap::new(),
            list: Vec::new(),
            last: -1,
        }
    }

    fn index_scheme(&self) -> Result<IndexScheme> {
        if self.kind != IndexFormat::Csi {
            return Ok(IndexScheme::tbi());
        }
        let levels = POSITION_BITS.saturating_sub(self.min_shift).div_ceil(3);
        IndexScheme::csi_for_length(self.min_shift, levels, self.longest)
    }

    fn take_line(&mut self, line: &[u8], number: u64, end: u64) -> Result<()> {
        if line.starts_with(b"#") {
            self.longest = self.longest.max(self.preset.contig_length(line).unwrap_or(0));
            self.start = end;
            return Ok(());
        }
        let named = |error: Error| {
            let mut error = error;
            error.what = format!("line {number}: {}", error.what);
            error
        };
        let place = self.preset.parse_place(line);
        let (contig, start, stop) = place.ok_or_else(|| named(self.unlike_line_error(line)))?;
        let ref_id = match self.names.get(contig) {
            Some(&ref_id) if ref_id < self.last => {
                let what = format!(
                    "the lines of {} are not adjacent, but only a sorted file can be indexed",
                    String::from_utf8_lossy(contig)
                );
                return Err(named(Error::input(what).hint(self.preset.sort_hint())));
            }
            Some(&ref_id) => ref_id,
            None => {
                let ref_id = self.names.len() as i32;
                self.names.insert(contig.to_vec(), ref_id);
                self.list.extend_from_slice(contig);
                self.list.push(0);
                ref_id
            }
        };
        self.last = ref_id;
        if self.entries.is_none() {
            self.entries = Some(EntryCollector::new(self.index_scheme()?, 0, self.start));
        }
        let interval = RecordInterval { ref_id, start, end: stop, is_unmapped: false };
        match &mut self.entries {
            Some(entries) => {
                entries.add_record(interval, end, || self.preset.sort_hint().into()).map_err(named)
            }
            None => Ok(()),
        }
    }

    fn unlike_line_error(&self, line: &[u8]) -> Error {
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        Error::input(format!("this is not a {} line: {shown:?}", self.preset.name()))
            .hint("set the format with --preset vcf, bed or gff, or remove the line")
    }
}

impl Indexer for TextIndexer {
    fn take_piece(&mut self, bytes: &[u8], offsets: &mut VirtualOffsets<'_>) -> Result<()> {
        let mut lines = std::mem::take(&mut self.lines);
        let taken =
            lines.for_each_line(bytes, offsets, |line, number, end| self.take_line(line, number, end));
        self.lines = lines;
        self.entries.iter_mut().for_each(EntryCollector::flush_entries);
        taken
    }

    fn heap_bytes(&self) -> u64 {
        let index = self.entries.as_ref().map_or(0, |entries| entries.builder.heap_bytes());
        let names = 2 * self.list.capacity() as u64 + self.names.len() as u64 * BYTES_PER_NAME;
        index + names + self.lines.partial.capacity() as u64
    }

    fn finish_file(mut self: Box<Self>, end: u64) -> Result<(IndexBuilder, IndexScheme, u64)> {
        if let Some((line, number)) = self.lines.take_rest() {
            self.take_line(&line, number, end)?;
        }
        let scheme = self.index_scheme()?;
        let mut entries = self.entries.unwrap_or_else(|| EntryCollector::new(scheme, 0, self.start));
        entries.flush_entries();
        let meta = self.preset.index_metadata(&self.list);
        entries.builder.set_references(self.names.len(), meta);
        Ok((entries.builder, entries.scheme, entries.records))
    }
}
