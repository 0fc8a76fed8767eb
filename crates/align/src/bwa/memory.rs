//! The index of bwa-mem3 in memory: loaded from its files, and seen as its C++ code sees it.
//!
//! The C++ code is kept from an index in shared memory. `bwa-mem3 shm` puts an index there under the name of its files, without their directory, and bwa-mem3 takes the one
//! of the name it is given, whoever has put it there. Whoever has can change it while it is in use. So where there is
//! one of the name, the C++ code is given the files under another.
#![allow(unsafe_code, reason = "gives C++ memory, and calls it")]

use std::ffi::{CStr, CString, c_char};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::slice;

use bwa_mem3_sys as sys;
use readmill_record::{Error, Result};
use tempfile::TempDir;

use super::files::SUFFIXES;
use super::loaded::{CheckpointBlock, Loaded};
use crate::index::named;

/// An index in memory. Nothing changes it once it is loaded: it is of this process alone.
pub(super) struct Index(*mut sys::BwaIndex);

// SAFETY: the shim says that an index is read-only after loading, and all functions that take one take `&Index`.
unsafe impl Send for Index {}
// SAFETY: as above.
unsafe impl Sync for Index {}

impl Index {
    /// Reads the index, whose files must have been checked before: the C++ code ends the process over damaged ones.
    ///
    /// It must be checked ([`Index::loaded`]) before anything is aligned.
    pub(super) fn load(prefix: &Path) -> Result<Self> {
        super::quiet::chatter();
        // SAFETY: a plain setter of a global number: nothing below the level of errors is to be said on stderr.
        unsafe { sys::bwa_shim_set_verbosity(1) };
        let aside = if is_shared(&text(prefix)?) { Some(Aside::of(prefix)?) } else { None };
        let name = text(aside.as_ref().map_or(prefix, Aside::prefix))?;
        // SAFETY: `name` is a C string that outlives the call.
        let index = unsafe { sys::bwa_shim_idx_load(name.as_ptr()) };
        if index.is_null() { Err(failed("loading the index").file(prefix)) } else { Ok(Index(index)) }
    }

    /// The index, which lives as long as this.
    pub(super) fn raw(&self) -> *mut sys::BwaIndex {
        self.0
    }

    /// Name and length of each reference sequence.
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

    /// Whether each reference sequence is an alternate locus, as the C++ code read it from the `.alt` file.
    pub(super) fn alternates(&self) -> impl Iterator<Item = bool> {
        // SAFETY: a live index; its parts have these layouts, as for `loaded`, and the C++ code has allocated so many
        // sequences as it counts.
        let sequences = unsafe {
            let search = &*(*(*self.0.cast::<Handle>()).with_sequences).search;
            let sequences = &*(*search.files).sequences;
            slice::from_raw_parts(sequences.sequences, usize::try_from(sequences.count).unwrap_or(0))
        };
        sequences.iter().map(|sequence| sequence.is_alternate != 0)
    }

    /// The index as the C++ code has it in memory, or `None` if it is not of a reference of so many bases.
    pub(super) fn loaded(&self, bases: u64) -> Option<Loaded<'_>> {
        // SAFETY: a live index; its parts have these layouts (the version of the crate is pinned, and a test reads them).
        let (search, sequences, packed) = unsafe {
            let search = &*(*(*self.0.cast::<Handle>()).with_sequences).search;
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
        // SAFETY: the C++ code has allocated so many of each (bwa-mem3 0.9.0, `load_index` and `bns_restore_core`), of
        // the numbers that were compared above; they live and stay as long as the index.
        unsafe {
            let mut offset = 0;
            for sequence in slice::from_raw_parts(sequences.sequences, count) {
                if sequence.offset != offset {
                    return None;
                }
                offset += u64::try_from(sequence.length).ok()?;
            }
            (offset == bases).then_some(Loaded {
                bases,
                firsts: search.firsts,
                whole: search.whole,
                blocks: slice::from_raw_parts(search.blocks, blocks),
                shift,
                starts: (
                    slice::from_raw_parts(search.high, starts),
                    slice::from_raw_parts(search.low, starts),
                ),
                packed: slice::from_raw_parts(packed, (bases / 4) as usize + 1),
            })
        }
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { sys::bwa_shim_idx_free(self.0) };
    }
}

/// Whether an index of that name is in shared memory.
pub(super) fn is_shared(prefix: &CStr) -> bool {
    // SAFETY: a C string, which the call only reads.
    unsafe { sys::bwa_shim_shm_test(prefix.as_ptr()) == 1 }
}

fn text(prefix: &Path) -> Result<CString> {
    let text = prefix
        .to_str()
        .ok_or_else(|| Error::usage("the path of the index is not UTF-8").file(prefix))?;
    CString::new(text).map_err(|_| Error::usage("the path of the index has a NUL").file(prefix))
}

/// `BwaIndex` of bwa-mem3-sys 0.4.4.
#[repr(C)]
struct Handle {
    with_sequences: *const WithSequences,
}

/// `BwaShimIndex`, the fields that are used here.
#[repr(C)]
struct WithSequences {
    search: *const Search,
}

/// `FMI_search` of bwa-mem3 0.9.0, behind its base class `indexEle`.
#[repr(C)]
struct Search {
    files: *const IndexText,
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

/// `bwaidx_fm_t`, the fields that are used here.
#[repr(C)]
struct IndexText {
    sequences: *const Sequences,
    packed: *const u8,
}

/// `bntseq_t`, the fields that are used here.
#[repr(C)]
struct Sequences {
    bases: u64,
    count: i32,
    seed: u32,
    sequences: *const BnsSequence,
}

/// `bntann1_t`.
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

/// The error of a call that did not do what it says.
pub(super) fn failed(doing: &str) -> Error {
    // SAFETY: null, or this thread's message, which lives until its next call of the shim.
    let said = unsafe {
        let text = sys::bwa_shim_last_error();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    Error::bug(format!("bwa-mem3: {doing}: {}", said.as_deref().unwrap_or("it did not say why")))
}

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
