//! The stage that scans a lane of unaligned reads without aligning them. It finds the start of each
//! slice, so that later stages can align slices on different machines.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use readmill_record::{Error, Result};

use super::RunState;
use crate::aligning::{self, ChosenLanes, LaneScan, Lanes, ScannedLane, Unaligned};
use crate::pipeline::inputs::OpenOptions;

/// How the lane is read.
pub enum ScanInput<'a> {
    /// As FASTQ files. A slice starts after each of these offsets, which are in stored bytes,
    /// summed over all files of the lane.
    Fastq(Vec<u64>),
    /// As a file of records, in pieces. Each piece is opened as a stream that starts with the
    /// header of the whole file.
    Records {
        pieces: usize,
        /// Opens the piece with this index. `None` means that the whole file is one piece.
        open: &'a dyn Fn(usize) -> Result<Option<Box<dyn Read + Send>>>,
    },
}

impl RunState<'_> {
    /// Reads lane `number` once, without aligning, and returns the start of each slice.
    pub fn scan_lane(&self, number: usize, input: ScanInput<'_>) -> Result<ScannedLane> {
        let wanted = self.plan.aligning.as_ref().ok_or_else(|| Error::bug("no reads are aligned"))?;
        let lane = wanted.lanes.get(number).ok_or_else(|| Error::bug("there is no such lane"))?;
        let kernel = aligning::open_without_index(wanted)?;
        let (crew, room) = (self.memory.crew, self.memory.aligning.unwrap_or_default());
        let allow_missing_eof = self.plan.resources.allow_missing_eof;
        let open = |unaligned, scan: &LaneScan| {
            let (chosen, kernel) = (ChosenLanes::Scan(number), Arc::clone(&kernel));
            let mut lanes =
                Lanes::open(wanted, chosen, unaligned, kernel, crew, room, allow_missing_eof)?;
            if let Some((cuts, lane)) = scan.cuts_poly_g().zip(lanes.lanes.first_mut()) {
                lane.cuts_poly_g = cuts; // all pieces use the setting of the first
            }
            Ok::<_, Error>(Arc::new(lanes))
        };
        match input {
            ScanInput::Fastq(marks) => {
                let mut scan = LaneScan::new(marks);
                let lanes = open(Vec::new(), &scan)?;
                self.console.begin_stage("scanning", lanes.size(), true);
                scan.read_lane(&lanes, crew, self.console)?;
                Ok(scan.finish())
            }
            ScanInput::Records { pieces, open: open_piece } => {
                let mut scan = LaneScan::default();
                self.console.begin_stage("scanning", None, true);
                for piece in 0..pieces {
                    let rules = OpenOptions { allow_missing_eof, ..self.unaligned_rules() };
                    let mut records = Unaligned::open(Path::new(&lane.files[0]), &rules)?;
                    if let Some(stream) = open_piece(piece)? {
                        records.narrow_to_slice(stream, &rules, scan.segments(), scan.templates())?;
                    }
                    if piece > 0 {
                        scan.begin_piece(piece);
                    }
                    let lanes = open(vec![records], &scan)?;
                    scan.read_lane(&lanes, crew, self.console)?;
                }
                Ok(scan.finish())
            }
        }
    }

    /// Returns the options for opening a file of unaligned records.
    fn unaligned_rules(&self) -> OpenOptions {
        OpenOptions {
            reference: self.plan.resources.reference.clone(),
            cache: readmill_cram::Cache::from_environment(),
            ledger: self.memory.ledger.clone(),
            ..OpenOptions::default()
        }
    }
}
