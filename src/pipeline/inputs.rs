//! The inputs of a run, read one after the other as if they were one file.
//!
//! [`Inputs::open`] reads and merges all headers. [`Inputs::next_task`] then returns the tasks of the
//! first input, an [`InputTask::End`], the tasks of the second input, and so on. FASTQ reads to
//! align and alignments to merge appear as one input, whose records are produced while it is read
//! ([`PreparedInput`]).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_cram as cram;
use readmill_filters::Reconcile;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, OpenedChunk};
pub use readmill_input::OpenOptions;
use readmill_input::regions::IndexedInput;
use readmill_input::{Claim, MAX_CLAIM_BYTES, Opener, Source};
use readmill_process::console::Console;
use readmill_record::header::HeaderLine;
use readmill_record::{
    Batch, Charge, Error, ErrorKind, Header, Ledger, Limit, Result, Step, UncheckedBatch, input_file,
};

use crate::aligning::{AlignTask, Lanes};
use crate::merging::{MergeTask, Merging};
use crate::pipeline::open_input::{open_summed, options_for_file};
use crate::pipeline::region_input;
use crate::plan::RegionRequest;

/// Returns a copy of a file's header in which the ID of the first `@RG` line is the file name
/// without its extension, as in `samtools merge -r` 1.24. All reads of the file are assigned to
/// this read group.
///
/// # Errors
/// Fails if the input is a pipe, which has no name, or if its name contains control characters.
fn rename_group_after_file((header, path): (&Header, &PathBuf)) -> Result<Header> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let id = [".bam", ".sam", ".cram"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if id.is_empty() || id == "-" {
        return Err(Error::usage(
            "--group-by-file uses file names as read group IDs, but a pipe has no name",
        )
        .hint("set the read group: readmill filter --read-group 'ID:g1 SM:s1'"));
    }
    if id.contains(char::is_control) {
        return Err(Error::usage(format!(
            "--group-by-file uses file names as read group IDs, but {id:?} has a control character"
        ))
        .hint("rename the file, or set the read group: readmill filter --read-group 'ID:g1 SM:s1'"));
    }
    let fields = header.lines_of_kind(b"RG").next().map(|line| {
        let text = String::from_utf8_lossy(line.text()).into_owned();
        let others = text.split('\t').skip(1).filter(|field| !field.starts_with("ID:"));
        others.fold(String::new(), |all, field| all + "\t" + field)
    });
    let line = HeaderLine::new(format!("@RG\tID:{id}{}", fields.unwrap_or_default()));
    let mut header = header.try_clone()?;
    header.replace_lines(b"RG", vec![line], &[b"PG", b"CO"])?;
    Ok(header)
}

/// An input file and its header. The file may be closed until it is read.
pub struct InputFile {
    pub path: PathBuf,
    pub header: Header,
    /// Adapts the file's reads to the merged header, for example by renumbering contigs. `None` if
    /// this is not needed.
    pub reconcile: Option<Reconcile>,
    pub setup: Option<Arc<cram::Setup>>,
    size: Option<u64>,
}

impl InputFile {
    /// Returns a function that adds the path to an error about the file's content. Other errors (of
    /// the disk or of memory) stay unchanged.
    pub fn name_errors(&self) -> impl Fn(Error) -> Error + '_ {
        |error| {
            let placed = error.place.record.is_some() || error.place.offset.is_some();
            if placed || error.kind == ErrorKind::Input { error.file(&self.path) } else { error }
        }
    }
}

/// A reading task in one phase of a pass. `P` is a chunk of a file, `A` a task of the aligner, and
/// `M` a merge of alignments, each in the form of that phase.
pub enum ReadTask<P, A, M> {
    Piece(usize, P),
    End(usize),
    Align(A),
    Merge(M),
}

pub type InputTask = ReadTask<Claim, AlignClaim, MergeClaim>;

pub struct AlignClaim {
    pub task: AlignTask,
    pub read_bytes: u64,
}

pub struct MergeClaim {
    pub task: MergeTask,
    pub read_bytes: u64,
}

/// An input whose records are produced during the run: aligned from FASTQ, or merged from unaligned
/// reads and alignments. The rest of the run sees one input.
#[derive(Clone)]
pub enum PreparedInput {
    Aligned(Arc<Lanes>),
    /// Unaligned reads that receive alignments from other files (Picard MergeBamAlignment).
    Merged(Arc<Merging>),
}

