//! The options of bwa mem, and how they are passed to its C code.
#![allow(unsafe_code, reason = "fills structs of C++")]

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use bwa_mem3_sys as sys;
use readmill_record::Result;

use super::memory::call_error;
use crate::kernel::given::{self, set_both_if_given, set_if_given};

/// The options of `bwa mem`. `None` and `false` select bwa's default, which is given in
/// parentheses.
///
/// Each field names its option letter. These options are missing:
///
/// - `-R` is an argument of [`Aligner::emit_records`](crate::Aligner::emit_records), so that one
///   run can align several read groups.
/// - `-C` and `-p` affect reading FASTQ and writing comments, which the caller does.
/// - `-V` (the reference header in a tag) and `-x` (presets for long reads) are not supported. To
///   ignore alternate loci (`-j`), move the `.alt` file away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BwaOptions {
    /// `-k`: minimum seed length in bases (19).
    pub min_seed_length: Option<i32>,
    /// `-w`: band width of alignments (100).
    pub band_width: Option<i32>,
    /// `-d`: how far the score may drop along a diagonal before extension stops (100).
    pub z_dropoff: Option<i32>,
    /// `-r`: look for shorter seeds inside a seed that is longer than this times `-k` (1.5).
    pub reseed_factor: Option<f32>,
    /// `-y`: the third round of seeding looks for seeds with fewer occurrences than this (20).
    pub third_round_occurrences: Option<u64>,
    /// `-c`: skip seeds with more occurrences than this (500).
    pub max_occurrences: Option<i32>,
    /// `-D`: drop a chain if it is shorter than this fraction of the longest chain that overlaps it
    /// (0.5).
    pub chain_drop_ratio: Option<f32>,
    /// `-W`: drop a chain with fewer seeded bases than this (0).
    pub min_chain_bases: Option<i32>,
    /// `-m`: maximum number of mate rescue rounds per read (50).
    pub max_mate_rescues: Option<i32>,
    /// `-S`: skip mate rescue.
    pub skip_mate_rescue: bool,
    /// `-P`: skip pairing.
    pub skip_pairing: bool,
    /// `-A`: score of a match (1). Options among `-T -d -B -O -E -L -U` that are not given are
    /// multiplied by it.
    pub match_score: Option<i32>,
    /// `-B`: penalty of a mismatch (4).
    pub mismatch_penalty: Option<i32>,
    /// `-O`: penalties for opening a deletion and an insertion (6, 6).
    pub gap_open: Option<(i32, i32)>,
    /// `-E`: penalties per base of a deletion and an insertion (1, 1).
    pub gap_extend: Option<(i32, i32)>,
    /// `-L`: penalties for clipping the 5' and the 3' end (5, 5).
    pub clip: Option<(i32, i32)>,
    /// `-U`: penalty for an unpaired read pair (17).
    pub unpaired: Option<i32>,
    /// `-T`: minimum score of a written alignment (30).
    pub min_score: Option<i32>,
    /// `-h`: list hits in XA if there are at most this many; the second maximum applies if a hit is
    /// on an alternate locus (5, 200).
    pub max_xa_hits: Option<(i32, i32)>,
    /// `-I`: the insert size, which is then not estimated. It applies to FR pairs only.
    pub insert: Option<InsertSize>,
    /// `-K`: bases per cohort. The default is 100,000,000 here, as in pipelines that need the same
    /// output for any number of threads.
    pub cohort_bases: Option<u64>,
    /// `-a`: write all alignments of single reads and of improper pairs.
    pub all: bool,
    /// `-Y`: soft clipping for supplementary alignments.
    pub soft_clip: bool,
    /// `-M`: mark shorter parts of a split read as secondary, not as supplementary.
    pub mark_split_secondary: bool,
    /// `-5`: for split reads, the part with the smallest coordinate becomes primary. Implies `-q`.
    pub primary_five_prime: bool,
    /// `-q`: do not change the mapping quality of supplementary alignments.
    pub keep_supplementary_mapq: bool,
    /// Write MQ, the mapping quality of the mate, as bwa does since version 0.7.18.
    pub mate_mapq: bool,
}

