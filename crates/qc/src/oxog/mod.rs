//! CollectOxoGMetrics: C and G of the reference that reads show as A and T, by context and library,
//! and how many of them oxidation of G could explain.
//!
//! The program also counts sites. A position that several reads cover is one site, so covered
//! positions are marked in bitmaps (pages), and the pages of successive batches are joined in
//! order.

mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::intervals::Intervals;
use readmill_format::report::ReportContents;
use readmill_record::{
    Batch, Charge, DynOrderedTally, Error, Ledger, OrderedTally, PieceMaker, RecordRef, Result,
    SharedOrderedTally,
};
use serde::{Deserialize, Serialize};

use crate::blocks::for_each_block;
use crate::counts::add_each;
use crate::depth::ORDERED_MEMORY;
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::substitutions::{CountedQualities, Libraries, MIN_MAPQ, SubstitutionOptions, base_digit};
use crate::unsorted::unsorted_error;
use crate::{
    MetricProgram, MetricSelection, MetricSetup, PicardProgram, PreparedRead, ProgramNeeds, RunEnd,
    RunningProgram,
};

pub(crate) const PROGRAM: PicardProgram =
    PicardProgram { name: "CollectOxoGMetrics", endings: &[".oxog_metrics"] };

pub(crate) struct OxoG;

impl MetricProgram for OxoG {
    fn programs(&self) -> &'static [PicardProgram] {
        &[PROGRAM]
    }

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds { reference: true, order: true, ..ProgramNeeds::NOTHING }
    }

    fn min_bytes(&self, _: &MetricSelection, threads: u64) -> u64 {
        OxoGCounting::THREAD_BYTES * (threads + 1)
    }

    fn usual_piece_bytes(&self, _: &MetricSelection) -> u64 {
        OxoGCounting::USUAL_PIECE_BYTES
    }

    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
        if setup.header.lines_of_kind(b"RG").next().is_none() {
            let what =
                "CollectOxoGMetrics counts by the libraries of read groups, and the header has none";
            return Err(Error::input(what).hint("add read groups, or leave this program out"));
        }
        let options = setup.options();
        Ok(Box::new(OxoGRun(Arc::new(OxoGCounting {
            options: options.substitutions.clone(),
            min_mapq: options.minimum_mapping_quality.unwrap_or(MIN_MAPQ),
            qualities: options.counted_qualities(),
            reference: setup.needed_reference()?.clone(),
            intervals: setup.intervals.clone(),
            libraries: Arc::clone(setup.libraries()),
            join: Mutex::default(),
        }))))
    }
}

struct OxoGRun(Arc<OxoGCounting>);

impl RunningProgram for OxoGRun {
    fn ordered_tally(&self, ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        Some(SharedOrderedTally::new_shared(&self.0, ledger))
    }

    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let totals = self.0.take_totals()?;
        Ok(end.make_files(&PROGRAM, |[file]| totals.fill(file, &self.0.libraries)))
    }
}

/// Number of contexts of C: the base before and the base after.
const CONTEXTS: usize = 16;

/// Categories of the bases of a context, as three bits: the reference has C or G; the read has the
/// reference base or the other one; the read and strand are as for oxidised G or not.
const WAYS: usize = 8;

const LIBRARY: usize = CONTEXTS * WAYS;

/// Number of positions in a page, as a power of two.
const PAGE_BITS: u32 = 9;
const PAGE: u32 = 1 << PAGE_BITS;

/// One bit for each position of a page, set if a counted base covers it.
type Marks = [u64; PAGE as usize / 64];

/// Maximum number of bases that are compared at a time. Together with the base on each side, they
/// are at most one page of the reference window.
const AT_ONCE: u32 = (1 << 12) - 2;

/// The digits of the bases, see [`base_digit`].
const A: u8 = 0;
const C: u8 = 1;
const G: u8 = 2;
const T: u8 = 3;

/// The contribution of one batch of sorted reads: base counts, and the positions that its reads
/// cover. A job in stages stores it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OxoGPiece {
    contigs: Vec<ContigSites>,
    /// Numbers of bases, indexed by library, context and category (`WAYS`).
    bases: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ContigSites {
    contig: u32,
    /// The start positions of the first and the last counted read (0-based).
    first: u32,
    last: u32,
    pages: Vec<SitePage>,
}

