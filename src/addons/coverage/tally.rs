//! Writes the coverage files: joins the pieces of all output parts in order, and compresses the
//! lines on all threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_coverage::page::{self, PAGE_BYTES};
use readmill_coverage::{
    BedContigs, BedPage, BedPages, BothReceivers, CoverageFile, CoverageJoin, CoveragePiece,
    CoveragePieceMaker, CoverageRegions, CoverageReport, DepthPeak, EncodedPage, FinishedCoverage,
    PageEncoder, PageTarget, Piles, ReadOptions, ReportOptions,
};
use readmill_format::bam::index::{IndexBuilder, IndexScheme};
use readmill_format::bgzf::EOF_BLOCK;
use readmill_format::report::DescribedReport;
use readmill_process::atomic_file::AtomicFile;
use readmill_process::console::Console;
use readmill_record::{Charge, Error, Header, OrderedTally, Result, ledger::UserName};

use super::request::{CoverageRequest, index_ending};
use crate::addons::add_on::FileSetup;

/// The name of coverage in the ledger and in `--explain`.
pub(super) const COVERAGE: UserName = "coverage";

/// Memory for the name and the length of a contig, in bytes.
const CONTIG_BYTES: u64 = 128;

/// Maximum number of BED files.
const BED_FILES: u64 = 4;

/// Returns the memory for coverage with `in_flight` batches in progress in bytes, excluding memory
/// that grows with the reads.
pub(super) fn usual_bytes(in_flight: usize) -> u64 {
    CoverageTally::USUAL_PIECE_BYTES * in_flight as u64 + PAGE_BYTES * (2 * in_flight as u64 + BED_FILES)
}

/// A deep window, with the name of its contig.
pub(super) type NamedPile = (String, DepthPeak);

/// The complete coverage of an output.
pub(super) struct CompleteCoverage {
    /// The files, with their file name suffixes.
    pub files: Vec<(&'static str, AtomicFile)>,
    /// The summary and the distributions, if the run is described.
    pub reports: Vec<(CoverageFile, Box<dyn DescribedReport>)>,
    /// The deepest windows, if they were requested.
    pub deepest: Vec<NamedPile>,
    /// Pays for the names of the contigs in `reports`. The ordered tally pays for their rows.
    pub charge: Charge,
}

/// The coverage of an output, as an ordered tally.
///
/// A process that only creates pieces needs no files. A process that joins pieces must open them
/// first ([`CoverageTally::open_files`]).
pub(super) struct CoverageTally {
    request: CoverageRequest,
    options: Arc<ReadOptions>,
    lengths: Arc<[u32]>,
    /// Both are `None` before the files are opened, and after they are complete.
    files: Mutex<Option<Arc<CoverageFiles>>>,
    output: Mutex<Option<CoverageOutput>>,
}

/// Joins the pieces and writes the files.
struct CoverageOutput {
    options: ReportOptions,
    contigs: Vec<(String, u32)>,
    regions: Option<Arc<CoverageRegions>>,
    join: CoverageJoin,
    report: CoverageReport<BedPages<PageQueue>>,
    /// The deepest windows, if the run is described.
    piles: Option<Piles>,
    /// Pays for the names and lengths in `contigs`.
    charge: Charge,
}

impl CoverageTally {
    /// Creates a tally for reads with this header. Its files are set later, by
    /// [`open_files`](Self::open_files).
    pub fn new(request: &CoverageRequest, header: &Header) -> Self {
        let lengths = header.references().iter().map(|contig| contig.length).collect();
        let (request, options) = (request.clone(), Arc::new(request.reads.clone()));
        CoverageTally { request, options, lengths, files: Mutex::new(None), output: Mutex::new(None) }
    }

