//! Asks the system to write a range of a file to disk without waiting for it, so that a later
//! `fsync` has little to do.
#![allow(unsafe_code, reason = "a system call that no safe library has")]

use std::fs::File;

/// Starts writing `bytes` bytes from offset `start` to disk. This is only a hint, so errors are
/// ignored.
pub fn start_write_back(file: &File, start: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let (Ok(start), Ok(bytes)) = (i64::try_from(start), i64::try_from(bytes)) else { return };
        // SAFETY: `file` is open, and the call has no requirement on memory.
        let _ = unsafe {
            libc::sync_file_range(file.as_raw_fd(), start, bytes, libc::SYNC_FILE_RANGE_WRITE)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, start, bytes);
}
