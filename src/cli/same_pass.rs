//! Flags of tallies and extra outputs.

use std::path::PathBuf;

use clap::Args;
use readmill::plan::{ExtraFile, ExtraOutput, Tallies};
use readmill_record::Result;

use super::hints::named_format;

/// Flags of tallies and extra outputs in the same pass.
#[derive(Args)]
#[command(next_help_heading = "In the same pass")]
pub struct SamePassFlags {
    /// Write numbers of reads by FLAG, as samtools flagstat does
    #[arg(long, value_name = "FILE")]
    flagstat: Option<PathBuf>,
    /// Write numbers of reads by reference sequence, as samtools idxstats does
    #[arg(long, value_name = "FILE")]
    idxstats: Option<PathBuf>,
    /// Write statistics of the reads, as samtools stats does
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Write checksums of the reads that do not depend on their order, as readmill checksum does
    #[arg(long, value_name = "FILE")]
    checksum: Option<PathBuf>,
    /// Compare checksums of the reads that come with those that leave; exit with 4, and write nothing, if reads were lost, doubled, or altered by what should not
    #[arg(long)]
    verify: bool,
    /// Copy some reads into another file, too: FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION; may be given again
    #[arg(long, value_name = "FILE=WHAT")]
    copy_to: Vec<String>,
    /// Put some reads into another file instead; may be given again, the first that fits counts
    #[arg(long, value_name = "FILE=WHAT")]
    move_to: Vec<String>,
}

/// The name of the sample.
#[derive(Args)]
#[command(next_help_heading = "In the same pass")]
pub struct SampleFlag {
    /// Name of the sample in metrics, for report tools such as MultiQC [default: the output's name without its ending; without an output file, SM of the read groups]
    #[arg(long, value_name = "NAME", value_parser = parse_sample)]
    pub sample: Option<String>,
}

/// Reads the name of a sample.
fn parse_sample(text: &str) -> std::result::Result<String, String> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/') {
        return Err(
            "a name has at least one character, no blank and no / in it: report tools stop there".into(),
        );
    }
    Ok(text.to_owned())
}

impl SamePassFlags {
    pub fn tallies(&self) -> Tallies {
        Tallies {
            flagstat: self.flagstat.clone(),
            idxstats: self.idxstats.clone(),
            stats: self.stats.clone(),
            checksum: self.checksum.clone(),
            verify: self.verify,
            ..Tallies::default()
        }
    }

    pub fn extra(&self) -> Result<Option<ExtraOutput>> {
        let copies = self.copy_to.iter().map(|text| ExtraFile::parse(text, false));
        let moves = self.move_to.iter().map(|text| ExtraFile::parse(text, true));
        let list: Vec<ExtraFile> = copies.chain(moves).collect::<Result<_>>()?;
        for chosen in &list {
            named_format(&chosen.path, "end it in .bam, .sam, .sam.gz or .cram")?;
        }
        Ok((!list.is_empty()).then_some(ExtraOutput::Selected(list)))
    }
}
