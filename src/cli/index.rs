//! `readmill index` and `readmill faidx`: write the index of a file, and read sequences
//! by it.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::console::{Console, log};
use readmill::files::FileOutput;
use readmill::indexing::{self, Content, IndexOptions};
use readmill::limit;
use readmill::plan::{Choice, Verbosity, one_of, parse_size};
#[cfg(any(feature = "bwa", feature = "minibwa"))]
use readmill_align::Stage;
use readmill_format::bam::index::IndexFormat;
use readmill_format::reference::Reference;
use readmill_format::tabix::Preset;
use readmill_record::{Error, ErrorKind, Ledger, Result};

#[cfg(any(feature = "bwa", feature = "minibwa"))]
use super::align::KernelName;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
use super::aligner_index::complete_or_gone;
use super::common::{MemoryFlag, environment_memory};

/// Flags of making an index.
#[derive(Args)]
#[command(after_help = "The content of a file decides, not its name:
  BAM, SAM by bgzip       FILE.bai; FILE.csi with -c, or if a contig is too long for a BAI
  CRAM                    FILE.crai
  VCF, BED, GFF by bgzip  FILE.tbi; FILE.csi with -c
  BCF                     FILE.csi
  FASTA                   the index of readmill align, FILE.fai, and FILE.gzi if it is compressed by bgzip

The index of the aligner has the files of bwa-mem2 2.2.1, or of minibwa 0.6, byte for byte, so either program reads the \
other's. Making them takes about 10 bytes of memory a base of the reference, 18 from 2^30 bases on.

  readmill index sample.bam          # writes sample.bam.bai
  readmill index ref.fa              # once, for readmill align")]
