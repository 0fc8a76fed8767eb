//! Keeps the C++ code from an index in shared memory.
//!
//! `bwa-mem3 shm` puts an index there under the name of its files, without their directory, and bwa-mem3 takes the one
//! of the name it is given, whoever has put it there. Whoever has can change it while it is in use. So where there is
//! one of the name, the C++ code is given the files under another.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};
use tempfile::TempDir;

use super::files::SUFFIXES;
use crate::index_files::named;

/// The files of an index under a name that nothing else has, for as long as this lives.
pub(super) struct Aside {
    prefix: PathBuf,
    _place: TempDir,
}

impl Aside {
    pub(super) fn of(prefix: &Path) -> Result<Self> {
        let whole =
            std::path::absolute(prefix).map_err(|error| Error::io("finding it", &error).file(prefix))?;
        let failed = |error| Error::io("linking the index aside", &error).file(prefix);
        let place = TempDir::with_prefix("readmill-index-").map_err(failed)?;
        let own = place.path().join(place.path().file_name().unwrap_or_default());
        for suffix in SUFFIXES.iter().chain(&[".alt"]) {
            symlink(named(&whole, suffix), named(&own, suffix)).map_err(failed)?;
        }
        Ok(Aside { prefix: own, _place: place })
    }

    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }
}
