//! `./dev parity --regenerate`: writes the oracles below `tests/oracles` again, from the answers of the real tools.
//!
//! Inputs, remarks and accepted deviations are written by hand and stay as they are; only expected results are written.
//! With the same tools the files come out byte for byte the same.

mod asked;
mod bqsr;
mod bqsr_cases;
mod case_file;
mod marks;
mod options;
mod report;
mod sam;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, workspace};

use crate::commands::{Commands, SampleDir};
use asked::Asked;

/// One file of expected results.
struct Oracle {
    /// Below `tests/oracles`.
    file: &'static str,
    make: fn(&Asked<'_>, &Path) -> Result<String>,
}

const ORACLES: [Oracle; 5] = [
    Oracle { file: "picard/marks.txt", make: marks::regenerated },
    Oracle { file: "picard/options.txt", make: options::regenerated },
    Oracle { file: "picard/larger.txt", make: options::regenerated },
    Oracle { file: "gatk/bqsr.txt", make: bqsr::regenerated },
    Oracle { file: "gatk/bqsr_random.txt", make: bqsr::regenerated },
];

/// Writes oracles again: those whose names contain one of `names`, or all.
pub fn run(names: &[String], only_case: Option<&str>, peers: &Peers, root: &Path) -> Result<()> {
    let is_asked =
        |oracle: &&Oracle| names.is_empty() || names.iter().any(|it| oracle.file.contains(it));
    let oracles: Vec<&Oracle> = ORACLES.iter().filter(is_asked).collect();
    let all = ORACLES.map(|oracle| oracle.file).join(", ");
    ensure!(!oracles.is_empty(), "no oracle has such a name; they are {all}");
    let commands = Commands::of_peers(peers)?;
    for Oracle { file, make } in oracles {
        let path = directory().join(file);
        let dir = SampleDir::new(&commands, &root.join(file))?;
        let before = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
        let after = make(&Asked { dir, peers, only_case }, &path).with_context(|| (*file).to_owned())?;
        if before == after {
            println!("same     {file}");
        } else {
            fs::write(&path, after)?;
            println!("changed  {file}: see git diff");
        }
    }
    Ok(())
}

/// `tests/oracles` of this workspace.
fn directory() -> PathBuf {
    workspace().join("tests/oracles")
}
