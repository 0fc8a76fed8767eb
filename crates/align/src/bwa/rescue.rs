//! Mate rescue on processors without AVX2.
//!
//! bwa-mem3 scores many mate rescues at once, with one class per instruction set. The classes for
//! sets below AVX2 exist only for the linker: their two functions exit the process.
//! [`install_rescue`] replaces these functions in the virtual tables. The replacements score one
//! rescue after another with bwa's own function, `ksw_align2`. bwa-mem3 has a copy of it for each
//! instruction set. The scores are the same: a test compares them with those of the AVX2
//! class.
//!
//! Patching tables is necessary because the linker cannot choose a different definition.
//! bwa-mem3-sys links its archives as a whole, so a second definition is an error, and a library
//! cannot set options for the final link.
#![allow(unsafe_code, reason = "calls C++, and is called by it")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::{io, ptr};

use readmill_record::{Error, Result};

use super::options::Settings;
use super::pages::make_writable;

/// Flags of `ksw_align2` in [`RescuePair::ask`] (`ksw.h`). `BYTES`: use byte-sized scores. `START`:
/// also find the start of the alignment.
const SCORE_IN_BYTES: c_int = 0x10000;
const FIND_START: c_int = 0x80000;

/// The rank of AVX2 among the instruction sets (`simd_dispatch.h`). Better sets have higher ranks.
const TIER_AVX2: c_int = 4;

const LETTER_COUNT: usize = 5;

