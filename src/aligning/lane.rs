//! A lane: the reads of one sequencing unit (flow cell lane or library) and their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_fastq::{BatchOptions, Claims, FastqInput, FastqLayout, QualityEncoding, template_name};
use readmill_filters::adapter::{AdapterCounts, RemainingAdapters};
use readmill_record::{Error, ReadBatch, Result};

use super::input_counts::LaneCounts;
use super::kernel::{AlignRoom, is_pipe};
use super::slice::{LanePlace, LaneSlice, WantedTemplates};
use super::unaligned::Unaligned;
use crate::plan;

/// The reads of one sequencing unit, which belong to one read group. Lanes are read one after the
/// other.
pub struct LaneInput {
    pub source: LaneSource,
    /// ID of its read group; `None` if records get no RG field.
    pub group: Option<Vec<u8>>,
    pub searched_adapters: RemainingAdapters,
    pub files: Vec<PathBuf>,
    /// The templates to align: a part of the lane if this process aligns one slice of it.
    pub wanted: WantedTemplates,
    pub adapters: AdapterCounts,
    pub templates_kept_before: u64,
    pub is_trimmed: bool,
    /// Whether trailing Gs are removed, which two-colour instruments write for missing signal.
    pub cuts_poly_g: bool,
    /// Counts the unchanged reads of its files, if an add-on needs it.
    pub input_counts: Option<LaneCounts>,
}

pub enum LaneSource {
    Fastq(Arc<Claims>),
    Records(Box<Unaligned>),
}

/// The lanes that a process opens: all, unless a job runs in stages.
#[derive(Clone, Copy)]
pub enum ChosenLanes<'a> {
    All,
    None,
    Scan(usize),
    Slice(&'a LaneSlice),
}

impl ChosenLanes<'_> {
    pub fn opens_lane(&self, lane: usize) -> bool {
        match self {
            ChosenLanes::All => true,
            ChosenLanes::None => false,
            ChosenLanes::Scan(chosen) => *chosen == lane,
            ChosenLanes::Slice(slice) => slice.lane == lane,
        }
    }
}

impl LaneInput {
    pub fn claims(&self) -> Result<&Arc<Claims>> {
        match &self.source {
            LaneSource::Fastq(claims) => Ok(claims),
            LaneSource::Records(_) => Err(Error::bug("FASTQ is taken from a file of records")),
        }
    }

    pub fn unaligned(&self) -> Result<&Unaligned> {
        match &self.source {
            LaneSource::Records(unaligned) => Ok(unaligned),
            LaneSource::Fastq(_) => Err(Error::bug("records are taken from FASTQ")),
        }
    }

    /// Adds the name, the number and the file of a read to an error. `at` is the index of the read
    /// in the batch.
    pub fn locate_error(&self, error: Error, reads: &ReadBatch, at: usize) -> Error {
        if reads.is_mixed() {
            // Templates have different numbers of reads, so the read number in the file is unknown.
            return error.qname(template_name(reads.read(at).name)).file(&self.files[0]);
        }
        let segments = reads.segments().max(1);
        let (template, segment) = (reads.first_template() + (at / segments) as u64, at % segments);
        let (file, record) = match &self.files[..] {
            [one] => (one, template * segments as u64 + segment as u64),
            files => (&files[segment.min(files.len() - 1)], template),
        };
        error.qname(template_name(reads.read(at).name)).record(record).file(file)
    }

