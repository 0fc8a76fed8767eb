//! Regions of a BAM file or a BGZF-compressed SAM file, using a BAI or CSI index.
//!
//! A region is read in three parts:
//!
//! 1. The left margin: records that start before the region. They are checked one by one, up to
//!    the first that starts in it.
//! 2. The middle: compressed blocks that are claimed without inflating them, so that threads
//!    inflate them in parallel. It ends at the first record that overlaps the index window of the
//!    region's end; the index has the offset of that record, so all records of the middle start in
//!    the region.
//! 3. The rest: records are again checked one by one, up to the first that starts after the
//!    region.
//!
//! ```text
//!        region start                                region end
//!              ▼                                         ▼
//!  ── margin ──┼──────────── middle ────────────┼─ rest ─┼──
//!   one by one        as compressed blocks       one by one
//! ```
//!
//! A small region has no middle, and reads the same few blocks as any other reader. Records of
//! several small regions are claimed together. If each record is to be returned once, regions are
//! disjoint and in order, and a record that starts before the end of the previous region belongs to
//! that one.
//!
//! An index of a different file is detected: within a range of the index, all records must have the
//! contig, and the last one must end with the range.

use std::fs::File;
use std::sync::Arc;

use readmill_format::bam::header::HeaderOutline;
use readmill_format::bam::index::{BamIndex, FileRange, IndexedFile};
use readmill_format::bgzf::{BlockReader, BlockWindow, Chunk};
use readmill_format::file_slice::FileSlice;
use readmill_format::region::{ContigPart, Region};
use readmill_record::header::text::{BYTE_ORDER_MARK, belongs_to_header};
use readmill_record::{Error, ErrorKind, Header, Result};

use super::record::{RecordKind, read_whole_record};
use super::request::{IndexedInput, RequestedRegions, foreign_index_error, misplaced_offset_error};
use crate::claim::{Claim, OpenOptions};

const FULL_CLAIM_BYTES: usize = 1 << 19;

/// Minimum compressed size of a middle in bytes. A smaller one does not justify a claim of its own.
const MIN_MIDDLE_BYTES: u64 = 1 << 18;

/// Maximum number of inflated bytes that are copied before a middle begins. If more are already
/// inflated, their records are first checked one by one.
const MAX_COPIED_BYTES: usize = 1 << 18;

/// Maximum number of inflated bytes kept because the next region may start in them.
const KEPT_BYTES: usize = 1 << 20;

const BLOCKS: &str = "blocks of regions";

pub struct BgzfRegions {
    file: Arc<File>,
    file_bytes: u64,
    kind: RecordKind,
    index: BamIndex,
    regions: RequestedRegions,
    next: usize,
    window: BlockWindow,
    at: usize,
    /// Offset in the window at which the current range ends; `usize::MAX` until it is reached.
    limit: usize,
    range_end: u64,
    step: RegionStep,
    out: Vec<u8>,
    resume: Option<Resume>,
    allow_missing_eof: bool,
}

enum RegionStep {
    Between,
    Scan(RegionScan),
    /// Claim blocks without inflating them; then continue with the region, unless it extends to the
    /// end of the file.
    Pass(BlockReader<FileSlice>, Option<RegionScan>),
    Rest,
}

struct RegionScan {
    part: ContigPart,
    /// Records that start before this position belong to the previous region.
    min_start: i64,
    ranges: std::vec::IntoIter<FileRange>,
    end: u64,
    at_first: bool,
    /// Virtual offset up to which records that start in the region need no check.
    middle: u64,
}

impl RegionScan {
    /// Returns the scan after a middle. If the end of the range cut off the middle, it continues in
    /// the next range.
    fn after_middle(self) -> Self {
        let middle = if self.middle > self.end { self.middle } else { 0 };
        RegionScan { middle, ..self }
    }
}

/// Where the previous region ended, so that its records are not read again for the next one.
struct Resume {
    contig: u32,
    offset: u64,
    end: i64,
}

