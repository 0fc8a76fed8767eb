//! Collects the lines of BED files in pages, which any thread compresses and indexes.
//!
//! The end of a page depends only on the lines, so the compressed files are the same for any number
//! of threads.

use std::sync::Arc;

use readmill_format::bam::index::{
    Fragment, FragmentBuilder, IndexBuilder, IndexScheme, RecordInterval,
};
use readmill_format::bgzf::{BLOCK_PAYLOAD, Codec, Deflater};
use readmill_format::tabix::TextPreset;
use readmill_record::{Error, Result};

use crate::coverage_file::CoverageFile;
use crate::join::DepthRun;
use crate::line::{LINE_PADDING, RunLine, RunLines, append_number};
use crate::report::LineReceiver;

const MAX_PAGE_RUNS: usize = 1 << 14;

const MIN_PAGE_BYTES: usize = 1 << 18;

/// The libdeflate compression level, the same as mosdepth's.
const COMPRESSION_LEVEL: u8 = 1;

/// Memory of a page in bytes while it waits, is compressed, and is written.
pub const PAGE_BYTES: u64 = 3 << 18;

/// Consecutive lines of one BED file.
///
/// [`BedPages`] makes it, [`PageEncoder`] compresses it.
#[derive(Debug)]
pub struct BedPage {
    pub file: CoverageFile,
    /// Index of the page in its file. Encoded pages are written in this order.
    pub number: u64,
    content: PageContent,
    contigs: Vec<PageContig>,
}

#[derive(Debug)]
struct PageContig {
    contig: u32,
    number: u32,
    end_line: usize,
}

#[derive(Debug)]
enum PageContent {
    Runs(Vec<DepthRun>),
    Text { text: Vec<u8>, lines: Vec<TextLine>, comment: usize },
}

#[derive(Clone, Copy, Debug)]
struct TextLine {
    place: [u32; 2],
    length: u32,
}

impl PageContent {
    fn empty_for(file: CoverageFile) -> Self {
        match file {
            CoverageFile::PerBase => PageContent::Runs(Vec::new()),
            _ => PageContent::Text { text: Vec::new(), lines: Vec::new(), comment: 0 },
        }
    }

    fn line_count(&self) -> usize {
        match self {
            PageContent::Runs(runs) => runs.len(),
            PageContent::Text { lines, .. } => lines.len(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            PageContent::Runs(runs) => runs.is_empty(),
            PageContent::Text { text, .. } => text.is_empty(),
        }
    }
}

struct OpenPage {
    file: CoverageFile,
    pages: u64,
    content: PageContent,
    contigs: Vec<PageContig>,
    last: Option<u32>,
    names: Vec<u8>,
    contigs_so_far: u32,
}

/// Receives full pages, and the text of files that are not compressed. The program queues the pages for
/// [`PageEncoder`].
pub trait PageTarget {
    fn add_page(&mut self, page: BedPage) -> Result<()>;

    fn write_text(&mut self, file: CoverageFile, text: &[u8]) -> Result<()>;
}

/// Collects the lines of all files, and passes full pages to a [`PageTarget`].
pub struct BedPages<T> {
    names: Arc<[String]>,
    open: Vec<OpenPage>,
    texts: Vec<(CoverageFile, String)>,
    target: T,
}

pub struct BedContigs {
    pub file: CoverageFile,
    pub contigs: usize,
    /// The metadata block of a tabix index: format, columns and contig names.
    pub meta: Vec<u8>,
}

impl<T: PageTarget> BedPages<T> {
    /// Creates empty pages for `files`. [`BedPages::finish`] returns contigs in the order of these
    /// files. `names` are the contig names of the header.
    pub fn new(names: &Arc<[String]>, files: impl Iterator<Item = CoverageFile>, target: T) -> Self {
        let (mut open, mut texts) = (Vec::new(), Vec::new());
        for file in files {
            if file.is_bed() {
                let (pages, content, contigs) = (0, PageContent::empty_for(file), Vec::new());
                let (last, names, contigs_so_far) = (None, Vec::new(), 0);
                open.push(OpenPage { file, pages, content, contigs, last, names, contigs_so_far });
            } else {
                texts.push((file, String::new()));
            }
        }
        BedPages { names: Arc::clone(names), open, texts, target }
    }