/// The insert size distribution in bases, as in `-I`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InsertSize {
    pub mean: f64,
    /// Standard deviation. bwa mem defaults to a tenth of the mean.
    pub deviation: f64,
    /// Maximum insert size of a proper pair. bwa mem defaults to the mean plus 4 deviations.
    pub max: i32,
    /// Minimum insert size of a proper pair. bwa mem defaults to the mean minus 4 deviations, but
    /// at least 1.
    pub min: i32,
}

impl BwaOptions {
    /// Default of `-K`, in bases.
    pub const COHORT_BASES: u64 = 100_000_000;

    /// Overwrites bwa-mem3's defaults (which are bwa's) with the given options.
    pub(super) fn apply_to(&self, to: &mut sys::mem_opt_t) {
        self.scale_penalties(to);
        self.set_scores(to);
        set_if_given(&mut to.min_seed_len, self.min_seed_length);
        set_if_given(&mut to.w, self.band_width);
        set_if_given(&mut to.split_factor, self.reseed_factor);
        set_if_given(&mut to.max_mem_intv, self.third_round_occurrences);
        set_if_given(&mut to.max_occ, self.max_occurrences);
        set_if_given(&mut to.drop_ratio, self.chain_drop_ratio);
        set_if_given(&mut to.min_chain_weight, self.min_chain_bases);
        set_if_given(&mut to.max_matesw, self.max_mate_rescues);
        set_both_if_given((&mut to.max_XA_hits, &mut to.max_XA_hits_alt), self.max_xa_hits);
        to.flag |= self.mem_flags() as i32;
    }

    /// Sets the match score, and multiplies the same options by it as bwa mem (0.7.17, `update_a`).
    /// Explicit penalties are set later and not multiplied.
    fn scale_penalties(&self, to: &mut sys::mem_opt_t) {
        let Some(score) = self.match_score else { return };
        to.a = score;
        for scaled in [
            &mut to.b,
            &mut to.T,
            &mut to.o_del,
            &mut to.e_del,
            &mut to.o_ins,
            &mut to.e_ins,
            &mut to.zdrop,
            &mut to.pen_clip5,
            &mut to.pen_clip3,
            &mut to.pen_unpaired,
        ] {
            *scaled *= score;
        }
    }

    fn set_scores(&self, to: &mut sys::mem_opt_t) {
        set_if_given(&mut to.b, self.mismatch_penalty);
        set_if_given(&mut to.T, self.min_score);
        set_if_given(&mut to.zdrop, self.z_dropoff);
        set_if_given(&mut to.pen_unpaired, self.unpaired);
        set_both_if_given((&mut to.o_del, &mut to.o_ins), self.gap_open);
        set_both_if_given((&mut to.e_del, &mut to.e_ins), self.gap_extend);
        set_both_if_given((&mut to.pen_clip5, &mut to.pen_clip3), self.clip);
    }

    fn mem_flags(&self) -> u32 {
        given::union_of_flags([
            (self.skip_mate_rescue, sys::MEM_F_NO_RESCUE),
            (self.skip_pairing, sys::MEM_F_NOPAIRING),
            (self.all, sys::MEM_F_ALL),
            (self.soft_clip, sys::MEM_F_SOFTCLIP),
            (self.mark_split_secondary, sys::MEM_F_NO_MULTI),
            (self.primary_five_prime, sys::MEM_F_PRIMARY5 | sys::MEM_F_KEEP_SUPP_MAPQ),
            (self.keep_supplementary_mapq, sys::MEM_F_KEEP_SUPP_MAPQ),
        ])
    }
}