impl BgzfRegions {
    /// Opens the index. Returns `None` if the regions are the whole file.
    ///
    /// # Errors
    /// The index cannot be read, belongs to a different file, or does not fit in memory.
    pub fn open(
        input: &IndexedInput<'_>,
        header: &Header,
        is_bam: bool,
        regions: RequestedRegions,
        options: &OpenOptions,
    ) -> Result<Option<Self>> {
        let meta = input.file.metadata().map_err(|e| Error::io("reading failed", &e))?;
        let facts = IndexedFile { contigs: header.references().len(), bytes: meta.len() };
        let unplaced = regions.has_unplaced();
        let wanted = regions.contig_parts().map(|part| part.contig);
        let index = BamIndex::open(input.index, facts, wanted, unplaced, &options.ledger)?;
        if regions.is_whole_file() {
            return Ok(None);
        }
        let kind = match is_bam {
            true => RecordKind::Bam { n_ref: header.n_ref() },
            false => RecordKind::Text { header: header.clone() },
        };
        let mut window = BlockWindow::new(&input.file, 0, Some(1), options.ledger.empty_charge(BLOCKS));
        if regions.may_share_blocks() && options.ledger.free() > 32 * KEPT_BYTES as u64 {
            window.keep_consumed(KEPT_BYTES);
        }
        Ok(Some(BgzfRegions {
            file: Arc::clone(&input.file),
            file_bytes: facts.bytes,
            kind,
            index,
            regions,
            next: 0,
            window,
            at: 0,
            limit: usize::MAX,
            range_end: u64::MAX,
            step: RegionStep::Between,
            out: Vec::new(),
            resume: None,
            allow_missing_eof: options.allow_missing_eof,
        }))
    }

    pub fn expected_bytes(&self) -> u64 {
        self.regions.estimate_sum(|region| match region {
            Region::All => self.file_bytes,
            Region::Unplaced => self.file_bytes.saturating_sub(self.index.placed_end() >> 16),
            Region::Part(part) => {
                let ranges = self.index.file_ranges(part, 0);
                ranges.iter().map(|range| (range.end >> 16) - (range.begin >> 16)).sum()
            }
        })
    }

    /// Returns the next records; `None` after the last region.
    ///
    /// # Errors
    /// The file is damaged, or the index belongs to a different file.
    pub fn claim(&mut self, mut reuse: Chunk) -> Result<Option<Claim>> {
        if self.out.capacity() == 0 {
            std::mem::swap(&mut self.out, &mut reuse.compressed);
            self.out.clear();
        }
        loop {
            let passing = matches!(self.step, RegionStep::Pass(..));
            if self.out.len() >= FULL_CLAIM_BYTES || passing && !self.out.is_empty() {
                return Ok(Some(self.take_claim()));
            }
            match std::mem::replace(&mut self.step, RegionStep::Between) {
                RegionStep::Between => match self.regions.list.get(self.next).copied() {
                    Some(region) => {
                        self.next += 1;
                        self.step = self.begin_region(region)?;
                    }
                    None if self.out.is_empty() => return Ok(None),
                    None => return Ok(Some(self.take_claim())),
                },
                RegionStep::Scan(scan) => self.step = self.scan_records(scan)?,
                RegionStep::Pass(mut blocks, then) => {
                    if reuse.compressed.capacity() == 0 {
                        std::mem::swap(&mut self.out, &mut reuse.compressed);
                    }
                    if blocks.next_chunk(&mut reuse)? {
                        self.step = RegionStep::Pass(blocks, then);
                        return Ok(Some(Claim::Blocks(reuse)));
                    }
                    if let Some(scan) = then {
                        self.step = self.end_middle(scan)?;
                    }
                }
                RegionStep::Rest => self.step = self.take_remaining_lines()?,
            }
        }
    }

    fn take_claim(&mut self) -> Claim {
        let out = std::mem::take(&mut self.out);
        match self.kind {
            RecordKind::Bam { .. } => Claim::Bytes(out),
            RecordKind::Text { .. } => Claim::Text(out),
        }
    }

