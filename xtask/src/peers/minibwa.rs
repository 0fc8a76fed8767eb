//! minibwa from its source, which the crate minibwa-sys carries, by its own Makefile.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::clients::{
    fresh_directory, header_or_apt, make, on_path_or_apt, output_of, vendored, word_after,
};
use super::tool::Tool;

/// The release of minibwa-sys whose sources are built: those of readmill's kernel.
const CRATE: &str = "0.2.0";

/// minibwa, built below `cache`.
pub fn install(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("minibwa-sys-{CRATE}"));
    let program = home.join("minibwa");
    if !program.exists() {
        let compiler = on_path_or_apt("gcc", "gcc")?;
        header_or_apt(&compiler, "zlib.h", "zlib1g-dev")?;
        let build = home.join("build");
        fresh_directory(&build)?;
        eprintln!("peers: building minibwa from source in {}", build.display());
        vendored(&build, "minibwa-sys", CRATE)?;
        let source = build.join("vendor/minibwa-sys/vendor/minibwa");
        // The crate has neither mimalloc nor, by its licence, the indexer of bwa.
        make(&source, &["mimalloc=0", "gpl=0", "minibwa"])?;
        // The program is moved last: a directory without it is an install that was cut short.
        fs::rename(source.join("minibwa"), &program)?;
        fs::remove_dir_all(&build)?;
    }
    let text = output_of(Command::new(&program).arg("version"))?;
    let version =
        word_after(&format!("minibwa {text}"), "minibwa").context("minibwa states no version")?;
    Ok(Tool::plain("minibwa", program, version))
}