    /// Passes on the last pages and texts. Returns the target, and the contigs of each BED file for
    /// its index.
    pub fn finish(mut self) -> Result<(T, Vec<BedContigs>)> {
        let mut ended = Vec::new();
        for page in &mut self.open {
            page.take_page().map_or(Ok(()), |page| self.target.add_page(page))?;
            let meta = TextPreset::Bed.index_metadata(&page.names);
            ended.push(BedContigs { file: page.file, contigs: page.contigs_so_far as usize, meta });
        }
        for (file, text) in &self.texts {
            self.target.write_text(*file, text.as_bytes())?;
        }
        Ok((self.target, ended))
    }

    pub fn target(&self) -> &T {
        &self.target
    }
}

fn find_open_page(open: &mut [OpenPage], file: CoverageFile) -> Result<&mut OpenPage> {
    let found = open.iter_mut().find(|page| page.file == file);
    found.ok_or_else(|| Error::bug("there are lines for a file that is not written"))
}

impl OpenPage {
    #[inline]
    fn begin_line(&mut self, contig: u32, names: &[String]) {
        let until = self.content.line_count() + 1;
        if self.last == Some(contig)
            && let Some(open) = self.contigs.last_mut()
        {
            open.end_line = until;
            return;
        }
        if self.last != Some(contig) {
            self.last = Some(contig);
            self.contigs_so_far += 1;
            let name = names.get(contig as usize).map_or("", String::as_str);
            self.names.extend_from_slice(name.as_bytes());
            self.names.push(0);
        }
        self.contigs.push(PageContig { contig, number: self.contigs_so_far - 1, end_line: until });
    }

    fn take_page(&mut self) -> Option<BedPage> {
        if self.content.is_empty() {
            return None;
        }
        let number = self.pages;
        self.pages += 1;
        let content = std::mem::replace(&mut self.content, PageContent::empty_for(self.file));
        Some(BedPage { file: self.file, number, content, contigs: std::mem::take(&mut self.contigs) })
    }
}

impl<T: PageTarget> LineReceiver for BedPages<T> {
    fn add_per_base(&mut self, contig: u32, run: DepthRun) -> Result<()> {
        let page = find_open_page(&mut self.open, CoverageFile::PerBase)?;
        page.begin_line(contig, &self.names);
        let PageContent::Runs(runs) = &mut page.content else { return Ok(()) };
        if runs.capacity() == 0 {
            runs.reserve_exact(MAX_PAGE_RUNS);
        }
        runs.push(run);
        if runs.len() == MAX_PAGE_RUNS {
            let full = page.take_page();
            full.map_or(Ok(()), |page| self.target.add_page(page))?;
        }
        Ok(())
    }

    fn add_bed_line(
        &mut self,
        file: CoverageFile,
        contig: u32,
        place: [u32; 2],
        columns: &[u8],
    ) -> Result<()> {
        let names = &self.names;
        let page = find_open_page(&mut self.open, file)?;
        page.begin_line(contig, names);
        let PageContent::Text { text, lines, .. } = &mut page.content else { return Ok(()) };
        let before = text.len();
        text.extend_from_slice(names.get(contig as usize).map_or("", String::as_str).as_bytes());
        for position in place {
            text.push(b'\t');
            append_number(position, text);
        }
        text.push(b'\t');
        text.extend_from_slice(columns);
        text.push(b'\n');
        lines.push(TextLine { place, length: (text.len() - before) as u32 });
        if text.len() >= MIN_PAGE_BYTES {
            let full = page.take_page();
            full.map_or(Ok(()), |page| self.target.add_page(page))?;
        }
        Ok(())
    }

    fn add_comment(&mut self, file: CoverageFile, line: &[u8]) -> Result<()> {
        if let PageContent::Text { text, comment, .. } =
            &mut find_open_page(&mut self.open, file)?.content
        {
            text.extend_from_slice(line);
            *comment = text.len();
        }
        Ok(())
    }