    fn begin_region(&mut self, region: Region) -> Result<RegionStep> {
        let Region::Part(part) = region else { return self.begin_unplaced() };
        let before =
            self.resume.as_ref().filter(|it| self.regions.each_once && it.contig == part.contig);
        let (from, min_offset) = before.map_or((i64::MIN, 0), |before| (before.end, before.offset));
        let ranges = self.index.file_ranges(&part, min_offset);
        self.resume = Some(Resume { contig: part.contig, offset: min_offset, end: part.end });
        let middle = match self.kind {
            RecordKind::Bam { .. } => self.index.first_offset(part.contig, part.end - 1),
            RecordKind::Text { .. } => 0,
        };
        self.begin_next_range(RegionScan {
            part,
            min_start: from,
            ranges: ranges.into_iter(),
            end: 0,
            at_first: true,
            middle,
        })
    }

    fn begin_next_range(&mut self, mut scan: RegionScan) -> Result<RegionStep> {
        self.note_region_end(scan.end);
        match scan.ranges.next() {
            Some(range) => {
                (scan.end, scan.at_first) = (range.end, true);
                self.seek_virtual(range.begin, range.end)?;
                Ok(RegionStep::Scan(scan))
            }
            None => Ok(RegionStep::Between),
        }
    }

    fn note_region_end(&mut self, offset: u64) {
        if let Some(resume) = &mut self.resume {
            resume.offset = resume.offset.max(offset);
        }
    }

    fn begin_unplaced(&mut self) -> Result<RegionStep> {
        match self.index.placed_end() {
            0 => self.seek_first_record()?,
            start => self.seek_virtual(start, u64::MAX)?,
        }
        let place = loop {
            let Some(length) = self.complete_record()? else { return Ok(RegionStep::Between) };
            let record = &self.window.bytes()[self.at..self.at + length];
            if !self.kind.is_blank(record) {
                break self.kind.record_place(record);
            }
            self.at += length;
        };
        if place.is_none_or(|place| place.contig >= 0) {
            return Err(foreign_index_error(self.window.virtual_position(self.at).0));
        }
        if matches!(self.kind, RecordKind::Text { .. }) {
            return Ok(RegionStep::Rest);
        }
        self.out.extend_from_slice(&self.window.bytes()[self.at..]);
        self.at = self.window.bytes().len();
        Ok(RegionStep::Pass(self.blocks_until(self.file_bytes, self.allow_missing_eof), None))
    }

    /// Seeks to the record after the header, because an index without placed records has no offset.
    fn seek_first_record(&mut self) -> Result<()> {
        self.seek_virtual(0, u64::MAX)?;
        if matches!(self.kind, RecordKind::Text { .. }) {
            return self.skip_header_lines();
        }
        let mut outline = HeaderOutline::default();
        loop {
            if let Some(length) = outline.header_length(self.window.bytes())? {
                self.at = length;
                return Ok(());
            }
            if !read_next_block(&mut self.window, &mut 0)? {
                return Err(Error::input("the file ends inside its header")
                    .hint("download or create the file again"));
            }
        }
    }

    fn skip_header_lines(&mut self) -> Result<()> {
        let mut number = 1;
        while let Some(length) = self.complete_record()? {
            let line = &self.window.bytes()[self.at..self.at + length];
            let text = if number == 1 { line.strip_prefix(BYTE_ORDER_MARK) } else { None };
            if !belongs_to_header(text.unwrap_or(line), number)? {
                break;
            }
            (self.at, number) = (self.at + length, number + 1);
        }
        Ok(())
    }

    fn take_remaining_lines(&mut self) -> Result<RegionStep> {
        while self.out.len() < FULL_CLAIM_BYTES {
            let Some(length) = self.complete_record()? else { return Ok(RegionStep::Between) };
            self.out.extend_from_slice(&self.window.bytes()[self.at..self.at + length]);
            self.at += length;
        }
        Ok(RegionStep::Rest)
    }

    fn blocks_until(&self, end: u64, allow_missing_eof: bool) -> BlockReader<FileSlice> {
        let start = self.window.next_offset();
        BlockReader::new(FileSlice::new(&self.file, start, end), allow_missing_eof).from_offset(start)
    }

