//! `./dev integrations`: runs the workflows of `integrations` and of `readmill shard graph` with
//! the real engines, on a small simulated cohort.
//!
//! In each engine, the first task of one sample is killed with SIGKILL in the middle of its input,
//! and the engine must repeat it. The same happens to two stages of a job in stages, whose files
//! are then also removed and damaged. Every output must be byte-for-byte equal to that of a direct
//! run of readmill. Each check prints one line, `ok` or `FAIL`.

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
use outcome::CheckCounts;
use readmill_peers::{Peers, build_readmill};

/// Run the workflows of integrations/ with the real engines and compare the results with direct
/// runs
#[derive(Parser)]
#[command(name = "./dev integrations", bin_name = "./dev integrations", max_term_width = 100)]
struct IntegrationArgs {
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
    let args = IntegrationArgs::parse();
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
    let cohort = Cohort::simulate_and_run(readmill, &root)?;
    let engines = if args.engines.is_empty() { Engine::value_variants() } else { &args.engines[..] };
    let mut outcome = CheckCounts::default();
    for engine in engines {
        match engine {
            Engine::Nextflow => nextflow::check_nextflow(&cohort, &peers, &mut outcome)?,
            Engine::Snakemake => snakemake::check_snakemake(&cohort, &peers, &mut outcome)?,
            Engine::Wdl => wdl::check_wdl(&cohort, &peers, &mut outcome)?,
            Engine::Slurm => slurm::check_slurm(&cohort, &peers, &mut outcome)?,
            Engine::Dask => dask::check_dask(&cohort, &peers, &mut outcome)?,
            Engine::Cost => cost::check_cost_model(&cohort, &peers, &mut outcome)?,
            Engine::Graphviz => stages::check_drawing(&cohort, &peers, &mut outcome)?,
        }
    }
    match outcome.failures() {
        0 => println!("all {} checks ok", outcome.checks()),
        failures => bail!("{failures} of {} checks failed", outcome.checks()),
    }
    Ok(())
}