/// A mate and the part of the reference where it may align (`SeqPair` of `bandedSWA.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RescuePair {
    /// Offset of its letters in the buffer of all reference parts; `mate` is the offset for mates.
    piece: i32,
    mate: i32,
    id: i32,
    piece_len: i32,
    mate_len: i32,
    ask: i32,
    sequence: i32,
    hit: i32,
    unused: [i32; 9],
    unused_bytes: [u8; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct RescueHit {
    score: c_int,
    piece_end: c_int,
    mate_end: c_int,
    second_score: c_int,
    second_end: c_int,
    piece_start: c_int,
    mate_start: c_int,
}

/// An object of these classes (`kswv` of `kswv.h`). Only the fields that are read here are
/// declared.
#[repr(C)]
struct RescueKernel {
    functions: *const RescueVirtualFunctions,
    letters: c_int,
    open_deletion: c_int,
    open_insertion: c_int,
    extend_deletion: c_int,
    extend_insertion: c_int,
    freed: [i8; 5],
    is_freed: [bool; 2],
    same: i8,
    different: i8,
    open: i8,
    extend: i8,
    unknown: i8,
}

// SAFETY: only bwa-mem3 calls it, with an object of one of these classes, `count` pairs, their
// letters, and one hit for each pair.
type ScoreFunction = unsafe extern "C" fn(
    kernel: *const RescueKernel,
    pairs: *const RescuePair,
    pieces: *mut u8,
    mates: *mut u8,
    hits: *mut RescueHit,
    count: i32,
    threads: u16,
    phase: c_int,
);

/// The virtual functions, in the order in which `Ikswv` of `kswv.h` declares them.
#[repr(C)]
struct RescueVirtualFunctions {
    destructors: [unsafe extern "C" fn(*const RescueKernel); 2],
    in_bytes: ScoreFunction,
    in_words: ScoreFunction,
    needs_scalar: *const c_void,
}

/// A C++ virtual table in the Itanium ABI, which this system uses. Objects point to its
/// `functions`.
#[repr(C)]
struct VirtualTable {
    offset_to_top: isize,
    type_info: *const c_void,
    functions: RescueVirtualFunctions,
}

const _: () = {
    assert!(
        size_of::<RescuePair>() == 72 && size_of::<RescueHit>() == 28 && size_of::<VirtualTable>() == 56
    );
    assert!(std::mem::offset_of!(RescueKernel, same) == 35);
};

// SAFETY: the functions are declared so in `ksw.h` and `simd_dispatch.h`. The tables have the layout
// that the C++ compiler gives a class with five virtual functions, as in `kswv.h`.
unsafe extern "C" {
    fn bwamem3_simd_init();
    fn bwamem3_simd_tier() -> c_int;
    fn ksw_align2(
        mate_len: c_int,
        mate: *mut u8,
        piece_len: c_int,
        piece: *mut u8,
        letters: c_int,
        scores: *const i8,
        open_deletion: c_int,
        extend_deletion: c_int,
        open_insertion: c_int,
        extend_insertion: c_int,
        ask: c_int,
        profile: *mut c_void,
    ) -> RescueHit;
    #[link_name = "_ZTV10kswv_sse41"]
    static mut SSE41: VirtualTable;
    #[link_name = "_ZTV10kswv_sse42"]
    static mut SSE42: VirtualTable;
    #[link_name = "_ZTV8kswv_avx"]
    static mut AVX: VirtualTable;
}

/// Makes mate rescue work if bwa-mem3 selects a class below AVX2.
///
/// bwa-mem3 does so on processors without AVX2, or if the environment variable `BWAMEM3_FORCE_TIER`
/// selects such a class, as in tests. The patch is necessary even without mate rescue, because
/// bwa-mem3 then calls the same functions with no pairs.
///
/// # Errors
/// Mates are to be rescued with penalties for which `ksw_align2` and the classes from AVX2 on find
/// different scores: `ksw_align2` stops too early if opening an insertion costs nothing, or if the
/// cost does not fit in a byte.
pub(super) fn install_rescue(settings: &Settings, rescues: bool) -> Result<()> {
    static INSTALLED: OnceLock<io::Result<()>> = OnceLock::new();
    // SAFETY: the only precondition is that the first is called before the second.
    let tier = unsafe {
        bwamem3_simd_init();
        bwamem3_simd_tier()
    };
    if tier >= TIER_AVX2 {
        return Ok(());
    }
    let (open, extend) = settings.insertion_penalties();
    if rescues && (open < 1 || open + extend > 255) {
        return Err(Error::usage(format!(
            "without AVX2, mate rescue needs insertion penalties of at least 1 (-O) and at most 255 (-O plus -E), but they are {open} and {extend}"
        ))
        .hint("change -O or -E in --bwa, add -S to --bwa to skip mate rescue, or align on an x86 processor of 2013 or later"));
    }
    let installed = INSTALLED.get_or_init(patch_tables);
    installed.as_ref().copied().map_err(|error| Error::io("preparing mate rescue failed", error))
}

fn patch_tables() -> io::Result<()> {
    for table in [&raw mut SSE41, &raw mut SSE42, &raw mut AVX] {
        make_writable(table.cast(), size_of::<VirtualTable>())?;
        // SAFETY: the table belongs to this program and was made writable. Nothing reads it during
        // the change: this runs once, before the first index is loaded, so no object of the class
        // exists yet.
        unsafe {
            (&raw mut (*table).functions.in_bytes).write_volatile(score_pairs::<SCORE_IN_BYTES>);
            (&raw mut (*table).functions.in_words).write_volatile(score_pairs::<0>);
        }
    }
    Ok(())
}

/// Scores pairs one by one.
///
/// Phase 0 finds scores and ends. Phase 1 gets the pairs whose starts are wanted, with their
/// letters reversed up to those ends. If it finds the same score, the distance that it covers is
/// that from the end to the start.
// SAFETY: see `Scores`.
unsafe extern "C" fn score_pairs<const WIDTH: c_int>(
    kernel: *const RescueKernel,
    pairs: *const RescuePair,
    pieces: *mut u8,
    mates: *mut u8,
    hits: *mut RescueHit,
    count: i32,
    _: u16,
    phase: c_int,
) {
    // SAFETY: the object is live, and is only read.
    let kernel = unsafe { &*kernel };
    let scores = kernel.score_matrix();
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: `at` is less than `count`, and the letters and the hit of a pair are at the
        // offsets that the pair gives.
        unsafe {
            let pair = &*pairs.add(at);
            let found = ksw_align2(
                pair.mate_len,
                mates.offset(pair.mate as isize),
                pair.piece_len,
                pieces.offset(pair.piece as isize),
                LETTER_COUNT as c_int,
                scores.as_ptr(),
                kernel.open_deletion,
                kernel.extend_deletion,
                kernel.open_insertion,
                kernel.extend_insertion,
                pair.ask & !(SCORE_IN_BYTES | FIND_START) | WIDTH,
                ptr::null_mut(),
            );
            let hit = &mut *hits.offset(pair.hit as isize);
            if phase == 0 {
                *hit = RescueHit { piece_start: hit.piece_start, mate_start: hit.mate_start, ..found };
            } else if hit.score == found.score {
                hit.piece_start = hit.piece_end - found.piece_end;
                hit.mate_start = hit.mate_end - found.mate_end;
            }
        }
    }
}

impl RescueKernel {
    /// Returns the score of each pair of letters as bwa computes it (`bwa_fill_scmat`).
    fn score_matrix(&self) -> [i8; LETTER_COUNT * LETTER_COUNT] {
        std::array::from_fn(|at| match (at / LETTER_COUNT, at % LETTER_COUNT) {
            (4, _) | (_, 4) => self.unknown,
            (one, other) if one == other => self.same,
            _ => self.different,
        })
    }
}

#[cfg(test)]
mod tests;
