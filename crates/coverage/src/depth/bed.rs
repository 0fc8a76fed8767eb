//! The lines of `samtools bedcov`: for each region of a BED file, the sum of depths in each input.
//!
//! # Algorithm
//! 1. The starts and ends of all regions are borders, sorted by position. Borders are processed as
//!    depths arrive.
//! 2. At the start of a region, the running sums of the contig are subtracted from the sums of the
//!    region. At its end, they are added. So regions may overlap in any way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::path::Path;

use readmill_format::features::parse_bed_position;
use readmill_format::text::LineReader;
use readmill_record::{Charge, Header, Ledger, Result, make_room};

use crate::depth::merge::{DepthSink, TallySink};
use crate::depth::piece::{ContigTally, PositionQuality};

const MEMORY_NAME: &str = "regions";

const FLUSH_BYTES: usize = 1 << 16;

/// Optional output of `samtools bedcov`: columns in addition to the sums of depths, and a header
/// line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BedOptions {
    /// Add a column with the number of positions that have at least this depth (`samtools bedcov -d`).
    pub min_depth: Option<u64>,
    /// Add a column with the number of reads (`samtools bedcov -c`).
    pub reads: bool,
    /// Write a header line with these input names (`samtools bedcov -H`).
    pub header: Option<Vec<Vec<u8>>>,
}

