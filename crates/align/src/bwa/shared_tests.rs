//! Tests that an index in shared memory with the same name is not used.
#![allow(unsafe_code, reason = "calls C++")]

use std::ffi::CString;
use std::path::{Path, PathBuf};

use bwa_mem3_sys as sys;
use tempfile::TempDir;

use super::files;
use super::index::{BwaIndexOptions, build_index};
use super::memory::{BwaIndexHandle, is_shared};
use crate::index::with_suffix;

/// Builds an index of one sequence. Returns its prefix and its packed bases.
fn index(place: &Path, name: &str, bases: &str) -> (PathBuf, Vec<u8>) {
    let prefix = place.join(name);
    std::fs::write(&prefix, format!(">one\n{bases}\n")).unwrap();
    build_index(&prefix, &prefix, BwaIndexOptions::default(), &mut |_| ()).unwrap();
    let packed = std::fs::read(with_suffix(&prefix, ".pac")).unwrap();
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
    // SAFETY: the argument is a C string, and the call only reads it.
    assert_eq!(unsafe { sys::bwa_shim_shm_stage(staged.as_ptr()) }, 0);
    let found = is_shared(&staged);
    let loaded = BwaIndexHandle::load(&prefix).unwrap();
    let described = files::check_index_files(&prefix).unwrap();
    let same = loaded.loaded_view(described.bases()).map(|it| it.packed == &packed[..it.packed.len()]);
    std::fs::remove_file(format!("/dev/shm/bwaidx-{name}")).unwrap();
    if !was_there {
        let _ = std::fs::remove_file("/dev/shm/sem.bwactl_lock");
        std::fs::remove_file(registry).unwrap();
    }
    assert!(found, "the index is not in shared memory");
    assert_eq!(same, Some(true));
}
