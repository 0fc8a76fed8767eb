//! `cargo xtask parity`: every answer of readmill beside that of samtools and Picard.
//!
//! Each sample gets a directory of its own, in which readmill and the peers are run on the same
//! files; each comparison is one line, `ok` or `FAIL`. What is compared, against what and why some
//! differences are accepted is told in docs/parity.md.

mod commands;
mod duplicates;
mod files;
mod ledger;
mod lines;
mod marks;
mod memory;
mod odd;
mod pipeline;
mod samples;
mod sort;
mod ties;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::peers::Peers;
use commands::{Commands, Place};
use ledger::Ledger;
use samples::Sample;

/// What to compare.
#[derive(clap::Args)]
pub struct Args {
    /// A BAM file to compare on as well; may be given again
    #[arg(long, value_name = "FILE.bam", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Templates in each simulated sample [default: 100000, or 20000 with --quick]
    #[arg(long, value_name = "N")]
    pairs: Option<u64>,
    /// Small samples and fewer starts of Java, for CI
    #[arg(long)]
    quick: bool,
    /// Simulate nothing: compare on --data alone
    #[arg(long, requires = "data")]
    only_data: bool,
    /// Compare this program instead of building the one of this checkout
    #[arg(long, value_name = "PROGRAM")]
    readmill: Option<PathBuf>,
    /// Keep the files in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Compares; an error if anything differs that should not.
pub fn run(args: Args) -> Result<()> {
    let commands = Commands::find(args.readmill.as_deref(), &Peers::new()?)?;
    println!("{}", commands.versions()?);
    let temporary = tempfile::Builder::new().prefix("readmill-parity").tempdir()?;
    let root = args.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());

    let pairs = args.pairs.unwrap_or(if args.quick { 20_000 } else { 100_000 });
    let mut samples = if args.only_data { Vec::new() } else { samples::simulated(pairs) };
    for path in &args.data {
        samples.push(Sample::file(path)?);
    }
    let mut ledger = Ledger::default();
    if !args.only_data {
        odd::compare(&Place::new(&commands, &root.join("odd"))?, &mut ledger);
    }
    for sample in &samples {
        let place = Place::new(&commands, &root.join(&sample.name))?;
        sample.make(&place)?;
        ledger.title(&sample.name, sample.about);
        compare(&place, sample, args.quick, &mut ledger);
        if args.keep.is_none() {
            std::fs::remove_dir_all(place.directory())?;
        }
    }
    match ledger.failures() {
        0 => {
            println!("all {} comparisons ok", ledger.comparisons());
            Ok(())
        }
        failures => bail!("{failures} of {} comparisons failed", ledger.comparisons()),
    }
}

/// All comparisons on one sample. Later ones use the files of earlier ones.
fn compare(place: &Place<'_>, sample: &Sample, quick: bool, ledger: &mut Ledger) {
    let every = !quick;
    sort::compare(place, sample.is_deep, ledger);
    if sample.is_deep {
        files::index(place, "sorted.bam", ledger);
        return memory::compare(place, ledger);
    }
    duplicates::coordinate(place, every || sample.has_ties, ledger);
    if sample.is_grouped {
        duplicates::template(place, every || sample.has_ties, ledger);
        files::written_by_htsjdk(place, ledger);
    }
    if sample.is_grouped && (every || sample.is_first) {
        pipeline::compare(place, ledger);
    }
    files::index(place, "coordinate.bam", ledger);
    if every || sample.is_first {
        files::validate(place, ledger);
    }
    memory::compare(place, ledger);
}
