//! The flags that all measurements share.

use std::path::PathBuf;

/// What all measurements share.
#[derive(clap::Args, Clone)]
pub struct Options {
    /// Reads as an aligner leaves them; simulated if not given
    #[arg(long, value_name = "FILE.bam")]
    pub data: Option<PathBuf>,
    /// Read pairs to simulate where there is no file
    #[arg(long, value_name = "N", default_value_t = 300_000, conflicts_with = "data")]
    pub pairs: u64,
    /// Measurements of each contender
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: usize,
    /// Measurements of Picard, which is slow; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub picard_runs: usize,
    /// Memory for readmill, and for the peers that can be told, in M or G (2^20 or 2^30 bytes)
    #[arg(short, long, value_name = "SIZE", default_value = "1G", value_parser = mebibytes)]
    pub memory: u64,
    /// Compression level of the output, for those that can be told
    #[arg(short, long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=12))]
    pub level: u8,
    /// Threads
    #[arg(short = '@', long, value_name = "N", default_value_t = 2)]
    pub threads: usize,
    /// The readmill to measure; built as a release if not given
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Directory for data and outputs [default: target/bench]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Reads `512M` or `1.5G` as MiB.
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
    use super::mebibytes;

    #[test]
    fn sizes_have_units() {
        assert_eq!(mebibytes("1G"), Ok(1024));
        assert_eq!(mebibytes("1.5g"), Ok(1536));
        assert_eq!(mebibytes("512M"), Ok(512));
        assert!(["", "G", "5", "0M", "-1G", "1X"].iter().all(|text| mebibytes(text).is_err()));
    }
}
