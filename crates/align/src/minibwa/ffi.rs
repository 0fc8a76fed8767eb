//! Safe wrappers for the C functions of minibwa, and its options as the C code represents them.
//!
//! The safe crate minibwa on top of minibwa-sys is not used because it only returns hits. Pairing
//! calls the same C function as minibwa itself, which minibwa-sys compiles but does not declare.
#![allow(unsafe_code, reason = "calls C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use minibwa_sys as sys;
use readmill_record::{Error, Result};

use super::hits::Hits;
use super::memory::{L2bLayout, MinibwaIndex, allocation_error, suppress_messages};
use super::options::{DifferenceField, MinibwaInsertSize, MinibwaOptions, Preset};
use crate::kernel::given::{self, set_both_if_given, set_if_given};

/// Insert sizes for one orientation of a pair (`mb_pestat_t` of minibwa 0.6).
#[repr(C)]
#[derive(Clone, Copy)]
struct OrientationStats {
    shortest: c_int,
    longest: c_int,
    failed: c_int,
    mean: f64,
    deviation: f64,
}

// SAFETY: these are the declarations of minibwa 0.6 in kommon.h and mbpriv.h; the version of the crate
// is pinned.
unsafe extern "C" {
    fn mb_pestat(
        pool: *mut c_void,
        options: *const sys::mb_opt_t,
        templates: i32,
        firsts: *const i32,
        segments: *const i32,
        counts: *const i32,
        hits: *const *mut sys::mb_hit_t,
        orientations: *mut OrientationStats,
    );
    fn mb_pair(
        pool: *mut c_void,
        options: *const sys::mb_opt_t,
        sequences: *const L2bLayout,
        counts: *mut i32,
        hits: *mut *mut sys::mb_hit_t,
        orientations: *const OrientationStats,
        lengths: *mut i32,
        letters: *const *const c_char,
    );
}

/// The buffer that the C code needs per thread.
///
/// It normally contains a memory pool. Here it has none, because minibwa-sys compiles some files
/// with pools and some without.
pub(super) struct ThreadBuffer(ptr::NonNull<sys::mb_tbuf_t>);

// SAFETY: the memory belongs to no thread, and only `&mut self` gives access to it.
unsafe impl Send for ThreadBuffer {}

impl ThreadBuffer {
    pub(super) fn new() -> Result<Self> {
        // SAFETY: no preconditions.
        let scratch = ptr::NonNull::new(unsafe { sys::mb_tbuf_init(1) });
        scratch
            .map(ThreadBuffer)
            .ok_or_else(|| allocation_error("minibwa: cannot allocate memory for a thread"))
    }
}

impl Drop for ThreadBuffer {
    fn drop(&mut self) {
        // SAFETY: the C code made the buffer, and it is freed once.
        unsafe { sys::mb_tbuf_destroy(self.0.as_ptr()) };
    }
}

/// Returns the options of a preset: `adap`, `sr` or `lr`.
fn preset_options(preset: &CStr) -> sys::mb_opt_t {
    let mut options = std::mem::MaybeUninit::<sys::mb_opt_t>::zeroed();
    // SAFETY: all fields are numbers, for which zero is valid, and `mb_opt_init` sets them even if
    // the preset does not exist.
    unsafe {
        sys::mb_opt_init(options.as_mut_ptr());
        sys::mb_opt_preset(options.as_mut_ptr(), preset.as_ptr());
        options.assume_init()
    }
}

#[derive(Default)]
pub(super) struct ReadsForC<'a> {
    pub(super) bases: Vec<&'a [u8]>,
    pub(super) names: Vec<&'a CStr>,
}