/// bwa-mem3's output format (`compat_target_t` in 0.9.0).
#[repr(C)]
#[derive(Clone, Copy)]
struct Compat {
    name: *const c_char,
    alias: *const c_char,
    unavailable_reason: *const c_char,
    emit_hd: c_int,
    hd_line: *const c_char,
    read_sidecar: c_int,
    emit_mq: c_int,
    emit_hn: c_int,
    chain_flt_resurrect_empty: c_int,
    sa_sentinel_drop_offset: c_int,
}

/// The options in the memory of the C code, and the table of output formats to which they point.
///
/// Rust accesses both only through pointers, like the C code, so a `Settings` can be moved.
pub(super) struct Settings {
    raw: NonNull<sys::mem_opt_t>,
    compat: NonNull<Compat>,
}

// SAFETY: only `new` writes the options. The shim only reads them: it copies them before it changes
// a flag.
unsafe impl Send for Settings {}
// SAFETY: as for `Send`.
unsafe impl Sync for Settings {}

impl Settings {
    /// Creates bwa's default options and passes them to `change`. The output has the tags of bwa
    /// 0.7.17: no HN, and MQ only if `mate_mapq` is set.
    pub(super) fn new(mate_mapq: bool, change: impl FnOnce(&mut sys::mem_opt_t)) -> Result<Self> {
        // SAFETY: no preconditions.
        let raw = unsafe { sys::bwa_shim_opts_new() };
        let raw = NonNull::new(raw).ok_or_else(|| call_error("creating options"))?;
        // SAFETY: new options point at a static table with this layout, since the version of the
        // crate is pinned and a test reads the table.
        let table = unsafe { (*raw.as_ptr()).compat.cast::<Compat>().read() };
        let table = Compat { emit_mq: c_int::from(mate_mapq), emit_hn: 0, ..table };
        let settings = Settings { raw, compat: NonNull::from(Box::leak(Box::new(table))) };
        // SAFETY: there is no other pointer to the options in use yet.
        let options = unsafe { &mut *raw.as_ptr() };
        options.compat = settings.compat.as_ptr().cast();
        change(options);
        // SAFETY: the options are live, and `options` is not used during the call, which fills the
        // scoring matrices from the match score and the mismatch penalty.
        unsafe { sys::bwa_shim_opts_fill_scmat(raw.as_ptr()) };
        Ok(settings)
    }

    pub(super) fn raw(&self) -> *const sys::mem_opt_t {
        self.raw.as_ptr()
    }

    /// Returns the penalties for opening an insertion and for each of its bases.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    pub(super) fn insertion_penalties(&self) -> (c_int, c_int) {
        // SAFETY: the options are live, and nothing writes them after `new`.
        unsafe { ((*self.raw()).o_ins, (*self.raw()).e_ins) }
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: the shim made the options, and they are freed once.
        unsafe { sys::bwa_shim_opts_free(self.raw.as_ptr()) };
        // SAFETY: the pointer is from a box, is freed once, and nothing else points at the table.
        drop(unsafe { Box::from_raw(self.compat.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn the_table_of_output_shapes_has_the_layout_it_is_read_with() {
        let settings = Settings::new(false, |_| ()).unwrap();
        // SAFETY: the options are live, and point at a table.
        let table = unsafe { (*settings.raw()).compat.cast::<Compat>().read() };
        // SAFETY: both are static strings of the C code.
        let (name, line) = unsafe { (CStr::from_ptr(table.name), CStr::from_ptr(table.hd_line)) };
        assert_eq!(name, c"off");
        assert_eq!(line, c"@HD\tVN:1.5\tSO:unsorted\tGO:query");
        let numbers = (table.emit_hd, table.read_sidecar, table.emit_mq, table.emit_hn);
        assert_eq!(numbers, (1, 1, 0, 0));
        assert_eq!((table.chain_flt_resurrect_empty, table.sa_sentinel_drop_offset), (0, 0));
        assert!(table.alias.is_null() && table.unavailable_reason.is_null());
    }
}
