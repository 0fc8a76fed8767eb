//! fgumi by Cargo.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::clients::{cargo, fresh_directory, on_path_or_apt, output_of, run, word_after};
use super::tool::Tool;

/// The release that is measured against.
pub const VERSION: &str = "0.9.0";

/// fgumi at [`VERSION`], with the dependencies its authors locked and its default features, below
/// `cache`. It needs a newer compiler than readmill, 1.93; Cargo says so where that is not there.
pub fn install(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("fgumi-{VERSION}"));
    // Cargo moves the program here when it is complete.
    let program = home.join("bin/fgumi");
    if !program.exists() {
        on_path_or_apt("cc", "gcc")?;
        let build = home.join("build");
        fresh_directory(&build)?;
        eprintln!("peers: building fgumi {VERSION} by Cargo in {}, some minutes", home.display());
        run(cargo()
            .args(["install", "fgumi", "--locked", "--version", VERSION, "--root"])
            .arg(&home)
            .arg("--target-dir")
            .arg(&build))?;
        fs::remove_dir_all(&build)?;
    }
    let text = output_of(Command::new(&program).arg("--version"))?;
    let version = word_after(&text, "fgumi").context("fgumi states no version")?;
    Ok(Tool::plain("fgumi", program, version))
}
