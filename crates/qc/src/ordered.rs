//! What is counted of reads in their order, by coordinate, beside the tally of the others: depths, targets, genes, and sites of
//! CollectOxoGMetrics.
//!
//! Any thread makes the piece of a batch; pieces are taken in their order.

use std::sync::Arc;

use readmill_format::intervals::Intervals;
use readmill_record::{Batch, Charge, Detail, Error, Header, Result, Tally};
use serde::{Deserialize, Serialize};

use crate::artifacts::Libraries;
use crate::levels::Levels;
use crate::options::{Options, Program};
use crate::oxog::{OxoGCounting, OxoGMaker, OxoGPiece};
use crate::reference::ReferenceContigs;
use crate::rna::{RnaCounting, RnaFiles, RnaMaker, RnaPiece};
use crate::targets::{TargetCounting, TargetFiles, TargetMaker, TargetPiece};
use crate::wgs::{WgsCounting, WgsMaker, WgsPiece, WgsRules};

/// The regions that programs look at.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// INTERVALS: where depths and sites are counted; everywhere if there are none.
    pub within: Option<Intervals>,
    /// Baits, amplicons and targets.
    pub targets: TargetFiles,
    /// Genes and ribosomal RNA.
    pub rna: RnaFiles,
}

/// The count of a run.
pub struct OrderedCounting {
    wgs: Option<Arc<WgsCounting>>,
    oxog: Option<Arc<OxoGCounting>>,
    targets: Option<Arc<TargetCounting>>,
    rna: Option<Arc<RnaCounting>>,
}

/// Bytes of memory of a piece for one kind of program, as a rule.
const USUAL_PIECE: u64 = 1 << 20;

/// Bytes of memory of a piece, as a rule, given which kinds of programs count.
fn usual_bytes(kinds: [bool; 4]) -> u64 {
    USUAL_PIECE * kinds.into_iter().filter(|&counts| counts).count() as u64
}

/// The contribution of a batch of sorted reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct OrderedPiece {
    wgs: Option<WgsPiece>,
    oxog: Option<OxoGPiece>,
    targets: Option<TargetPiece>,
    rna: Option<RnaPiece>,
}

/// Makes pieces, one for each thread.
pub struct OrderedMaker {
    wgs: Option<WgsMaker>,
    oxog: Option<OxoGMaker>,
    targets: Option<TargetMaker>,
    rna: Option<RnaMaker>,
}

impl OrderedCounting {
    /// The name of its memory.
    pub const NAME: &'static str = "depths of quality metrics";

    /// Bytes of memory of a piece of the programs that are wanted, as a rule: most of the bytes of its reads for each that
    /// keeps reads of its own.
    pub fn usual_piece(options: &Options) -> u64 {
        usual_bytes([
            !WgsRules::all(options).is_empty(),
            options.has(Program::CollectOxoGMetrics),
            options.programs.iter().any(|it| it.counts_targets()),
            options.has(Program::CollectRnaSeqMetrics),
        ])
    }

    /// The count for the programs that are wanted, of reads under `header`, within these regions if there are any; `None` if none
    /// of them needs the order.
    ///
    /// # Errors
    /// There are no read groups, and a program is wanted that counts by their libraries.
    pub(crate) fn new(
        options: &Options,
        header: &Header,
        reference: Option<&ReferenceContigs>,
        regions: Regions,
        libraries: &Libraries,
        levels: &Arc<Levels>,
    ) -> Result<Option<Arc<Self>>> {
        if options.has(Program::CollectOxoGMetrics) && header.lines_of(b"RG").next().is_none() {
            let what =
                "CollectOxoGMetrics counts by the libraries of read groups, and the header has none";
            return Err(Error::input(what).hint("add read groups, or leave this program out"));
        }
        let contigs = header.references().len() as u32;
        let Regions { within: intervals, targets, rna } = regions;
        let rna = RnaCounting::new(options, &rna, header, levels)?;
        let targets = TargetCounting::new(options, &targets, levels);
        let wgs = WgsCounting::new(options, reference, intervals.clone(), contigs);
        let oxog = OxoGCounting::new(options, reference, intervals, libraries).map(Arc::new);
        let is_wanted = wgs.is_some() || oxog.is_some() || targets.is_some() || rna.is_some();
        Ok(is_wanted.then(|| Arc::new(OrderedCounting { wgs, oxog, targets, rna })))
    }

