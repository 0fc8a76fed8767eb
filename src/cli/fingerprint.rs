//! `readmill fingerprint`: counts alleles at common sites, and compares the counts to find files of
//! the same person.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use readmill::Plan;
use readmill::addons::FingerprintRequest;
use readmill::plan::Reports;
use readmill_fingerprint::{Fingerprint, IdentityVerdict, compare};
use readmill_record::{Ledger, Result};

use super::common::MemoryFlag;
use super::tally::TallyArgs;

/// Exit code if `--expect-same` is given, but fingerprints are from different people.
const DIFFERENT: u8 = 4;

#[derive(Subcommand)]
pub enum FingerprintCommand {
    /// Count alleles at common sites, and reads on X and Y
    Count(CountArgs),
    /// Compare fingerprints, to find those of the same person
    Compare(CompareArgs),
}

/// Counts the bases of each allele at each site. Reads need a MAPQ of at least 10 and none of the
/// flags 0xf04. Bases need a quality of at least 20. Reads can be in any order.
#[derive(Args)]
pub struct CountArgs {
    #[command(flatten)]
    args: TallyArgs,
    /// File of common variants
    ///
    /// A VCF file, whose biallelic SNVs are used, or a haplotype map of Picard.
    #[arg(long, value_name = "FILE")]
    sites: PathBuf,
}

/// Compares all pairs of fingerprints and prints one line for each pair. Its columns are the two
/// samples, the number of sites at which both have a genotype, the number of these sites with the
/// same genotype, the number with different homozygous genotypes, the relatedness (1 for the same
/// person, about 0.5 for parents and siblings, about 0 for others), and the verdict (same, related,
/// different, or unclear).
#[derive(Args)]
pub struct CompareArgs {
    /// Two or more fingerprints
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Exit with code 4 unless all fingerprints are from the same person
    #[arg(long)]
    expect_same: bool,
    #[command(flatten)]
    memory: MemoryFlag,
}

impl FingerprintCommand {
    /// Runs the command. `process` runs the plan of `count`.
    pub fn run(&self, process: impl Fn(&Plan) -> Result<ExitCode>) -> Result<ExitCode> {
        match self {
            FingerprintCommand::Count(it) => process(&it.build_plan()?),
            FingerprintCommand::Compare(it) => it.compare_fingerprints(),
        }
    }
}

impl CountArgs {
    fn build_plan(&self) -> Result<Plan> {
        let request = FingerprintRequest { file: self.args.output(), sites: self.sites.clone() };
        self.args.build_plan("fingerprint", Reports::only(request))
    }
}

impl CompareArgs {
    fn compare_fingerprints(&self) -> Result<ExitCode> {
        let ledger = Ledger::with_capacity(self.memory.bytes());
        let read = |path: &PathBuf| Fingerprint::read(path, &ledger);
        let all: Vec<Fingerprint> = self.files.iter().map(read).collect::<Result<_>>()?;
        let mut text =
            String::from("#A\tB\tSITES\tSAME\tOPPOSITE\tRELATEDNESS\tVERDICT\tSEX_A\tSEX_B\n");
        let mut all_same = true;
        for (n, one) in all.iter().enumerate() {
            for two in &all[n + 1..] {
                let found = compare(one, two);
                let related = found.relatedness().map_or("?".into(), |it| format!("{it:.3}"));
                all_same &= found.verdict() == IdentityVerdict::Same;
                text += &format!(
                    "{}\t{}\t{}\t{}\t{}\t{related}\t{}\t{}\t{}\n",
                    one.sample,
                    two.sample,
                    found.sites,
                    found.same,
                    found.opposite,
                    found.verdict().name(),
                    one.sex(),
                    two.sex(),
                );
            }
        }
        readmill_process::streams::write_stdout(&text)?;
        let differ = self.expect_same && !all_same;
        Ok(if differ { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
    }
}