/// Finds the hits of each read, without pairing. Reads must be shorter than 2^31 bases.
pub(super) fn map_reads(
    index: &MinibwaIndex,
    options: &sys::mb_opt_t,
    scratch: &mut ThreadBuffer,
    reads: &ReadsForC<'_>,
) -> Result<Hits> {
    let count = i32::try_from(reads.bases.len().min(reads.names.len()))
        .map_err(|_| Error::bug("minibwa: the batch has too many reads"))?;
    let lengths: Vec<i32> = reads.bases.iter().map(|bases| bases.len() as i32).collect();
    let mut bases: Vec<_> = reads.bases.iter().map(|bases| bases.as_ptr().cast::<c_char>()).collect();
    let mut names: Vec<_> = reads.names.iter().map(|name| name.as_ptr()).collect();
    let mut counts = vec![0; count as usize];
    // SAFETY: all arrays are live and have `count` items, and bases are read up to their lengths.
    // The call makes no pairs, because MB_F_PE is not set.
    let list = unsafe {
        debug_assert!(options.flag & u64::from(sys::MB_F_PE) == 0);
        let (bases, names, counts) = (bases.as_mut_ptr(), names.as_mut_ptr(), counts.as_mut_ptr());
        let (index, scratch) = (index.raw(), scratch.0.as_ptr());
        sys::mb_map_batch(options, index, count, lengths.as_ptr(), bases, counts, scratch, names)
    };
    if list.is_null() {
        // SAFETY: there are no hits.
        return Ok(unsafe { Hits::new(vec![0; counts.len()], vec![ptr::null_mut(); counts.len()]) });
    }
    // SAFETY: the array has `count` lists of hits, as `Hits::new` requires. It is from `malloc`, and
    // is not used again.
    unsafe {
        let hits = std::slice::from_raw_parts(list, counts.len()).to_vec();
        libc::free(list.cast());
        Ok(Hits::new(counts, hits))
    }
}

/// Insert sizes for the four pair orientations, in the order FF, FR, RF, RR.
pub(super) struct MinibwaInsertSizes([OrientationStats; 4]);

/// Minimum number of pairs for estimating insert sizes (minibwa 0.6, `worker_pipeline`).
const MIN_PAIRS: usize = 20;

impl MinibwaInsertSizes {
    /// Returns the given insert size. It applies to FR only; pairs of other orientations are never
    /// proper.
    pub(super) fn from_insert_size(insert: &MinibwaInsertSize) -> Self {
        let none = OrientationStats { shortest: 0, longest: 0, failed: 1, mean: 0.0, deviation: 0.0 };
        let faced = OrientationStats {
            shortest: insert.min,
            longest: insert.max,
            failed: 0,
            mean: f64::from(insert.mean),
            deviation: f64::from(insert.deviation),
        };
        MinibwaInsertSizes([none, faced, none, none])
    }

    /// Estimates the insert sizes of a cohort, whose batches must be in input order. Returns
    /// minibwa's default if the cohort has fewer than [`MIN_PAIRS`] pairs.
    pub(super) fn infer_from_hits(options: &sys::mb_opt_t, cohort: &[&Hits]) -> Result<Self> {
        let usual = MinibwaInsertSize {
            mean: options.pe_avg,
            deviation: options.pe_std,
            max: options.pe_hi,
            min: options.pe_lo,
        };
        let mut inserts = MinibwaInsertSizes::from_insert_size(&usual);
        let (mut counts, mut hits) = (Vec::new(), Vec::new());
        for batch in cohort {
            let (of_batch, at) = batch.raw();
            counts.extend_from_slice(of_batch);
            hits.extend_from_slice(at);
        }
        let pairs = counts.len() / 2;
        if pairs < MIN_PAIRS {
            return Ok(inserts);
        }
        let reads =
            i32::try_from(counts.len()).map_err(|_| Error::bug("minibwa: the cohort is too large"))?;
        let (firsts, segments): (Vec<i32>, _) = ((0..reads).step_by(2).collect(), vec![2; pairs]);
        suppress_messages();
        // SAFETY: all arrays are live, and have an item for each pair or for each read. The call
        // only reads the hits, and writes the statistics of four orientations. With a null pool,
        // the C code calls `malloc`.
        unsafe {
            let (counts, hits, out) = (counts.as_ptr(), hits.as_ptr(), inserts.0.as_mut_ptr());
            let (firsts, segments) = (firsts.as_ptr(), segments.as_ptr());
            mb_pestat(ptr::null_mut(), options, reads / 2, firsts, segments, counts, hits, out);
        }
        Ok(inserts)
    }
}

