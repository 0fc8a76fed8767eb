//! Subcommands that only tally reads: flagstat, idxstats, stats, checksum.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{Steps, Tallies};
use readmill_record::Result;

use super::common::{InputFlags, ResourceFlags};
use super::hints;

/// Flags of the input and the file of the tally.
#[derive(Args)]
pub struct TallyArgs {
    #[command(flatten)]
    input: InputFlags,
    /// Output file [default: -, which is standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceFlags,
}

impl TallyArgs {
    fn output(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| "-".into())
    }

    fn plan(&self, command: &'static str, tallies: Tallies) -> Result<Plan> {
        let inputs = self.input.inputs();
        if self.output.is_none() {
            hints::check_last(&inputs)?;
        }
        Ok(Plan {
            command,
            inputs,
            aligning: None,
            steps: Steps::default(),
            output: None,
            extra: None,
            tallies,
            resources: self.resources.resources(&self.output())?,
        })
    }

    pub fn flagstat(&self) -> Result<Plan> {
        self.plan("flagstat", Tallies { flagstat: Some(self.output()), ..Tallies::default() })
    }

    pub fn stats(&self) -> Result<Plan> {
        self.plan("stats", Tallies { stats: Some(self.output()), ..Tallies::default() })
    }

    pub fn idxstats(&self) -> Result<Plan> {
        self.plan("idxstats", Tallies { idxstats: Some(self.output()), ..Tallies::default() })
    }
}

/// Flags of checksums.
#[derive(Args)]
#[command(after_help = "\
Each column is the sum, modulo 2^128, of a hash of every record: reads in any order have the same sums, in BAM, SAM or \
CRAM, and it is practically certain that other reads have others. FLAG is taken without 0x400, so marking duplicates \
changes nothing; optional fields are taken in any order, and integers by their value.

To compare with files of which only the checksums of other tools are known, --samtools prints what samtools checksum \
prints, and --bamseqchksum what biobambam2's bamseqchksum prints: checksums of names, bases, qualities and of the \
fields BC, FI, QT, RT, TC of primary records, in the direction of sequencing. They are the same before and after \
alignment:

  readmill checksum --samtools out.bam > ours; samtools checksum in.cram > theirs; diff ours theirs")]
pub struct ChecksumArgs {
    #[command(flatten)]
    args: TallyArgs,
    /// Print what samtools checksum prints
    #[arg(long, conflicts_with = "bamseqchksum")]
    samtools: bool,
    /// Print what bamseqchksum prints
    #[arg(long, short = 'B')]
    bamseqchksum: bool,
}

impl ChecksumArgs {
    pub fn plan(&self) -> Result<Plan> {
        let file = || Some(self.args.output());
        let tallies = match (self.samtools, self.bamseqchksum) {
            (true, _) => Tallies { samtools_checksum: file(), ..Tallies::default() },
            (_, true) => Tallies { bamseqchksum: file(), ..Tallies::default() },
            _ => Tallies { checksum: file(), ..Tallies::default() },
        };
        self.args.plan("checksum", tallies)
    }
}
