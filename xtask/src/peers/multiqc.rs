//! MultiQC by pip, in a virtual environment of its own. It is no tool to compare with but a reader of our metrics.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::clients::{fresh_directory, on_path_or_apt, output_of, run, word_after};
use super::tool::Tool;

/// The release whose reading is checked.
pub const VERSION: &str = "1.35";

/// MultiQC at [`VERSION`] with all it depends on, 1 GB, below `cache`.
pub fn install(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("multiqc-{VERSION}"));
    let program = home.join("bin/multiqc");
    // The stamp comes last: a directory without it is an install that was cut short.
    let stamp = home.join("complete");
    if !(stamp.exists() && program.exists()) {
        let python = on_path_or_apt("python3", "python3-venv")?;
        fresh_directory(&home)?;
        eprintln!("peers: fetching MultiQC {VERSION} by pip into {}", home.display());
        run(Command::new(python).args(["-m", "venv"]).arg(&home))?;
        run(Command::new(home.join("bin/pip"))
            .args(["install", "--quiet", "--no-compile"])
            .arg(format!("multiqc=={VERSION}")))?;
        fs::write(&stamp, "")?;
    }
    let text = output_of(Command::new(&program).arg("--version"))?;
    if word_after(&text, "version").as_deref() != Some(VERSION) {
        bail!("not MultiQC {VERSION}:\n{text}");
    }
    let mut tool = Tool::plain("multiqc", program, VERSION.to_owned());
    tool.environment = vec![("MULTIQC_NO_VERSION_CHECK", "true".into())];
    Ok(tool)
}