    fn add_text(&mut self, file: CoverageFile, more: &str) -> Result<()> {
        let Some((_, text)) = self.texts.iter_mut().find(|(which, _)| *which == file) else {
            return Ok(());
        };
        text.push_str(more);
        if text.len() >= MIN_PAGE_BYTES {
            self.target.write_text(file, text.as_bytes())?;
            text.clear();
        }
        Ok(())
    }
}

pub struct EncodedPage {
    pub bytes: Vec<u8>,
    pub fragment: Fragment,
}

/// Compresses and indexes pages. Each thread has one.
pub struct PageEncoder {
    names: Arc<[String]>,
    deflater: Deflater,
    index: FragmentBuilder,
    block: Box<[u8]>,
    filled: usize,
}

/// Returns the CSI scheme for contigs of up to `longest` bases. All BED files of a run use the same
/// scheme.
///
/// # Errors
/// The CSI format cannot index contigs of this length.
pub fn index_scheme(longest: u32) -> Result<IndexScheme> {
    IndexScheme::csi_for_length(14, 0, longest.into())
}

/// Returns an empty index of a BED file. The writer adds the fragment of each page in order.
pub fn new_index(scheme: IndexScheme) -> IndexBuilder {
    IndexBuilder::with_reference_count(scheme, 0)
}

impl PageEncoder {
    pub fn new(names: &Arc<[String]>, scheme: IndexScheme) -> Self {
        PageEncoder {
            names: Arc::clone(names),
            deflater: Deflater::new(Codec::default(), COMPRESSION_LEVEL),
            index: FragmentBuilder::new(scheme),
            block: vec![0; BLOCK_PAYLOAD + LINE_PADDING].into(),
            filled: 0,
        }
    }

    /// Compresses a page, and indexes its lines with offsets relative to the start of the page.
    pub fn encode_page(&mut self, page: &BedPage) -> EncodedPage {
        let mut bytes = Vec::new();
        let mut last: Option<(RecordInterval, u64)> = None;
        let mut from = 0;
        let mut rest = match &page.content {
            PageContent::Runs(_) => &[][..],
            PageContent::Text { text, comment, .. } => {
                let (comment, rest) = text.split_at(*comment);
                self.push_line(comment, &mut bytes);
                rest
            }
        };
        for PageContig { contig, number, end_line: until } in &page.contigs {
            let mut run_lines =
                RunLines::new(self.names.get(*contig as usize).map_or("", String::as_str));
            for n in from..*until {
                let (place, begin) = match &page.content {
                    PageContent::Runs(runs) => {
                        let line = run_lines.make_line(runs[n]);
                        ([runs[n].start, runs[n].end], self.push_run(&line, &mut bytes))
                    }
                    PageContent::Text { lines, .. } => {
                        let (own, more) = rest.split_at(lines[n].length as usize);
                        rest = more;
                        (lines[n].place, self.push_line(own, &mut bytes))
                    }
                };
                let [start, end] = place.map(i64::from);
                let ref_id = number.cast_signed();
                let interval =
                    RecordInterval { ref_id, start, end: end.max(start + 1), is_unmapped: false };
                if let Some((before, start)) = last.replace((interval, begin)) {
                    self.index.add_interval(before, start, begin);
                }
            }
            from = *until;
        }
        self.close_block(&mut bytes);
        if let Some((before, start)) = last {
            self.index.add_interval(before, start, (bytes.len() as u64) << 16);
        }
        EncodedPage { bytes, fragment: self.index.finish_partition() }
    }

    /// Adds a line to the current block. A line that does not fit starts a new block, and a line longer
    /// than a block gets blocks of its own. Returns the virtual offset of the line in the page.
    fn push_line(&mut self, line: &[u8], bytes: &mut Vec<u8>) -> u64 {
        if self.filled + line.len() > BLOCK_PAYLOAD {
            self.close_block(bytes);
        }
        let begin = self.virtual_offset(bytes);
        if line.len() > BLOCK_PAYLOAD {
            line.chunks(BLOCK_PAYLOAD).for_each(|part| self.deflater.deflate_block(part, bytes));
        } else {
            self.block[self.filled..][..line.len()].copy_from_slice(line);
            self.filled += line.len();
        }
        begin
    }

    #[inline]
    fn push_run(&mut self, line: &RunLine<'_>, bytes: &mut Vec<u8>) -> u64 {
        let length = line.length();
        if self.filled + length > BLOCK_PAYLOAD {
            self.close_block(bytes);
        }
        if length > BLOCK_PAYLOAD {
            let mut text = vec![0; length + LINE_PADDING];
            line.write_text(&mut text);
            return self.push_line(&text[..length], bytes);
        }
        let begin = self.virtual_offset(bytes);
        line.write_text(&mut self.block[self.filled..]);
        self.filled += length;
        begin
    }

    /// Returns the virtual offset of the next line (SAM specification, section 4.1.1).
    fn virtual_offset(&self, bytes: &[u8]) -> u64 {
        (bytes.len() as u64) << 16 | self.filled as u64
    }

    fn close_block(&mut self, bytes: &mut Vec<u8>) {
        let text = &self.block[..std::mem::take(&mut self.filled)];
        if !text.is_empty() {
            self.deflater.deflate_block(text, bytes);
        }
    }
}