impl PreparedInput {
    /// Returns the name of the first read, or `None` if there are no reads. The instrument in the
    /// name determines the pixel distance of optical duplicates.
    pub fn first_name(&self) -> Option<Vec<u8>> {
        match self {
            PreparedInput::Aligned(lanes) => lanes.first_name(),
            PreparedInput::Merged(merging) => merging.first_name(),
        }
    }

    fn bytes_read(&self) -> u64 {
        match self {
            PreparedInput::Aligned(lanes) => lanes.bytes_read(),
            PreparedInput::Merged(merging) => merging.bytes_read(),
        }
    }

    fn total_bytes(&self) -> Option<u64> {
        match self {
            PreparedInput::Aligned(lanes) => lanes.size(),
            PreparedInput::Merged(merging) => merging.size(),
        }
    }

    fn next_task(&self, read_bytes: u64) -> Result<Option<InputTask>> {
        Ok(match self {
            PreparedInput::Aligned(lanes) => {
                lanes.next_task()?.map(|task| InputTask::Align(AlignClaim { task, read_bytes }))
            }
            PreparedInput::Merged(merging) => {
                merging.next_task()?.map(|task| InputTask::Merge(MergeClaim { task, read_bytes }))
            }
        })
    }
}

pub struct Inputs {
    list: Arc<[InputFile]>,
    header: Header,
    current_index: usize,
    /// Index after the last input to read. It is smaller than the number of inputs if only one
    /// input is read.
    end_index: usize,
    /// Opened sources. `None` for inputs that have been read, and for files that are reopened when
    /// they are read.
    sources: Vec<Option<Source>>,
    rules: OpenOptions,
    region_bytes: Option<u64>,
    _reopening: Option<Charge>,
    peeked_task: Option<InputTask>,
    /// The prepared input and the bytes read for it so far. If set, `list` has one entry for all
    /// files.
    prepared: Option<(PreparedInput, u64)>,
}

impl Inputs {
    /// Opens the files, reads their headers and merges them. Regular files after the first are
    /// closed until they are read, so the number of files is not limited. With `group_by_file`, the
    /// reads of each file are assigned to a read group named after the file.
    pub fn open(paths: &[PathBuf], rules: OpenOptions, group_by_file: bool) -> Result<Self> {
        let (mut files, mut headers, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            let (input, size) = open_summed(path, &rules)?;
            let source =
                Source::open(input, &options_for_file(path, &rules)).map_err(|e| e.file(path))?;
            let mut header = source.header().clone();
            headers.last().into_iter().for_each(|last| header.share_memory_with(last));
            headers.push(header);
            files.push((path.clone(), size, source.setup()));
            sources.push(Some(source).filter(|_| sources.is_empty() || size.is_none()));
        }
        let merging = if headers.len() > 1 { headers.iter().map(merging_bytes).sum() } else { 0 };
        let merging = rules.ledger.charge("headers", merging)?;
        let grouped = match group_by_file {
            true => Some(
                headers
                    .iter()
                    .zip(paths)
                    .map(rename_group_after_file)
                    .collect::<Result<Vec<Header>>>()?,
            ),
            false => None,
        };
        let merged = Header::merge(grouped.as_deref().unwrap_or(&headers))
            .map_err(|error| replace_input_numbers(error, paths))?;
        let groups = grouped.iter().flatten().map(|header| {
            let id = header.lines_of_kind(b"RG").next().and_then(|line| line.get(b"ID"));
            id.unwrap_or_default().to_vec()
        });
        let groups: Vec<Vec<u8>> = groups.collect();
        drop((merging, grouped));
        let list = files.into_iter().zip(headers).zip(merged.renames).enumerate();
        let list = list.map(|(number, (((path, size, setup), header), renames))| {
            let names = renames.read_groups.clone();
            let reconcile = Reconcile::new(renames);
            let reconcile = match groups.get(number) {
                Some(id) => reconcile.into_group(&names, id),
                None => reconcile,
            };
            let reconcile = Some(reconcile).filter(|step| !step.is_identity());
            InputFile { path, header, reconcile, setup, size }
        });
        let (list, header): (Arc<[InputFile]>, _) = (list.collect(), merged.header);
        let again = list.iter().zip(&sources).filter(|(_, source)| source.is_none());
        let again = again.map(|(input, _)| Source::opening_bytes(&input.header)).max();
        let _reopening = again.map(|bytes| rules.ledger.charge("headers", bytes)).transpose()?;
        let end = list.len();
        let (at, region_bytes) = (0, None);
        Ok(Inputs {
            list,
            header,
            current_index: at,
            end_index: end,
            sources,
            rules,
            region_bytes,
            _reopening,
            peeked_task: None,
            prepared: None,
        })
    }