    /// Checks records one by one until enough are taken, the region ends, or its middle begins.
    fn scan_records(&mut self, mut scan: RegionScan) -> Result<RegionStep> {
        let ContigPart { contig, start, end } = scan.part;
        while self.out.len() < FULL_CLAIM_BYTES {
            if self.at == self.limit {
                return self.begin_next_range(scan);
            }
            let offset = self.window.virtual_position(self.at).0;
            let length = self
                .complete_record()
                .map_err(|e| e.offset(offset))?
                .ok_or_else(|| foreign_index_error(offset))?;
            let record = &self.window.bytes()[self.at..self.at + length];
            if self.kind.is_blank(record) {
                self.at += length;
                continue;
            }
            let place = self.kind.record_place(record).filter(|place| place.contig == contig as i32);
            let place = place.filter(|_| self.at + length <= self.limit);
            let place = place.ok_or_else(|| foreign_index_error(offset))?;
            if !place.is_possible() {
                self.out.extend_from_slice(record); // the parser will report it
                self.at += length;
                continue;
            }
            let pos = place.pos;
            if pos >= end {
                // Between the previous range and this one there may be records of other bins, which
                // the next region needs.
                if !scan.at_first {
                    let (block, within) = self.window.virtual_position(self.at);
                    self.note_region_end(block << 16 | within as u64);
                }
                return Ok(RegionStep::Between);
            }
            scan.at_first = false;
            if pos >= start && pos >= scan.min_start {
                let middle = scan.middle.min(scan.end);
                // Records that are already inflated are taken before the middle, one by one if
                // there are many.
                let is_little = self.window.bytes().len() - self.at <= MAX_COPIED_BYTES;
                if is_little && middle >> 16 >= self.window.next_offset() + MIN_MIDDLE_BYTES {
                    self.out.extend_from_slice(&self.window.bytes()[self.at..]);
                    return Ok(RegionStep::Pass(self.blocks_until(middle >> 16, true), Some(scan)));
                }
                self.out.extend_from_slice(record);
            } else if pos >= scan.min_start
                && self.kind.alignment_end(record, pos).is_none_or(|last| last > start)
            {
                self.out.extend_from_slice(record);
            }
            self.at += length;
        }
        Ok(RegionStep::Scan(scan))
    }

    /// Continues after a middle: takes the records at the start of the block in which it ends.
    fn end_middle(&mut self, scan: RegionScan) -> Result<RegionStep> {
        let middle = scan.middle.min(scan.end);
        self.seek_virtual(middle, scan.end)?;
        let within = (middle & 0xffff) as usize;
        self.out.extend_from_slice(&self.window.bytes()[self.at - within..self.at]);
        Ok(RegionStep::Scan(scan.after_middle()))
    }

    /// Seeks to virtual offset `begin`, in a range that ends at virtual offset `end`.
    fn seek_virtual(&mut self, begin: u64, end: u64) -> Result<()> {
        let (block, within) = (begin >> 16, (begin & 0xffff) as usize);
        let (start, length) = match self.window.block_range(block) {
            Some(place) => place,
            None => {
                self.window.move_to_block(block);
                if within > 0 {
                    read_next_block(&mut self.window, &mut 0)?;
                }
                (0, self.window.bytes().len())
            }
        };
        if within > length {
            return Err(foreign_index_error(block));
        }
        (self.at, self.range_end) = (start + within, end);
        self.find_limit()
    }

    fn find_limit(&mut self) -> Result<()> {
        let (block, within) = (self.range_end >> 16, (self.range_end & 0xffff) as usize);
        self.limit = match self.window.block_range(block) {
            Some((start, length)) if within <= length => start + within,
            None if within == 0 && self.window.next_offset() == block => self.window.bytes().len(),
            None if self.window.next_offset() <= block => usize::MAX,
            _ => return Err(foreign_index_error(block)),
        };
        Ok(())
    }

    fn complete_record(&mut self) -> Result<Option<usize>> {
        let BgzfRegions { kind, window, at, .. } = self;
        if let Some(length) = kind.record_length(window.bytes(), *at, 0)? {
            return Ok(Some(length));
        }
        let length = read_whole_record(kind, window, at, read_next_block)?;
        self.find_limit()?;
        Ok(length)
    }
}

