//! The shared state of CollectRnaSeqMetrics in a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::intervals::NamedIntervals;
use readmill_record::{Error, Header, Result};

use super::genes::{AT_ONCE, Genes, RnaFiles};
use super::options::{RnaOptions, StrandSpecificity};
use super::piece::{RnaCounts, RnaPiece};
use crate::depth::depths::{PAGE, end_of};
use crate::depth::open_pages::{OpenPage, OpenPages};
use crate::depth::runs::DepthRuns;
use crate::levels::Levels;
use crate::unsorted::unsorted_error;

/// The state of CollectRnaSeqMetrics in a run.
///
/// It is an ordered tally. On any thread, an `RnaMaker` counts the bases of a batch by their
/// function in genes, and the depths of exons, in an [`RnaPiece`]. The pieces are added in the
/// order of the reads, and depths are stored as runs once no later read can change them.
/// [`take_totals`](Self::take_totals) returns the totals.
pub(crate) struct RnaCounting {
    pub(super) genes: Genes,
    pub(super) ribosomal: Option<NamedIntervals>,
    pub(super) strand: StrandSpecificity,
    /// Contigs whose reads are counted as ignored (IGNORE_SEQUENCE).
    pub(super) ignored: Vec<u32>,
    /// Minimum fraction of a fragment in a ribosomal interval that makes the fragment ribosomal.
    pub(super) ribosomal_share: f64,
    pub(super) levels: Arc<Levels>,
    /// Number of rows of the table and, for each group of reads, the rows to which it belongs, see
    /// [`Levels::rows_by_group`].
    pub(super) units: usize,
    pub(super) units_of_group: Vec<Vec<usize>>,
    join: Mutex<RnaJoin>,
}

/// The totals of the pieces so far.
#[derive(Default)]
pub(super) struct RnaJoin {
    /// The contig and start of the last read.
    last: (u32, u32),
    units: Vec<RnaUnitJoin>,
}

#[derive(Default)]
struct RnaUnitJoin {
    /// Pages that later reads may cover.
    pages: OpenPages,
    totals: RnaTotals,
}

/// The totals of the reads of one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RnaTotals {
    pub counts: RnaCounts,
    /// The depths of all exons, one after the other.
    pub runs: DepthRuns,
}

impl RnaCounting {
    pub(crate) const THREAD_BYTES: u64 = 1 << 20;

    /// Creates empty counts. Resolves the contigs of IGNORE_SEQUENCE against `header`.
    ///
    /// # Errors
    /// The header lacks a contig of IGNORE_SEQUENCE.
    pub(super) fn new(
        options: &RnaOptions,
        strand: StrandSpecificity,
        files: RnaFiles,
        header: &Header,
        levels: &Arc<Levels>,
    ) -> Result<Arc<Self>> {
        let number = |name: &String| {
            let id = header.reference_id(name.as_bytes()).and_then(|id| u32::try_from(id).ok());
            id.ok_or_else(|| {
                Error::usage(format!("contig {name} is to be ignored, and is not in the header"))
            })
        };
        let ignored = options.ignore_sequence.iter().map(number).collect::<Result<_>>()?;
        let (units, units_of_group) = levels.rows_by_group();
        Ok(Arc::new(RnaCounting {
            genes: files.genes,
            ribosomal: files.ribosomal,
            strand,
            ignored,
            ribosomal_share: options.rrna_fragment_percentage.unwrap_or(0.8),
            levels: Arc::clone(levels),
            units,
            units_of_group,
            join: Mutex::new(RnaJoin::new(units)),
        }))
    }

    /// Returns the memory in bytes that the text takes: sums at the ends of exons, and the depths
    /// of the transcripts that are evaluated.
    pub(crate) fn result_bytes(&self) -> u64 {
        let (exons, genes) = self.genes.exon_and_gene_counts();
        48 * exons + 64 * genes + 5 * self.genes.longest_transcript_bases(AT_ONCE)
    }

    /// Returns the totals of all pieces, one for each row, and resets them.
    pub(crate) fn take_totals(&self) -> Vec<RnaTotals> {
        let join = std::mem::replace(&mut *self.lock_join(), RnaJoin::new(self.units));
        let units = join.units.into_iter().map(|mut unit| {
            let pages = std::mem::take(&mut unit.pages);
            pages.into_all().for_each(|(number, page)| unit.totals.add_page(number, &page));
            unit.totals.runs.finish();
            unit.totals
        });
        units.collect()
    }

    pub(super) fn lock_join(&self) -> MutexGuard<'_, RnaJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RnaJoin {
    pub fn new(units: usize) -> Self {
        RnaJoin { last: (0, 0), units: (0..units).map(|_| RnaUnitJoin::default()).collect() }
    }

    pub fn add_piece(&mut self, piece: RnaPiece, exons: &NamedIntervals) -> Result<()> {
        if let Some([first, last]) = piece.ends {
            if first < self.last {
                return Err(unsorted_error());
            }
            self.last = last;
        }
        let done = exons.base_number(self.last.0, self.last.1);
        for (join, unit) in self.units.iter_mut().zip(piece.units) {
            join.totals.counts.add(&unit.counts);
            for page in unit.depths.iter().flat_map(|depths| &depths.pages) {
                match join.pages.get_mut(page.number) {
                    Some(sum) => sum.add_page(page),
                    None => join.pages.insert_page(page),
                }
            }
            while let Some((number, page)) = join.pages.pop_before(done) {
                join.totals.add_page(number, &page);
            }
        }
        Ok(())
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = |unit: &RnaUnitJoin| unit.pages.heap_bytes() + unit.totals.runs.heap_bytes();
        self.units.iter().map(|unit| bytes(unit) as u64).sum()
    }
}

impl RnaTotals {
    /// Adds the positions of a page. Must be called in page order.
    fn add_page(&mut self, number: u32, page: &OpenPage) {
        let first = (end_of(number) - PAGE as u64) as u32;
        for (position, &depth) in (first..).zip(&page.called).filter(|(_, depth)| **depth > 0) {
            self.runs.push_depth(position, depth);
        }
    }
}
