//! The aligner of a plan: how much memory it needs, its index, and the header of aligned reads.

// Most of this is unused in a build without aligners.
#![cfg_attr(not(any(feature = "bwa", feature = "minibwa")), allow(unused))]

use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_align::{Kernel, NoAligner};
use readmill_engine::Crew;
use readmill_process::console::Console;
use readmill_record::{Header, ReadBatch, Result};

use super::unaligned::{MAX_CONTAINER, Unaligned};
use crate::pipeline::open_input::is_any_cram;
use crate::plan::{self, Aligning};

const MAX_USUAL_READ_BASES: usize = 300;

/// Maximum number of bases passed to an aligner at once, unless a single template has more. It is
/// the number of bases in a batch of 1024 pairs of 256. (Measured: with this number of bases, bwa
/// mem needs no more scratch memory for reads of any length up to 20,000 bases than for short
/// reads, on a genome with three quarters repeats.)
const MAX_BASES_AT_ONCE: u64 = 1 << 19;

/// Maximum product of the number of these bases and the length of the longest read among them,
/// unless a single template has more. If 3 % of the bases are errors, bwa-mem3 reserves half this
/// number of bytes of address space. It ends the process if the machine has less memory, although
/// it uses hardly any of it.
const MAX_BASES_BY_LONGEST: u64 = 1 << 33;

/// Memory of reads and candidates per base of a cohort, in bytes. (Measured: 370 of text and 2,100
/// of candidates for a read of 151 bases, on a genome full of repeats.)
const COHORT_BYTES_PER_BASE: u64 = 18;

/// Maximum memory of reads and candidates per byte of small input files: compressed text becomes up
/// to eight times as long.
const COHORT_BYTES_PER_BYTE: u64 = 8 * 8;

/// Maximum ratio of the bases per byte in CRAM to the bases per byte in FASTQ.
const RECORDS_PER_FASTQ: u64 = 4;

/// Bytes of text from two FASTQ files for each batch that is being taken (see
/// `readmill_fastq::Claims::max_text_bytes`).
const TEXT_BYTES_PER_BATCH: u64 = 8 << 20;

/// Additional memory for two BGZF files, whose blocks are in memory both compressed and inflated.
const TEXT_BYTES: u64 = 24 << 20;

/// Additional memory for each pipe if there are several. If one program fills them in turn, the
/// text of one pipe must be kept until the other has the mates.
const PIPE_TEXT_BYTES: u64 = 64 << 20;

/// Memory of a batch and its candidates, in bytes: that of a batch in a cohort, and a third more.
const SEEDED_BATCH_BYTES: u64 = 8 << 20;

/// Returns the end of the next part of `templates` that is passed to the aligner at once: the end
/// of all templates, unless reads are long. It only limits scratch memory; neither records nor
/// their order depend on it.
pub fn find_piece_end(reads: &ReadBatch, templates: Range<usize>) -> usize {
    let segments = reads.segments().max(1);
    let spans = &reads.spans()[templates.start * segments..templates.end * segments];
    let (mut end, mut bases, mut longest) = (templates.start, 0, 0);
    for template in spans.chunks(segments) {
        for length in template.iter().map(|span| u64::from(span.len)) {
            bases += length;
            longest = length.max(longest);
        }
        let fits = bases <= MAX_BASES_AT_ONCE && bases.saturating_mul(longest) <= MAX_BASES_BY_LONGEST;
        if !fits && end > templates.start {
            break;
        }
        end += 1;
    }
    end
}

/// Returns whether a piece with `bases` bases is large enough to be passed to the aligner.
pub fn is_full_piece(bases: u64, reads: &ReadBatch) -> bool {
    let singles = reads.singles().map_or(0, |singles| singles.reads.max_read_length());
    let longest = reads.max_read_length().max(singles) as u64;
    bases >= MAX_BASES_AT_ONCE / 2 || bases.saturating_mul(longest) >= MAX_BASES_BY_LONGEST / 2
}

