//! Makes read-only pages of this program writable, to patch tables that the dynamic loader has
//! protected.
#![allow(unsafe_code, reason = "changes pages of this program")]

use std::ffi::c_void;
use std::io;

/// Makes the `bytes` bytes at `from` writable, and with them the rest of their pages. They stay
/// writable, because other data in these pages may have been writable before.
pub(super) fn make_writable(from: *mut c_void, bytes: usize) -> io::Result<()> {
    // SAFETY: no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let first = from.map_addr(|at| at & !(page - 1));
    let bytes = from.addr() + bytes - first.addr();
    // SAFETY: the pages hold data of this program. They stay readable, and none of them is executed.
    match unsafe { libc::mprotect(first, bytes, libc::PROT_READ | libc::PROT_WRITE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