    /// Takes the opened files, each with its file name suffix. Joined pieces are written to them.
    ///
    /// # Errors
    /// Fails if the BED file cannot be read, if a contig is too long for an index, or if there is
    /// too little memory.
    pub fn open_files(
        &self,
        files: Vec<(&'static str, AtomicFile)>,
        setup: &FileSetup<'_>,
    ) -> Result<()> {
        let &FileSetup { header, is_described, in_flight, ledger, console } = setup;
        let n = header.references().len() as u64;
        let charge = ledger.charge(COVERAGE, n * CONTIG_BYTES)?;
        let bed = self.request.bed.as_ref();
        let regions = bed.map(|bed| CoverageRegions::read_bed(bed, header, ledger)).transpose()?;
        if let Some(regions) = &regions {
            warn_of_regions(regions, console);
        }
        let regions = regions.map(Arc::new);
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let contigs = header.references().iter();
        let contigs = Vec::from_iter(contigs.map(|contig| (name(&contig.name), contig.length)));
        let files = Arc::new(CoverageFiles::new(&contigs, files, in_flight)?);
        let options = self.request.report.clone();
        let report = new_report(&files, &options, &contigs, &regions, is_described)?;
        let join = CoverageJoin::new(&self.lengths);
        let piles = is_described.then(Piles::default);
        let output = CoverageOutput { options, contigs, regions, join, report, piles, charge };
        (*lock(&self.files), *lock(&self.output)) = (Some(files), Some(output));
        Ok(())
    }

    fn files(&self) -> Option<Arc<CoverageFiles>> {
        lock(&self.files).clone()
    }

    /// Completes the files under their temporary names, after all pieces are added and all threads
    /// have finished. Returns `None` if no files were opened.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn complete(&self) -> Result<Option<CompleteCoverage>> {
        let (Some(files), Some(mut output)) = (lock(&self.files).take(), lock(&self.output).take())
        else {
            return Ok(None);
        };
        match &mut output.piles {
            Some(piles) => output.join.finish(&mut BothReceivers(&mut output.report, piles))?,
            None => output.join.finish(&mut output.report)?,
        }
        let deepest = output.piles.iter().flat_map(|piles| piles.deepest()).map(|pile| {
            let name = output.contigs.get(pile.contig as usize).map(|(name, _)| name.clone());
            (name.unwrap_or_default(), *pile)
        });
        let deepest = deepest.collect();
        let FinishedCoverage { lines, described: reports } = output.report.finish()?;
        let (_, contigs) = lines.finish()?;
        files.write_pending()?;
        let files = Arc::into_inner(files);
        let files = files.ok_or_else(|| Error::bug("files of coverage are in use at the end"))?;
        let files = files.complete(contigs)?;
        Ok(Some(CompleteCoverage { files, reports, deepest, charge: output.charge }))
    }
}

impl CoverageTally {
    pub(super) const USUAL_PIECE_BYTES: u64 = 1 << 18;
}

impl OrderedTally for CoverageTally {
    const MEMORY: UserName = COVERAGE;
    type Piece = CoveragePiece;
    type Maker = CoveragePieceMaker;

    fn new_maker(self: &Arc<Self>) -> CoveragePieceMaker {
        CoveragePieceMaker::new(&self.options, &self.lengths)
    }

    fn usual_piece_bytes(&self) -> u64 {
        Self::USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &CoveragePiece) -> u64 {
        piece.heap_bytes()
    }

    fn max_bytes_to_add(&self, piece: &CoveragePiece) -> u64 {
        let files = self.files().map_or(0, |files| files.heap_bytes());
        let output = lock(&self.output);
        output
            .as_ref()
            .map_or(0, |it| it.join.max_bytes_to_add(piece) + it.report.max_bytes_to_add(piece) + files)
    }

    /// Includes the indexes of the files.
    fn heap_bytes(&self) -> u64 {
        let files = self.files().map_or(0, |files| files.heap_bytes());
        let output = lock(&self.output);
        output.as_ref().map_or(0, |it| it.join.heap_bytes() + it.report.heap_bytes() + files)
    }