/// The memory that reads may take while they are aligned, in bytes. Computed once, when memory is
/// divided.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlignRoom {
    pub reads: u64,
    /// The part of `reads` that long reads may need in addition: a quarter of the memory that the
    /// other shares leave, as long as `left` bytes remain.
    pub long: u64,
    pub others: u64,
    pub left: u64,
}

impl AlignRoom {
    /// Returns the minimum memory (`-m`) that allows long reads to take `long` bytes, for the hint
    /// of an error.
    pub fn min_memory_for(&self, long: u64) -> u64 {
        self.others.saturating_add(long.saturating_mul(4).max(long.saturating_add(self.left)))
    }
}

/// The memory that aligning needs in addition to the rest of a run, in bytes, estimated before any
/// file is read.
#[derive(Clone, Copy, Debug)]
pub struct AlignNeeds {
    pub index: u64,
    pub thread: u64,
    /// Reads that wait for their cohort, and their candidates.
    pub cohort: u64,
    pub text: u64,
    pub taking: u64,
    pub ticket: u64,
}

/// Returns the number of batches that are read before their candidates are searched for. It is
/// large enough that no thread waits for text to be linked while others search.
pub fn batches_read_ahead(threads: usize) -> usize {
    2 * threads
}

impl AlignNeeds {
    /// Returns the memory of all reads of a run with `crew`, from the files to records, in bytes.
    pub fn read_memory_bytes(&self, crew: Crew) -> u64 {
        let taking = self.taking * batches_read_ahead(crew.threads) as u64;
        // A cohort (-K) may have any number of bases. Like any sum that exceeds -m, a saturated sum
        // is rejected.
        self.cohort.saturating_add(self.text + taking + self.ticket * crew.in_flight as u64)
    }

    /// Returns the memory needs of a run that only reads and counts the files, without aligning.
    pub fn without_aligning(self) -> Self {
        AlignNeeds { index: 0, thread: 0, cohort: 0, ..self }
    }

    pub fn batch_memory_bytes(&self, in_flight: usize) -> u64 {
        self.cohort.saturating_add(SEEDED_BATCH_BYTES * in_flight as u64)
    }
}

/// Returns whether the reads of the lane are known to be aligned independently: single-end FASTQ.
fn is_single_end(lane: &plan::LaneInput) -> bool {
    lane.files.len() == 1 && !lane.interleaved && !lane.records
}

/// Estimates the memory for aligning from the sizes of the files and of the index, before any file
/// is read.
pub fn estimate_needs(aligning: &Aligning) -> Result<AlignNeeds> {
    let sizes = aligning.lanes.iter().flat_map(|lane| &lane.files);
    let sizes =
        sizes.map(|file| std::fs::metadata(file).ok().filter(|it| it.is_file()).map(|it| it.len()));
    let bytes = sizes.sum::<Option<u64>>().map_or(u64::MAX, |n| n.saturating_mul(COHORT_BYTES_PER_BYTE));
    let pipes = |lane: &plan::LaneInput| lane.all_files().filter(|file| is_pipe(file)).count() as u64;
    let pipes = aligning.lanes.iter().map(pipes).max().filter(|&pipes| pipes > 1).unwrap_or(0);
    let files =
        aligning.lanes.iter().map(|lane| lane.all_files().count() as u64).max().unwrap_or(0).max(2);
    let records = aligning.lanes.iter().any(|lane| lane.records);
    let bytes = bytes.saturating_mul(if records { RECORDS_PER_FASTQ } else { 1 });
    let crams = aligning.lanes.iter().filter(|lane| lane.records).any(|lane| is_any_cram(&lane.files));
    let more = if crams { MAX_CONTAINER.bytes() } else { 0 };
    let text = TEXT_BYTES / 2 * files + PIPE_TEXT_BYTES * pipes;
    let (index, thread, bases): (u64, u64, u64) = match aligning.aligner {
        plan::Aligner::None(_) => (0, 0, 0),
        #[cfg(feature = "bwa")]
        plan::Aligner::Bwa(ref options) => {
            use readmill_align::bwa;
            let index = bwa::FILES.memory_bytes(aligning.reference()?)?;
            let bases = options.cohort_bases.unwrap_or(bwa::BwaOptions::COHORT_BASES);
            (index, bwa::scratch_bytes(MAX_USUAL_READ_BASES), bases)
        }
        #[cfg(feature = "minibwa")]
        plan::Aligner::Minibwa(ref options) => {
            use readmill_align::minibwa;
            let index = minibwa::FILES.memory_bytes(aligning.reference()?)?;
            let bases = options.cohort_bases.unwrap_or(minibwa::MinibwaOptions::COHORT_BASES);
            (index, minibwa::scratch_bytes(MAX_USUAL_READ_BASES), bases)
        }
    };
    let bases = if aligning.lanes.iter().all(is_single_end) { 0 } else { bases };
    let cohort = bases.saturating_mul(COHORT_BYTES_PER_BASE).min(bytes);
    Ok(AlignNeeds {
        index,
        thread,
        cohort,
        text,
        taking: TEXT_BYTES_PER_BATCH / 2 * files + more,
        ticket: SEEDED_BATCH_BYTES,
    })
}