    /// Returns the error for the longest of these reads, which needs `bytes` additional bytes to be
    /// aligned, more than `room` reserves for long reads. The hint contains a sufficient `-m`.
    pub fn too_long_error(&self, reads: &ReadBatch, bytes: u64, room: &AlignRoom) -> Error {
        let longest = (0..reads.len()).max_by_key(|&at| reads.spans()[at].len).unwrap_or(0);
        if let Some(singles) = reads.singles()
            && (reads.is_empty() || singles.reads.max_read_length() > reads.max_read_length())
        {
            return self.too_long_error(&singles.reads, bytes, room);
        }
        let what = format!(
            "aligning a read of {} bases needs {} MiB, but only {} MiB are available",
            reads.spans()[longest].len,
            bytes.div_ceil(1 << 20),
            room.long >> 20
        );
        let min_mib = room.min_memory_for(bytes).div_ceil(1 << 20);
        let error = Error::usage(what).hint(format!("raise -m to {min_mib}M"));
        if self.is_trimmed {
            // Earlier templates were dropped, so the read number in the file is unknown.
            return error.qname(template_name(reads.read(longest).name)).file(&self.files[0]);
        }
        self.locate_error(error, reads, longest)
    }

    pub fn progress(&self) -> (u64, Option<u64>) {
        match &self.source {
            LaneSource::Fastq(claims) => claims.progress(),
            LaneSource::Records(unaligned) => unaligned.progress(),
        }
    }
}

/// Opens the FASTQ files of a lane, including index reads, for reading from `place`. `None` if the
/// lane is a file of records.
pub fn open_claims(
    lane: &plan::LaneInput,
    place: &LanePlace,
    options: BatchOptions,
) -> Result<Option<Claims>> {
    let numbered = lane.index_files.iter().zip(lane.files.len()..);
    let index = numbered.map(|(path, number)| input_from(path, number, place)).collect();
    let open = |layout| Claims::open_with_index_reads(layout, index, options);
    lane_layout(lane, place)?.map(open).transpose()
}

/// Returns a FASTQ file as an input that starts at `place`. `number` first counts the files of the
/// lane, and then those of its index reads.
fn input_from(path: &Path, number: usize, place: &LanePlace) -> FastqInput {
    let point = match place {
        LanePlace::Fastq(points) => points.get(number).cloned(),
        LanePlace::Start | LanePlace::Piece(_) => None,
    };
    let path = path.to_path_buf();
    match point {
        Some(point) => FastqInput::From(path, point),
        None => FastqInput::Path(path),
    }
}

/// Returns the layout of the lane's FASTQ files (paired, interleaved or single), starting at
/// `place`. `None` if the lane is a file of records.
fn lane_layout(lane: &plan::LaneInput, place: &LanePlace) -> Result<Option<FastqLayout>> {
    let input = |number: usize| input_from(&lane.files[number], number, place);
    Ok(match &lane.files[..] {
        [_] if lane.records => None,
        [_, _, ..] => Some(FastqLayout::Paired(input(0), input(1))),
        [_] if lane.interleaved => Some(FastqLayout::Interleaved(input(0))),
        [_] => Some(FastqLayout::Single(input(0))),
        [] => return Err(Error::bug("a lane without files")),
    })
}

/// Returns the quality encoding of FASTQ files: the given one, or the one that fits the first
/// records of the first lane.
///
/// # Errors
/// Fails if the encoding must be guessed, but the first lane is a pipe, which can be read only
/// once.
pub fn detect_encoding(
    import: &plan::Import,
    first: Option<&plan::LaneInput>,
    options: BatchOptions,
) -> Result<QualityEncoding> {
    let (None, Some(first)) = (import.encoding, first) else {
        return Ok(import.encoding.unwrap_or_default());
    };
    if let Some(pipe) = first.files.iter().find(|file| is_pipe(file)) {
        let what = "the quality encoding of a pipe cannot be detected, because a pipe is read only once";
        return Err(Error::usage(what)
            .file(pipe)
            .hint("set the encoding, for example --quality-encoding standard"));
    }
    match lane_layout(first, &LanePlace::Start)? {
        Some(files) => QualityEncoding::detect_from_files(files, options).map_err(|error| {
            if error.place.file.is_none() { error.file(&first.files[0]) } else { error }
        }),
        None => Ok(QualityEncoding::Standard),
    }
}
