//! Threads, memory and other resources of a run.

use std::path::{Path, PathBuf};

use readmill_format::reference::LazyReference;
use readmill_format::spill_codec::SpillCodec;
use readmill_process::console::Verbosity;
use readmill_process::limit;

#[derive(Clone, Debug)]
pub struct Resources {
    /// Total number of threads (`-@`), including the main thread.
    pub threads: usize,
    /// Maximum memory of the whole process in bytes (`-m`). Reads that do not fit are spilled to
    /// disk.
    pub memory: u64,
    /// Directories for the spill. If empty, the spill uses `$TMPDIR` or, if that is not set, the
    /// directory of the output.
    pub temp_dirs: Vec<PathBuf>,
    pub spill_codec: SpillCodec,
    /// Accept a BGZF file without an EOF block, which may be truncated.
    pub allow_missing_eof: bool,
    pub allow_same_input: bool,
    pub reference: Option<LazyReference>,
    pub explain: bool,
    pub verbosity: Verbosity,
}

impl Resources {
    /// Returns the default resources of this process. The spill uses `$TMPDIR` or, if that is not
    /// set, the directory of `output`.
    pub fn default_for_output(output: &Path) -> Self {
        Resources {
            threads: limit::available_threads(),
            memory: limit::default_limit(),
            temp_dirs: default_temp_dirs(output),
            spill_codec: SpillCodec::default(),
            allow_missing_eof: false,
            allow_same_input: false,
            reference: None,
            explain: false,
            verbosity: Verbosity::Normal,
        }
    }
}

pub fn environment_temp_dir() -> Option<PathBuf> {
    std::env::var_os("TMPDIR").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// Returns the default directories for temporary files: `$TMPDIR` or, if that is not set, the
/// directory of the output, which needs space for the output anyway. For a pipe or a device,
/// returns the working directory.
pub fn default_temp_dirs(output: &Path) -> Vec<PathBuf> {
    if let Some(dir) = environment_temp_dir() {
        return vec![dir];
    }
    let beside = output.parent().filter(|dir| !dir.as_os_str().is_empty());
    let regular = !output.exists() || output.is_file();
    vec![beside.filter(|_| regular).unwrap_or(Path::new(".")).to_path_buf()]
}
