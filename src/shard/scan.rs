//! Slices of lanes of reads to be aligned. The number of slices is planned from the file sizes. The
//! `scan` stage of a lane reads the lane once and finds where its slices start.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use readmill_record::{Error, Ledger, Result};
use readmill_trim::TrimTally;
use serde::{Deserialize, Serialize};

use super::job::{MAX_PARTS, Slice, SliceBounds, SlicePart};
use super::slice;
use super::stage::{JobStage, StageKind};
use super::stage_file::StageFile;
use super::work::PlannedJob;
use crate::aligning::{LanePlace, LaneSlice, ScannedLane, SliceStart};
use crate::pipeline::inputs::{Inputs, OpenOptions};
use crate::plan::{Aligning, LaneInput};
use crate::run::stages::ScanInput;
use crate::run::{AlignScope, RunState};

/// Bytes of BAM records per byte of compressed reads, and per byte of text. A read of 150 bases
/// takes 358 bytes in BAM, 353 in FASTQ, and 83 in FASTQ compressed by gzip -6. The values are
/// larger than these ratios, because there are supplementary records, and some files compress
/// better.
const RECORDS_PER_BYTE: [f64; 2] = [5.0, 1.25];

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

#[derive(Serialize, Deserialize)]
pub struct ScanFile {
    /// Number of templates in the lane after trimming.
    templates: u64,
    segments: usize,
    /// Starts of all slices except the first. There may be fewer than planned.
    starts: Vec<SliceStart>,
    /// The parts of a file of unaligned records that are read separately. Empty for FASTQ, and for
    /// a file that is read as a whole.
    pieces: Vec<SliceBounds>,
    trimmed: Option<TrimTally>,
}

fn lane_file_bytes(lane: &LaneInput) -> u64 {
    lane.all_files().map(|path| std::fs::metadata(path).map_or(0, |meta| meta.len())).sum()
}

/// Returns the first four bytes of a file, or zeros if it cannot be read.
fn read_magic(path: &Path) -> [u8; 4] {
    let mut magic = [0; 4];
    let _ = File::open(path).and_then(|file| file.read_at(&mut magic, 0)); // the code that reads the file later reports the error
    magic
}

/// Estimates the total size of the lanes' BAM records in bytes, from the file sizes.
pub fn estimate_record_bytes(aligning: &Aligning) -> u64 {
    let of = |lane: &LaneInput| {
        let is_text = read_magic(&lane.files[0])[0] == b'@';
        (lane_file_bytes(lane) as f64 * RECORDS_PER_BYTE[usize::from(is_text)]) as u64
    };
    aligning.lanes.iter().map(of).sum()
}

/// Divides lanes into about `wanted` slices of similar size. A lane compressed by zstd is one
/// slice, because zstd can only be read from the start.
pub fn divide_lanes(aligning: &Aligning, wanted: usize) -> Result<Vec<Slice>> {
    let lanes = &aligning.lanes;
    if lanes.len() > MAX_PARTS {
        return Err(Error::usage(format!(
            "{} lanes are given, but there can be at most {MAX_PARTS} slices",
            lanes.len()
        ))
        .hint("run the command without stages"));
    }
    let each = (lanes.iter().map(lane_file_bytes).sum::<u64>() / wanted.max(1) as u64).max(1);
    let mut slices = Vec::new();
    for (input, lane) in lanes.iter().enumerate() {
        let is_whole = lane.all_files().any(|path| read_magic(path) == ZSTD_MAGIC);
        let max_parts = (MAX_PARTS - (lanes.len() - 1)) as u64;
        let parts =
            if is_whole { 1 } else { ((lane_file_bytes(lane) + each / 2) / each).clamp(1, max_parts) }
                as usize;
        slices.extend(
            (0..parts).map(|number| Slice { input, part: SlicePart::Scanned { number, of: parts } }),
        );
    }
    Ok(slices)
}

impl PlannedJob {
    /// Returns which of the reads to be aligned a stage opens: `scan` opens a whole lane, `map` one
    /// slice of a lane, and all other stages only the header.
    pub(super) fn align_scope(&self, stage: JobStage) -> Result<AlignScope> {
        match (stage.kind, &self.plan.aligning) {
            (_, None) => Ok(AlignScope::Whole),
            (StageKind::Scan, _) => Ok(AlignScope::Scan),
            (StageKind::Map, Some(aligning)) => {
                Ok(AlignScope::Slice(self.open_lane_slice(stage.index, aligning)?.map(Box::new)))
            }
            _ => Ok(AlignScope::Header),
        }
    }

