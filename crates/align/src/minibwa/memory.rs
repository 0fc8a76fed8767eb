//! Loads the index of minibwa into memory, and provides a view of the C data for checking.
#![allow(unsafe_code, reason = "gives C memory")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Once;
use std::{ptr, slice};

use minibwa_sys as sys;
use readmill_record::{Error, Result};

use super::files;
use super::loaded::LoadedMinibwaIndex;
use crate::index::IndexDescription;
use crate::index::with_suffix;

// SAFETY: this is the declaration of minibwa 0.6 in kommon.h; the version of the crate is pinned.
unsafe extern "C" {
    static mut kom_verbose: c_int;
}

/// Sets the verbosity of minibwa to errors only, once for the process.
pub(super) fn suppress_messages() {
    static ONCE: Once = Once::new();
    // SAFETY: nothing else writes this global number, and the C code reads it only after this call.
    ONCE.call_once(|| unsafe { kom_verbose = 1 });
}

pub(super) struct MinibwaIndex(ptr::NonNull<IndexLayout>);

// SAFETY: the C code takes the index as `const`, and stores nothing in it.
unsafe impl Send for MinibwaIndex {}
// SAFETY: as for `Send`.
unsafe impl Sync for MinibwaIndex {}

/// Length in bases of the words whose rows minibwa looks up in advance (0.6, `mb_idx_load`).
const PREFIX_BASES: i32 = 10;

/// Returns the error for memory that the C code could not allocate.
pub(super) fn allocation_error(what: &str) -> Error {
    Error::usage(what).hint("free memory, or use a machine with more")
}

impl MinibwaIndex {
    /// Loads and checks the index.
    ///
    /// The files must match `described`, because the C code does not check their sizes. This does
    /// the same as `mb_idx_load`, but checks the transform before it looks up rows in it.
    pub(super) fn load(prefix: &Path, described: &IndexDescription) -> Result<Self> {
        suppress_messages();
        let [sequences, transform] =
            [".l2b", ".mbw"].map(|suffix| path_to_c_string(&with_suffix(prefix, suffix)));
        let (sequences, transform) = (sequences?, transform?);
        // SAFETY: zero is valid for all fields of the index, and the C code can free it like an
        // index of its own.
        let index = unsafe { libc::calloc(1, size_of::<IndexLayout>()) }.cast::<IndexLayout>();
        let index = MinibwaIndex(
            ptr::NonNull::new(index)
                .ok_or_else(|| allocation_error("minibwa: cannot allocate memory for the index"))?,
        );
        // SAFETY: there is no other reference to the index yet, and the names are C strings that
        // outlive the calls. If loading fails, `drop` frees the parts that exist.
        unsafe {
            let parts = index.0.as_ptr();
            (*parts).sequences = l2b_load(sequences.as_ptr());
            if !(*parts).sequences.is_null() {
                (*parts).transform = mb_bwt_load(transform.as_ptr());
            }
        }
        let loaded =
            index.loaded_view(described.bases()).ok_or_else(|| files::changed_index_error(prefix))?;
        loaded.check_index().map_err(|fault| files::inconsistent_index_error(prefix, fault))?;
        if !described.has_contigs(index.contigs().map(|(name, length)| (name.to_bytes(), length))) {
            return Err(files::changed_index_error(prefix));
        }
        // SAFETY: the transform is live, and the check above has shown that it has all rows.
        unsafe { mb_bwt_cache((*index.0.as_ptr()).transform, PREFIX_BASES) };
        Ok(index)
    }

    /// Returns the pointer for C calls. It is valid for the lifetime of `self`.
    pub(super) fn raw(&self) -> *const sys::mb_idx_t {
        self.0.as_ptr().cast()
    }