/// Returns whether a path is a named pipe or standard input, which can be read only once.
pub fn is_pipe(file: &Path) -> bool {
    file.as_os_str() == "-" || std::fs::metadata(file).is_ok_and(|it| it.file_type().is_fifo())
}

fn make_unaligned_writer(aligning: &Aligning) -> NoAligner {
    let import = aligning.aligner.import();
    NoAligner {
        ends_by_name: import.is_some_and(|import| import.ends_by_name),
        casava: aligning.read_tags.casava.is_some(),
    }
}

/// Returns the aligner without its index, which takes little memory. It knows contigs and cohorts,
/// but cannot align. Jobs in stages use it to divide the input.
pub fn open_without_index(aligning: &Aligning) -> Result<Arc<dyn Kernel>> {
    match aligning.aligner {
        plan::Aligner::None(_) => Ok(Arc::new(make_unaligned_writer(aligning))),
        #[cfg(feature = "bwa")]
        plan::Aligner::Bwa(ref options) => {
            use readmill_align::bwa;
            let prefix = bwa::FILES.find_prefix(aligning.reference()?)?;
            Ok(Arc::new(bwa::BwaKernel::without_index(&prefix, (**options).clone())?))
        }
        #[cfg(feature = "minibwa")]
        plan::Aligner::Minibwa(ref options) => {
            use readmill_align::minibwa;
            let prefix = minibwa::FILES.find_prefix(aligning.reference()?)?;
            Ok(Arc::new(minibwa::MinibwaKernel::without_index(&prefix, (**options).clone())?))
        }
    }
}

/// Returns the paths of all files of the aligner's index. Jobs in stages check that they do not
/// change.
pub fn index_files(aligning: &Aligning) -> Result<Vec<PathBuf>> {
    match aligning.aligner {
        plan::Aligner::None(_) => Ok(Vec::new()),
        #[cfg(feature = "bwa")]
        plan::Aligner::Bwa(_) => {
            use readmill_align::bwa::FILES;
            Ok(FILES.file_paths(&FILES.find_prefix(aligning.reference()?)?))
        }
        #[cfg(feature = "minibwa")]
        plan::Aligner::Minibwa(_) => {
            use readmill_align::minibwa::FILES;
            Ok(FILES.file_paths(&FILES.find_prefix(aligning.reference()?)?))
        }
    }
}

pub fn load_index(aligning: &Aligning) -> Result<Arc<dyn Kernel>> {
    match aligning.aligner {
        plan::Aligner::None(_) => Ok(Arc::new(make_unaligned_writer(aligning))),
        #[cfg(feature = "bwa")]
        plan::Aligner::Bwa(ref options) => {
            use readmill_align::bwa;
            let prefix = bwa::FILES.find_prefix(aligning.reference()?)?;
            Ok(Arc::new(bwa::BwaKernel::load(&prefix, (**options).clone())?))
        }
        #[cfg(feature = "minibwa")]
        plan::Aligner::Minibwa(ref options) => {
            use readmill_align::minibwa;
            let prefix = minibwa::FILES.find_prefix(aligning.reference()?)?;
            Ok(Arc::new(minibwa::MinibwaKernel::load(&prefix, (**options).clone())?))
        }
    }
}

