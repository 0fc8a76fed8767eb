//! `readmill index` and `readmill faidx`: write the index of a file, and print sequences by means
//! of an index.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::plan::{Choice, Verbosity, choice_parser};
#[cfg(any(feature = "bwa", feature = "minibwa"))]
use readmill_align::IndexStage;
use readmill_files::FileOutput;
use readmill_files::indexing::{self, IndexOptions, IndexableContent};
use readmill_format::bam::index::IndexFormat;
use readmill_format::reference::Reference;
use readmill_format::tabix::TextPreset;
use readmill_process::console::{Console, write_log_line};
use readmill_process::limit;
use readmill_process::memory_size::{parse_size, read_environment_memory};
use readmill_record::{Error, ErrorKind, Ledger, Result};

#[cfg(any(feature = "bwa", feature = "minibwa"))]
use super::align::KernelName;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
use super::aligner_index::build_index_or_remove;
use super::common::MemoryFlag;

#[derive(Args)]
#[command(after_help = "The kind of index depends on the content of the file, not on its name:
  BAM, SAM.gz (bgzip)     FILE.bai; FILE.csi with -c, or if a contig is too long for a BAI
  CRAM                    FILE.crai
  VCF, BED, GFF (bgzip)   FILE.tbi; FILE.csi with -c
  BCF                     FILE.csi
  FASTA                   the index for readmill align, FILE.fai, and FILE.gzi (only with bgzip)