/// Chooses between the hits of reads `first` and `first + 1` of the batch, and rescues mates.
pub(super) fn pair_hits(
    index: &MinibwaIndex,
    options: &sys::mb_opt_t,
    inserts: &MinibwaInsertSizes,
    hits: &mut Hits,
    first: usize,
    bases: [&[u8]; 2],
) {
    let mut lengths = bases.map(|bases| bases.len() as i32);
    let letters = bases.map(|bases| bases.as_ptr().cast::<c_char>());
    let (counts, lists) = hits.pair_mut(first);
    // SAFETY: all arguments are live: two counts, two lists of hits, which the call may move with
    // `realloc`, two reads with these lengths, and four orientations. With a null pool, the C code
    // calls `malloc`.
    unsafe {
        let (counts, lists, inserts) = (counts.as_mut_ptr(), lists.as_mut_ptr(), inserts.0.as_ptr());
        let (lengths, letters) = (lengths.as_mut_ptr(), letters.as_ptr());
        let sequences = index.sequences();
        mb_pair(ptr::null_mut(), options, sequences, counts, lists, inserts, lengths, letters);
    }
}

pub(super) fn minibwa_version() -> &'static str {
    std::str::from_utf8(sys::MB_VERSION).unwrap_or_default().trim_end_matches('\0')
}

impl Preset {
    fn name(self) -> &'static CStr {
        match self {
            Preset::Adaptive => c"adap",
            Preset::Short => c"sr",
            Preset::Long => c"lr",
        }
    }
}

impl MinibwaOptions {
    /// Returns the options as the C code represents them: the preset, overwritten with the given
    /// options.
    pub(super) fn to_c_options(&self) -> sys::mb_opt_t {
        let mut to = preset_options(self.preset.name());
        set_if_given(&mut to.max_sr_len, self.max_short_read_bases);
        set_if_given(&mut to.min_len, self.min_seed_length);
        set_if_given(&mut to.max_occ, self.max_occurrences);
        set_if_given(&mut to.max_gap, self.max_gap);
        set_if_given(&mut to.bw, self.band_width);
        set_if_given(&mut to.bw_long, self.long_band_width);
        set_if_given(&mut to.min_chain_score, self.min_chain_score);
        set_if_given(&mut to.pri_ratio, self.min_secondary_ratio);
        set_if_given(&mut to.best_n, self.max_secondary);
        set_if_given(&mut to.a, self.match_score);
        set_if_given(&mut to.b, self.mismatch_penalty);
        set_both_if_given((&mut to.q, &mut to.q2), self.gap_open);
        set_both_if_given((&mut to.e, &mut to.e2), self.gap_extend);
        set_if_given(&mut to.min_dp_max, self.min_score);
        set_if_given(&mut to.pen_unpair, self.unpaired);
        set_if_given(&mut to.max_rescue, self.max_mate_rescues);
        set_if_given(&mut to.out_n, self.max_secondary_written);
        set_if_given(&mut to.out_s, self.min_written_ratio);
        set_if_given(&mut to.xa_max, self.max_xa_hits);
        to.flag |= self.option_flags();
        to
    }

    fn option_flags(&self) -> u64 {
        let asked = |how: DifferenceField| self.differences == Some(how);
        given::union_of_flags([
            (self.skip_pairing, sys::MB_F_NO_PAIRING),
            (asked(DifferenceField::Md), sys::MB_F_WRITE_MD),
            (asked(DifferenceField::Cs), sys::MB_F_WRITE_CS),
            (asked(DifferenceField::Ds), sys::MB_F_WRITE_DS),
            (self.soft_clip, sys::MB_F_SUPP_SOFT),
            (self.primary_five_prime, sys::MB_F_PRIMARY5),
            (self.eqx, sys::MB_F_EQX),
        ])
        .into()
    }
}
