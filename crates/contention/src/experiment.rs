//! The whole experiment: what is measured, what is simulated, and how both are written down.

mod projection;
mod ratios;
mod serial;
mod validation;

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::files::Files;
use crate::plot::Figure;
use crate::validate::validate;

/// What is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the reads are written that are measured.
    pub directory: PathBuf,
    /// Where plots are written.
    pub plots: PathBuf,
    /// Pairs of reads that are measured.
    pub pairs: u64,
    /// Measurements of everything; the median counts.
    pub rounds: usize,
    /// Cores for which is projected.
    pub cores: usize,
}

/// Runs everything; returns the tables as Markdown and writes the plots.
///
/// # Errors
/// If files cannot be read or written.
pub fn run(options: &Options) -> io::Result<String> {
    fs::create_dir_all(&options.plots)?;
    let files = Files::make(&options.directory, options.pairs)?;
    let (ways, mut text) = serial::measure(&files, options)?;
    let validation = validate();
    text += &validation::describe(&validation);
    // The shortest handoff of the three machines, which favours the ways that have locks.
    let handoff = validation.costs.iter().map(|(_, costs)| costs.handoff).fold(f64::MAX, f64::min);
    let (projected, figure) = projection::project(&ways, handoff, options.cores);
    text += &projected;
    save(options, "threads-validation.svg", &validation::figure(&validation))?;
    save(options, "threads-projection.svg", &figure)?;
    Ok(text)
}

fn save(options: &Options, name: &str, figure: &Figure) -> io::Result<()> {
    fs::write(options.plots.join(name), figure.svg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_experiment_runs_and_our_way_has_nothing_serial_left() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let options =
            Options { directory: at("data"), plots: at("plots"), pairs: 3000, rounds: 1, cores: 256 };
        let text = run(&options).unwrap();
        for part in
            ["### Critical sections", "### Validation", "### Projection", "| U, unpadded (ours) |"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(fs::read_dir(at("plots")).unwrap().count() >= 2);
    }
}
