//! Collects the lines of BED files in pages, which any thread compresses and indexes.
//!
//! Where a page ends depends on the lines alone, so the compressed files are the same for any number of
//! threads.

use std::sync::Arc;

use readmill_format::bam::index::{Fragment, FragmentBuilder, IndexBuilder, Interval, Scheme};
use readmill_format::bgzf::{BLOCK_PAYLOAD, Codec, Deflater};
use readmill_format::tabix::Preset;
use readmill_record::{Error, Result};

use crate::join::Run;
use crate::line::{Line, ROOM, RunLines, write_number};
use crate::report::{CoverageFile, Lines};

const MOST_RUNS: usize = 1 << 14;

const ENOUGH_TEXT: usize = 1 << 18;

/// The compression level of libdeflate, the same as mosdepth's.
const LEVEL: u8 = 1;

/// Memory of a page in bytes: while it waits, is compressed, and is written.
pub const PAGE_BYTES: u64 = 3 << 18;

/// Consecutive lines of one BED file.
///
/// [`Pages`] makes it, [`PageEncoder`] compresses it.
#[derive(Debug)]
pub struct Page {
    pub file: CoverageFile,
    /// Index of the page in its file. Encoded pages are written in this order.
    pub number: u64,
    content: Content,
    contigs: Vec<PageContig>,
}

#[derive(Debug)]
struct PageContig {
    contig: u32,
    number: u32,
    until: usize,
}

#[derive(Debug)]
enum Content {
    Runs(Vec<Run>),
    Text { text: Vec<u8>, lines: Vec<TextLine>, comment: usize },
}

#[derive(Clone, Copy, Debug)]
struct TextLine {
    place: [u32; 2],
    length: u32,
}

impl Content {
    fn of(file: CoverageFile) -> Self {
        match file {
            CoverageFile::PerBase => Content::Runs(Vec::new()),
            _ => Content::Text { text: Vec::new(), lines: Vec::new(), comment: 0 },
        }
    }

    fn lines(&self) -> usize {
        match self {
            Content::Runs(runs) => runs.len(),
            Content::Text { lines, .. } => lines.len(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Content::Runs(runs) => runs.is_empty(),
            Content::Text { text, .. } => text.is_empty(),
        }
    }
}

struct OpenPage {
    file: CoverageFile,
    pages: u64,
    content: Content,
    contigs: Vec<PageContig>,
    last: Option<u32>,
    names: Vec<u8>,
    contigs_so_far: u32,
}

/// Receives full pages, and the text of files that are not compressed. The program queues the pages for
/// [`PageEncoder`].
pub trait PageTarget {
    fn page(&mut self, page: Page) -> Result<()>;

    fn text(&mut self, file: CoverageFile, text: &[u8]) -> Result<()>;
}

/// Collects the lines of all files, and passes full pages to a [`PageTarget`].
pub struct Pages<T> {
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

impl<T: PageTarget> Pages<T> {
    /// Makes pages for `files`, in the order in which [`Pages::finish`] returns their contigs. `names`
    /// are the contigs of the header.
    pub fn new(names: &Arc<[String]>, files: impl Iterator<Item = CoverageFile>, target: T) -> Self {
        let (mut open, mut texts) = (Vec::new(), Vec::new());
        for file in files {
            if file.is_bed() {
                let (pages, content, contigs) = (0, Content::of(file), Vec::new());
                let (last, names, contigs_so_far) = (None, Vec::new(), 0);
                open.push(OpenPage { file, pages, content, contigs, last, names, contigs_so_far });
            } else {
                texts.push((file, String::new()));
            }
        }
        Pages { names: Arc::clone(names), open, texts, target }
    }

    /// Passes on the last pages and texts. Returns the target, and the contigs of each BED file for its
    /// index.
    pub fn finish(mut self) -> Result<(T, Vec<BedContigs>)> {
        let mut ended = Vec::new();
        for page in &mut self.open {
            page.close().map_or(Ok(()), |page| self.target.page(page))?;
            let meta = Preset::Bed.meta(&page.names);
            ended.push(BedContigs { file: page.file, contigs: page.contigs_so_far as usize, meta });
        }
        for (file, text) in &self.texts {
            self.target.text(*file, text.as_bytes())?;
        }
        Ok((self.target, ended))
    }

