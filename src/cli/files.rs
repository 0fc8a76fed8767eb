//! Small commands on whole files.

use clap::Subcommand;
use readmill_record::Result;
use std::process::ExitCode;

use super::index::{FaidxArgs, IndexArgs};

/// The commands.
#[derive(Subcommand)]
pub enum FileCommand {
    /// Index a file: BAM, CRAM, VCF, BED or FASTA
    Index(IndexArgs),
    /// Index a FASTA for random access, or print sequences of it
    Faidx(FaidxArgs),
}

impl FileCommand {
    /// Carries the command out.
    pub fn run(&self) -> Result<ExitCode> {
        match self {
            FileCommand::Index(it) => it.run().map(|()| ExitCode::SUCCESS),
            FileCommand::Faidx(it) => it.run().map(|()| ExitCode::SUCCESS),
        }
    }
}
