//! Makes batches of reads from SAM text, and reads the written files back as text.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use readmill_coverage::page::index_scheme;
use readmill_coverage::{
    BedPage, BedPages, CoverageFile, CoverageJoin, CoveragePiece, CoveragePieceMaker, CoverageRegions,
    CoverageReport, PageEncoder, PageTarget, ReadOptions, ReportOptions,
};
use readmill_format::bgzf::{BlockReader, EOF_BLOCK, InflateReader};
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, Ledger, PieceMaker, Result, Stamp};

/// Reads of a SAM file, encoded as in BAM.
pub struct Reads {
    pub header: Header,
    pub records: Vec<Vec<u8>>,
}

impl Reads {
    pub fn of(sam: &str) -> Self {
        let (head, lines): (Vec<&str>, Vec<&str>) = sam.lines().partition(|line| line.starts_with('@'));
        let header = Header::parse(head.join("\n").as_bytes()).unwrap();
        let mut parser = LineParser::new(&header);
        let raw = |line: &str| {
            let mut raw = Vec::new();
            parser.parse(line.as_bytes(), &mut raw).unwrap();
            raw
        };
        let records = lines.into_iter().map(raw).collect();
        Reads { header, records }
    }

    pub fn lengths(&self) -> Arc<[u32]> {
        self.header.references().iter().map(|contig| contig.length).collect()
    }

    /// Makes the pieces of batches of `size` reads. Each piece is stored and loaded again, as
    /// between the stages of a job.
    pub fn pieces(
        &self,
        options: &ReadOptions,
        mut size: impl FnMut() -> usize,
    ) -> Result<Vec<CoveragePiece>> {
        let mut maker = CoveragePieceMaker::new(&Arc::new(options.clone()), &self.lengths());
        let mut charge = Ledger::unlimited().empty_charge("coverage");
        let (mut pieces, mut rest) = (Vec::new(), &self.records[..]);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(size().clamp(1, rest.len()));
            let mut batch = Batch::default();
            for raw in now {
                batch.push(raw, Stamp::default()).unwrap();
            }
            let piece = maker.make(&batch, &mut charge)?;
            let stored = postcard::to_stdvec(&piece).unwrap();
            pieces.push(postcard::from_bytes(&stored).unwrap());
            rest = later;
        }
        Ok(pieces)
    }

    /// Returns the text of each file, by file name suffix.
    pub fn files(
        &self,
        options: &ReadOptions,
        report: &ReportOptions,
        regions: Option<CoverageRegions>,
        size: impl FnMut() -> usize,
    ) -> BTreeMap<&'static str, String> {
        let contigs = self.header.references().iter();
        let contigs: Vec<(String, u32)> =
            contigs.map(|it| (String::from_utf8(it.name.clone()).unwrap(), it.length)).collect();
        let names: Arc<[String]> = contigs.iter().map(|it| it.0.clone()).collect();
        let longest = contigs.iter().map(|it| it.1).max().unwrap();
        let encoder = PageEncoder::new(&names, index_scheme(longest).unwrap());
        let wanted = || CoverageFile::ALL.into_iter().filter(|file| file.is_requested(report));
        let written = wanted().map(|file| (file.file_suffix(), Vec::new())).collect();
        let pages = BedPages::new(&names, wanted(), Written { encoder, files: written });
        let regions = regions.map(Arc::new);
        let mut report = CoverageReport::new(pages, report.clone(), contigs, regions).unwrap();
        let mut join = CoverageJoin::new(&self.lengths());
        for piece in self.pieces(options, size).unwrap() {
            join.add_piece(piece, &mut report).unwrap();
        }
        join.finish(&mut report).unwrap();
        let (written, _) = report.finish().unwrap().lines.finish().unwrap();
        written.files.into_iter().map(|(ending, bytes)| (ending, text(ending, bytes))).collect()
    }
}

fn text(ending: &str, mut bytes: Vec<u8>) -> String {
    if !ending.ends_with(".gz") {
        return String::from_utf8(bytes).unwrap();
    }
    bytes.extend_from_slice(&EOF_BLOCK);
    let mut text = String::new();
    InflateReader::new(BlockReader::new(&bytes[..], false)).read_to_string(&mut text).unwrap();
    text
}

struct Written {
    encoder: PageEncoder,
    files: BTreeMap<&'static str, Vec<u8>>,
}

impl PageTarget for Written {
    fn add_page(&mut self, page: BedPage) -> Result<()> {
        let encoded = self.encoder.encode_page(&page);
        self.files.get_mut(page.file.file_suffix()).unwrap().extend(encoded.bytes);
        Ok(())
    }

    fn write_text(&mut self, file: CoverageFile, text: &[u8]) -> Result<()> {
        self.files.get_mut(file.file_suffix()).unwrap().extend(text);
        Ok(())
    }
}