    pub fn target(&self) -> &T {
        &self.target
    }
}

fn open_page(open: &mut [OpenPage], file: CoverageFile) -> Result<&mut OpenPage> {
    let found = open.iter_mut().find(|page| page.file == file);
    found.ok_or_else(|| Error::bug("there are lines for a file that is not written"))
}

impl OpenPage {
    #[inline]
    fn at(&mut self, contig: u32, names: &[String]) {
        let until = self.content.lines() + 1;
        if self.last == Some(contig)
            && let Some(open) = self.contigs.last_mut()
        {
            open.until = until;
            return;
        }
        if self.last != Some(contig) {
            self.last = Some(contig);
            self.contigs_so_far += 1;
            let name = names.get(contig as usize).map_or("", String::as_str);
            self.names.extend_from_slice(name.as_bytes());
            self.names.push(0);
        }
        self.contigs.push(PageContig { contig, number: self.contigs_so_far - 1, until });
    }

    fn close(&mut self) -> Option<Page> {
        if self.content.is_empty() {
            return None;
        }
        let number = self.pages;
        self.pages += 1;
        let content = std::mem::replace(&mut self.content, Content::of(self.file));
        Some(Page { file: self.file, number, content, contigs: std::mem::take(&mut self.contigs) })
    }
}

impl<T: PageTarget> Lines for Pages<T> {
    fn per_base(&mut self, contig: u32, run: Run) -> Result<()> {
        let page = open_page(&mut self.open, CoverageFile::PerBase)?;
        page.at(contig, &self.names);
        let Content::Runs(runs) = &mut page.content else { return Ok(()) };
        if runs.capacity() == 0 {
            runs.reserve_exact(MOST_RUNS);
        }
        runs.push(run);
        if runs.len() == MOST_RUNS {
            let full = page.close();
            full.map_or(Ok(()), |page| self.target.page(page))?;
        }
        Ok(())
    }

    fn bed(&mut self, file: CoverageFile, contig: u32, place: [u32; 2], columns: &[u8]) -> Result<()> {
        let names = &self.names;
        let page = open_page(&mut self.open, file)?;
        page.at(contig, names);
        let Content::Text { text, lines, .. } = &mut page.content else { return Ok(()) };
        let before = text.len();
        text.extend_from_slice(names.get(contig as usize).map_or("", String::as_str).as_bytes());
        for position in place {
            text.push(b'\t');
            write_number(position, text);
        }
        text.push(b'\t');
        text.extend_from_slice(columns);
        text.push(b'\n');
        lines.push(TextLine { place, length: (text.len() - before) as u32 });
        if text.len() >= ENOUGH_TEXT {
            let full = page.close();
            full.map_or(Ok(()), |page| self.target.page(page))?;
        }
        Ok(())
    }

    fn comment(&mut self, file: CoverageFile, line: &[u8]) -> Result<()> {
        if let Content::Text { text, comment, .. } = &mut open_page(&mut self.open, file)?.content {
            text.extend_from_slice(line);
            *comment = text.len();
        }
        Ok(())
    }

