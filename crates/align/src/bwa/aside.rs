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
use crate::prefix::named;

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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::ffi::CString;

    use bwa_mem3_sys as sys;

    use super::*;
    use crate::bwa::files;
    use crate::bwa::index::{IndexOptions, build_index};
    use crate::bwa::memory::{Index, is_shared};

    /// An index of one sequence, and its packed bases.
    fn index(place: &Path, name: &str, bases: &str) -> (PathBuf, Vec<u8>) {
        let prefix = place.join(name);
        std::fs::write(&prefix, format!(">one\n{bases}\n")).unwrap();
        build_index(&prefix, &prefix, IndexOptions::default(), &mut |_| ()).unwrap();
        let packed = std::fs::read(named(&prefix, ".pac")).unwrap();
        (prefix, packed)
    }

    #[test]
    fn an_index_in_shared_memory_is_left_alone() {
        let name = format!("readmill-test-{}.fa", std::process::id());
        let [theirs, own] = [(); 2].map(|()| TempDir::new().unwrap());
        let (other, _) = index(theirs.path(), &name, &"ACGTTGCAAG".repeat(30));
        let (prefix, packed) = index(own.path(), &name, &"CATTAGGCTA".repeat(30));
        let registry = Path::new("/dev/shm/bwactl");
        let was_there = registry.exists();
        let staged = CString::new(other.to_str().unwrap()).unwrap();
        // SAFETY: a C string, which the call only reads.
        assert_eq!(unsafe { sys::bwa_shim_shm_stage(staged.as_ptr()) }, 0);
        let found = is_shared(&staged);
        let loaded = Index::load(&prefix).unwrap();
        let described = files::check(&prefix).unwrap();
        let same = loaded.loaded(described.bases()).map(|it| it.packed == &packed[..it.packed.len()]);
        std::fs::remove_file(format!("/dev/shm/bwaidx-{name}")).unwrap();
        if !was_there {
            let _ = std::fs::remove_file("/dev/shm/sem.bwactl_lock");
            std::fs::remove_file(registry).unwrap();
        }
        assert!(found, "the index is not in shared memory");
        assert_eq!(same, Some(true));
    }
}