    fn count_lane_slices(&self, lane: usize) -> usize {
        self.job.slices.iter().filter(|slice| slice.input == lane).count()
    }

    /// Opens slice `number` of a lane, at the position that the lane's `scan` stage found. Returns
    /// `None` if the slice has no reads.
    fn open_lane_slice(&self, number: usize, aligning: &Aligning) -> Result<Option<LaneSlice>> {
        let Slice { input: lane, part } = self.job.slices[number];
        let SlicePart::Scanned { number: part, .. } = part else {
            return Err(Error::bug("a slice of reads to be aligned is not one of a lane"));
        };
        let scan: StageFile<ScanFile> =
            self.open_required(StageKind::Scan.at(lane), &Ledger::unlimited())?;
        let ScanFile { templates, segments, mut starts, pieces, .. } = scan.footer;
        let until = starts.get(part).map(|next| next.template);
        let start = match part.checked_sub(1) {
            None => SliceStart::default(),
            Some(before) if before < starts.len() => starts.swap_remove(before),
            Some(_) => return Ok(None),
        };
        if start.template >= until.unwrap_or(templates) {
            return Ok(None);
        }
        let (mut stream, mut known) = (None, None);
        if let LanePlace::Piece(piece) = start.reading.place {
            let bounds = pieces.get(piece).ok_or_else(|| Error::bug("a piece has no place"))?;
            let all = SliceBounds { to: None, ..*bounds };
            let path = &aligning.lanes[lane].files[0];
            let inputs = Inputs::open(std::slice::from_ref(path), self.header_open_options(), false)?;
            stream =
                Some(slice::open_slice(&inputs.files()[0], all).map_err(|error| error.file(path))?.0);
            known = Some(segments);
        }
        Ok(Some(LaneSlice { lane, start, until, stream, segments: known }))
    }

    fn header_open_options(&self) -> OpenOptions {
        OpenOptions {
            reference: self.plan.resources.reference.clone(),
            allow_missing_eof: self.plan.resources.allow_missing_eof,
            ..OpenOptions::default()
        }
    }

    /// Adds the trimming counts of all lanes to those of the run. They are taken from the `scan`
    /// stages, because each reads every read of its lane exactly once.
    pub(super) fn add_trimmed(&self, state: &RunState<'_>, ledger: &Ledger) -> Result<()> {
        let aligning = self.plan.aligning.iter().filter(|aligning| aligning.trimming.is_some());
        for lane in aligning.flat_map(|aligning| 0..aligning.lanes.len()) {
            let scan: StageFile<ScanFile> = self.open_required(StageKind::Scan.at(lane), ledger)?;
            scan.footer.trimmed.iter().for_each(|trimmed| state.add_trimmed(trimmed));
        }
        Ok(())
    }

    pub(super) fn run_scan(&self, number: usize, state: &RunState<'_>) -> Result<()> {
        let aligning = self.plan.aligning.as_ref().ok_or_else(|| Error::bug("no reads are aligned"))?;
        let (lane, parts) = (&aligning.lanes[number], self.count_lane_slices(number));
        let into = self.create_stage_file(StageKind::Scan.at(number))?;
        let mut pieces = Vec::new();
        let scanned = if lane.records {
            let inputs = Inputs::open(&lane.files, self.header_open_options(), false)?;
            let slices = slice::divide_inputs(&inputs, parts, state.ledger())?;
            pieces.extend(slices.iter().filter_map(Slice::bounds));
            let input = &inputs.files()[0];
            let open = |piece: usize| -> Result<Option<Box<dyn Read + Send>>> {
                let Some(&bounds) = pieces.get(piece) else { return Ok(None) };
                Ok(Some(slice::open_slice(input, bounds).map_err(|error| error.file(&input.path))?.0))
            };
            state.scan_lane(number, ScanInput::Records { pieces: pieces.len().max(1), open: &open })?
        } else {
            let near = |part| (u128::from(lane_file_bytes(lane)) * part as u128 / parts as u128) as u64;
            state.scan_lane(number, ScanInput::Fastq((1..parts).map(near).collect()))?
        };
        let said = format!("readmill: {} templates in lane {}", scanned.templates, number + 1);
        state.console().write_line(&said);
        let ScannedLane { templates, segments, starts, trimmed } = scanned;
        self.finish_stage(into, &ScanFile { templates, segments, starts, pieces, trimmed })
    }
}
