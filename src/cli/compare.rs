//! `readmill compare`: reports how closely two files agree.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use readmill::plan::{Choice, choice_parser};
use readmill_files::compare::{self, AgreementLevel, Comparison};
use readmill_format::reference::LazyReference;
use readmill_record::tag::Tag;
use readmill_record::{Flags, Result};

/// Exit code if the files do not agree at the level given by `--level`.
const DIFFERENT: u8 = 4;

/// Compares two SAM, BAM or CRAM files record by record, and prints the strictest level at which
/// they agree. @PG and @CO lines are ignored. The exit code is 0 if the files agree at --level,
/// otherwise 4.
#[derive(Args)]
pub struct CompareArgs {
    /// First SAM, BAM or CRAM file; - for standard input
    a: PathBuf,
    /// Second SAM, BAM or CRAM file; - for standard input
    b: PathBuf,
    /// Exit with code 4 if the files do not agree at this level
    #[arg(long, value_name = "LEVEL", default_value = "L0", ignore_case = true, value_parser = choice_parser(LEVELS))]
    level: AgreementLevel,
    /// Compare only records, not headers
    #[arg(long)]
    ignore_header: bool,
    /// Ignore these bits of FLAG, such as 0x400 or DUP. May be repeated
    #[arg(long, value_name = "FLAGS")]
    ignore_flag: Vec<Flags>,
    /// Ignore this optional field, such as PG. May be repeated
    #[arg(long, value_name = "TAG", value_parser = parse_tag)]
    ignore_tag: Vec<Tag>,
    /// Reference FASTA for CRAM files, plain or compressed with bgzip
    #[arg(long, value_name = "FASTA")]
    reference: Option<PathBuf>,
}

const LEVELS: &[Choice<AgreementLevel>] = &[
    Choice {
        value: AgreementLevel::L0,
        name: "L0",
        aliases: &[],
        help: "Require the same SAM text, except for @PG and @CO lines",
    },
    Choice {
        value: AgreementLevel::L1,
        name: "L1",
        aliases: &[],
        help: "Like L0, but optional fields can be in any order",
    },
    Choice {
        value: AgreementLevel::L2,
        name: "L2",
        aliases: &[],
        help: "Like L1, but adjacent records with the same contig, position and strand can be in any order",
    },
    Choice {
        value: AgreementLevel::L3,
        name: "L3",
        aliases: &[],
        help: "Require the same reads and duplicate sets, in any order and with any representatives",
    },
];

fn parse_tag(text: &str) -> Result<Tag, String> {
    text.as_bytes().try_into().map_err(|_| "a tag has two characters, such as PG".into())
}

impl CompareArgs {
    /// Compares the files, prints the result, and returns the exit code.
    pub fn compare_and_print(self) -> Result<ExitCode> {
        let verdict = compare::compare_files(&Comparison {
            files: [self.a, self.b],
            ignore_header: self.ignore_header,
            ignore_flags: self.ignore_flag.iter().fold(0, |bits, flags| bits | flags.0),
            ignore_tags: self.ignore_tag,
            reference: self.reference.as_deref().map(LazyReference::new),
        })?;
        readmill_process::streams::write_stdout(&verdict.to_string())?;
        Ok(if verdict.holds(self.level) { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}
