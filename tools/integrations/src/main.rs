//! `./dev integrations`: runs the workflows of `integrations` and of `readmill shard graph` with
//! the real engines, on a small simulated cohort.
//!
//! In each engine, the first task of one sample is killed with SIGKILL in the middle of its input,
//! and the engine must repeat it. The same happens to two stages of a job in stages, whose files
//! are then also removed and damaged. Every output must equal that of a direct run of readmill,
//! byte for byte. Each check prints one line, `ok` or `FAIL`.

mod cohort;
mod cost;
mod dask;
mod killer;
mod nextflow;
mod outcome;
mod slurm;
mod snakemake;
mod stages;
mod wdl;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use cohort::Cohort;
use outcome::Outcome;
use readmill_peers::{Peers, build_readmill};

/// Run the workflows of integrations/ with the real engines and compare the results with direct
/// runs
#[derive(Parser)]
#[command(name = "./dev integrations", bin_name = "./dev integrations", max_term_width = 100)]
struct Args {
    /// Engines to run [default: all]
    #[arg(value_name = "ENGINE")]
    engines: Vec<Engine>,
    /// Run this program instead of building the one of this checkout
    #[arg(long, value_name = "PROGRAM")]
    readmill: Option<PathBuf>,
    /// Keep the files in this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Nextflow, installed by Maven
    Nextflow,
    /// Snakemake, installed by pip
    Snakemake,
    /// miniwdl, installed by pip, without containers
    Wdl,
    /// slurmctld, slurmd and munged of the system, started for this run only
    Slurm,
    /// Dask, installed by pip
    Dask,
    /// SimPy, installed by pip: the cost model of experiments/cluster
    Cost,
    /// Graphviz, which draws the stages of a job
    Graphviz,
}

/// Runs the engines. Fails if any check failed.
fn main() -> Result<()> {
    let args = Args::parse();
    let peers = Peers::new()?;
    let readmill = match &args.readmill {
        Some(given) => given.canonicalize().with_context(|| format!("no {}", given.display()))?,
        None => build_readmill()?,
    };
    let temporary = tempfile::Builder::new().prefix("readmill-integrations").tempdir()?;
    let root = match &args.keep {
        Some(kept) => {
            std::fs::create_dir(kept).with_context(|| format!("cannot make {}", kept.display()))?;
            kept.canonicalize()?
        }
        None => temporary.path().canonicalize()?,
    };
    let cohort = Cohort::make(readmill, &root)?;
    let engines = if args.engines.is_empty() { Engine::value_variants() } else { &args.engines[..] };
    let mut outcome = Outcome::default();
    for engine in engines {
        match engine {
            Engine::Nextflow => nextflow::run(&cohort, &peers, &mut outcome)?,
            Engine::Snakemake => snakemake::run(&cohort, &peers, &mut outcome)?,
            Engine::Wdl => wdl::run(&cohort, &peers, &mut outcome)?,
            Engine::Slurm => slurm::run(&cohort, &peers, &mut outcome)?,
            Engine::Dask => dask::run(&cohort, &peers, &mut outcome)?,
            Engine::Cost => cost::run(&cohort, &peers, &mut outcome)?,
            Engine::Graphviz => stages::draw(&cohort, &peers, &mut outcome)?,
        }
    }
    match outcome.failures() {
        0 => println!("all {} checks ok", outcome.checks()),
        failures => bail!("{failures} of {} checks failed", outcome.checks()),
    }
    Ok(())
}