    /// Restricts reading to the requested regions of the only input. Returns the path of its index.
    ///
    /// # Errors
    /// Fails if the input has no index, if a contig is not in its header, or if there is too little
    /// memory for the regions.
    pub fn select_regions(&mut self, request: &RegionRequest, console: &Console) -> Result<PathBuf> {
        let path = self.list[0].path.clone();
        let regions = region_input::resolve_regions(request, &self.header, &self.rules.ledger, console)?;
        let index = region_input::find_index(&path, request.index.as_deref(), console)?;
        let file = input_file::open_input(&path)
            .map_err(|e| Error::io(format!("{} cannot be read", path.display()), &e))?;
        let input = IndexedInput { file: Arc::new(file), index: &index };
        let source = self.sources[0].take().ok_or_else(|| Error::bug("the input is not open"))?;
        let source =
            source.select_regions(&input, regions, &self.rules).map_err(|error| match error.kind {
                ErrorKind::Input => error.file(&path),
                _ => error,
            })?;
        self.region_bytes = source.region_bytes();
        self.sources[0] = Some(source);
        Ok(index)
    }

    /// Stops reading: returns no further task, and drops a task that was put back.
    pub fn stop_reading(&mut self) {
        (self.current_index, self.peeked_task) = (self.end_index, None);
    }

    /// Returns the estimated number of bytes still to read if it is known to be small: for regions
    /// of a file, or at the end. `None` for whole inputs.
    pub fn remaining_region_bytes(&self) -> Option<u64> {
        if self.current_index == self.end_index { Some(0) } else { self.region_bytes }
    }

    /// Creates inputs that consist of `prepared` alone. Errors about records contain `path`.
    pub fn from_prepared(prepared: PreparedInput, path: &Path, header: Header) -> Self {
        let (path, own, size) = (path.to_path_buf(), header.clone(), prepared.total_bytes());
        let input = InputFile { path, header: own, reconcile: None, setup: None, size };
        let list = [input].into();
        let rules = OpenOptions::default();
        let prepared = Some((prepared, 0));
        let sources = Vec::new();
        Inputs {
            list,
            header,
            current_index: 0,
            end_index: 1,
            sources,
            rules,
            region_bytes: None,
            _reopening: None,
            peeked_task: None,
            prepared,
        }
    }

    /// Returns whether the first two chunks of `stream` belong to different templates: the last
    /// read of the first chunk and the first read of the second have different names. `stream` must
    /// have the format of the input with index `number`. Jobs in stages use it to find a place
    /// where the input can be cut between templates.
    pub fn names_differ(&self, number: usize, stream: Box<dyn Read + Send>) -> Result<bool> {
        let own = &self.list[number];
        let mut source = Source::open(stream, &options_for_file(&own.path, &self.rules))
            .map_err(own.name_errors())?;
        let mut names = Vec::new();
        while let Some(claim) = source.claim(Chunk::default()).map_err(own.name_errors())? {
            let mut opened = OpenedChunk::reuse(Batch::default());
            Opener::new(&own.header, own.setup.as_ref()).open(claim, &mut opened)?;
            let mut link = ChunkLinker::new(Limit::UNLIMITED);
            let all = [link.link_chunk(opened).batch, link.finish_input(Batch::default()).batch];
            let mut records =
                all.iter().flat_map(UncheckedBatch::records).map(|record| record.name().to_vec());
            let first = records.next();
            names.push([first.clone(), records.last().or(first)]);
        }
        Ok(matches!(&names[..], [[_, before], [after, _], ..] if before != after))
    }

