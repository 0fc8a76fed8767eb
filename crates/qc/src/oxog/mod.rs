//! CollectOxoGMetrics: C and G of the reference that are read as A and T, by context and library, and how many of them could be
//! oxidised G.
//!
//! A position that several reads cover is one site, so positions are marked in pages, which are joined in their order.

mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::intervals::Intervals;
use readmill_record::{
    Batch, Charge, DynOrderedTally, Error, Ledger, OrderedTally, PieceMaker, RecordRef, ReportText,
    Result, SharedOrderedTally,
};
use serde::{Deserialize, Serialize};

use crate::blocks::for_each_block;
use crate::counts::add_each;
use crate::depth::{ORDERED_MEMORY, USUAL_PIECE_BYTES};
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::substitutions::{CountedQualities, Libraries, MIN_MAPQ, SubstitutionOptions, digit};
use crate::unsorted::unsorted;
use crate::{
    MetricProgram, MetricSelection, MetricSetup, Needs, PicardProgram, PreparedRead, RunEnd,
    RunningProgram,
};

pub(crate) const PROGRAM: PicardProgram =
    PicardProgram { name: "CollectOxoGMetrics", endings: &[".oxog_metrics"] };

/// CollectOxoGMetrics.
pub(crate) struct OxoG;

impl MetricProgram for OxoG {
    fn programs(&self) -> &'static [PicardProgram] {
        &[PROGRAM]
    }

    fn needs(&self) -> Needs {
        Needs { reference: true, order: true, ..Needs::NOTHING }
    }

    fn min_bytes(&self, _: &MetricSelection, threads: u64) -> u64 {
        OxoGCounting::THREAD_BYTES * (threads + 1)
    }

    fn usual_piece_bytes(&self) -> u64 {
        OxoGCounting::USUAL_PIECE_BYTES
    }

    fn start(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
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

/// The program in a run.
struct OxoGRun(Arc<OxoGCounting>);

impl RunningProgram for OxoGRun {
    fn ordered_tally(&self, ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        Some(SharedOrderedTally::shared(&self.0, ledger))
    }

    fn texts(&self, end: &RunEnd<'_>) -> Result<Vec<ReportText>> {
        let totals = self.0.finish()?;
        Ok(end.files(&PROGRAM, |[text]| totals.put(text, &self.0.libraries)))
    }
}

/// Contexts of C: the base before, and the one behind.
const CONTEXTS: usize = 16;

/// Bases of a context: of C or G in the reference; reference or other base; other ways, or as by oxidised G.
const WAYS: usize = 8;

const LIBRARY: usize = CONTEXTS * WAYS;

/// Positions of a page, as a power of two.
const PAGE_BITS: u32 = 9;
const PAGE: u32 = 1 << PAGE_BITS;

/// The positions of a page.
type Marks = [u64; PAGE as usize / 64];

/// Bases that are compared at once: with those beside them, no more than a page of the reference.
const AT_ONCE: u32 = (1 << 12) - 2;

/// The digits of the bases.
const A: u8 = 0;
const C: u8 = 1;
const G: u8 = 2;
const T: u8 = 3;

/// The contribution of a batch of sorted reads.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OxoGPiece {
    contigs: Vec<ContigSites>,
    /// Bases by library, context and way.
    bases: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ContigSites {
    contig: u32,
    /// The first and the last read.
    first: u32,
    last: u32,
    pages: Vec<SitePage>,
}

/// Sites of a page in a library.
#[derive(Debug, Serialize, Deserialize)]
struct SitePage {
    page: u32,
    library: u32,
    marks: Marks,
}

impl ContigSites {
    fn mark(&mut self, library: u32, position: u32) {
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
    /// Bytes of memory in use.
    fn heap_bytes(&self) -> usize {
        let pages = |it: &ContigSites| it.pages.capacity() * size_of::<SitePage>() + 64;
        self.contigs.iter().map(pages).sum::<usize>() + self.bases.capacity() * 8
    }
}

/// Bytes of memory of the sites of a page in a library that wait for later reads.
const WAITING_BYTES: u64 = 160;

/// The count of a run.
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
    /// Bytes of memory of a thread that makes pieces, and of the join.
    pub const THREAD_BYTES: u64 = ReferenceContigs::THREAD_BYTES + (1 << 16);

    /// The totals of all pieces.
    pub fn finish(&self) -> Result<OxoGTotals> {
        let mut join = std::mem::take(&mut *self.join());
        join.complete(u32::MAX, self)?;
        join.bases.resize(self.libraries.len() * LIBRARY, 0);
        join.sites.resize(self.libraries.len() * CONTEXTS, 0);
        Ok(OxoGTotals { bases: join.bases, sites: join.sites })
    }

    fn join(&self) -> MutexGuard<'_, OxoGJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a record is counted.
    fn counts(&self, record: RecordRef<'_>) -> bool {
        let (flags, options) = (record.flags(), &self.options);
        let (least, most) = (options.minimum_insert_size(), options.maximum_insert_size());
        let size = record.tlen().unsigned_abs();
        let fits = flags.is_paired() && (least..=most).contains(&size) || (least, most) == (0, 0);
        !(flags.is_secondary()
            || flags.is_unmapped()
            || flags.is_duplicate()
            || flags.is_qc_fail() && options.exclude_non_pf_reads
            || record.mapq() < self.min_mapq)
            && fits
    }
}

impl OrderedTally for OxoGCounting {
    const MEMORY: &'static str = ORDERED_MEMORY;
    const USUAL_PIECE_BYTES: u64 = USUAL_PIECE_BYTES;
    type Piece = OxoGPiece;
    type Maker = OxoGMaker;

    fn maker(self: &Arc<Self>) -> OxoGMaker {
        OxoGMaker { counting: Arc::clone(self), pages: ReferencePages::default(), codes: Vec::new() }
    }

    fn piece_bytes(piece: &OxoGPiece) -> u64 {
        piece.heap_bytes() as u64
    }

    fn max_bytes_to_add(&self, piece: &OxoGPiece) -> u64 {
        let pages: usize = piece.contigs.iter().map(|sites| sites.pages.len()).sum();
        self.heap_bytes() + WAITING_BYTES * pages as u64
    }

    fn heap_bytes(&self) -> u64 {
        self.join().pages.len() as u64 * WAITING_BYTES
    }

    fn restart(&self) -> Result<()> {
        *self.join() = OxoGJoin::default();
        Ok(())
    }

    fn add(&self, piece: OxoGPiece) -> Result<()> {
        let mut join = self.join();
        add_each(&mut join.bases, &piece.bases);
        for sites in piece.contigs {
            join.add(sites, self)?;
        }
        Ok(())
    }
}

/// The totals of all reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct OxoGTotals {
    /// By library, context and way.
    bases: Vec<u64>,
    /// By library and context.
    sites: Vec<u64>,
}