The index for readmill align is identical to that of bwa-mem2 2.2.1 or minibwa 0.6, so either program can read the other's index. Building it takes about 10 bytes of memory per base of the reference, or 18 bytes if the reference has 2^30 bases or more.")]
pub struct IndexArgs {
    /// Files to index: BAM, CRAM, BCF, FASTA, or SAM, VCF, BED or GFF compressed with bgzip
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Write a BAI index
    #[arg(short, long, conflicts_with = "csi")]
    bai: bool,
    /// Write a CSI index
    #[arg(short, long)]
    csi: bool,
    /// Memory limit, such as 2G. A plain number from 1 to 30 sets the CSI bin size instead (as
    /// samtools -m)
    ///
    /// An index that needs more memory is an error. With a plain number N, readmill writes a CSI
    /// index whose smallest bins have 2^N bases.
    #[arg(short, long, value_name = "SIZE|N", value_parser = parse_amount)]
    memory: Option<MemoryOrMinShift>,
    /// Name of the index file [default: FILE with the usual extension]
    ///
    /// For FASTA, NAME is the prefix of the index files for readmill align.
    #[arg(short, long, value_name = "NAME", alias = "prefix")]
    output: Option<PathBuf>,
    /// Format of a text file, if it cannot be detected: vcf, bed or gff
    #[arg(short, long, value_name = "KIND", value_parser = choice_parser(PRESET_CHOICES))]
    preset: Option<TextPreset>,
    /// Total number of threads [default: all available]
    ///
    /// 0 means 1, as in samtools.
    #[arg(short = '@', long, value_name = "N", env = "READMILL_THREADS", allow_negative_numbers = true)]
    threads: Option<u16>,
    /// Accept a file without end-of-file marker
    #[arg(long)]
    allow_missing_eof: bool,
    /// Aligner for which a FASTA file is indexed
    #[cfg(any(feature = "bwa", feature = "minibwa"))]
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    kernel: KernelName,
    /// Also write REF.0123, which bwa-mem2 needs and readmill does not
    #[cfg(feature = "bwa")]
    #[arg(long)]
    unpacked: bool,
    /// Ignored: all given files are always indexed (samtools index -M)
    #[arg(short = 'M', hide = true)]
    several: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

const PRESET_CHOICES: &[Choice<TextPreset>] = &[
    Choice { value: TextPreset::Vcf, name: "vcf", aliases: &[], help: "" },
    Choice { value: TextPreset::Bed, name: "bed", aliases: &[], help: "" },
    Choice { value: TextPreset::Gff, name: "gff", aliases: &["gtf"], help: "" },
];

/// The value of `-m`: the bin size of a CSI index, as in samtools index, or a memory limit in
/// bytes.
#[derive(Clone, Copy)]
enum MemoryOrMinShift {
    Memory(u64),
    /// The base-2 logarithm of the number of bases in the smallest bin of a CSI index (`min_shift`
    /// in the CSI specification).
    MinShift(u8),
}

/// Minimum memory limit that is not taken for a mistyped bin size, in bytes.
const MIN_MEMORY_BYTES: u64 = 1 << 20;

fn parse_amount(text: &str) -> std::result::Result<MemoryOrMinShift, String> {
    match text.parse::<u8>() {
        Ok(shift @ 1..=30) => Ok(MemoryOrMinShift::MinShift(shift)),
        _ => match parse_size(text)? {
            bytes @ ..MIN_MEMORY_BYTES => Err(format!(
                "{bytes} bytes are too few; give a bin size from 1 to 30, or a memory limit with a unit, such as 64M"
            )),
            bytes => Ok(MemoryOrMinShift::Memory(bytes)),
        },
    }
}

impl IndexArgs {
    pub fn run_index_command(&self) -> Result<()> {
        if self.files.len() > 1 && self.output.is_some() {
            return Err(Error::usage("-o names one index file, but several inputs are given")
                .hint("omit -o, or run the command once for each file"));
        }
        let one = |file: &PathBuf| match indexing::detect_content(file, self.preset)? {
            IndexableContent::Fasta => self.index_fasta(file),
            content => self.index_file(file, &content),
        };
        // If a file cannot be indexed, the other files are still indexed, and the last error is
        // returned.
        let mut failed: Option<Error> = None;
        super::hints::refuse_picard_arguments(&self.files)?;
        for file in &self.files {
            if let Err(error) = one(file)
                && let Some(before) = failed.replace(error)
            {
                write_log_line(&format!("readmill: error: {before}"));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns the memory limit in bytes: from the flag, otherwise from `READMILL_MEMORY`,
    /// otherwise the remaining address space if it is limited (`ulimit -v`). `None` means no limit.
    fn memory_limit(&self) -> Result<Option<u64>> {
        match self.memory {
            Some(MemoryOrMinShift::Memory(bytes)) => Ok(Some(bytes)),
            // Without a limit, a failed allocation would end the process.
            _ => Ok(read_environment_memory()?.or_else(limit::address_space_left)),
        }
    }

    fn min_shift(&self) -> Option<u8> {
        match self.memory {
            Some(MemoryOrMinShift::MinShift(shift)) => Some(shift),
            _ => None,
        }
    }

    fn index_file(&self, file: &Path, content: &IndexableContent) -> Result<()> {
        let verbosity = if self.quiet { Verbosity::Quiet } else { Verbosity::Normal };
        let kind = match (self.bai, self.csi) {
            (true, _) if self.min_shift().is_some() => {
                return Err(Error::usage("-m N applies only to CSI indexes, but -b requests a BAI")
                    .hint("omit one of them; to limit memory, add a unit: -m 2G"));
            }
            (true, _) => Some(IndexFormat::Bai),
            (_, true) => Some(IndexFormat::Csi),
            _ => None,
        };
        let memory = self.memory_limit()?.unwrap_or_else(limit::default_limit);
        let options = IndexOptions {
            kind,
            min_shift: self.min_shift(),
            output: self.output.clone(),
            preset: self.preset,
            threads: self
                .threads
                .map_or_else(limit::available_threads, |threads| usize::from(threads).max(1)),
            memory,
            allow_missing_eof: self.allow_missing_eof,
        };
        let made = indexing::make_index_file(file, content, &options, &Console::new(verbosity))?;
        #[cfg(debug_assertions)]
        readmill::audit::check_limits(memory)?;
        self.log_unless_quiet(&format!("wrote {} ({} records)", made.path.display(), made.records));
        Ok(())
    }

    fn index_fasta(&self, reference: &Path) -> Result<()> {
        if self.bai || self.csi || self.min_shift().is_some() {
            return Err(Error::usage("a BAI or CSI index cannot be made for FASTA")
                .hint("omit -b, -c and -m N; to limit memory, add a unit: -m 8G"));
        }
        #[cfg(any(feature = "bwa", feature = "minibwa"))]
        self.write_aligner_index(reference)?;
        if !reference.is_file() {
            return Ok(()); // it was a pipe, and the aligner has read it
        }
        let ledger = Ledger::with_capacity(self.memory_limit()?.unwrap_or_else(limit::default_limit));
        match indexing::faidx(reference, None, &ledger) {
            Ok(written) => {
                log_index_notes(&written);
                written
                    .files
                    .iter()
                    .for_each(|file| self.log_unless_quiet(&format!("wrote {}", file.display())));
            }
            Err(error) if cfg!(any(feature = "bwa", feature = "minibwa")) => {
                write_log_line(&format!(
                    "readmill: warning: cannot write {}.fai: {error}",
                    reference.display()
                ));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn log_unless_quiet(&self, line: &str) {
        if !self.quiet {
            write_log_line(&format!("readmill: {line}"));
        }
    }
}

#[cfg(any(feature = "bwa", feature = "minibwa"))]
impl IndexArgs {
    fn write_aligner_index(&self, reference: &Path) -> Result<()> {
        let prefix = self.output.as_deref().unwrap_or(reference);
        match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => self.write_bwa_index(reference, prefix)?,
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => self.write_minibwa_index(reference, prefix)?,
        }
        let ends = match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => "amb, .ann, .pac and .bwt.2bit.64",
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => "l2b and .mbw",
        };
        let file = prefix.display();
        self.log_unless_quiet(&format!(
            "wrote the index for readmill align (not for bwa): {file}.{ends}"
        ));
        Ok(())
    }

    fn log_stage(&self, stage: IndexStage) {
        match stage {
            IndexStage::Read => self.log_unless_quiet("reading the reference"),
            IndexStage::Sort => self.log_unless_quiet("sorting suffixes (the longest step)"),
            IndexStage::Write => self.log_unless_quiet("writing the index"),
            IndexStage::Name => {}
        }
    }

    #[cfg(feature = "bwa")]
    fn write_bwa_index(&self, reference: &Path, prefix: &Path) -> Result<()> {
        use readmill_align::bwa::{BwaIndexOptions, build_index, partial_index_files};
        let options = BwaIndexOptions { memory: self.memory_limit()?, unpacked: self.unpacked };
        build_index_or_remove(prefix, &partial_index_files(prefix), |report| {
            build_index(reference, prefix, options, &mut |stage| {
                self.log_stage(stage);
                report(stage);
            })
        })
    }

    #[cfg(feature = "minibwa")]
    fn write_minibwa_index(&self, reference: &Path, prefix: &Path) -> Result<()> {
        use readmill_align::minibwa::{build_index, partial_index_files};
        #[cfg(feature = "bwa")]
        if self.unpacked {
            return Err(Error::usage("--unpacked works only with --kernel bwa"));
        }
        let memory = self.memory_limit()?;
        build_index_or_remove(prefix, &partial_index_files(prefix), |report| {
            build_index(reference, prefix, memory, &mut |stage| {
                self.log_stage(stage);
                report(stage);
            })
        })
    }
}

#[derive(Args)]
#[command(
    after_help = "Without regions, readmill faidx writes REF.fai, and REF.gzi for a file that is compressed with bgzip."
)]
pub struct FaidxArgs {
    /// FASTA file, plain or compressed with bgzip
    #[arg(value_name = "REF")]
    reference: PathBuf,
    /// Print the sequences of these regions, such as chr1 or chr1:1-2000. A missing index is
    /// written first
    #[arg(value_name = "REGION")]
    regions: Vec<String>,
    /// Write the sequences to this file [default: - (standard output)]
    #[arg(short, long, value_name = "FILE", requires = "regions")]
    output: Option<PathBuf>,
    /// Write N bases per line; 0 writes each sequence on one line
    #[arg(short = 'n', long, value_name = "N", requires = "regions")]
    length: Option<usize>,
    /// Write the index to this file [default: REF.fai]
    #[arg(long, value_name = "FILE", conflicts_with = "regions")]
    fai_idx: Option<PathBuf>,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    pub memory: MemoryFlag,
}

fn log_index_notes(written: &indexing::WrittenIndex) {
    written.notes.iter().for_each(|note| write_log_line(&format!("readmill: warning: {note}")));
}

impl FaidxArgs {
    pub fn index_or_print_sequences(&self, ledger: &Ledger) -> Result<()> {
        if self.regions.is_empty() {
            let written = indexing::faidx(&self.reference, self.fai_idx.as_deref(), ledger)?;
            log_index_notes(&written);
            if !self.quiet {
                written
                    .files
                    .iter()
                    .for_each(|file| write_log_line(&format!("readmill: wrote {}", file.display())));
            }
            return Ok(());
        }
        // As in samtools, the index is written for later runs.
        if !indexing::fasta_and_index_paths(&self.reference)[1].exists() {
            match indexing::faidx(&self.reference, None, ledger) {
                Ok(written) => log_index_notes(&written),
                // The index is also built in memory, so the sequences can be read without the file.
                Err(error) if error.kind == ErrorKind::Io => {
                    write_log_line(&format!("readmill: note: the index was not saved: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        let reference = Reference::open(&self.reference, ledger).map_err(|e| e.file(&self.reference))?;
        let [fasta, fai, gzi] = &indexing::fasta_and_index_paths(&self.reference);
        let mut out = FileOutput::open(self.output.as_deref(), &[fasta, fai, gzi])?;
        let warn = |what: &str| write_log_line(&format!("readmill: warning: {what}"));
        indexing::write_sequences(&reference, &self.regions, self.length, warn, &mut out, ledger)?;
        out.finish()
    }
}
