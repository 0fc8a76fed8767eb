//! Indexes SAM text compressed by bgzip.

use readmill_record::header::text::belongs_to_header;
use readmill_record::{Error, Header, Ledger, RecordRef, Result};

use super::{EntryCollector, Indexer, LineSplitter};
use crate::bam::index::{IndexBuilder, IndexScheme, RecordInterval};
use crate::bgzf::VirtualOffsets;
use crate::sam::LineParser;

type SchemeChoice = Box<dyn Fn(&Header) -> Result<IndexScheme> + Send>;

/// Builds the index of a SAM file.
pub struct SamIndexer {
    scheme: SchemeChoice,
    ledger: Ledger,
    lines: LineSplitter,
    header: Vec<u8>,
    header_lines: u64,
    start: u64,
    reading: Option<(LineParser, EntryCollector)>,
    record: Vec<u8>,
    number: u64,
}

impl SamIndexer {
    /// Returns an indexer. `scheme` selects BAI or CSI once the header has been read, because long
    /// contigs need CSI. The header is charged to `ledger`.
    pub fn new(
        scheme: impl Fn(&Header) -> Result<IndexScheme> + Send + 'static,
        ledger: &Ledger,
    ) -> Self {
        SamIndexer {
            scheme: Box::new(scheme),
            ledger: ledger.clone(),
            lines: LineSplitter::default(),
            header: Vec::new(),
            header_lines: 0,
            start: 0,
            reading: None,
            record: Vec::new(),
            number: 0,
        }
    }

    fn open_records(&mut self) -> Result<&mut (LineParser, EntryCollector)> {
        if self.reading.is_none() {
            let header = Header::parse_and_mend(&std::mem::take(&mut self.header), &self.ledger)?;
            let scheme = (self.scheme)(&header)?;
            let mut entries = EntryCollector::new(scheme, header.references().len(), self.start);
            entries.clamps_positions = true; // reads may reach beyond their contig, as in BAM
            self.reading = Some((LineParser::new(&header), entries));
        }
        self.reading.as_mut().ok_or_else(|| Error::bug("the SAM header was lost"))
    }

    fn take_line(&mut self, line: &[u8], end: u64) -> Result<()> {
        if self.reading.is_none() && belongs_to_header(line, self.header_lines + 1)? {
            self.header_lines += 1;
            self.header.extend_from_slice(line);
            self.header.push(b'\n');
            self.start = end;
            return Ok(());
        }
        if line.is_empty() {
            return Ok(());
        }
        let number = self.number;
        self.number += 1;
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        let (parser, entries) = self.open_records()?;
        parser.parse(line, &mut record).map_err(|e| e.record(number))?;
        let read = RecordRef::new(&record);
        let hint = "sort the file, which also writes an index: readmill sort FILE -o SORTED.bam";
        let added = entries.add_record(RecordInterval::of(read), end, || hint.into());
        added.map_err(|e| e.record(number).qname(read.qname()))?;
        self.record = record;
        Ok(())
    }
}

impl Indexer for SamIndexer {
    fn take_piece(&mut self, bytes: &[u8], offsets: &mut VirtualOffsets<'_>) -> Result<()> {
        let mut lines = std::mem::take(&mut self.lines);
        let taken = lines.for_each_line(bytes, offsets, |line, _, end| self.take_line(line, end));
        self.lines = lines;
        self.reading.iter_mut().for_each(|(_, entries)| entries.flush_entries());
        taken
    }

    fn heap_bytes(&self) -> u64 {
        let index = self.reading.as_ref().map_or(0, |(_, entries)| entries.builder.heap_bytes());
        let buffers = [&self.lines.partial, &self.header, &self.record].map(Vec::capacity);
        index + buffers.iter().sum::<usize>() as u64
    }

    fn finish_file(mut self: Box<Self>, end: u64) -> Result<(IndexBuilder, IndexScheme, u64)> {
        if let Some((line, _)) = self.lines.take_rest() {
            self.take_line(&line, end)?;
        }
        self.open_records()?;
        let (_, mut entries) = self.reading.ok_or_else(|| Error::bug("the SAM header was lost"))?;
        entries.flush_entries();
        Ok((entries.builder, entries.scheme, entries.records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_charged() {
        let header: String = (0..1_000).map(|n| format!("@SQ\tSN:contig{n}\tLN:1000\n")).collect();
        let record = "r\t0\tcontig1\t10\t60\t1M\t*\t0\t0\tA\tI";
        let index = |bytes| {
            let ledger = Ledger::with_capacity(bytes);
            let mut indexer = SamIndexer::new(|header| Ok(IndexScheme::for_header(header)), &ledger);
            header.lines().chain([record]).try_for_each(|line| indexer.take_line(line.as_bytes(), 1))
        };
        assert!(index(50_000).unwrap_err().to_string().contains("headers"));
        index(1_000_000).unwrap();
    }
}