/// What is joined so far.
#[derive(Default)]
struct OxoGJoin {
    contig: u32,
    last: u32,
    /// Pages that later reads may reach, by their number and the library.
    pages: BTreeMap<(u32, u32), Marks>,
    bases: Vec<u64>,
    sites: Vec<u64>,
    reference: ReferencePages,
}

impl OxoGJoin {
    fn add(&mut self, sites: ContigSites, counting: &OxoGCounting) -> Result<()> {
        if (sites.contig, sites.first) < (self.contig, self.last) {
            return Err(unsorted());
        }
        if sites.contig != self.contig {
            self.complete(u32::MAX, counting)?;
        }
        for SitePage { page, library, marks } in sites.pages {
            let sum = self.pages.entry((page, library)).or_default();
            sum.iter_mut().zip(marks).for_each(|(sum, more)| *sum |= more);
        }
        (self.contig, self.last) = (sites.contig, sites.last);
        self.complete(sites.last >> PAGE_BITS, counting)
    }

    /// Counts the sites of pages before one of this number.
    fn complete(&mut self, before: u32, counting: &OxoGCounting) -> Result<()> {
        while let Some(entry) = self.pages.first_entry().filter(|entry| entry.key().0 < before) {
            let ((page, library), marks) = entry.remove_entry();
            let Some((contig, length)) = counting.reference.place(self.contig.cast_signed())? else {
                continue;
            };
            // Only positions with bases on both sides are marked.
            let first = (page << PAGE_BITS).max(1);
            let end = ((page + 1) << PAGE_BITS).min(length.saturating_sub(1));
            if first >= end {
                continue;
            }
            let codes = self.reference.of(&counting.reference).codes(contig, first - 1, end + 1)?;
            let all = (library as usize + 1) * CONTEXTS;
            self.sites.resize(self.sites.len().max(all), 0);
            for (position, codes) in (first..end).zip(codes.windows(3)) {
                let at = position % PAGE;
                if marks[at as usize / 64] >> (at % 64) & 1 == 0 {
                    continue;
                }
                if let Some((_, context)) = context(codes) {
                    self.sites[library as usize * CONTEXTS + context] += 1;
                }
            }
        }
        Ok(())
    }
}

