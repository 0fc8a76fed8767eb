//! bwa-mem2 from its source, which the crate bwa-mem2-sys carries.
//!
//! Its own Makefile builds it, for the processor of this machine, as the launcher of its releases chooses for it. The
//! crate's library is not built: it is not the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::clients::{
    fresh_directory, header_or_apt, make, on_path_or_apt, output_of, vendored, word_after,
};
use super::tool::Tool;

/// The release that is measured against, and whose index is the reference.
pub const VERSION: &str = "2.2.1";

/// The release of bwa-mem2-sys that carries it.
const CRATE: &str = "0.1.1";

/// bwa-mem2 at [`VERSION`], built below `cache`.
pub fn install(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("bwa-mem2-{VERSION}"));
    let program = home.join("bwa-mem2");
    if !program.exists() {
        let compiler = on_path_or_apt("g++", "g++")?;
        header_or_apt(&compiler, "zlib.h", "zlib1g-dev")?;
        let build = home.join("build");
        fresh_directory(&build)?;
        eprintln!("peers: building bwa-mem2 {VERSION} from source in {}", build.display());
        vendored(&build, "bwa-mem2-sys", CRATE)?;
        let source = build.join("vendor/bwa-mem2-sys/vendor/bwa-mem2");
        make(&source, &["arch=native", "CXX=g++", "all"])?;
        let built = source.join("bwa-mem2");
        if stated(&built)? != VERSION {
            bail!("bwa-mem2-sys {CRATE} does not carry bwa-mem2 {VERSION}");
        }
        // The program is moved last: a directory without it is an install that was cut short.
        fs::rename(&built, &program)?;
        fs::remove_dir_all(&build)?;
    }
    let version = stated(&program)?;
    Ok(Tool::plain("bwa-mem2", program, version))
}

/// The version that `bwa-mem2 version` states.
fn stated(program: &Path) -> Result<String> {
    let text = output_of(Command::new(program).arg("version"))?;
    word_after(&format!("bwa-mem2 {text}"), "bwa-mem2").context("bwa-mem2 states no version")
}