/// Inflates the next block, and drops the bytes before `at`. Returns whether there was a block.
fn read_next_block(window: &mut BlockWindow, at: &mut usize) -> Result<bool> {
    if window.charge().ledger().free() < 8 * KEPT_BYTES as u64 {
        window.keep_consumed(0);
    }
    *at -= window.forget_consumed(*at);
    // The first block is at the offset given by the index.
    let (is_first, offset) = (window.bytes().is_empty(), window.next_offset());
    let is_more =
        window.inflate_more().map_err(|error| match is_first && error.kind == ErrorKind::Input {
            true => misplaced_offset_error(offset),
            false => error,
        })?;
    if window.is_short() {
        return Err(window.charge().shortage_error(window.bytes().len() as u64));
    }
    Ok(is_more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_format::bam::header::write_header;
    use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK, Inflater};
    use readmill_format::sam::LineParser;

    const HEADER: &str = "@SQ\tSN:a\tLN:900\n@SQ\tSN:b\tLN:900\n";

    /// Returns what is claimed of the reads without a contig, with an index that has no records.
    fn claim_unplaced(lines: &[&str], is_bam: bool, block: usize) -> Result<Vec<u8>> {
        let header = Header::parse(HEADER.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        if is_bam {
            write_header(&header, &mut bytes).unwrap();
            let mut parser = LineParser::new(&header);
            lines.iter().for_each(|line| parser.parse(line.as_bytes(), &mut bytes).unwrap());
        } else {
            bytes.extend_from_slice(HEADER.as_bytes());
            lines.iter().for_each(|line| bytes.extend_from_slice(format!("{line}\n").as_bytes()));
        }
        let (mut deflater, mut compressed) = (Deflater::new(Codec::default(), 1), Vec::new());
        bytes.chunks(block).for_each(|piece| deflater.deflate_block(piece, &mut compressed));
        compressed.extend_from_slice(&EOF_BLOCK);
        let dir = tempfile::tempdir().unwrap();
        let [path, index] = ["reads", "index"].map(|name| dir.path().join(name));
        std::fs::write(&path, compressed).unwrap();
        std::fs::write(&index, [&b"BAI\x01\x02\0\0\0"[..], &[0; 24]].concat()).unwrap();
        let input = IndexedInput { file: Arc::new(File::open(path).unwrap()), index: &index };
        let options = OpenOptions::default();
        let charge = options.ledger.empty_charge("regions");
        let regions = RequestedRegions::in_turn(vec![Region::Unplaced], charge)?;
        let mut regions = BgzfRegions::open(&input, &header, is_bam, regions, &options)?.unwrap();
        let mut claimed = Vec::new();
        while let Some(claim) = regions.claim(Chunk::default())? {
            match claim {
                Claim::Bytes(bytes) | Claim::Text(bytes) => claimed.extend(bytes),
                Claim::Blocks(chunk) => {
                    Inflater::default().append_chunk(&chunk, &mut claimed)?;
                }
                Claim::Container(..) => unreachable!(),
            }
        }
        assert!(bytes.ends_with(&claimed));
        Ok(claimed)
    }

    /// The index may be older than the file, from before the reads were aligned.
    #[test]
    fn reads_with_a_contig_are_not_returned_as_reads_without() {
        let (placed, unplaced) =
            ("r\t0\ta\t5\t9\t2M\t*\t0\t0\tAC\tII", "r\t4\t*\t0\t0\t*\t*\t0\t0\tAC\tII");
        for (is_bam, length) in [(true, 41), (false, unplaced.len() + 1)] {
            for block in [7, 1_000] {
                assert_eq!(claim_unplaced(&[unplaced; 3], is_bam, block).unwrap().len(), 3 * length);
                assert_eq!(claim_unplaced(&[], is_bam, block).unwrap(), b"");
                let error = claim_unplaced(&[placed, unplaced], is_bam, block).unwrap_err();
                assert!(error.what.contains("the index does not match the file"), "{error}");
            }
        }
    }

    #[test]
    fn a_middle_goes_on_in_the_next_range_if_the_end_of_one_cut_it() {
        let scan = |middle, end| {
            let part = ContigPart { contig: 0, start: 0, end: 1 };
            let ranges = Vec::new().into_iter();
            RegionScan { part, min_start: 0, ranges, end, at_first: false, middle }.after_middle().middle
        };
        assert_eq!([scan(500, 300), scan(500, 500), scan(500, 600)], [500, 0, 0]);
    }
}
