//! Errors of the C code.
#![allow(unsafe_code, reason = "calls C++")]

use std::ffi::CStr;

use bwa_mem3_sys as sys;
use readmill_record::Error;

/// The error of a call that did not do what it says.
pub(super) fn failed(doing: &str) -> Error {
    // SAFETY: null, or this thread's message, which lives until its next call of the shim.
    let said = unsafe {
        let text = sys::bwa_shim_last_error();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    Error::bug(format!("bwa-mem3: {doing}: {}", said.as_deref().unwrap_or("it did not say why")))
}