    fn restart(&self) -> Result<()> {
        if let (Some(files), Some(output)) = (self.files(), &mut *lock(&self.output)) {
            files.restart()?;
            let CoverageOutput { options, contigs, regions, piles, .. } = &*output;
            output.report = new_report(&files, options, contigs, regions, piles.is_some())?;
            output.join = CoverageJoin::new(&self.lengths);
            output.piles.iter_mut().for_each(|piles| *piles = Piles::default());
        }
        Ok(())
    }

    fn add(&self, piece: CoveragePiece) -> Result<()> {
        let mut output = lock(&self.output);
        let Some(CoverageOutput { join, report, piles, .. }) = &mut *output else {
            return Err(Error::bug("a piece was added to coverage without files"));
        };
        report.reserve_rows(&piece);
        match piles {
            Some(piles) => join.add_piece(piece, &mut BothReceivers(report, piles)),
            None => join.add_piece(piece, report),
        }
    }

    fn write_pending(&self) -> Result<()> {
        self.files().map_or(Ok(()), |files| files.write_pending())
    }
}

/// Warns about regions that are not counted.
fn warn_of_regions(regions: &CoverageRegions, console: &Console) {
    if regions.skipped_lines > 0 {
        let what = "BED lines with fewer than three columns are ignored";
        console.write_warning(&format!("{} {what}", regions.skipped_lines));
    }
    for (contig, n) in &regions.unknown_contigs {
        console.write_warning(&format!("{n} regions are on {contig}, which is not in the header"));
    }
}

fn new_report(
    files: &Arc<CoverageFiles>,
    options: &ReportOptions,
    contigs: &[(String, u32)],
    regions: &Option<Arc<CoverageRegions>>,
    is_described: bool,
) -> Result<CoverageReport<BedPages<PageQueue>>> {
    let wanted = CoverageFile::ALL.into_iter().filter(|file| file.is_requested(options));
    let pages = BedPages::new(&files.names, wanted, PageQueue(Arc::clone(files)));
    let report = CoverageReport::new(pages, options.clone(), contigs.to_vec(), regions.clone())?;
    Ok(if is_described { report.keep_summary() } else { report })
}

/// Adds full pages to the queue from which threads take them.
struct PageQueue(Arc<CoverageFiles>);

impl PageTarget for PageQueue {
    fn add_page(&mut self, page: BedPage) -> Result<()> {
        let waiting = {
            let mut tasks = lock(&self.0.tasks);
            tasks.push_back(page);
            tasks.len()
        };
        if waiting > self.0.max_waiting { self.0.write_pending() } else { Ok(()) }
    }

