//! Options that most subcommands share, and the parsers of their values.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(clap::Args, Clone)]
pub struct Options {
    /// Aligner output as BAM; simulated if not given. --order template-coordinate needs MC fields
    #[arg(long, value_name = "FILE.bam")]
    pub data: Option<PathBuf>,
    /// Read pairs to simulate if no file is given
    #[arg(long, value_name = "N", default_value_t = 300_000, conflicts_with = "data")]
    pub pairs: u64,
    /// Measurements of each contender
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    pub runs: usize,
    /// Measurements of Picard, GATK, FastQC and bwa, which are slow; 0 skips them
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub picard_runs: usize,
    /// Programs to compare with
    #[arg(
        long,
        value_name = "PEERS",
        value_delimiter = ',',
        default_value = "samtools,fgumi,sambamba,dupblaster,samblaster,bamsormadup,elprep,picard,gatk,bwa-mem2,bwa,riker,mosdepth,fastqc,fastp"
    )]
    pub peers: Vec<Peer>,
    /// Order of the output, for benchmarks of the sort alone
    #[arg(long, value_name = "ORDER", default_value = "coordinate")]
    pub order: Order,
    /// Total memory for programs with such an option, in M or G (2^20 or 2^30 bytes)
    /// [default: each program's own]
    #[arg(short = 'm', long = "memory", value_name = "SIZE", value_parser = mebibytes)]
    pub limit: Option<u64>,
    /// Memory in MiB for preparations that are not measured. Not an option of the command line.
    #[arg(skip = 1024u64)]
    pub memory: u64,
    /// Compression level of the output, for programs with such an option
    #[arg(short, long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=12))]
    pub level: u8,
    /// Total number of threads, for each program
    #[arg(short = '@', long, value_name = "N", default_value_t = 2)]
    pub threads: usize,
    /// The readmill to measure [default: a release build]
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Directory for data and outputs [default: target/bench]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Also add the figures to the tab-separated files in this directory
    #[arg(long, value_name = "DIR")]
    pub tables: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    Samtools,
    Fgumi,
    Sambamba,
    /// Also needs fgumi
    Dupblaster,
    /// Also needs samtools
    Samblaster,
    Bamsormadup,
    Elprep,
    Picard,
    Gatk,
    /// Also needs samtools
    BwaMem2,
    /// Also needs samtools
    Bwa,
    /// Also needs samtools, and a readmill with the feature minibwa
    Minibwa,
    Riker,
    Mosdepth,
    Fastqc,
    Fastp,
}

/// A sort order that other programs also have.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By position
    Coordinate,
    /// By name, with embedded numbers compared by value
    Natural,
    /// By name, byte by byte
    Lexicographic,
    /// By both ends of the template
    TemplateCoordinate,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Order::Coordinate => "coordinate",
            Order::Natural => "natural",
            Order::Lexicographic => "lexicographic",
            Order::TemplateCoordinate => "template-coordinate",
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| format!("{text:?} is not a number above zero"))
}

/// Parses a size such as `512M` or `1.5G` into MiB.
fn mebibytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size such as 512M or 1.5G");
    let (number, unit) = match (text.strip_suffix(['G', 'g']), text.strip_suffix(['M', 'm'])) {
        (Some(number), _) => (number, 1024.0),
        (_, Some(number)) => (number, 1.0),
        _ => return Err(wrong()),
    };
    let size = number.parse::<f64>().map_err(|_| wrong())? * unit;
    if size >= 1.0 { Ok(size as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(mebibytes("1G"), Ok(1024));
        assert_eq!(mebibytes("1.5g"), Ok(1536));
        assert_eq!(mebibytes("512M"), Ok(512));
        assert!(["", "G", "5", "0M", "-1G", "1X"].iter().all(|text| mebibytes(text).is_err()));
    }

    #[test]
    fn orders_have_the_names_of_their_flags() {
        for order in Order::value_variants() {
            let flag = order.to_possible_value();
            assert_eq!(flag.unwrap().get_name(), order.name());
        }
    }
}