    /// The count of depths.
    pub(crate) fn wgs(&self) -> Option<&WgsCounting> {
        self.wgs.as_deref()
    }

    /// The count of CollectOxoGMetrics.
    pub(crate) fn oxog(&self) -> Option<&OxoGCounting> {
        self.oxog.as_deref()
    }

    /// The count of targets.
    pub(crate) fn targets(&self) -> Option<&TargetCounting> {
        self.targets.as_deref()
    }

    /// The count of CollectRnaSeqMetrics.
    pub(crate) fn rna(&self) -> Option<&RnaCounting> {
        self.rna.as_deref()
    }

    /// Bytes of memory that these metrics take on so many threads, whatever the header, the reads and the files of the options
    /// are.
    pub(crate) fn least_bytes(options: &Options, threads: u64) -> u64 {
        let rules = WgsRules::all(options);
        let depths: u64 = rules.iter().map(WgsRules::result_bytes).sum();
        let counted = [
            (!rules.is_empty(), WgsCounting::THREAD_BYTES * threads),
            (
                options.programs.iter().any(|it| it.counts_targets()),
                TargetCounting::THREAD_BYTES * threads,
            ),
            (options.has(Program::CollectRnaSeqMetrics), RnaCounting::THREAD_BYTES * threads),
            (options.has(Program::CollectOxoGMetrics), OxoGCounting::THREAD_BYTES * (threads + 1)),
        ];
        depths
            + counted
                .into_iter()
                .map(|(is_wanted, bytes)| if is_wanted { bytes } else { 0 })
                .sum::<u64>()
    }

    /// Bytes of memory that it takes beside those, with its result and the text of that.
    pub(crate) fn bytes(&self) -> u64 {
        self.targets.as_ref().map_or(0, |it| it.result_bytes())
            + self.rna.as_ref().map_or(0, |it| it.result_bytes())
    }

    /// One thread's maker of pieces.
    pub fn maker(&self) -> OrderedMaker {
        OrderedMaker {
            wgs: self.wgs.clone().map(WgsMaker::new),
            oxog: self.oxog.as_ref().map(OxoGCounting::maker),
            targets: self.targets.clone().map(TargetMaker::new),
            rna: self.rna.clone().map(RnaMaker::new),
        }
    }

    /// Takes the next piece. What waits for pieces behind it is paid by `charge`.
    ///
    /// # Errors
    /// Its reads lie before those of the piece ahead of it, or the memory is not free.
    pub fn take(&self, piece: OrderedPiece, charge: &mut Charge) -> Result<()> {
        let OrderedPiece { wgs, oxog, targets, rna } = piece;
        let wgs = self.wgs.as_ref().zip(wgs);
        let oxog = self.oxog.as_ref().zip(oxog);
        let targets = self.targets.as_ref().zip(targets);
        let rna = self.rna.as_ref().zip(rna);
        let most = wgs.as_ref().map_or(0, |(all, piece)| all.most_bytes(piece))
            + oxog.as_ref().map_or(0, |(all, piece)| all.most_bytes(piece))
            + targets.as_ref().map_or(0, |(all, piece)| all.most_bytes(piece))
            + rna.as_ref().map_or(0, |(all, piece)| all.most_bytes(piece));
        // What little comes and goes with a piece is part of the share of one.
        let usual = usual_bytes([
            self.wgs.is_some(),
            self.oxog.is_some(),
            self.targets.is_some(),
            self.rna.is_some(),
        ]);
        charge.around(most.saturating_sub(usual), || {
            wgs.map_or(Ok(()), |(all, piece)| all.take(piece))?;
            oxog.map_or(Ok(()), |(all, piece)| all.take(piece))?;
            targets.map_or(Ok(()), |(all, piece)| all.take(piece))?;
            rna.map_or(Ok(()), |(all, piece)| all.take(piece))?;
            Ok(((), self.heap_bytes().saturating_sub(usual)))
        })
    }