pub struct IndexArgs {
    /// BAM, CRAM, FASTA, BCF; or SAM, VCF, BED or GFF compressed by bgzip
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Write a BAI
    #[arg(short, long, conflicts_with = "csi")]
    bai: bool,
    /// Write a CSI
    #[arg(short, long)]
    csi: bool,
    /// The most memory, as in -m 2G: an index that needs more is refused. A number from 1 to 30 is that of samtools: write a CSI whose smallest bins have 2^N bases
    #[arg(short, long, value_name = "SIZE|N", value_parser = parse_amount)]
    memory: Option<Amount>,
    /// Name of the index; of a FASTA, prefix of the names of the aligner's files [default: FILE and the usual end]
    #[arg(short, long, value_name = "NAME", alias = "prefix")]
    output: Option<PathBuf>,
    /// What the text is, where its lines do not tell: vcf, bed or gff
    #[arg(short, long, value_name = "KIND", value_parser = one_of(PRESETS))]
    preset: Option<Preset>,
    /// Threads in all, not in addition; 0 means one, as in samtools [default: what this process may use]
    #[arg(short = '@', long, value_name = "N", env = "READMILL_THREADS", allow_negative_numbers = true)]
    threads: Option<u16>,
    /// Accept a file that lacks its end-of-file marker
    #[arg(long)]
    allow_missing_eof: bool,
    /// The aligner that will read the index of a FASTA
    #[cfg(any(feature = "bwa", feature = "minibwa"))]
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    kernel: KernelName,
    /// Write REF.0123, too, which bwa-mem2 reads and readmill does not
    #[cfg(feature = "bwa")]
    #[arg(long)]
    unpacked: bool,
    /// All files are indexed, with or without this flag of samtools
    #[arg(short = 'M', hide = true)]
    several: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

const PRESETS: &[Choice<Preset>] = &[
    Choice { value: Preset::Vcf, name: "vcf", aliases: &[], help: "" },
    Choice { value: Preset::Bed, name: "bed", aliases: &[], help: "" },
    Choice { value: Preset::Gff, name: "gff", aliases: &["gtf"], help: "" },
];

/// The value of `-m`. In samtools index it is the size of bins; here it is also the
/// memory.
#[derive(Clone, Copy)]
enum Amount {
    Memory(u64),
    /// The base-2 logarithm of the number of bases in the smallest bin of a CSI.
    MinShift(u8),
}

fn parse_amount(text: &str) -> std::result::Result<Amount, String> {
    match text.parse::<u8>() {
        Ok(shift @ 1..=30) => Ok(Amount::MinShift(shift)),
        _ => parse_size(text).map(Amount::Memory),
    }
}

impl IndexArgs {
    pub fn run(&self) -> Result<()> {
        if self.files.len() > 1 && self.output.is_some() {
            return Err(Error::usage("-o names one index, and there are several files")
                .hint("leave -o out, or index each file by a command of its own"));
        }
        let one = |file: &PathBuf| match indexing::content(file, self.preset)? {
            Content::Fasta => self.fasta(file),
            content => self.file(file, &content),
        };
        // If one file cannot be indexed, the others are still indexed, and the last
        // error is returned.
        let mut failed: Option<Error> = None;
        super::hints::refuse_picard_arguments(&self.files)?;
        for file in &self.files {
            if let Err(error) = one(file)
                && let Some(before) = failed.replace(error)
            {
                log(&format!("readmill: error: {before}"));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns the memory limit from the flag or the environment, or else the limit of
    /// the address space.
    fn memory(&self) -> Result<Option<u64>> {
        match self.memory {
            Some(Amount::Memory(bytes)) => Ok(Some(bytes)),
            // Without a limit, a failed allocation would end the process.
            _ => Ok(environment_memory()?.or_else(limit::address_space_left)),
        }
    }

    fn min_shift(&self) -> Option<u8> {
        match self.memory {
            Some(Amount::MinShift(shift)) => Some(shift),
            _ => None,
        }
    }

    fn file(&self, file: &Path, content: &Content) -> Result<()> {
        let verbosity = if self.quiet { Verbosity::Quiet } else { Verbosity::Normal };
        let kind = match (self.bai, self.csi) {
            (true, _) if self.min_shift().is_some() => {
                return Err(Error::usage("-m N is for CSI indexes, and -b asks for a BAI")
                    .hint("leave one of them out; for memory, write a unit: -m 2G"));
            }
            (true, _) => Some(IndexFormat::Bai),
            (_, true) => Some(IndexFormat::Csi),
            _ => None,
        };
        let memory = self.memory()?.unwrap_or_else(limit::default_limit);
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
        let made = indexing::index(file, content, &options, &Console::new(verbosity))?;
        #[cfg(debug_assertions)]
        readmill::audit::check(memory)?;
        self.say(&format!("wrote {}, of {} records", made.path.display(), made.records));
        Ok(())
    }

    fn fasta(&self, reference: &Path) -> Result<()> {
        if self.bai || self.csi || self.min_shift().is_some() {
            return Err(Error::usage("a FASTA has no BAI or CSI index")
                .hint("leave -b, -c and -m N out; for memory, write a unit: -m 8G"));
        }
        #[cfg(any(feature = "bwa", feature = "minibwa"))]
        self.aligner(reference)?;
        if !reference.is_file() {
            return Ok(()); // it was a pipe, and the aligner has read it
        }
        let ledger = Ledger::of(self.memory()?.unwrap_or_else(limit::default_limit));
        match indexing::faidx(reference, None, &ledger) {
            Ok(written) => {
                warn_of(&written);
                written.files.iter().for_each(|file| self.say(&format!("wrote {}", file.display())));
            }
            Err(error) if cfg!(any(feature = "bwa", feature = "minibwa")) => {
                log(&format!("readmill: warning: {}.fai was not written: {error}", reference.display()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            log(&format!("readmill: {line}"));
        }
    }
}

#[cfg(any(feature = "bwa", feature = "minibwa"))]
impl IndexArgs {
    fn aligner(&self, reference: &Path) -> Result<()> {
        let prefix = self.output.as_deref().unwrap_or(reference);
        match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => self.bwa(reference, prefix)?,
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => self.minibwa(reference, prefix)?,
        }
        let ends = match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => "amb, .ann, .pac and .bwt.2bit.64",
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => "l2b and .mbw",
        };
        let file = prefix.display();
        self.say(&format!("wrote the index of readmill align, which bwa does not read: {file}.{ends}"));
        Ok(())
    }

    fn tell(&self, stage: Stage) {
        match stage {
            Stage::Read => self.say("reading the reference"),
            Stage::Sort => self.say("sorting its suffixes, which takes longest"),
            Stage::Write => self.say("writing the index"),
            Stage::Name => {}
        }
    }

    #[cfg(feature = "bwa")]
    fn bwa(&self, reference: &Path, prefix: &Path) -> Result<()> {
        use readmill_align::bwa::{IndexOptions, build_index, unfinished};
        let options = IndexOptions { memory: self.memory()?, unpacked: self.unpacked };
        complete_or_gone(prefix, &unfinished(prefix), |report| {
            build_index(reference, prefix, options, &mut |stage| {
                self.tell(stage);
                report(stage);
            })
        })
    }

    #[cfg(feature = "minibwa")]
    fn minibwa(&self, reference: &Path, prefix: &Path) -> Result<()> {
        use readmill_align::minibwa::{build_index, unfinished};
        #[cfg(feature = "bwa")]
        if self.unpacked {
            return Err(Error::usage("--unpacked is for --kernel bwa"));
        }
        let memory = self.memory()?;
        complete_or_gone(prefix, &unfinished(prefix), |report| {
            build_index(reference, prefix, memory, &mut |stage| {
                self.tell(stage);
                report(stage);
            })
        })
    }
}

/// Flags of the index of a FASTA alone.
#[derive(Args)]
#[command(
    after_help = "  readmill faidx ref.fa                    # writes ref.fa.fai; ref.fa.gz gets a .gzi, too
  readmill faidx ref.fa chr1:1-2000 chrM   # prints sequences, as samtools faidx"
)]
pub struct FaidxArgs {
    /// FASTA, plain or compressed by bgzip
    #[arg(value_name = "REF")]
    reference: PathBuf,
    /// Print the sequences of these regions, such as chr1 or chr1:1-2000; an index that is not there yet is written first
    #[arg(value_name = "REGION")]
    regions: Vec<String>,
    /// The file of the sequences [default: -, which is standard output]
    #[arg(short, long, value_name = "FILE", requires = "regions")]
    output: Option<PathBuf>,
    /// Bases in a line of a sequence; 0 for one line
    #[arg(short = 'n', long, value_name = "N", requires = "regions")]
    length: Option<usize>,
    /// The name of the index to write [default: REF.fai]
    #[arg(long, value_name = "FILE", conflicts_with = "regions")]
    fai_idx: Option<PathBuf>,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    pub memory: MemoryFlag,
}

fn warn_of(written: &indexing::WrittenIndex) {
    written.notes.iter().for_each(|note| log(&format!("readmill: warning: {note}")));
}

impl FaidxArgs {
    pub fn run(&self, ledger: &Ledger) -> Result<()> {
        if self.regions.is_empty() {
            let written = indexing::faidx(&self.reference, self.fai_idx.as_deref(), ledger)?;
            warn_of(&written);
            if !self.quiet {
                written
                    .files
                    .iter()
                    .for_each(|file| log(&format!("readmill: wrote {}", file.display())));
            }
            return Ok(());
        }
        // As in samtools, the index is written for later runs.
        if !indexing::files_of(&self.reference)[1].exists() {
            match indexing::faidx(&self.reference, None, ledger) {
                Ok(written) => warn_of(&written),
                // The index is also built in memory, so the sequences can be read
                // without the file.
                Err(error) if error.kind == ErrorKind::Io => {
                    log(&format!("readmill: note: no index is kept: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        let reference = Reference::open(&self.reference, ledger).map_err(|e| e.file(&self.reference))?;
        let [fasta, fai, gzi] = &indexing::files_of(&self.reference);
        let mut out = FileOutput::open(self.output.as_deref(), &[fasta, fai, gzi])?;
        indexing::sequences(&reference, &self.regions, self.length, &mut out)?;
        out.finish()
    }
}
