//! Loads the index of bwa-mem3 into memory, and provides a view of the C++ data for checking.
//!
//! An index in shared memory is never used. `bwa-mem3 shm` stores an index there under its file
//! name without the directory, and bwa-mem3 then uses any index with a matching name, whoever
//! stored it. Its owner could change it while it is in use. So if such a name exists, the C++ code
//! gets the files under a different name ([`IndexLinks`]).
#![allow(unsafe_code, reason = "gives C++ memory, and calls it")]

use std::ffi::{CStr, CString, c_char};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::slice;

use bwa_mem3_sys as sys;
use readmill_record::{Error, Result};
use tempfile::TempDir;

use super::files::FILE_SUFFIXES;
use super::loaded::{CheckpointBlock, LoadedBwaIndex};
use crate::index::with_suffix;

/// A loaded index. It is private memory of this process, and nothing changes it after loading.
pub(super) struct BwaIndexHandle(*mut sys::BwaIndex);

// SAFETY: the shim documents that an index is read-only after loading, and all functions here take
// it by shared reference.
unsafe impl Send for BwaIndexHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for BwaIndexHandle {}

impl BwaIndexHandle {
    /// Loads the index.
    ///
    /// The caller must have checked the files, because the C++ code exits if one is damaged.
    /// Nothing may be aligned before the loaded index has been checked as well
    /// ([`Self::loaded_view`]).
    pub(super) fn load(prefix: &Path) -> Result<Self> {
        super::quiet::suppress_chatter();
        // SAFETY: the call only sets a global number: from now on, only errors are reported on
        // stderr.
        unsafe { sys::bwa_shim_set_verbosity(1) };
        let aside =
            if is_shared(&path_to_c_string(prefix)?) { Some(IndexLinks::create(prefix)?) } else { None };
        let name = path_to_c_string(aside.as_ref().map_or(prefix, IndexLinks::prefix))?;
        // SAFETY: `name` is a C string that outlives the call.
        let index = unsafe { sys::bwa_shim_idx_load(name.as_ptr()) };
        if index.is_null() {
            Err(call_error("loading the index").file(prefix))
        } else {
            Ok(BwaIndexHandle(index))
        }
    }

    /// Returns the pointer for C++ calls. It is valid for the lifetime of `self`.
    pub(super) fn raw(&self) -> *mut sys::BwaIndex {
        self.0
    }

    pub(super) fn contigs(&self) -> impl Iterator<Item = (&CStr, u64)> {
        // SAFETY: the index is live.
        let count = unsafe { sys::bwa_shim_idx_n_contigs(self.0) };
        (0..count).map(|at| {
            // SAFETY: `at` is below the number of sequences; the name lives as long as the index.
            unsafe {
                let name = CStr::from_ptr(sys::bwa_shim_idx_contig_name(self.0, at));
                (name, sys::bwa_shim_idx_contig_len(self.0, at) as u64)
            }
        })
    }

    /// Returns for each reference sequence whether it is an alternate locus according to the `.alt`
    /// file that the C++ code read.
    pub(super) fn alternate_flags(&self) -> impl Iterator<Item = bool> {
        // SAFETY: the index is live; its parts have these layouts, as in `loaded_view`, and the C++
        // code has allocated `count` sequences.
        let sequences = unsafe {
            let search = &*(*(*self.0.cast::<BwaIndexLayout>()).with_sequences).search;
            let sequences = &*(*search.files).sequences;
            slice::from_raw_parts(sequences.sequences, usize::try_from(sequences.count).unwrap_or(0))
        };
        sequences.iter().map(|sequence| sequence.is_alternate != 0)
    }

    /// Returns a view of the index in the memory of the C++ code, or `None` if the index is not
    /// that of a reference with `bases` bases.
    pub(super) fn loaded_view(&self, bases: u64) -> Option<LoadedBwaIndex<'_>> {
        // SAFETY: the index is live; its parts have these layouts, since the version of the crate
        // is pinned and a test reads them.
        let (search, sequences, packed) = unsafe {
            let search = &*(*(*self.0.cast::<BwaIndexLayout>()).with_sequences).search;
            let files = &*search.files;
            (search, &*files.sequences, files.packed)
        };
        let rows = 2 * bases + 1;
        let shift = u32::try_from(search.shift).ok().filter(|&shift| shift < u64::BITS)?;
        let count = usize::try_from(sequences.count).ok()?;
        if search.rows != rows || sequences.bases != bases || !search.shared.is_null() {
            return None;
        }
        let (blocks, starts) = ((rows / 64) as usize + 1, (rows >> shift) as usize + 1);
        // SAFETY: the C++ code (bwa-mem3 0.9.0, `load_index` and `bns_restore_core`) has allocated
        // each array with the number of items that was checked above; the arrays stay where they
        // are as long as the index lives.
        unsafe {
            let mut offset = 0;
            for sequence in slice::from_raw_parts(sequences.sequences, count) {
                if sequence.offset != offset {
                    return None;
                }
                offset += u64::try_from(sequence.length).ok()?;
            }
            (offset == bases).then_some(LoadedBwaIndex {
                bases,
                first_rows: search.firsts,
                whole_text_row: search.whole,
                blocks: slice::from_raw_parts(search.blocks, blocks),
                shift,
                samples: (
                    slice::from_raw_parts(search.high, starts),
                    slice::from_raw_parts(search.low, starts),
                ),
                packed: slice::from_raw_parts(packed, (bases / 4) as usize + 1),
            })
        }
    }
}

