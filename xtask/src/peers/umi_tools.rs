//! umi_tools by pip, in its own virtual environment.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::clients::{fresh_directory, on_path_or_apt, output_of, run, word_after};
use super::tool::Tool;

/// The release whose groups of UMIs are the reference.
pub const VERSION: &str = "1.1.6";

/// Packages that its build needs but does not declare. Newer setuptools lack `pkg_resources`;
/// without it the build tries to download setuptools 10 from a place that no longer exists.
const BUILD: [&str; 4] = ["setuptools<81", "wheel", "cython", "numpy"];

/// umi_tools at [`VERSION`], below `cache`.
pub fn install(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("umi_tools-{VERSION}"));
    let program = home.join("bin/umi_tools");
    // The stamp comes last: a directory without it is an install that was cut short.
    let stamp = home.join("complete");
    if !(stamp.exists() && program.exists()) {
        let python = on_path_or_apt("python3", "python3-venv")?;
        on_path_or_apt("cc", "gcc")?;
        fresh_directory(&home)?;
        eprintln!("peers: installing umi_tools {VERSION} by pip in {}", home.display());
        run(Command::new(python).args(["-m", "venv"]).arg(&home))?;
        let pip = || {
            let mut pip = Command::new(home.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]);
            pip
        };
        run(pip().args(BUILD))?;
        run(pip().arg("--no-build-isolation").arg(format!("umi_tools=={VERSION}")))?;
        fs::write(&stamp, "")?;
    }
    let text = output_of(Command::new(&program).arg("--version"))?;
    let version = word_after(&text, "version:").context("umi_tools states no version")?;
    Ok(Tool::plain("umi_tools", program, version))
}