/// The covered positions of one page in one library.
#[derive(Debug, Serialize, Deserialize)]
struct SitePage {
    page: u32,
    library: u32,
    marks: Marks,
}

impl ContigSites {
    fn mark_site(&mut self, library: u32, position: u32) {
        let (page, at) = (position >> PAGE_BITS, position % PAGE);
        let n = self.pages.len();
        let mut near = (n.saturating_sub(4)..n).rev();
        let is_it = |it: &SitePage| (it.page, it.library) == (page, library);
        let at_page = near.find(|&number| is_it(&self.pages[number]));
        let number = at_page.unwrap_or_else(|| {
            let key = |it: &SitePage| (it.page, it.library);
            match self.pages.binary_search_by_key(&(page, library), key) {
                Ok(number) => number,
                Err(number) => {
                    self.pages.insert(number, SitePage { page, library, marks: Marks::default() });
                    number
                }
            }
        });
        self.pages[number].marks[at as usize / 64] |= 1 << (at % 64);
    }
}

impl OxoGPiece {
    fn heap_bytes(&self) -> usize {
        let pages = |it: &ContigSites| it.pages.capacity() * size_of::<SitePage>() + 64;
        self.contigs.iter().map(pages).sum::<usize>() + self.bases.capacity() * 8
    }
}

/// Memory in bytes of one library's page that later reads may still change.
const WAITING_BYTES: u64 = 160;

/// The state of CollectOxoGMetrics in a run: rules, reference, libraries, and the join of the
/// pieces.
///
/// It is an ordered tally. On any thread, an [`OxoGMaker`] turns a batch into an [`OxoGPiece`] with
/// the bases by category and the covered positions. The pieces are added in read order. A position
/// is counted as a site once no later read can cover it.
pub(crate) struct OxoGCounting {
    options: SubstitutionOptions,
    min_mapq: u8,
    qualities: CountedQualities,
    reference: ReferenceContigs,
    intervals: Option<Intervals>,
    libraries: Arc<Libraries>,
    join: Mutex<OxoGJoin>,
}

impl OxoGCounting {
    /// Memory of a thread that makes pieces, in bytes. The thread that joins them takes the same.
    pub const THREAD_BYTES: u64 = ReferenceContigs::THREAD_BYTES + (1 << 16);

    /// Returns the totals of all pieces and resets them.
    pub fn take_totals(&self) -> Result<OxoGTotals> {
        let mut join = std::mem::take(&mut *self.lock_join());
        join.close_pages_before(u32::MAX, self)?;
        join.bases.resize(self.libraries.len() * LIBRARY, 0);
        join.sites.resize(self.libraries.len() * CONTEXTS, 0);
        Ok(OxoGTotals { bases: join.bases, sites: join.sites })
    }

    fn lock_join(&self) -> MutexGuard<'_, OxoGJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a record is counted, by its flags, mapping quality and insert size.
    fn is_counted(&self, record: RecordRef<'_>) -> bool {
        let (flags, options) = (record.flags(), &self.options);
        let (min_size, max_size) = (options.minimum_insert_size(), options.maximum_insert_size());
        let size = record.tlen().unsigned_abs();
        let fits =
            flags.is_paired() && (min_size..=max_size).contains(&size) || (min_size, max_size) == (0, 0);
        !(flags.is_secondary()
            || flags.is_unmapped()
            || flags.is_duplicate()
            || flags.is_qc_fail() && options.exclude_non_pf_reads
            || record.mapq() < self.min_mapq)
            && fits
    }
}

impl OxoGCounting {
    /// A piece has counts of sites, not reads; 80 kB have been seen.
    pub(crate) const USUAL_PIECE_BYTES: u64 = 1 << 17;
}

impl OrderedTally for OxoGCounting {
    const MEMORY: &'static str = ORDERED_MEMORY;
    type Piece = OxoGPiece;
    type Maker = OxoGMaker;

