//! `readmill align`: reads of FASTQ files, aligned and prepared in one pass; which aligner, and how it aligns.

#[cfg(feature = "bwa")]
mod bwa;
#[cfg(feature = "bwa")]
mod complete_index;
#[cfg(feature = "minibwa")]
mod minibwa;
mod read_tags;
mod shared;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use readmill::allocator::Heaps;
use readmill::plan::{self, Aligner, Aligning, Command, Destination, Lane};
use readmill::{Plan, memory};
use readmill_filters::tally::adapters as adapter_tally;
use readmill_format::reference::Fasta;
use readmill_record::header::HeaderLine;
use readmill_record::{Error, Result};

use super::common::OutputFlags;
use super::hints::{is_named_as_records, no_output};
use super::prep::StepFlags;
use super::shard::ResumeFlag;
use shared::SharedFlags;

#[cfg(feature = "bwa")]
use bwa::BwaFlags;
#[cfg(feature = "minibwa")]
use minibwa::MinibwaFlags;

/// Flags of aligning, and of any combination of steps.
#[derive(Args)]
#[command(
    mut_arg("threads", |arg| arg.short_alias('t')),
    after_help = "Records are those of the aligner itself, of bwa mem 0.7.17 or minibwa 0.6, with -K 100000000, whatever the \
number of threads. The index beside REF is that of bwa-mem2 or minibwa: readmill index REF makes it. Steps are applied in the order that readmill prep --help tells."
)]
pub struct AlignArgs {
    /// Reference: FASTA, plain or by gzip, with its index beside it
    #[arg(value_name = "REF")]
    fasta: PathBuf,
    /// FASTQ files, plain, by gzip, bgzip or zstd; - for standard input. Two are a pair, four are two lanes of pairs, and so on; one alone has single reads. Or SAM, BAM or CRAM files of reads that are not aligned, each a lane
    #[arg(value_name = "READS", required = true)]
    reads: Vec<PathBuf>,
    /// Each file has single reads, however many there are
    #[arg(long, conflicts_with = "interleaved")]
    single: bool,
    /// Each file has both reads of each pair, one after the other
    #[arg(short = 'p', long)]
    interleaved: bool,
    /// Take FASTQ files as they are given, even where names or comments of their first reads say otherwise: that R2 comes before R1, or that pairs alternate in one file
    #[arg(long)]
    as_given: bool,
    /// Each file is SAM, BAM or CRAM, of reads that are not aligned: for pipes, as files show it
    #[arg(long, conflicts_with_all = ["single", "interleaved"])]
    unaligned: bool,
    /// If REF has an index of bwa 0.7 alone, first make REF.bwt.2bit.64 beside it, which bwa does not have; several runs that start together make it once
    #[arg(long)]
    complete_index: bool,
    /// Read group, such as '@RG\tID:lane1\tSM:sample'; given once for all files, or once for each lane
    #[arg(short = 'R', long = "rg", value_name = "LINE", value_parser = plan::read_group)]
    groups: Vec<HeaderLine>,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    resume: ResumeFlag,
    #[command(flatten)]
    steps: StepFlags,
    #[command(flatten)]
    read_tags: read_tags::ReadTagFlags,
    #[command(flatten)]
    adapters: read_tags::AdapterFlags,
    #[command(flatten)]
    kernel: KernelFlags,
}

impl AlignArgs {
    /// A heap for each thread.
    pub fn heaps(&self) -> Heaps {
        Heaps::Aligning(self.output.threads())
    }

