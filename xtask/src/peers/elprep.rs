//! elPrep by Go.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::clients::{on_path_or_apt, output_of, run, word_after};
use super::tool::Tool;

/// The release that is measured against.
pub const VERSION: &str = "5.1.3";

/// elPrep at [`VERSION`], built below `cache`. It writes logs below `$HOME`, so it runs with a home
/// of its own there.
pub fn install(cache: &Path) -> Result<Tool> {
    let directory = cache.join(format!("elprep-{VERSION}"));
    let program = directory.join("elprep");
    if !program.exists() {
        let go = on_path_or_apt("go", "golang-go")?;
        fs::create_dir_all(&directory)?;
        // Not `go install module@version`: that also reads the module's list of versions,
        // which not every proxy serves. A module that requires one version needs no list.
        fs::write(directory.join("go.mod"), module())?;
        fs::write(directory.join("tools.go"), TOOLS)?;
        eprintln!("peers: building elPrep {VERSION} by Go in {}", directory.display());
        let partial = directory.join("elprep.partial");
        run(Command::new(go)
            .current_dir(&directory)
            .args(["build", "-mod=mod", "-o"])
            .arg(&partial)
            .arg("github.com/exascience/elprep/v5"))?;
        fs::rename(&partial, &program)?;
    }
    let home = directory.join("home");
    fs::create_dir_all(&home)?;
    // Without a command elPrep states its version and ends with a failure.
    let text = output_of(Command::new(&program).env("HOME", &home))?;
    let version = word_after(&text, "version").context("elPrep states no version")?;
    let mut tool = Tool::plain("elprep", program, version);
    tool.environment.push(("HOME", home.into_os_string()));
    Ok(tool)
}

fn module() -> String {
    format!("module readmillpeers\n\ngo 1.16\n\nrequire github.com/exascience/elprep/v5 v{VERSION}\n")
}

/// Names elPrep as something the module needs; never compiled itself.
const TOOLS: &str =
    "//go:build tools\n\npackage tools\n\nimport _ \"github.com/exascience/elprep/v5\"\n";
