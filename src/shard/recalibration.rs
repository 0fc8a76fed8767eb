//! The stages of base quality recalibration, and their files.

use readmill_bqsr::Totals;
use readmill_bqsr::suspects::SiteEvents;
use readmill_record::{Error, Ledger, Result};
use serde::{Deserialize, Serialize};

use super::stage::StageKind;
use super::stage_file::{ChecksummedRange, StageFile};
use super::work::PlannedJob;
use crate::pipeline::inputs::Inputs;
use crate::run::RunState;
use crate::run::stages::{RangeInput, ReadSites, SiteFinder};

/// The footer of the `compare` stage. For each batch of reads, the data contain the length of its
/// events in bytes (4 bytes), followed by the events in postcard format. Events record where reads
/// start, end and differ from the reference.
#[derive(Serialize, Deserialize)]
struct ComparedRange {
    events: ChecksummedRange,
}

/// The footer of the `sites` stage. The data contain the sites at which the sample differs from the
/// reference, in order: contig (4 bytes) and 0-based position (4 bytes).
#[derive(Serialize, Deserialize)]
struct FoundSites {
    sites: ChecksummedRange,
    number: u64,
}

const SITE_BYTES: usize = 8;

impl PlannedJob {
    /// Runs `compare`: writes where the reads of a range differ from the reference.
    pub(super) fn run_compare(&self, number: usize, state: RunState<'_>, inputs: &Inputs) -> Result<()> {
        let range = self.open_range(number, state.ledger())?;
        let into = self.create_stage_file(StageKind::Compare.at(number))?;
        let start = into.bytes_written()?;
        if let Some(range) = range {
            let mut extent = into.spill().begin_extent(0)?;
            state.compare_range(inputs, range, |events| {
                let mut bytes = vec![0; 4];
                bytes = postcard::to_extend(&events.into_differences(), bytes)
                    .map_err(|error| Error::bug(format!("events cannot be encoded: {error}")))?;
                let length = (bytes.len() - 4) as u32;
                bytes[..4].copy_from_slice(&length.to_le_bytes());
                into.spill().append_bytes(&mut extent, &bytes)
            })?;
        }
        let events = into.checksum_since(start)?;
        self.finish_stage(into, &ComparedRange { events })
    }

    /// Runs `sites`: joins the events of all ranges in order, and writes the positions at which
    /// reads differ from the reference too often.
    pub(super) fn run_sites(&self, state: &RunState<'_>) -> Result<()> {
        let into = self.create_stage_file(StageKind::Sites.only())?;
        let start = into.bytes_written()?;
        let mut extent = into.spill().begin_extent(0)?;
        let (mut finder, mut found) = (SiteFinder::new(), Vec::new());
        let site = |found: &mut Vec<u8>, contig: u32, position: u32| {
            found.extend_from_slice(&contig.to_le_bytes());
            found.extend_from_slice(&position.to_le_bytes());
            Ok(())
        };
        for range in 0..self.job().ranges {
            let file: StageFile<ComparedRange> =
                self.open_required(StageKind::Compare.at(range), state.ledger())?;
            file.verify_data(&file.footer.events)?;
            let mut waiting = Vec::new();
            file.read_verified(&file.footer.events, |piece| {
                waiting.extend_from_slice(piece);
                let mut rest = &waiting[..];
                while let Some((length, behind)) = rest.split_first_chunk::<4>()
                    && let Some((bytes, behind)) =
                        behind.split_at_checked(u32::from_le_bytes(*length) as usize)
                {
                    let events: SiteEvents = postcard::from_bytes(bytes)
                        .map_err(|_| Error::bug("events cannot be decoded"))?;
                    finder.add_events(events.into_positions(), |contig, at| {
                        site(&mut found, contig, at)
                    })?;
                    rest = behind;
                }
                let taken = waiting.len() - rest.len();
                waiting.drain(..taken);
                into.spill().append_bytes(&mut extent, &found)?;
                found.clear();
                Ok(())
            })?;
        }
        let number = finder.finish_sites(|contig, at| site(&mut found, contig, at))?;
        into.spill().append_bytes(&mut extent, &found)?;
        state.console().write_line(&format!(
            "readmill: {number} positions are excluded, because too many reads differ from the reference"
        ));
        let sites = into.checksum_since(start)?;
        self.finish_stage(into, &FoundSites { sites, number })
    }

    /// Opens the sites that the `sites` stage found. Returns `None` without `--bqsr-bootstrap`. The
    /// closure in the result reads the sites from disk, in order.
    pub(super) fn open_found_sites(&self, ledger: &Ledger) -> Result<Option<ReadSites>> {
        if !self.finds_sites() {
            return Ok(None);
        }
        let file: StageFile<FoundSites> = self.open_required(StageKind::Sites.only(), ledger)?;
        file.verify_data(&file.footer.sites)?;
        Ok(Some(Box::new(move |each| {
            file.read_verified(&file.footer.sites, |piece| {
                piece.as_chunks::<SITE_BYTES>().0.iter().try_for_each(|site| {
                    let [contig, position] = [0, 4].map(|at| {
                        u32::from_le_bytes([site[at], site[at + 1], site[at + 2], site[at + 3]])
                    });
                    each(contig, position)
                })
            })
        })))
    }

    pub(super) fn run_count(&self, number: usize, state: RunState<'_>, inputs: &Inputs) -> Result<()> {
        let range = self.open_range(number, state.ledger())?;
        let into = self.create_stage_file(StageKind::Count.at(number))?;
        let sites = self.open_found_sites(state.ledger())?;
        let totals =
            range.map(|range| state.count_range(inputs, RangeInput { sites, ..range })).transpose()?;
        self.finish_stage(into, &totals.unwrap_or_default())
    }

    pub(super) fn run_table(&self, state: &RunState<'_>) -> Result<()> {
        let mut all = Totals::default();
        let mut charge = state.ledger().empty_charge("counts of bases");
        for range in 0..self.job().ranges {
            let file: StageFile<Totals> =
                self.open_required(StageKind::Count.at(range), state.ledger())?;
            all.append(file.footer);
            charge.resize(all.heap_bytes() as u64);
        }
        self.finish_stage(self.create_stage_file(StageKind::Table.only())?, &all)
    }

    /// Opens the counts of all reads. Returns `None` if the run does not recalibrate reads by their
    /// own counts.
    pub(super) fn open_totals(&self, ledger: &Ledger) -> Result<Option<StageFile<Totals>>> {
        self.counts_for_recalibration()
            .then(|| self.open_required(StageKind::Table.only(), ledger))
            .transpose()
    }
}