    /// Restricts reading to the input with index `number`, and to the part of it that `input`
    /// contains (including a header). Used if each process of a job in stages reads one slice of a
    /// file.
    pub fn narrow_to_slice(&mut self, number: usize, input: Box<dyn Read + Send>) -> Result<()> {
        let own = &self.list[number];
        // Two headers: the one kept here, and the copy that is compared with it.
        let ledger = &self.rules.ledger;
        let charge = ledger.charge("headers", 2 * Source::opening_bytes(&own.header))?;
        let rules =
            OpenOptions { ledger: Ledger::unlimited(), ..options_for_file(&own.path, &self.rules) };
        let source = Source::open(input, &rules).map_err(own.name_errors())?;
        self.sources.iter_mut().for_each(|source| *source = None);
        self.sources[number] = Some(source);
        (self.current_index, self.end_index, self._reopening) = (number, number + 1, Some(charge));
        self.peeked_task = None; // a task of the whole input
        Ok(())
    }

    pub fn narrow_to_input(&mut self, number: usize) {
        (self.current_index, self.end_index) = (number, number + 1);
        let is_of = |task: &InputTask| matches!(task, InputTask::Piece(of, _) if *of == number);
        self.peeked_task = self.peeked_task.take().filter(is_of);
    }

    pub fn lanes(&self) -> Option<&Arc<Lanes>> {
        match self.prepared_input() {
            Some(PreparedInput::Aligned(lanes)) => Some(lanes),
            _ => None,
        }
    }