impl Drop for BwaIndexHandle {
    fn drop(&mut self) {
        // SAFETY: the shim made the index, and it is freed once.
        unsafe { sys::bwa_shim_idx_free(self.0) };
    }
}

pub(super) fn is_shared(prefix: &CStr) -> bool {
    // SAFETY: the argument is a C string, and the call only reads it.
    unsafe { sys::bwa_shim_shm_test(prefix.as_ptr()) == 1 }
}

fn path_to_c_string(prefix: &Path) -> Result<CString> {
    let text = prefix
        .to_str()
        .ok_or_else(|| Error::usage("the path of the index is not UTF-8").file(prefix))?;
    CString::new(text).map_err(|_| Error::usage("the path of the index has a NUL").file(prefix))
}

/// The layout of `BwaIndex` in bwa-mem3-sys 0.4.4.
#[repr(C)]
struct BwaIndexLayout {
    with_sequences: *const ShimIndexLayout,
}

/// The first field of `BwaShimIndex`, the only one that is used here.
#[repr(C)]
struct ShimIndexLayout {
    search: *const FmSearchLayout,
}

/// `FMI_search` of bwa-mem3 0.9.0, without the fields of its base class `indexEle`, which come
/// first.
#[repr(C)]
struct FmSearchLayout {
    files: *const FmIndexLayout,
    rows: u64,
    whole: u64,
    shift: u64,
    mask: u64,
    name: [c_char; libc::PATH_MAX as usize],
    firsts: [u64; 5],
    low: *const u32,
    high: *const i8,
    blocks: *const CheckpointBlock,
    shared: *const u8,
}

/// The fields of `bwaidx_fm_t` that are used here.
#[repr(C)]
struct FmIndexLayout {
    sequences: *const BnsLayout,
    packed: *const u8,
}

/// The fields of `bntseq_t` that are used here.
#[repr(C)]
struct BnsLayout {
    bases: u64,
    count: i32,
    seed: u32,
    sequences: *const BnsSequence,
}

/// The layout of `bntann1_t`, which describes one reference sequence.
#[repr(C)]
struct BnsSequence {
    offset: u64,
    length: i32,
    holes: i32,
    gi: u32,
    is_alternate: i32,
    name: *const c_char,
    comment: *const c_char,
}

/// Returns the error of a failed call, with the message that the C++ code left for this thread.
pub(super) fn call_error(doing: &str) -> Error {
    // SAFETY: the pointer is null, or points at the message of this thread, which stays valid until
    // the thread calls the shim again.
    let said = unsafe {
        let text = sys::bwa_shim_last_error();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    Error::bug(format!("bwa-mem3: {doing}: {}", said.as_deref().unwrap_or("the reason is unknown")))
}

/// A second name for index files: symbolic links in a temporary directory, which is removed on
/// drop.
pub(super) struct IndexLinks {
    prefix: PathBuf,
    _place: TempDir,
}

impl IndexLinks {
    pub(super) fn create(prefix: &Path) -> Result<Self> {
        let whole = std::path::absolute(prefix)
            .map_err(|error| Error::io("the path cannot be resolved", &error).file(prefix))?;
        let failed = |error| Error::io("linking to the index failed", &error).file(prefix);
        let place = TempDir::with_prefix("readmill-index-").map_err(failed)?;
        let own = place.path().join(place.path().file_name().unwrap_or_default());
        for suffix in FILE_SUFFIXES.iter().chain(&[".alt"]) {
            symlink(with_suffix(&whole, suffix), with_suffix(&own, suffix)).map_err(failed)?;
        }
        Ok(IndexLinks { prefix: own, _place: place })
    }

    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }
}