/// Whether the base amid these three codes is G, and its context as of C; none if it is neither, or a base is unknown.
#[inline]
fn context(codes: &[u8]) -> Option<(bool, usize)> {
    let [before, at, behind] = [codes[0], codes[1], codes[2]].map(digit);
    if (before | behind) > T {
        return None;
    }
    match at {
        C => Some((false, usize::from(before << 2 | behind))),
        G => Some((true, usize::from((T - behind) << 2 | (T - before)))),
        _ => None,
    }
}

/// Makes pieces, one for each thread.
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
            if !counting.counts(record) {
                continue;
            }
            let place = |it: &ContigSites| (it.contig, it.last);
            if piece.contigs.last().is_some_and(|last| (contig, start) < place(last)) {
                return Err(unsorted().record(stamp.ordinal()).qname(record.qname()));
            }
            if piece.contigs.last().is_none_or(|last| last.contig != contig) {
                piece.contigs.push(ContigSites { contig, first: start, last: start, pages: Vec::new() });
            }
            let Some(sites) = piece.contigs.last_mut() else { continue };
            sites.last = start;
            let read = PreparedRead::new(record, &mut codes);
            self.add(&counting, &read, contig, sites, &mut piece.bases)?;
        }
        codes.shrink_to(1 << 16);
        self.codes = codes;
        Ok(piece)
    }
}

impl OxoGMaker {
    fn add(
        &mut self,
        counting: &OxoGCounting,
        read: &PreparedRead<'_>,
        contig_of_reads: u32,
        sites: &mut ContigSites,
        counts: &mut [u64],
    ) -> Result<()> {
        let place = counting.reference.place(contig_of_reads.cast_signed())?;
        let Some((contig, length)) = place else { return Ok(()) };
        let library = counting.libraries.number(read.fields.read_group);
        let (quals, least) = counting.qualities.of(read);
        let (is_reverse, is_second) = (read.flags.is_reverse(), read.is_second());
        let counts = &mut counts[library * LIBRARY..][..LIBRARY];
        for_each_block(read, Some(length), |block| {
            let quals = quals.get(block.base.min(quals.len())..).unwrap_or_default();
            let mut bases = read.bases.iter().skip(block.base).take(block.length).zip(quals);
            let (mut from, end) = (block.at, block.at + block.length as u32);
            while from < end {
                let to = end.min(from.saturating_add(AT_ONCE));
                // A base at an end of the contig has no context.
                let first = from.saturating_sub(1);
                let codes = self.pages.of(&counting.reference);
                let codes = codes.codes(contig, first, length.min(to + 1))?;
                if from == 0 {
                    bases.next();
                }
                let positions = first + 1..;
                for ((position, codes), (base, qual)) in positions.zip(codes.windows(3)).zip(&mut bases)
                {
                    let Some((is_g, context)) = context(codes) else { continue };
                    let is_other = match (is_g, digit(*base)) {
                        (false, C) | (true, G) => false,
                        (false, A) | (true, T) => true,
                        _ => continue,
                    };
                    let is_outside = || {
                        let intervals = counting.intervals.as_ref();
                        intervals.is_some_and(|it| !it.overlaps(contig_of_reads, position, position + 1))
                    };
                    if u16::from(*qual) < least || is_outside() {
                        continue;
                    }
                    // Oxidised G is read as T in the first read, and its complement as A in the second.
                    let is_oxidised = (is_g != is_reverse) != is_second;
                    let way = [is_g, is_other, is_oxidised];
                    let way = way.into_iter().fold(0, |way, bit| 2 * way + usize::from(bit));
                    counts[context * WAYS + way] += 1;
                    sites.mark(library as u32, position);
                }
                from = to;
            }
            Ok(())
        })?;
        Ok(())
    }
}
