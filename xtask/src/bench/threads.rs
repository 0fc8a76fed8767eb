//! The experiment of Langmead et al. 2018: ways of reading, locks, and a simulation of both on more cores than this
//! machine has.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use readmill_contention::experiment::{self, Options};

use super::machine;

/// Options of `bench threads`.
#[derive(clap::Args)]
pub struct Args {
    /// A small run, to see that all of it works
    #[arg(long)]
    quick: bool,
    /// Pairs of reads that are measured
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pairs: u64,
    /// Measurements of each figure
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Numbers of threads that are measured together
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,8,32")]
    threads: Vec<usize>,
    /// Seconds of each such measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    seconds: f64,
    /// Cores for which is projected, with two threads each
    #[arg(long, value_name = "N", default_value_t = 256)]
    cores: usize,
    /// Directory for the reads [default: target/bench]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Directory for the plots [default: that of the reads]
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Measures and simulates; prints the tables and writes the plots.
pub fn run(args: &Args) -> Result<()> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent directory")?;
    let directory = args.directory.clone().unwrap_or_else(|| root.join("target/bench")).join("threads");
    let options = Options {
        plots: args.plots.clone().unwrap_or_else(|| directory.clone()),
        directory,
        pairs: if args.quick { args.pairs.min(5000) } else { args.pairs },
        rounds: if args.quick { 1 } else { args.runs },
        cores: args.cores,
        threads: args.threads.iter().map(|&threads| threads.max(1)).collect(),
        work: vec![0.0, 5.0, 20.0],
        seconds: if args.quick { 0.02 } else { args.seconds },
    };
    println!("## Threads that share an input\n\n{}\n", machine::describe());
    print!("{}", experiment::run(&options)?);
    Ok(())
}
