//! The whole experiment: what is measured, what is simulated, and how both are written down.

mod options;
mod projection;
mod ratios;
mod serial;
mod together;
mod validation;

use std::fs;
use std::io;

pub use options::Options;

use crate::files::Files;
use crate::plot::Figure;
use crate::validate::validate;

/// Runs everything; returns the tables as Markdown and writes the plots.
///
/// # Errors
/// If files cannot be read or written.
pub fn run(options: &Options) -> io::Result<String> {
    fs::create_dir_all(&options.plots)?;
    let files = Files::make(&options.directory, options.pairs)?;
    let (ways, mut text) = serial::measure(&files, options)?;
    text += &together::ways_of_reading(&files, options)?;
    let (locks, figure) = together::locks(&files, options)?;
    text += &locks;
    save(options, "threads-locks.svg", &figure)?;
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
        let options = Options {
            directory: at("data"),
            plots: at("plots"),
            pairs: 3000,
            rounds: 1,
            cores: 256,
            threads: vec![1, 3],
            work: vec![1.0],
            seconds: 0.02,
        };
        let text = run(&options).unwrap();
        for part in [
            "### Critical sections",
            "### Ways",
            "### Locks",
            "### Validation",
            "### Projection",
            "| U, unpadded (ours) |",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(fs::read_dir(at("plots")).unwrap().count() == 3);
    }
}
