//! bwa mem's options as its C code has them, and which optional fields it writes.
#![allow(unsafe_code, reason = "fills structs of C++")]

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use bwa_mem3_sys as sys;
use readmill_record::Result;

use super::failure::failed;

/// The format of bwa-mem3's output (`compat_target_t` of 0.9.0).
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

/// bwa mem's options as the C code has them, and the table that they point at. Both are reached by pointers alone, as
/// the C code reaches them, so that it does not matter where this is moved.
pub(super) struct Settings {
    raw: NonNull<sys::mem_opt_t>,
    compat: NonNull<Compat>,
}

// SAFETY: written by `new` alone; the shim only reads options, and copies them where it changes a flag.
unsafe impl Send for Settings {}
// SAFETY: as above.
unsafe impl Sync for Settings {}

impl Settings {
    /// The defaults, changed by `change`; records have the tags of bwa 0.7.17: no HN, and MQ only if asked for.
    pub(super) fn new(mate_mapq: bool, change: impl FnOnce(&mut sys::mem_opt_t)) -> Result<Self> {
        // SAFETY: no preconditions.
        let raw = unsafe { sys::bwa_shim_opts_new() };
        let raw = NonNull::new(raw).ok_or_else(|| failed("making options"))?;
        // SAFETY: new options point at a static table of that layout (the version of the crate is pinned, and a test
        // reads the table).
        let table = unsafe { (*raw.as_ptr()).compat.cast::<Compat>().read() };
        let table = Compat { emit_mq: c_int::from(mate_mapq), emit_hn: 0, ..table };
        let settings = Settings { raw, compat: NonNull::from(Box::leak(Box::new(table))) };
        // SAFETY: nobody else has the options yet.
        let options = unsafe { &mut *raw.as_ptr() };
        options.compat = settings.compat.as_ptr().cast();
        change(options);
        // SAFETY: live options, not looked at from here meanwhile; fills their scoring matrices from match score and
        // mismatch penalty.
        unsafe { sys::bwa_shim_opts_fill_scmat(raw.as_ptr()) };
        Ok(settings)
    }

    /// The options, which live as long as this.
    pub(super) fn raw(&self) -> *const sys::mem_opt_t {
        self.raw.as_ptr()
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: made by the shim, freed once.
        unsafe { sys::bwa_shim_opts_free(self.raw.as_ptr()) };
        // SAFETY: of a box, freed once; nothing points at it any more.
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
        // SAFETY: static strings of the C code.
        let (name, line) = unsafe { (CStr::from_ptr(table.name), CStr::from_ptr(table.hd_line)) };
        assert_eq!(name, c"off");
        assert_eq!(line, c"@HD\tVN:1.5\tSO:unsorted\tGO:query");
        let numbers = (table.emit_hd, table.read_sidecar, table.emit_mq, table.emit_hn);
        assert_eq!(numbers, (1, 1, 0, 0));
        assert_eq!((table.chain_flt_resurrect_empty, table.sa_sentinel_drop_offset), (0, 0));
        assert!(table.alias.is_null() && table.unavailable_reason.is_null());
    }
}