pub struct BedLines {
    text: Vec<u8>,
    lengths: Vec<u32>,
    borders: Vec<Border>,
    names: Option<Vec<u8>>,
    _charges: [Charge; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Border {
    contig: u32,
    at: u32,
    region: u32,
    is_end: bool,
}

impl BedLines {
    /// Reads the regions of a BED file, and charges their memory to `ledger`.
    ///
    /// # Errors
    /// The file cannot be read, a line is not a region on a contig of `header`, or the regions do not
    /// fit into memory.
    pub fn read_bed(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        let mut charges = [(); 3].map(|()| ledger.empty_charge(MEMORY_NAME));
        let (mut text, mut lengths, mut borders) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = None;
        let mut lines = LineReader::open(path, ledger)?;
        while lines.advance_line()? {
            let line = lines.line();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.starts_with(b"#chrom\t") && names.is_none() && lengths.is_empty() {
                names = Some(line.to_vec());
            }
            let is_remark = [b"#".as_slice(), b"track ", b"browser "];
            if line.is_empty() || is_remark.iter().any(|start| line.starts_with(start)) {
                continue;
            }
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let contig = words.next().unwrap_or_default();
            let number = |word: Option<&[u8]>| parse_bed_position(word?);
            let (start, end) = match (number(words.next()), number(words.next())) {
                (Some(start), Some(end)) if start <= end => (start, end),
                (Some(_), Some(_)) => return Err(lines.line_error("the region ends before it starts")),
                _ => return Err(lines.line_error("the second and third column of BED must be numbers")),
            };
            let Some(contig) = header.reference_id(contig).and_then(|id| u32::try_from(id).ok()) else {
                let contig = String::from_utf8_lossy(contig).into_owned();
                return Err(lines.line_error(format!("the reads have no contig {contig}")));
            };
            let (region, length) = (lengths.len() as u32, line.len() as u32);
            make_room(&mut text, line.len(), &mut charges[0])?;
            make_room(&mut lengths, 1, &mut charges[1])?;
            make_room(&mut borders, 2, &mut charges[2])?;
            text.extend_from_slice(line);
            lengths.push(length);
            let border = |at, is_end| Border { contig, at, region, is_end };
            if start < end {
                borders.extend([border(start, false), border(end, true)]); // empty regions contain no bases
            }
        }
        borders.sort_unstable();
        Ok(BedLines { text, lengths, borders, names, _charges: charges })
    }
}

/// Sums the depths in each region, and writes a line for each region.
pub struct BedCoverage<W> {
    options: BedOptions,
    lines: BedLines,
    write: W,
    files: Vec<FileSums>,
    sums: Vec<u64>,
    next_border: usize,
    open: u32,
    _charge: Charge,
}

#[derive(Default)]
struct FileSums {
    bases: u64,
    deep: u64,
    /// Number of reads that start before the last border.
    started_reads: u64,
    /// Number of reads that end at or before the last border.
    ended_reads: u64,
    /// Starts of the other reads (at or after the last border), in order.
    starts: VecDeque<u32>,
    /// Ends of the other reads (after the last border).
    ends: BinaryHeap<Reverse<u32>>,
    last: Option<u32>,
}

impl FileSums {
    fn pass_reads(&mut self, at: u32) {
        while self.starts.pop_front_if(|start| *start < at).is_some() {
            self.started_reads += 1;
        }
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= at) {
            self.ends.pop();
            self.ended_reads += 1;
        }
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> BedCoverage<W> {
    /// Prepares the sums for `files` inputs. `write` receives the lines in pages.
    ///
    /// # Errors
    /// The sums do not fit into memory.
    pub fn new(
        options: BedOptions,
        lines: BedLines,
        files: usize,
        ledger: &Ledger,
        write: W,
    ) -> Result<Self> {
        let columns = files * options.column_count();
        let n = lines.lengths.len() * columns;
        let charge = ledger.charge(MEMORY_NAME, (n * size_of::<u64>() + 2 * FLUSH_BYTES) as u64)?;
        let files = (0..files).map(|_| FileSums::default()).collect();
        Ok(BedCoverage {
            options,
            lines,
            write,
            files,
            sums: vec![0; n],
            next_border: 0,
            open: 0,
            _charge: charge,
        })
    }

    /// Returns the memory in bytes that grows with the reads, in addition to the charge of
    /// [`BedCoverage::new`].
    pub fn heap_bytes(&self) -> u64 {
        let files = self.files.iter();
        files.map(|it| 4 * (it.starts.capacity() + it.ends.capacity()) as u64).sum()
    }

    fn pass_borders(&mut self, to: u32) {
        let columns = self.options.column_count();
        while let Some(&border) = self.lines.borders.get(self.next_border) {
            if border.contig != self.open || border.at > to {
                return;
            }
            self.next_border += 1;
            let each = self.files.len() * columns;
            let own = &mut self.sums[border.region as usize * each..][..each];
            for (number, file) in self.files.iter_mut().enumerate() {
                file.pass_reads(border.at);
                let mut column = number;
                let mut add = |at_start: u64, at_end: u64| {
                    own[column] = match border.is_end {
                        false => own[column].wrapping_sub(at_start),
                        true => own[column].wrapping_add(at_end),
                    };
                    column += each / columns;
                };
                add(file.bases, file.bases);
                if self.options.min_depth.is_some() {
                    add(file.deep, file.deep);
                }
                if self.options.reads {
                    add(file.ended_reads, file.started_reads);
                }
            }
        }
    }

    fn add_depths(&mut self, bases: u64, depths: &[u32]) {
        for (file, &depth) in self.files.iter_mut().zip(depths) {
            file.bases += bases * u64::from(depth);
            if self.options.min_depth.is_some_and(|min_depth| u64::from(depth) >= min_depth) {
                file.deep += bases;
            }
        }
    }

    pub fn finish(mut self) -> Result<()> {
        let mut page = self.header_line();
        let each = self.files.len() * self.options.column_count();
        let mut from = 0;
        for (region, &length) in self.lines.lengths.iter().enumerate() {
            let line = &self.lines.text[from..from + length as usize];
            from += length as usize;
            page.extend_from_slice(line);
            for sum in &self.sums[region * each..(region + 1) * each] {
                page.extend_from_slice(format!("\t{sum}").as_bytes());
            }
            page.push(b'\n');
            if page.len() >= FLUSH_BYTES {
                (self.write)(&page)?;
                page.clear();
            }
        }
        (self.write)(&page)
    }

    /// Returns the header line: that of the BED file, or the standard names of the columns in its
    /// first region, followed by the names of the added columns. Empty if no header line is
    /// requested.
    fn header_line(&self) -> Vec<u8> {
        const NAMES: [&str; 12] = [
            "chrom",
            "chromStart",
            "chromEnd",
            "name",
            "score",
            "strand",
            "thickStart",
            "thickEnd",
            "itemRgb",
            "blockCount",
            "blockSizes",
            "blockStarts",
        ];
        let (Some(files), lines) = (&self.options.header, &self.lines) else { return Vec::new() };
        let mut names = match (&lines.names, lines.lengths.first()) {
            (Some(names), _) => names.clone(),
            (None, None) => return Vec::new(),
            (None, Some(&length)) => {
                let first = &lines.text[..length as usize];
                let columns = 1 + first.iter().filter(|&&byte| byte == b'\t').count();
                let names = (0..columns).map(|column| NAMES.get(column).copied().unwrap_or("."));
                format!("#{}", Vec::from_iter(names).join("\t")).into_bytes()
            }
        };
        let kinds = [
            Some("_cov"),
            self.options.min_depth.map(|_| "_depth"),
            self.options.reads.then_some("_count"),
        ];
        for kind in kinds.into_iter().flatten() {
            for file in files {
                names.push(b'\t');
                names.extend_from_slice(file);
                names.extend_from_slice(kind.as_bytes());
            }
        }
        names.push(b'\n');
        names
    }
}

impl BedOptions {
    fn column_count(&self) -> usize {
        1 + usize::from(self.min_depth.is_some()) + usize::from(self.reads)
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> DepthSink for BedCoverage<W> {
    fn skip_contig(&mut self, contig: u32) -> Result<()> {
        self.begin_contig(contig)?;
        self.end_contig()
    }

    fn begin_contig(&mut self, contig: u32) -> Result<()> {
        self.open = contig;
        Ok(())
    }

    fn add_run(&mut self, start: u32, end: u32, depths: &[u32]) -> Result<()> {
        self.pass_borders(start);
        let mut from = start;
        while let Some(border) = self.lines.borders.get(self.next_border) {
            if border.contig != self.open || border.at >= end {
                break;
            }
            let at = border.at;
            self.add_depths(u64::from(at - from), depths);
            from = at;
            self.pass_borders(at);
        }
        self.add_depths(u64::from(end - from), depths);
        Ok(())
    }

    fn end_contig(&mut self) -> Result<()> {
        self.pass_borders(u32::MAX);
        self.files.iter_mut().for_each(|file| *file = FileSums::default());
        Ok(())
    }
}

impl<W: FnMut(&[u8]) -> Result<()>> TallySink for BedCoverage<W> {
    fn add_tally(&mut self, _: u32, _: ContigTally) -> Result<()> {
        Ok(())
    }

    fn add_qualities(&mut self, _: Vec<PositionQuality>) -> Result<()> {
        Ok(())
    }

    fn add_reads(&mut self, file: usize, reads: Vec<(u32, u32)>) -> Result<()> {
        let Some(sums) = self.files.get_mut(file) else { return Ok(()) };
        for (start, end) in reads {
            // samtools counts a read without aligned bases only if it is the first read at its
            // position, and never at the first position of the first contig.
            let is_taken = end > start || sums.last != Some(start) && (self.open, start) != (0, 0);
            sums.last = Some(start);
            if is_taken {
                sums.starts.push_back(start);
                sums.ends.push(Reverse(end.max(start + 1)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use readmill_record::Header;

    use super::*;

    fn lines(bed: &str) -> Result<BedLines> {
        let header = Header::parse(b"@SQ\tSN:c1\tLN:100\n@SQ\tSN:c2\tLN:100\n")?;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bed).unwrap();
        BedLines::read_bed(file.path(), &header, &Ledger::unlimited())
    }

    #[test]
    fn regions_have_bases_deep_positions_and_reads_of_each_file() {
        let bed = "track x\n\nc1\t15\t25\tb\n#r\nc1\t0\t15\ta\r\nc2\t0\t9\nc1 25 25\nc1\t40\t50\n";
        let header = Some(vec![b"f".to_vec(), b"g".to_vec()]);
        let options = BedOptions { min_depth: Some(2), reads: true, header };
        let mut text = Vec::new();
        let write = |page: &[u8]| {
            text.extend_from_slice(page);
            Ok(())
        };
        let ledger = Ledger::unlimited();
        let mut bed = BedCoverage::new(options, lines(bed).unwrap(), 2, &ledger, write).unwrap();
        bed.begin_contig(0).unwrap();
        // The last read of the first file covers nothing, and is not the first at its position.
        bed.add_reads(0, vec![(10, 30), (20, 30), (20, 30), (20, 20)]).unwrap();
        bed.add_reads(1, vec![(20, 30), (20, 30), (24, 24)]).unwrap();
        bed.add_run(10, 20, &[1, 0]).unwrap();
        bed.add_run(20, 30, &[3, 2]).unwrap();
        bed.end_contig().unwrap();
        bed.skip_contig(1).unwrap();
        bed.finish().unwrap();
        let names =
            "#chrom\tchromStart\tchromEnd\tname\tf_cov\tg_cov\tf_depth\tg_depth\tf_count\tg_count\n";
        let rows = "c1\t15\t25\tb\t20\t10\t5\t5\t3\t3\nc1\t0\t15\ta\t5\t0\t0\t0\t1\t0\n\
            c2\t0\t9\t0\t0\t0\t0\t0\t0\nc1 25 25\t0\t0\t0\t0\t0\t0\nc1\t40\t50\t0\t0\t0\t0\t0\t0\n";
        assert_eq!(String::from_utf8(text).unwrap(), format!("{names}{rows}"));
    }

    #[test]
    fn a_line_that_is_no_region_is_named() {
        for (bed, why) in [
            ("c1\t0\t5\nc3\t0\t5\n", "line 2: the reads have no contig c3"),
            ("c1\t9\t5\n", "line 1: the region ends before it starts"),
            ("c1\tx\t5\n", "must be numbers"),
            ("c1\n", "must be numbers"),
        ] {
            let error = lines(bed).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }
}