    /// Bytes of memory of what waits for pieces.
    fn heap_bytes(&self) -> u64 {
        self.wgs.as_ref().map_or(0, |it| it.heap_bytes())
            + self.oxog.as_ref().map_or(0, |it| it.heap_bytes())
            + self.targets.as_ref().map_or(0, |it| it.heap_bytes())
            + self.rna.as_ref().map_or(0, |it| it.heap_bytes())
    }

    /// Forgets all pieces.
    pub fn restart(&self) {
        self.wgs.iter().for_each(|wgs| wgs.restart());
        self.oxog.iter().for_each(|oxog| oxog.restart());
        self.targets.iter().for_each(|targets| targets.restart());
        self.rna.iter().for_each(|rna| rna.restart());
    }
}

impl OrderedMaker {
    /// Leaves reads of a piece out that no read of another piece reaches, if none spans more than `span` bases of the
    /// reference. The results stay the same.
    pub fn trim(&self, piece: &mut OrderedPiece, span: u32) {
        if let (Some(maker), Some(piece)) = (&self.wgs, &mut piece.wgs) {
            maker.trim(piece, span);
        }
        if let (Some(maker), Some(piece)) = (&self.targets, &mut piece.targets) {
            maker.trim(piece, span);
        }
    }

    /// Makes the piece of a batch. What it takes beyond [`OrderedCounting::usual_piece`] is paid by `charge`.
    ///
    /// # Errors
    /// The reads are not sorted by coordinate, the reference cannot be read, or the memory is not free.
    pub fn make(&mut self, batch: &Batch, charge: &mut Charge) -> Result<OrderedPiece> {
        let piece = OrderedPiece {
            wgs: self.wgs.as_mut().map(|maker| maker.make(batch)).transpose()?,
            oxog: self.oxog.as_mut().map(|maker| maker.make(batch)).transpose()?,
            targets: self.targets.as_mut().map(|maker| maker.make(batch, charge)).transpose()?,
            rna: self.rna.as_mut().map(|maker| maker.make(batch, charge)).transpose()?,
        };
        charge.grow_to(piece.unusual_bytes())?;
        Ok(piece)
    }
}

impl OrderedPiece {
    /// Bytes of memory in use beyond [`OrderedCounting::usual_piece`].
    pub fn unusual_bytes(&self) -> u64 {
        let kinds =
            [self.wgs.is_some(), self.oxog.is_some(), self.targets.is_some(), self.rna.is_some()];
        self.heap_bytes().saturating_sub(usual_bytes(kinds))
    }

    /// Bytes of memory in use.
    fn heap_bytes(&self) -> u64 {
        let oxog = self.oxog.as_ref().map_or(0, OxoGPiece::heap_bytes);
        let targets = self.targets.as_ref().map_or(0, TargetPiece::heap_bytes);
        self.wgs.as_ref().map_or(0, WgsPiece::heap_bytes)
            + oxog as u64
            + targets
            + self.rna.as_ref().map_or(0, RnaPiece::heap_bytes)
    }
}

/// The bases of the reference that the longest read spans.
#[derive(Clone, Copy, Debug)]
pub struct LongestSpan;

impl Tally for LongestSpan {
    type Partial = u32;
    type Total = u32;

    fn detail(&self) -> Detail {
        Detail::Places
    }

    fn observe(&self, partial: &mut u32, batch: &Batch) -> Result<()> {
        for (_, record) in batch.records() {
            let span = record.cigar().reference_length().clamp(0, u32::MAX.into());
            *partial = (*partial).max(span as u32);
        }
        Ok(())
    }

    fn merge(&self, into: &mut u32, from: u32) {
        *into = (*into).max(from);
    }

    fn finish(&self, total: u32) -> Result<u32> {
        Ok(total)
    }
}