    /// Makes what the index lacks, if that is asked for.
    pub fn complete_index(&self) -> Result<()> {
        if !self.complete_index {
            return Ok(());
        }
        match self.kernel.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => {
                complete_index::complete(&self.fasta, self.output.memory(), self.output.is_quiet())
            }
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => Err(Error::usage("--complete-index is for --kernel bwa")
                .hint("make the index: readmill index --kernel minibwa REF")),
        }
    }

    pub fn resume(&self) -> &ResumeFlag {
        &self.resume
    }

    pub fn plan(&self) -> Result<Plan> {
        if let [_, .., last] = &self.reads[..]
            && !self.output.is_named()
            && is_named_as_records(last)
        {
            return Err(no_output(&self.reads, &[("-o", last)]));
        }
        let reference = self.output.reference().unwrap_or(&self.fasta);
        let steps = self.steps.steps(Some(reference))?;
        let (aligner, words) = self.kernel.aligner()?;
        let mut plan = self.output.plan(Command::Align, self.reads.clone(), steps)?;
        plan.tallies.sample = self.steps.sample();
        plan.tallies.files.extend(self.adapters.metrics().map(|file| (&adapter_tally::SPEC, file)));
        if plan.resources.reference.is_none() && self.fasta.is_file() {
            let fasta = Fasta::new(&self.fasta);
            plan.resources.reference = Some(fasta.clone());
            if let Destination::Main(output, _) = &mut plan.destination {
                output.cram.reference = Some(fasta.clone());
            }
        }
        let aligning = Aligning {
            reference: self.fasta.clone(),
            lanes: self.lanes()?,
            read_tags: self.read_tags.read_tags(self.adapters.rules()?, self.adapters.words()),
            aligner,
            words,
            as_given: self.as_given,
        };
        if self.output.memory().is_none() {
            plan.resources.memory = plan
                .resources
                .memory
                .saturating_add(memory::of_aligning(&aligning, plan.resources.threads)?);
        }
        plan.aligning = Some(aligning);
        Ok(plan)
    }

    fn lanes(&self) -> Result<Vec<Lane>> {
        let reads = &self.reads;
        let records = self.unaligned || reads.iter().any(|path| readmill_fastq::holds_records(path));
        if records {
            return self.lanes_of_records();
        }
        let each = if self.single || self.interleaved || reads.len() == 1 { 1 } else { 2 };
        if !reads.len().is_multiple_of(each) {
            return Err(Error::usage(format!("{} files are not pairs of files", reads.len()))
                .hint("give two for each lane; or say --single, or --interleaved"));
        }
        let lanes = reads.len() / each;
        if self.groups.len() > 1 && self.groups.len() != lanes {
            return Err(Error::usage(format!(
                "there are {} read groups for {lanes} lanes",
                self.groups.len()
            ))
            .hint("give -R once, or once for each lane, in their order"));
        }
        let group = |lane: usize| self.groups.get(if self.groups.len() > 1 { lane } else { 0 }).cloned();
        let lane = |(at, files): (usize, &[PathBuf])| Lane {
            files: files.to_vec(),
            interleaved: self.interleaved,
            records: false,
            group: group(at),
        };
        Ok(reads.chunks(each).enumerate().map(lane).collect())
    }

    /// Files whose records say what FASTQ leaves to flags.
    fn lanes_of_records(&self) -> Result<Vec<Lane>> {
        if !self.groups.is_empty() {
            return Err(Error::usage("reads of SAM, BAM and CRAM keep their read groups")
                .hint("leave -R out; --read-group puts all reads into one"));
        }
        if self.single || self.interleaved || self.read_tags.says_comments() {
            return Err(Error::usage("--single, -p and -C are for FASTQ")
                .hint("leave them out: records of SAM, BAM and CRAM tell themselves"));
        }
        let lane = |path: &PathBuf| {
            let records = self.unaligned || readmill_fastq::holds_records(path);
            Lane { files: vec![path.clone()], interleaved: false, records, group: None }
        };
        Ok(self.reads.iter().map(lane).collect())
    }
}

/// An aligner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// bwa mem
    #[cfg(feature = "bwa")]
    #[default]
    Bwa,
    /// minibwa
    #[cfg(feature = "minibwa")]
    #[cfg_attr(not(feature = "bwa"), default)]
    Minibwa,
}

/// The aligner and its options.
#[derive(Args)]
#[command(next_help_heading = "Alignment")]
pub struct KernelFlags {
    /// Aligner; each has an index of its own
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    kernel: KernelName,
    #[command(flatten)]
    shared: SharedFlags,
    #[cfg(feature = "bwa")]
    #[command(flatten)]
    bwa: BwaFlags,
    #[cfg(feature = "minibwa")]
    #[command(flatten)]
    minibwa: MinibwaFlags,
}

impl KernelFlags {
    /// The aligner with its options, and the words that say them.
    pub fn aligner(&self) -> Result<(Aligner, Vec<String>)> {
        match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => {
                #[cfg(feature = "minibwa")]
                refuse(self.minibwa.is_given(), "--minibwa is for --kernel minibwa")?;
                let (options, words) = self.bwa.options(&self.shared)?;
                Ok((Aligner::Bwa(Box::new(options)), words))
            }
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => {
                #[cfg(feature = "bwa")]
                refuse(self.bwa.is_given(), "--bwa and -M are for --kernel bwa")?;
                let (options, words) = self.minibwa.options(&self.shared)?;
                Ok((Aligner::Minibwa(Box::new(options)), words))
            }
        }
    }
}

#[cfg(all(feature = "bwa", feature = "minibwa"))]
fn refuse(given: bool, what: &str) -> Result<()> {
    if given { Err(readmill_record::Error::usage(what)) } else { Ok(()) }
}