    fn contigs(&self) -> impl Iterator<Item = (&CStr, u64)> {
        (0..).map_while(|at| {
            // SAFETY: the index is live; the name lives as long as the index, and is null after
            // the last sequence.
            unsafe {
                let name = sys::mb_idx_ctg_name(self.raw(), at);
                let length = sys::mb_idx_ctg_len(self.raw(), at);
                (!name.is_null()).then(|| (CStr::from_ptr(name), length as u64))
            }
        })
    }

    pub(super) fn sequences(&self) -> *const L2bLayout {
        // SAFETY: the index is live.
        unsafe { (*self.0.as_ptr()).sequences }
    }

    /// Returns a view of the index in the memory of the C code, or `None` if the index is not that
    /// of a reference with `bases` bases.
    fn loaded_view(&self, bases: u64) -> Option<LoadedMinibwaIndex<'_>> {
        // SAFETY: the index is live; its parts have these layouts, since the version of the crate
        // is pinned and tests read them.
        let (sequences, transform) = unsafe {
            let parts = &*self.0.as_ptr();
            (parts.sequences.as_ref()?, parts.transform.as_ref()?)
        };
        let rows = 2 * bases;
        let blocks = 8 * rows.div_ceil(128) + 4;
        let same = sequences.bases == bases
            && sequences.words >= bases.div_ceil(32)
            && transform.smaller[4] == rows
            && transform.length == rows
            && transform.words == blocks
            && transform.shift < 32
            && transform.starts == (rows >> transform.shift) + 1
            && !transform.starts_at.is_null();
        // SAFETY: the C code (minibwa 0.6, `l2b_load` and `mb_bwt_load`) has allocated each array with
        // the number of items that was checked above; the arrays stay where they are as long as
        // the index lives.
        same.then(|| unsafe {
            LoadedMinibwaIndex {
                bases,
                smaller_bases: transform.smaller,
                whole_text_row: transform.whole,
                blocks: slice::from_raw_parts(transform.words_at, blocks as usize),
                shift: transform.shift,
                samples: slice::from_raw_parts(transform.starts_at, transform.starts as usize),
                words: slice::from_raw_parts(sequences.words_at, bases.div_ceil(32) as usize),
            }
        })
    }
}

impl Drop for MinibwaIndex {
    fn drop(&mut self) {
        // SAFETY: the index was allocated as the C code does it, and is freed once. The C code can
        // free an index without a transform, but not one without sequences.
        unsafe {
            if (*self.0.as_ptr()).sequences.is_null() {
                libc::free(self.0.as_ptr().cast());
            } else {
                sys::mb_idx_destroy(self.0.as_ptr().cast());
            }
        }
    }
}

fn path_to_c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::usage("the path has a NUL").file(path))
}

/// The layout of `mb_idx_s` in minibwa 0.6.
#[repr(C)]
struct IndexLayout {
    is_meth: i32,
    sequences: *mut L2bLayout,
    transform: *mut BwtLayout,
}

/// The fields of `l2b_t` (the sequences) that are used here.
#[repr(C)]
pub(super) struct L2bLayout {
    bases: u64,
    sequences: [u64; 2],
    sequences_at: *const u8,
    words: u64,
    words_room: u64,
    holes: [u64; 2],
    masks: [u64; 2],
    holes_at: *const u64,
    masks_at: *const u64,
    words_at: *const u64,
}

/// The fields of `mb_bwt_t` (the transform) that are used here.
#[repr(C)]
struct BwtLayout {
    whole: u64,
    smaller: [u64; 5],
    length: u64,
    words: u64,
    words_at: *const u64,
    counts_of_bytes: [u32; 256],
    word: u32,
    words_rows: *const u64,
    shift: u32,
    starts: u64,
    starts_at: *const u64,
}

// SAFETY: these are the declarations of minibwa 0.6 in l2bit.h and bwt.h; the version of the crate is
// pinned.
unsafe extern "C" {
    fn l2b_load(file: *const c_char) -> *mut L2bLayout;
    fn mb_bwt_load(file: *const c_char) -> *mut BwtLayout;
    fn mb_bwt_cache(transform: *mut BwtLayout, word: c_int);
}