    fn write_text(&mut self, file: CoverageFile, text: &[u8]) -> Result<()> {
        let found = self.0.texts.iter().find(|(which, _)| *which == file);
        found.map_or(Ok(()), |(_, target)| lock(target).write(text))
    }
}

struct CoverageFiles {
    names: Arc<[String]>,
    scheme: IndexScheme,
    /// Pages that wait to be compressed.
    tasks: Mutex<VecDeque<BedPage>>,
    max_waiting: usize,
    beds: Vec<(CoverageFile, Mutex<BedOutput>)>,
    texts: Vec<(CoverageFile, Mutex<AtomicFile>)>,
    encoders: Mutex<Vec<PageEncoder>>,
}

/// A BED file, its index, and the compressed pages that wait for preceding pages.
struct BedOutput {
    target: AtomicFile,
    index_target: AtomicFile,
    index: IndexBuilder,
    offset: u64,
    next: u64,
    ready: BTreeMap<u64, EncodedPage>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CoverageFiles {
    fn new(
        contigs: &[(String, u32)],
        mut files: Vec<(&'static str, AtomicFile)>,
        in_flight: usize,
    ) -> Result<Self> {
        let scheme = page::index_scheme(contigs.iter().map(|(_, length)| *length).max().unwrap_or(0))?;
        let mut take = |ending: &str| {
            let at = files.iter().position(|(which, _)| *which == ending)?;
            Some(files.swap_remove(at).1)
        };
        let (mut beds, mut texts) = (Vec::new(), Vec::new());
        for file in CoverageFile::ALL {
            let Some(target) = take(file.file_suffix()) else { continue };
            match index_ending(file).map(&mut take) {
                Some(Some(index_target)) => {
                    let (index, offset, next) = (page::new_index(scheme), 0, 0);
                    let ready = BTreeMap::new();
                    let bed = BedOutput { target, index_target, index, offset, next, ready };
                    beds.push((file, Mutex::new(bed)));
                }
                Some(None) => return Err(Error::bug("a file of coverage has no index")),
                None => texts.push((file, Mutex::new(target))),
            }
        }
        let names = contigs.iter().map(|(name, _)| name.clone()).collect();
        let (tasks, encoders) = Default::default();
        Ok(CoverageFiles { names, scheme, tasks, max_waiting: in_flight, beds, texts, encoders })
    }

    /// Compresses the waiting pages. Each thread calls this before it encodes its own reads.
    fn write_pending(&self) -> Result<()> {
        loop {
            let next = lock(&self.tasks).pop_front();
            let Some(page) = next else { return Ok(()) };
            let idle = lock(&self.encoders).pop();
            let mut encoder = idle.unwrap_or_else(|| PageEncoder::new(&self.names, self.scheme));
            let encoded = encoder.encode_page(&page);
            lock(&self.encoders).push(encoder);
            let Some((_, bed)) = self.beds.iter().find(|(file, _)| *file == page.file) else {
                return Err(Error::bug("there are lines for a file that is not written"));
            };
            lock(bed).add_page(page.number, encoded)?;
        }
    }

    /// Returns the memory of the indexes in bytes.
    fn heap_bytes(&self) -> u64 {
        self.beds.iter().map(|(_, bed)| lock(bed).index.heap_bytes()).sum()
    }

    fn restart(&self) -> Result<()> {
        lock(&self.tasks).clear();
        self.texts.iter().try_for_each(|(_, target)| lock(target).truncate())?;
        for (_, bed) in &self.beds {
            let mut bed = lock(bed);
            bed.target.truncate()?;
            bed.index = page::new_index(self.scheme);
            (bed.offset, bed.next) = (0, 0);
            bed.ready.clear();
        }
        Ok(())
    }

    fn complete(self, contigs: Vec<BedContigs>) -> Result<Vec<(&'static str, AtomicFile)>> {
        let mut complete = Vec::new();
        for (file, bed) in self.beds {
            let bed = bed.into_inner().unwrap_or_else(PoisonError::into_inner);
            let BedOutput { mut target, mut index_target, mut index, .. } = bed;
            target.write(&EOF_BLOCK)?;
            target.sync()?;
            let told = contigs.iter().find(|told| told.file == file);
            if let Some(told) = told {
                index.set_references(told.contigs, told.meta.clone());
            }
            let mut bytes = Vec::new();
            index.write_to(&mut bytes)?;
            index_target.write(&bytes)?;
            index_target.sync()?;
            let index_ending = index_ending(file).unwrap_or_default();
            complete.extend([(file.file_suffix(), target), (index_ending, index_target)]);
        }
        for (file, target) in self.texts {
            let target = target.into_inner().unwrap_or_else(PoisonError::into_inner);
            target.sync()?;
            complete.push((file.file_suffix(), target));
        }
        Ok(complete)
    }
}

impl BedOutput {
    /// Adds a compressed page, and writes all consecutive pages that are available.
    fn add_page(&mut self, number: u64, page: EncodedPage) -> Result<()> {
        self.ready.insert(number, page);
        while let Some(EncodedPage { bytes, fragment }) = self.ready.remove(&self.next) {
            self.next += 1;
            self.index.add_fragment(fragment, self.offset);
            self.offset += bytes.len() as u64;
            self.target.write(&bytes)?;
        }
        Ok(())
    }
}