    /// Returns the prepared input; `None` if the inputs are files of records.
    pub fn prepared_input(&self) -> Option<&PreparedInput> {
        self.prepared.as_ref().map(|(prepared, _)| prepared)
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn files(&self) -> Arc<[InputFile]> {
        Arc::clone(&self.list)
    }

    pub fn has_cram(&self) -> bool {
        self.list.iter().any(|input| input.setup.is_some())
    }

    pub fn warn_about_headers(&self, console: &Console) {
        self.list.iter().for_each(|input| console.warn_about_header(&input.path, &input.header));
    }

    /// Warns about CRAM inputs in which the length of a contig differs from the reference.
    pub fn warn_about_lengths(&self, console: &Console) {
        let setups = self.list.iter().filter_map(|input| input.setup.as_ref());
        if let Some(text) = setups.filter_map(|setup| setup.references.describe_unequal_lengths()).next()
        {
            console.write_warning(&format!(
                "{text}; this CRAM input is decoded nevertheless, because its checksums verify the bases that are used"
            ));
        }
    }

    /// Sets the maximum size in bytes of a CRAM container with its decoded records, for open and
    /// later inputs. Larger containers are an error.
    pub fn limit_containers(&mut self, max_container: Limit) {
        self.rules.max_container = max_container;
        self.sources.iter_mut().flatten().for_each(|source| source.limit_containers(max_container));
    }

    /// Returns the total size of all inputs for the progress display, or `None` if an input is a
    /// pipe.
    pub fn size(&self) -> Option<u64> {
        self.remaining_region_bytes().or_else(|| self.list.iter().map(|input| input.size).sum())
    }

    /// Returns the maximum number of bytes by which a record may grow when it is adapted to the
    /// merged header.
    pub fn max_record_growth(&self) -> usize {
        let steps = self.list.iter().filter_map(|input| input.reconcile.as_ref());
        steps.map(Step::max_growth_bytes).max().unwrap_or(0)
    }

    pub fn peek_task(&mut self) -> Result<Option<&InputTask>> {
        if self.peeked_task.is_none() {
            self.peeked_task = self.next_task(Chunk::default())?;
        }
        Ok(self.peeked_task.as_ref())
    }

    /// Reads and checks the first reads without consuming them. Used to decide how mates are
    /// paired, and to forecast the size of the sort.
    ///
    /// # Errors
    /// Fails if they cannot be read, or if there is too little memory for them.
    pub fn first_reads(&mut self) -> Result<FirstReads> {
        let ledger = self.rules.ledger.clone();
        let list = self.files();
        let Some(InputTask::Piece(number, claim)) = self.peek_task()? else {
            return Ok(FirstReads::Absent);
        };
        // Memory for a second copy of the claimed chunk, for its records, and for the same number
        // of records in the linker. Chunks of the usual size need less than the batches that will
        // be in flight.
        let bytes = claim.read_bytes() + claim.working_bytes() + 3 * claim.max_bam_bytes();
        let charge =
            ledger.charge("the first reads", bytes.saturating_sub(4 * MAX_CLAIM_BYTES) as u64)?;
        let batch = decode_first_chunk(claim.clone(), &list[*number]);
        Ok(batch.map_or(FirstReads::Damaged, |batch| FirstReads::Read { batch, _charge: charge }))
    }

    /// Estimates the bytes of BAM records in all inputs, from the compression ratio of the first
    /// one. `None` if the size of an input is unknown.
    pub fn expected_bytes(&self) -> Option<u64> {
        let expansion = self.sources.first()?.as_ref()?.expansion_ratio()?;
        self.size().map(|size| (size as f64 * expansion) as u64)
    }

    /// Puts back a task, which is then returned next. Called by a claimer that does not yet have
    /// the memory for it.
    pub fn put_back_task(&mut self, next: InputTask) {
        self.peeked_task = Some(next);
    }

    /// Takes the next task, and reuses the memory of `reuse` for it if possible. Each input ends
    /// with an [`InputTask::End`]. Returns `None` after the end of the last input.
    pub fn next_task(&mut self, reuse: Chunk) -> Result<Option<InputTask>> {
        if let Some(next) = self.peeked_task.take() {
            return Ok(Some(next));
        }
        let at = self.current_index;
        let Some(input) = self.list.get(at).filter(|_| at < self.end_index) else { return Ok(None) };
        if let Some((prepared, read)) = &mut self.prepared {
            let before = std::mem::replace(read, prepared.bytes_read());
            let task = prepared.next_task(read.saturating_sub(before))?;
            return Ok(Some(task.unwrap_or_else(|| {
                self.current_index += 1;
                InputTask::End(at)
            })));
        }
        let source = match &mut self.sources[at] {
            Some(source) => source,
            closed => closed.insert(reopen_input(input, &self.rules)?),
        };
        Ok(Some(match source.claim(reuse).map_err(input.name_errors())? {
            Some(claim) => InputTask::Piece(at, claim),
            None => {
                self.sources[at] = None;
                self.current_index += 1;
                InputTask::End(at)
            }
        }))
    }
}

pub enum FirstReads {
    /// The records of the first chunk. Their memory is charged until this value is dropped.
    Read { batch: Batch, _charge: Charge },
    /// The first chunk is damaged. The error is reported when the chunk is read.
    Damaged,
    /// There are no reads, or the records are produced during the run ([`PreparedInput`]).
    Absent,
}

impl FirstReads {
    pub fn batch(&self) -> Option<&Batch> {
        match self {
            FirstReads::Read { batch, .. } => Some(batch),
            FirstReads::Damaged | FirstReads::Absent => None,
        }
    }
}

/// Opens a chunk of an input as checked records, outside of any pass. Returns `None` if it is
/// damaged.
fn decode_first_chunk(claim: Claim, input: &InputFile) -> Option<Batch> {
    let mut opened = OpenedChunk::reuse(Batch::default());
    Opener::new(&input.header, input.setup.as_ref()).open(claim, &mut opened).ok()?;
    let mut link = ChunkLinker::new(Limit::UNLIMITED);
    let mut batch = link.link_chunk(opened).batch;
    if batch.is_empty() {
        batch = link.finish_input(Batch::default()).batch; // all records of the chunk are of one template
    }
    let mut batch = batch.check(0, input.header.n_ref()).ok()?;
    batch.stamp_templates(0);
    Some(batch)
}

/// Returns the memory for merging a header, excluding the header itself: a copy of its lines, and
/// tables of its contigs.
fn merging_bytes(header: &Header) -> u64 {
    header.heap_bytes() + 160 * header.references().len() as u64
}

/// Replaces "input N" in an error about merging headers by the file name.
fn replace_input_numbers(mut error: Error, paths: &[PathBuf]) -> Error {
    for (i, path) in paths.iter().enumerate().rev() {
        error.what = error.what.replace(&format!("input {}", i + 1), &path.display().to_string());
    }
    error
}

/// Reopens a file whose header was read by [`Inputs::open`].
///
/// # Errors
/// Fails if the file cannot be opened, or if its header has changed since.
fn reopen_input(input: &InputFile, rules: &OpenOptions) -> Result<Source> {
    let (file, _) = open_summed(&input.path, rules)?;
    let rules = OpenOptions { ledger: Ledger::unlimited(), ..options_for_file(&input.path, rules) }; // charged by `open`
    let source = Source::open(file, &rules).map_err(input.name_errors())?;
    if *source.header() != input.header {
        return Err(Error::input("the file was changed while other files were read").file(&input.path));
    }
    Ok(source)
}