    fn text(&mut self, file: CoverageFile, more: &str) -> Result<()> {
        let Some((_, text)) = self.texts.iter_mut().find(|(which, _)| *which == file) else {
            return Ok(());
        };
        text.push_str(more);
        if text.len() >= ENOUGH_TEXT {
            self.target.text(file, text.as_bytes())?;
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

/// Returns the CSI scheme for contigs of up to `longest` bases. All BED files of a run use the same.
///
/// # Errors
/// The CSI format cannot index contigs of this length.
pub fn index_scheme(longest: u32) -> Result<Scheme> {
    Scheme::csi_of(14, 0, longest.into())
}

/// Returns an empty index of a BED file. The writer adds the fragment of each page in order.
pub fn index(scheme: Scheme) -> IndexBuilder {
    IndexBuilder::of(scheme, 0)
}

impl PageEncoder {
    pub fn new(names: &Arc<[String]>, scheme: Scheme) -> Self {
        PageEncoder {
            names: Arc::clone(names),
            deflater: Deflater::new(Codec::default(), LEVEL),
            index: FragmentBuilder::new(scheme),
            block: vec![0; BLOCK_PAYLOAD + ROOM].into(),
            filled: 0,
        }
    }

    /// Compresses a page, and makes the index entries of its lines with offsets relative to the page.
    pub fn encode(&mut self, page: &Page) -> EncodedPage {
        let mut bytes = Vec::new();
        let mut last: Option<(Interval, u64)> = None;
        let mut from = 0;
        let mut rest = match &page.content {
            Content::Runs(_) => &[][..],
            Content::Text { text, comment, .. } => {
                let (comment, rest) = text.split_at(*comment);
                self.push(comment, &mut bytes);
                rest
            }
        };
        for PageContig { contig, number, until } in &page.contigs {
            let mut run_lines =
                RunLines::new(self.names.get(*contig as usize).map_or("", String::as_str));
            for n in from..*until {
                let (place, begin) = match &page.content {
                    Content::Runs(runs) => {
                        let line = run_lines.line(runs[n]);
                        ([runs[n].start, runs[n].end], self.push_run(&line, &mut bytes))
                    }
                    Content::Text { lines, .. } => {
                        let (own, more) = rest.split_at(lines[n].length as usize);
                        rest = more;
                        (lines[n].place, self.push(own, &mut bytes))
                    }
                };
                let [start, end] = place.map(i64::from);
                let ref_id = number.cast_signed();
                let interval = Interval { ref_id, start, end: end.max(start + 1), is_unmapped: false };
                if let Some((before, start)) = last.replace((interval, begin)) {
                    self.index.add_interval(before, start, begin);
                }
            }
            from = *until;
        }
        self.close(&mut bytes);
        if let Some((before, start)) = last {
            self.index.add_interval(before, start, (bytes.len() as u64) << 16);
        }
        EncodedPage { bytes, fragment: self.index.finish() }
    }

    /// Adds a line to the current block. A line that does not fit starts a new block, and a line longer
    /// than a block gets blocks of its own. Returns the virtual offset of the line in the page.
    fn push(&mut self, line: &[u8], bytes: &mut Vec<u8>) -> u64 {
        if self.filled + line.len() > BLOCK_PAYLOAD {
            self.close(bytes);
        }
        let begin = self.offset(bytes);
        if line.len() > BLOCK_PAYLOAD {
            line.chunks(BLOCK_PAYLOAD).for_each(|part| self.deflater.block(part, bytes));
        } else {
            self.block[self.filled..][..line.len()].copy_from_slice(line);
            self.filled += line.len();
        }
        begin
    }

    #[inline]
    fn push_run(&mut self, line: &Line<'_>, bytes: &mut Vec<u8>) -> u64 {
        let length = line.length();
        if self.filled + length > BLOCK_PAYLOAD {
            self.close(bytes);
        }
        if length > BLOCK_PAYLOAD {
            let mut text = vec![0; length + ROOM];
            line.write(&mut text);
            return self.push(&text[..length], bytes);
        }
        let begin = self.offset(bytes);
        line.write(&mut self.block[self.filled..]);
        self.filled += length;
        begin
    }

    /// Returns the virtual offset of the next line (SAM specification, section 4.1.1).
    fn offset(&self, bytes: &[u8]) -> u64 {
        (bytes.len() as u64) << 16 | self.filled as u64
    }

    fn close(&mut self, bytes: &mut Vec<u8>) {
        let text = &self.block[..std::mem::take(&mut self.filled)];
        if !text.is_empty() {
            self.deflater.block(text, bytes);
        }
    }
}
