//! Peers that Cargo builds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::clients::{cargo, fresh_directory, on_path_or_apt, output_of, run, word_after};
use super::tool::Tool;

/// A program on crates.io, and the release that is measured against.
pub struct Crate {
    /// Name of the crate, of its program, and of what it calls itself.
    pub name: &'static str,
    /// The release.
    pub version: &'static str,
}

/// Sorts BAM files. It needs a newer compiler than readmill, 1.93; if that is missing, Cargo reports it.
pub const FGUMI: Crate = Crate { name: "fgumi", version: "0.9.0" };

/// Marks duplicates in the pipe behind an aligner.
pub const DUPBLASTER: Crate = Crate { name: "dupblaster", version: "0.3.0" };

impl Crate {
    /// The program, with the dependencies its authors locked and its default features, below `cache`.
    pub fn install(&self, cache: &Path) -> Result<Tool> {
        let Crate { name, version } = self;
        let home = cache.join(format!("{name}-{version}"));
        // Cargo moves the program here when it is complete.
        let program = home.join("bin").join(name);
        if !program.exists() {
            on_path_or_apt("cc", "gcc")?;
            let build = home.join("build");
            fresh_directory(&build)?;
            eprintln!("peers: building {name} {version} by Cargo in {}, some minutes", home.display());
            run(cargo()
                .args(["install", name, "--locked", "--version", version, "--root"])
                .arg(&home)
                .arg("--target-dir")
                .arg(&build))?;
            fs::remove_dir_all(&build)?;
        }
        let text = output_of(Command::new(&program).arg("--version"))?;
        let stated = word_after(&text, name).with_context(|| format!("{name} states no version"))?;
        Ok(Tool::plain(name, program, stated))
    }
}