    fn new_maker(self: &Arc<Self>) -> OxoGMaker {
        OxoGMaker { counting: Arc::clone(self), pages: ReferencePages::default(), codes: Vec::new() }
    }

    fn usual_piece_bytes(&self) -> u64 {
        Self::USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &OxoGPiece) -> u64 {
        piece.heap_bytes() as u64
    }

    fn max_bytes_to_add(&self, piece: &OxoGPiece) -> u64 {
        let pages: usize = piece.contigs.iter().map(|sites| sites.pages.len()).sum();
        self.heap_bytes() + WAITING_BYTES * pages as u64
    }

    fn heap_bytes(&self) -> u64 {
        self.lock_join().pages.len() as u64 * WAITING_BYTES
    }

    fn restart(&self) -> Result<()> {
        *self.lock_join() = OxoGJoin::default();
        Ok(())
    }

    fn add(&self, piece: OxoGPiece) -> Result<()> {
        let mut join = self.lock_join();
        add_each(&mut join.bases, &piece.bases);
        for sites in piece.contigs {
            join.add_sites(sites, self)?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OxoGTotals {
    /// Numbers of bases, indexed by library, context and category.
    bases: Vec<u64>,
    /// Numbers of sites, indexed by library and context.
    sites: Vec<u64>,
}

/// The totals of the pieces so far, and the pages that later reads may still change.
#[derive(Default)]
struct OxoGJoin {
    contig: u32,
    last: u32,
    /// Open pages, by page and library.
    pages: BTreeMap<(u32, u32), Marks>,
    bases: Vec<u64>,
    sites: Vec<u64>,
    reference: ReferencePages,
}

impl OxoGJoin {
    fn add_sites(&mut self, sites: ContigSites, counting: &OxoGCounting) -> Result<()> {
        if (sites.contig, sites.first) < (self.contig, self.last) {
            return Err(unsorted_error());
        }
        if sites.contig != self.contig {
            self.close_pages_before(u32::MAX, counting)?;
        }
        for SitePage { page, library, marks } in sites.pages {
            let sum = self.pages.entry((page, library)).or_default();
            sum.iter_mut().zip(marks).for_each(|(sum, more)| *sum |= more);
        }
        (self.contig, self.last) = (sites.contig, sites.last);
        self.close_pages_before(sites.last >> PAGE_BITS, counting)
    }

    /// Counts the sites of pages before page `before`, which no later read can reach, and removes
    /// these pages.
    fn close_pages_before(&mut self, before: u32, counting: &OxoGCounting) -> Result<()> {
        while let Some(entry) = self.pages.first_entry().filter(|entry| entry.key().0 < before) {
            let ((page, library), marks) = entry.remove_entry();
            let Some((contig, length)) = counting.reference.place(self.contig.cast_signed())? else {
                continue;
            };
            // Only positions that have a base on each side are marked.
            let first = (page << PAGE_BITS).max(1);
            let end = ((page + 1) << PAGE_BITS).min(length.saturating_sub(1));
            if first >= end {
                continue;
            }
            let codes =
                self.reference.window_of(&counting.reference).codes(contig, first - 1, end + 1)?;
            let all = (library as usize + 1) * CONTEXTS;
            self.sites.resize(self.sites.len().max(all), 0);
            for (position, codes) in (first..end).zip(codes.windows(3)) {
                let at = position % PAGE;
                if marks[at as usize / 64] >> (at % 64) & 1 == 0 {
                    continue;
                }
                if let Some((_, context)) = c_context(codes) {
                    self.sites[library as usize * CONTEXTS + context] += 1;
                }
            }
        }
        Ok(())
    }
}

/// Returns whether the C is on the reverse strand (the middle base is G), and the context read on
/// the strand of the C. `None` if the base is neither C nor G, or if a neighbour is not A, C, G or
/// T.
#[inline]
fn c_context(codes: &[u8]) -> Option<(bool, usize)> {
    let [before, at, behind] = [codes[0], codes[1], codes[2]].map(base_digit);
    if (before | behind) > T {
        return None;
    }
    match at {
        C => Some((false, usize::from(before << 2 | behind))),
        G => Some((true, usize::from((T - behind) << 2 | (T - before)))),
        _ => None,
    }
}

/// Turns batches of sorted reads into pieces, on one thread. It has its own window of the
/// reference.
pub(crate) struct OxoGMaker {
    counting: Arc<OxoGCounting>,
    pages: ReferencePages,
    codes: Vec<u8>,
}

impl PieceMaker for OxoGMaker {
    type Piece = OxoGPiece;

    fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<OxoGPiece> {
        let counting = Arc::clone(&self.counting);
        let mut codes = std::mem::take(&mut self.codes);
        let mut piece = OxoGPiece::default();
        piece.bases.resize(counting.libraries.len() * LIBRARY, 0);
        for (stamp, record) in batch.records() {
            let place = (u32::try_from(record.ref_id()), u32::try_from(record.pos()));
            let (Ok(contig), Ok(start)) = place else { continue };
            if !counting.is_counted(record) {
                continue;
            }
            let place = |it: &ContigSites| (it.contig, it.last);
            if piece.contigs.last().is_some_and(|last| (contig, start) < place(last)) {
                return Err(unsorted_error().record(stamp.ordinal()).qname(record.qname()));
            }
            if piece.contigs.last().is_none_or(|last| last.contig != contig) {
                piece.contigs.push(ContigSites { contig, first: start, last: start, pages: Vec::new() });
            }
            let Some(sites) = piece.contigs.last_mut() else { continue };
            sites.last = start;
            let read = PreparedRead::new(record, &mut codes);
            self.count_read(&counting, &read, contig, sites, &mut piece.bases)?;
        }
        codes.shrink_to(1 << 16);
        self.codes = codes;
        Ok(piece)
    }
}

impl OxoGMaker {
    fn count_read(
        &mut self,
        counting: &OxoGCounting,
        read: &PreparedRead<'_>,
        contig_of_reads: u32,
        sites: &mut ContigSites,
        counts: &mut [u64],
    ) -> Result<()> {
        let place = counting.reference.place(contig_of_reads.cast_signed())?;
        let Some((contig, length)) = place else { return Ok(()) };
        let library = counting.libraries.library_index(read.fields.read_group);
        let (quals, min_qual) = counting.qualities.counted_quals(read);
        let (is_reverse, is_second) = (read.flags.is_reverse(), read.is_second_of_pair());
        let counts = &mut counts[library * LIBRARY..][..LIBRARY];
        for_each_block(read, Some(length), |block| {
            let quals = quals.get(block.base.min(quals.len())..).unwrap_or_default();
            let mut bases = read.bases.iter().skip(block.base).take(block.length).zip(quals);
            let (mut from, end) = (block.at, block.at + block.length as u32);
            while from < end {
                let to = end.min(from.saturating_add(AT_ONCE));
                // The first and the last base of a contig have no context.
                let first = from.saturating_sub(1);
                let codes = self.pages.window_of(&counting.reference);
                let codes = codes.codes(contig, first, length.min(to + 1))?;
                if from == 0 {
                    bases.next();
                }
                let positions = first + 1..;
                for ((position, codes), (base, qual)) in positions.zip(codes.windows(3)).zip(&mut bases)
                {
                    let Some((is_g, context)) = c_context(codes) else { continue };
                    let is_other = match (is_g, base_digit(*base)) {
                        (false, C) | (true, G) => false,
                        (false, A) | (true, T) => true,
                        _ => continue,
                    };
                    let is_outside = || {
                        let intervals = counting.intervals.as_ref();
                        intervals.is_some_and(|it| !it.overlaps(contig_of_reads, position, position + 1))
                    };
                    if u16::from(*qual) < min_qual || is_outside() {
                        continue;
                    }
                    // Oxidised G is read as T in read 1, and its complement is read as A in read 2.
                    let is_oxidised = (is_g != is_reverse) != is_second;
                    let way = [is_g, is_other, is_oxidised];
                    let way = way.into_iter().fold(0, |way, bit| 2 * way + usize::from(bit));
                    counts[context * WAYS + way] += 1;
                    sites.mark_site(library as u32, position);
                }
                from = to;
            }
            Ok(())
        })?;
        Ok(())
    }
}
