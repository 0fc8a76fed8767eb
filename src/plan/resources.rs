//! Threads, memory, and other resources of a run.

use std::path::{Path, PathBuf};

use readmill_format::reference::Fasta;
use readmill_format::spill_codec::SpillCodec;

use crate::process::limit;

/// Threads, memory and other resources.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Threads in all.
    pub threads: usize,
    /// Bytes the process may take, everything included.
    pub memory: u64,
    /// Directories of the spill; empty means `$TMPDIR`, else beside the output.
    pub temp_dirs: Vec<PathBuf>,
    /// The codec of the spill.
    pub spill_codec: SpillCodec,
    /// Accept a BGZF file without its EOF block.
    pub allow_missing_eof: bool,
    /// Read a file as often as it is given.
    pub allow_same_input: bool,
    /// The reference, for CRAM.
    pub reference: Option<Fasta>,
    /// Say what the plan is before starting.
    pub explain: bool,
    /// How much to say.
    pub verbosity: Verbosity,
}

impl Resources {
    /// Returns the resources that this process may use; it spills to `$TMPDIR`, else beside `output`.
    pub fn beside(output: &Path) -> Self {
        Resources {
            threads: limit::available_threads(),
            memory: limit::default_limit(),
            temp_dirs: temp_dirs(output),
            spill_codec: SpillCodec::default(),
            allow_missing_eof: false,
            allow_same_input: false,
            reference: None,
            explain: false,
            verbosity: Verbosity::Normal,
        }
    }
}

/// `$TMPDIR`, where it is set.
pub fn environment_temp_dir() -> Option<PathBuf> {
    std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// Where to spill if nothing else is said: `$TMPDIR`; else the output's own directory, which has room for the output.
pub fn temp_dirs(output: &Path) -> Vec<PathBuf> {
    if let Some(dir) = environment_temp_dir() {
        return vec![dir];
    }
    let beside = output.parent().filter(|dir| !dir.as_os_str().is_empty());
    let regular = !output.exists() || output.is_file();
    vec![beside.filter(|_| regular).unwrap_or(Path::new(".")).to_path_buf()]
}

/// How much to say on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors and warnings.
    Quiet,
    /// A start line, notes, a summary; progress on a terminal.
    Normal,
    /// Progress wherever it goes.
    Verbose,
}
