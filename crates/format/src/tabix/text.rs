//! Indexes of VCF, BED and GFF.

use std::collections::HashMap;

use readmill_record::{Error, Result};

use super::columns::Preset;
use super::{Entries, Indexer, Lines};
use crate::bam::index::{IndexBuilder, IndexFormat, Interval, Scheme};
use crate::bgzf::VirtualOffsets;

/// Bits of the positions that each CSI of text can hold, as in tabix 1.16.
const POSITION_BITS: u8 = 31;

const BESIDE_A_NAME: u64 = 64;

/// Makes the index of a VCF, BED or GFF file. Contigs are numbered in the order in which they
/// occur.
pub struct TextIndexer {
    preset: Preset,
    kind: IndexFormat,
    min_shift: u8,
    lines: Lines,
    longest: u64,
    start: u64,
    entries: Option<Entries>,
    names: HashMap<Vec<u8>, i32>,
    list: Vec<u8>,
    last: i32,
}

impl TextIndexer {
    /// Returns an indexer that makes a TBI, or a CSI with bins of at least 2^`min_shift` bases.
    pub fn new(preset: Preset, kind: IndexFormat, min_shift: u8) -> Self {
        TextIndexer {
            preset,
            kind,
            min_shift,
            lines: Lines::default(),
            longest: 0,
            start: 0,
            entries: None,
            names: HashMap::new(),
            list: Vec::new(),
            last: -1,
        }
    }

    fn scheme(&self) -> Result<Scheme> {
        if self.kind != IndexFormat::Csi {
            return Ok(Scheme::tbi());
        }
        let levels = POSITION_BITS.saturating_sub(self.min_shift).div_ceil(3);
        Scheme::csi_of(self.min_shift, levels, self.longest)
    }

    fn line(&mut self, line: &[u8], number: u64, end: u64) -> Result<()> {
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
        let place = self.preset.place(line);
        let (contig, start, stop) = place.ok_or_else(|| named(self.unlike(line)))?;
        let ref_id = match self.names.get(contig) {
            Some(&ref_id) if ref_id < self.last => {
                let what = format!(
                    "the lines of {} do not stand together, and only a sorted file can be indexed",
                    String::from_utf8_lossy(contig)
                );
                return Err(named(Error::input(what).hint(self.preset.sorting())));
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
            self.entries = Some(Entries::new(self.scheme()?, 0, self.start));
        }
        let interval = Interval { ref_id, start, end: stop, is_unmapped: false };
        match &mut self.entries {
            Some(entries) => entries.add(interval, end, || self.preset.sorting().into()).map_err(named),
            None => Ok(()),
        }
    }

    fn unlike(&self, line: &[u8]) -> Error {
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        Error::input(format!("this is not a line of {}: {shown:?}", self.preset.name()))
            .hint("say what the file is by --preset vcf, bed or gff, or take the line out")
    }
}

impl Indexer for TextIndexer {
    fn take(&mut self, bytes: &[u8], offsets: &mut VirtualOffsets<'_>) -> Result<()> {
        let mut lines = std::mem::take(&mut self.lines);
        let taken = lines.each(bytes, offsets, |line, number, end| self.line(line, number, end));
        self.lines = lines;
        self.entries.iter_mut().for_each(Entries::flush);
        taken
    }

    fn heap_bytes(&self) -> u64 {
        let index = self.entries.as_ref().map_or(0, |entries| entries.builder.heap_bytes());
        let names = 2 * self.list.capacity() as u64 + self.names.len() as u64 * BESIDE_A_NAME;
        index + names + self.lines.partial.capacity() as u64
    }

    fn finish(mut self: Box<Self>, end: u64) -> Result<(IndexBuilder, Scheme, u64)> {
        if let Some((line, number)) = self.lines.rest() {
            self.line(&line, number, end)?;
        }
        let scheme = self.scheme()?;
        let mut entries = self.entries.unwrap_or_else(|| Entries::new(scheme, 0, self.start));
        entries.flush();
        let meta = self.preset.meta(&self.list);
        entries.builder.set_references(self.names.len(), meta);
        Ok((entries.builder, entries.scheme, entries.records))
    }
}
