//! `readmill align`: aligns FASTQ files or unaligned records, and processes the alignments in the
//! same pass. Each aligner has its own module for its flags.

#[cfg(feature = "bwa")]
mod bwa;
#[cfg(feature = "bwa")]
mod complete_index;
#[cfg(feature = "minibwa")]
mod minibwa;
mod shared;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use readmill::addons::ReadTally;
use readmill::plan::{Aligner, Aligning, Command, Destination};
use readmill::{Plan, memory};
use readmill_format::reference::LazyReference;
use readmill_process::allocator::Heaps;
use readmill_process::limit;
use readmill_record::Result;
use readmill_stats::adapters as adapter_tally;

use super::common::OutputFlags;
use super::prep::StepFlags;
use super::read_tags;
use super::reads::ReadsFlags;
use super::shard::ResumeFlag;
use super::trim_flags::TrimFlags;
use shared::SharedFlags;

#[cfg(feature = "bwa")]
use bwa::BwaFlags;
#[cfg(feature = "minibwa")]
use minibwa::MinibwaFlags;

#[derive(Args)]
#[command(
    mut_arg("threads", |arg| arg.short_alias('t')),
    after_help = "Alignments are the same as those of bwa mem 0.7.17 or minibwa 0.6 with -K 100000000, for any number of threads. readmill index REF builds the index, in the format of bwa-mem2 or minibwa. readmill prep --help describes the order of the steps."
)]
pub struct AlignArgs {
    /// Reference FASTA, plain or gzip, with its index in the same directory
    #[arg(value_name = "REF")]
    fasta: PathBuf,
    #[command(flatten)]
    reads: ReadsFlags,
    /// Before aligning, complete a bwa 0.7 index, which lacks the file REF.bwt.2bit.64
    ///
    /// The file is built only once, even if several runs start at the same time. If the file
    /// exists, the flag has no effect.
    #[arg(long)]
    complete_index: bool,
    #[command(flatten)]
    kernel: KernelFlags,
    #[command(flatten)]
    trim: TrimFlags,
    #[command(flatten)]
    adapters: read_tags::AdapterFlags,
    #[command(flatten)]
    read_tags: read_tags::ReadTagFlags,
    #[command(flatten)]
    steps: StepFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    resume: ResumeFlag,
}

impl AlignArgs {
    pub fn heaps(&self) -> Heaps {
        Heaps::Aligning(self.output.threads())
    }

    /// Builds the file that a bwa 0.7 index lacks, if `--complete-index` is given. Must be called
    /// before [`AlignArgs::build_plan`].
    pub fn complete_index_if_asked(&self) -> Result<()> {
        if !self.complete_index {
            return Ok(());
        }
        match self.kernel.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => complete_index::complete_bwa_index(
                &self.fasta,
                self.output.memory(),
                self.output.is_quiet(),
            ),
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => {
                Err(readmill_record::Error::usage("--complete-index works only with --kernel bwa")
                    .hint("build the index: readmill index --kernel minibwa REF"))
            }
        }
    }

    pub fn resume(&self) -> &ResumeFlag {
        &self.resume
    }

    pub fn build_plan(&self) -> Result<Plan> {
        self.reads.check_output(self.output.is_named())?;
        let reference = self.output.reference().unwrap_or(&self.fasta);
        let steps = self.steps.to_steps(Some(reference))?;
        let (aligner, words) = self.kernel.to_aligner()?;
        let mut plan = self.output.build_plan(Command::Align, self.reads.files(), steps)?;
        plan.reports.sample = self.steps.sample_name();
        if let Some(file) = self.adapters.metrics_file() {
            plan.reports.add_ons.push(ReadTally::new(&adapter_tally::SPEC, file));
        }
        if plan.resources.reference.is_none() && self.fasta.is_file() {
            let fasta = LazyReference::new(&self.fasta);
            plan.resources.reference = Some(fasta.clone());
            if let Destination::Main(output, _) = &mut plan.destination {
                output.bases.reference = Some(fasta.clone());
            }
        }
        let mut read_tags = self
            .read_tags
            .build_request(self.adapters.build_adapter_rules()?, self.adapters.command_words());
        self.reads.divide_structures(&mut read_tags);
        plan.inputs.extend(self.reads.index_files());
        let aligning = Aligning {
            reference: Some(self.fasta.clone()),
            lanes: self.reads.build_lanes(self.read_tags.uses_comments())?,
            read_tags,
            trimming: self.trim.build_trimming(),
            aligner,
            words,
            as_given: self.reads.as_given(),
            warnings: self.reads.warnings(),
        };
        if self.output.memory().is_none() {
            let more = memory::aligning_bytes(&aligning, plan.resources.threads)?;
            plan.resources.memory =
                limit::cap_to_address_space(plan.resources.memory.saturating_add(more));
        }
        plan.aligning = Some(aligning);
        Ok(plan)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// Use bwa mem
    #[cfg(feature = "bwa")]
    #[default]
    Bwa,
    /// Use minibwa
    #[cfg(feature = "minibwa")]
    #[cfg_attr(not(feature = "bwa"), default)]
    Minibwa,
}

#[derive(Args)]
#[command(next_help_heading = "Alignment")]
pub struct KernelFlags {
    /// Aligner. Each aligner needs its own index
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
    /// Returns the aligner with its options, and the same options as words for `CL` of the `@PG`
    /// line.
    pub fn to_aligner(&self) -> Result<(Aligner, Vec<String>)> {
        match self.kernel {
            #[cfg(feature = "bwa")]
            KernelName::Bwa => {
                #[cfg(feature = "minibwa")]
                refuse_if(self.minibwa.is_given(), "--minibwa works only with --kernel minibwa")?;
                let (options, words) = self.bwa.to_options(&self.shared)?;
                Ok((Aligner::Bwa(Box::new(options)), words))
            }
            #[cfg(feature = "minibwa")]
            KernelName::Minibwa => {
                #[cfg(feature = "bwa")]
                refuse_if(self.bwa.is_given(), "--bwa and -M work only with --kernel bwa")?;
                let (options, words) = self.minibwa.to_options(&self.shared)?;
                Ok((Aligner::Minibwa(Box::new(options)), words))
            }
        }
    }
}

#[cfg(all(feature = "bwa", feature = "minibwa"))]
fn refuse_if(given: bool, what: &str) -> Result<()> {
    if given { Err(readmill_record::Error::usage(what)) } else { Ok(()) }
}
