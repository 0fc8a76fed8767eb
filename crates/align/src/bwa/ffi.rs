//! Safe wrappers for bwa-mem3's C functions. They own the memory that the C code allocates, except
//! for the index, which `memory.rs` owns.
//!
//! The safe crate bwa-mem3-rs on top of bwa-mem3-sys is not used: it cannot set
//! `-a -S -P -5 -q -r -d` or omit the tags MQ and HN, it needs a cohort in one slice, and it keeps
//! the read group in a global variable.
#![allow(unsafe_code, reason = "calls C++")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use bwa_mem3_sys as sys;
use readmill_record::{Read, ReadBatch, Result};

use super::memory::BwaIndexHandle;
use super::memory::call_error;
use super::options::InsertSize;
use super::options::Settings;

pub(super) struct Scratch(*mut sys::BwaScratch);

// SAFETY: the memory belongs to no thread, and only `&mut self` gives access to it.
unsafe impl Send for Scratch {}

impl Scratch {
    pub(super) fn new() -> Result<Self> {
        // SAFETY: no preconditions.
        let scratch = unsafe { sys::bwa_shim_scratch_new() };
        if scratch.is_null() {
            Err(call_error("creating the buffers of a thread"))
        } else {
            Ok(Scratch(scratch))
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: the shim made the buffers, and they are freed once.
        unsafe { sys::bwa_shim_scratch_free(self.0) };
    }
}

/// The candidate alignments of a batch. The C code copies the reads into it, so the batch itself is
/// no longer needed.
pub(super) struct CandidateRegions(*mut sys::BwaRegs);

// SAFETY: the value owns all its memory.
unsafe impl Send for CandidateRegions {}
// SAFETY: functions that take `&CandidateRegions` only read it; those that change it take the value.
unsafe impl Sync for CandidateRegions {}

impl Drop for CandidateRegions {
    fn drop(&mut self) {
        // SAFETY: the shim made the regions. They are freed once, since `emit_records` forgets the
        // regions that it passes to the shim.
        unsafe { sys::bwa_shim_regs_free(self.0) };
    }
}

/// Insert sizes for the four pair orientations, in the order FF, FR, RF, RR.
pub(super) struct BwaInsertSizes([sys::mem_pestat_t; 4]);

impl BwaInsertSizes {
    /// Returns the user's insert size (`-I`). It applies to FR only; pairs of other orientations
    /// are never proper.
    pub(super) fn from_insert_size(insert: &InsertSize) -> Self {
        let failed = sys::mem_pestat_t { failed: 1, ..Default::default() };
        let (low, high) = (insert.min, insert.max);
        let faced = sys::mem_pestat_t { low, high, failed: 0, avg: insert.mean, std: insert.deviation };
        BwaInsertSizes([failed, faced, failed, failed])
    }
}

/// Removes a suffix such as `/1` from a read name, as bwa does (0.7.17, `trim_readno`).
pub(super) fn trim_read_number(name: &[u8]) -> &[u8] {
    match name {
        [rest @ .., b'/', digit] if digit.is_ascii_digit() && !rest.is_empty() => rest,
        _ => name,
    }
}

fn quality_pointer(read: &Read<'_>) -> *const u8 {
    read.qualities.map_or(ptr::null(), <[u8]>::as_ptr)
}

fn pair_for_c(first: &Read<'_>, last: &Read<'_>) -> sys::BwaReadPair {
    let (r1_name, r2_name) = (trim_read_number(first.name), trim_read_number(last.name));
    sys::BwaReadPair {
        r1_name: r1_name.as_ptr().cast(),
        r1_name_len: r1_name.len(),
        r1_seq: first.bases.as_ptr(),
        r1_seq_len: first.bases.len(),
        r1_qual: quality_pointer(first),
        r2_name: r2_name.as_ptr().cast(),
        r2_name_len: r2_name.len(),
        r2_seq: last.bases.as_ptr(),
        r2_seq_len: last.bases.len(),
        r2_qual: quality_pointer(last),
    }
}

fn single_for_c(read: &Read<'_>) -> sys::BwaSingleRead {
    let name = trim_read_number(read.name);
    sys::BwaSingleRead {
        name: name.as_ptr().cast(),
        name_len: name.len(),
        seq: read.bases.as_ptr(),
        seq_len: read.bases.len(),
        qual: quality_pointer(read),
    }
}

/// Finds and extends the seeds of a batch. The caller has checked the reads
/// ([`limits::check_reads`](crate::limits::check_reads)).
pub(super) fn seed_reads(
    index: &BwaIndexHandle,
    settings: &Settings,
    scratch: &mut Scratch,
    reads: &ReadBatch,
) -> Result<CandidateRegions> {
    let (mut pairs, mut singles) = (Vec::new(), Vec::new());
    if reads.segments() == 2 {
        pairs.extend(
            (0..reads.template_count())
                .map(|at| pair_for_c(&reads.read(2 * at), &reads.read(2 * at + 1))),
        );
    } else {
        singles.extend(reads.iter().map(|read| single_for_c(&read)));
    }
    let batch = sys::BwaReadBatch {
        pairs: pairs.as_ptr(),
        n_pairs: pairs.len(),
        singles: singles.as_ptr(),
        n_singles: singles.len(),
    };
    // SAFETY: all arguments are live, and the shim copies the reads before it returns.
    let regions =
        unsafe { sys::bwa_shim_seed_extend(index.raw(), settings.raw(), scratch.0, &raw const batch) };
    if regions.is_null() { Err(call_error("seeding reads")) } else { Ok(CandidateRegions(regions)) }
}

impl CandidateRegions {
    /// Returns its heap memory in bytes as the C code counts it, without allocator overhead.
    pub(super) fn bytes(&self) -> u64 {
        // SAFETY: the regions are live, and the call only reads them.
        unsafe { sys::bwa_shim_regs_heap_bytes(self.0) as u64 }
    }
}

/// Estimates the insert sizes of a cohort, whose batches must be in input order.
pub(super) fn infer_insert_sizes(
    index: &BwaIndexHandle,
    settings: &Settings,
    cohort: &[&CandidateRegions],
) -> Result<BwaInsertSizes> {
    let cohort: Vec<*const sys::BwaRegs> = cohort.iter().map(|regions| regions.0.cast_const()).collect();
    let mut inserts = BwaInsertSizes([sys::mem_pestat_t::default(); 4]);
    // SAFETY: all arguments are live. The call only reads the regions, and writes the statistics of
    // four orientations.
    let status = unsafe {
        let out = inserts.0.as_mut_ptr();
        sys::bwa_shim_pestat_cohort(index.raw(), settings.raw(), cohort.as_ptr(), cohort.len(), out)
    };
    if status == 0 { Ok(inserts) } else { Err(call_error("inferring insert sizes")) }
}

/// The callback for records. Its arguments are the index of the template in its batch, and the
/// record without `block_size`.
type TakeRecord<'a> = dyn FnMut(usize, &[u8]) -> Result<()> + 'a;

struct RecordReceiver<'a, 'b> {
    take: &'a mut TakeRecord<'b>,
    outcome: std::thread::Result<Result<()>>,
}

/// Chooses between candidates, and passes each record to `take`.
///
/// `first` is the number of the batch's first template in the input; bwa uses it to break ties
/// between equal alignments.
pub(super) fn emit_records(
    index: &BwaIndexHandle,
    settings: &Settings,
    scratch: &mut Scratch,
    regions: CandidateRegions,
    inserts: &BwaInsertSizes,
    first: u64,
    take: &mut TakeRecord<'_>,
) -> Result<()> {
    let ids = sys::BwaIdBases { first_single_id: first, first_pair_id: first };
    let mut taking = RecordReceiver { take, outcome: Ok(Ok(())) };
    let raw = regions.0;
    std::mem::forget(regions);
    // SAFETY: all arguments are live. The shim always frees the regions, so they were forgotten
    // above. `taking` outlives the call, and only `receive_record` uses it during the call.
    let status = unsafe {
        let (inserts, context) = (inserts.0.as_ptr(), ptr::from_mut(&mut taking).cast());
        sys::bwa_shim_pair_emit(
            index.raw(),
            settings.raw(),
            scratch.0,
            raw,
            inserts,
            ids,
            Some(receive_record),
            context,
        )
    };
    match taking.outcome {
        Err(panic) => resume_unwind(panic),
        Ok(outcome) if status == 0 => outcome,
        Ok(_) => Err(call_error("choosing alignments")),
    }
}

/// Passes one record from the C code to `take`. Neither a panic nor an error can unwind through C,
/// so both are stored in `outcome` and handled after the call.
// SAFETY: only the shim calls this, with the context that `emit_records` passed and with a record
// of `len` bytes.
unsafe extern "C" fn receive_record(
    context: *mut c_void,
    _: u32,
    template: usize,
    body: *const u8,
    len: usize,
) {
    // SAFETY: the context is the one that `emit_records` passed, and the record is valid during
    // this call.
    let (taking, body) = unsafe {
        (&mut *context.cast::<RecordReceiver<'_, '_>>(), std::slice::from_raw_parts(body, len))
    };
    if let Ok(Ok(())) = taking.outcome {
        let take = &mut taking.take;
        taking.outcome = catch_unwind(AssertUnwindSafe(|| take(template, body)));
    }
}

pub(super) fn batch_reads() -> usize {
    // SAFETY: no preconditions.
    unsafe { sys::bwa_shim_kernel_batch_size() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_numbers_the_segment() {
        for (name, kept) in
            [("r/1", "r"), ("r/9", "r"), ("/1", "/1"), ("r/x", "r/x"), ("r", "r"), ("", "")]
        {
            assert_eq!(trim_read_number(name.as_bytes()), kept.as_bytes(), "{name}");
        }
    }
}