/// Logs how many reference sequences are alternate loci, and warns about lines of their list that
/// the aligner ignores.
pub fn report_alternates(kernel: &dyn Kernel, console: &Console) {
    let alternates = kernel.contigs().iter().filter(|contig| contig.alternate).count();
    if alternates > 0 {
        let of = kernel.contigs().len();
        console
            .write_note(&format!("{alternates} of {of} reference sequences are alternate loci (ALT)"));
    }
    kernel.warnings().iter().for_each(|warning| console.write_warning(warning));
}

/// Returns the header of aligned reads: the reference sequences of the index, the read groups of
/// all lanes, the aligner, and the read groups, programs and comments of the unaligned files. If
/// IDs of two headers collide, passes the new IDs to `unaligned`.
pub fn build_header(
    aligning: &Aligning,
    kernel: &dyn Kernel,
    unaligned: &mut [Unaligned],
    no_pg: bool,
) -> Result<Header> {
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\tGO:query\n").into_bytes();
    for contig in kernel.contigs() {
        let alternate = if contig.alternate { "\tAH:*" } else { "" };
        text.extend(format!("@SQ\tSN:{}\tLN:{}{alternate}\n", contig.name, contig.length).bytes());
    }
    let mut groups = Vec::new();
    for group in aligning.lanes.iter().filter_map(|lane| lane.group.as_ref()) {
        if !groups.contains(&group.text()) {
            groups.push(group.text());
            text.extend_from_slice(group.text());
            text.push(b'\n');
        }
    }
    let import = aligning.aligner.import();
    for comment in import.iter().flat_map(|import| &import.comments) {
        text.extend(format!("@CO\t{comment}\n").bytes());
    }
    let mut header = Header::parse(&text)?;
    if import.is_some() {
        unaligned.iter_mut().for_each(Unaligned::keep_duplicate_flags);
    }
    if !unaligned.is_empty() {
        let theirs = unaligned.iter().map(|it| it.header_about_reads(import.is_some()));
        let all = std::iter::once(Ok(header)).chain(theirs).collect::<Result<Vec<_>>>()?;
        let merged = Header::merge(&all)?;
        header = merged.header;
        header.set_order(b"unsorted", Some(b"query"), None);
        unaligned
            .iter_mut()
            .zip(merged.renames.into_iter().skip(1))
            .for_each(|(it, new)| it.set_renames(new));
    }
    if !no_pg && import.is_none() {
        let call = format!(
            "{} {} {}",
            kernel.program_name(),
            kernel.subcommand_name(),
            aligning.words.join(" ")
        );
        header.add_program(kernel.program_name(), &kernel.program_version(), &call)?;
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use readmill_record::Read;

    use super::*;

    #[test]
    fn pieces_have_so_many_bases_or_one_template() {
        let mut reads = ReadBatch::new(2, 0);
        let lengths = [10_000; 52].into_iter().chain([2_144, 2_145, 2_144, 2_144, 200_000, 1, 1, 1]);
        for length in lengths {
            let bases = vec![b'A'; length];
            reads.push_read(Read { name: b"r", comment: b"", bases: &bases, qualities: None });
        }
        let (mut from, mut ends) = (0, Vec::new());
        while from < 30 {
            from = find_piece_end(&reads, from..30);
            ends.push(from);
        }
        assert_eq!(ends, [26, 28, 29, 30], "520,000, not 524,289; 8,577, not with 200,000; 200,001; 2");
        assert_eq!(find_piece_end(&reads, 0..1), 1);
    }

    #[test]
    fn what_would_do_for_a_long_read_is_four_times_as_much() {
        let room = AlignRoom { reads: 0, long: 0, others: 1000, left: 16 };
        assert_eq!([room.min_memory_for(100), room.min_memory_for(4)], [1400, 1020]);
    }
}
