//! Suppresses bwa-mem3's progress messages, but not its last error message.
//!
//! At any verbosity, its C code reports on `stderr` what it loads and infers, and also why it
//! exits. C's `stderr` is a variable, so it can be replaced with a stream that drops known progress
//! messages and passes everything else on. Rust's output does not use it. The crate documentation
//! warns users, because this affects the whole process.
#![allow(unsafe_code, reason = "exchanges C's stderr")]

/// Redirects C's `stderr` for the rest of the process. Only the first call has an effect.
#[cfg(target_os = "linux")]
pub(super) fn suppress_chatter() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(stream::redirect_stderr);
}

/// Does nothing: this C library has no `fopencookie`, so all messages appear.
#[cfg(not(target_os = "linux"))]
pub(super) fn suppress_chatter() {}

/// Returns whether a string is one of the known progress messages: `* Done reading Index!!`,
/// `[0000][PE] ...`, `4,\t6000001`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn is_chatter(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.is_empty()
        || text.starts_with(b"* ")
        || text.starts_with(b"[0000]")
        || text[digits..].starts_with(b",\t")
}

#[cfg(target_os = "linux")]
mod stream {
    use std::ffi::{c_char, c_void};
    use std::io::Write;
    use std::ptr;
    use std::sync::Mutex;

    /// The stream that bwa-mem3 writes to if it is compiled with `-include quiet.h`.
    ///
    /// In musl, `stderr` is a constant and cannot be replaced. Without this flag, all messages
    /// appear.
    #[cfg(target_env = "musl")]
    #[unsafe(no_mangle)]
    static mut readmill_aligner_stderr: *mut libc::FILE = ptr::null_mut();

    /// The beginning of a line whose end has not been written yet. musl writes a message in several
    /// pieces.
    static LINE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    // SAFETY: only stdio calls it, with bytes that are valid during the call.
    type WriteFunction = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize;

    /// `cookie_io_functions_t` of glibc. Null functions are not called.
    #[repr(C)]
    struct CookieIoFunctions {
        read: *const c_void,
        write: Option<WriteFunction>,
        seek: *const c_void,
        close: *const c_void,
    }

    // SAFETY: these are the declarations in stdio.h.
    unsafe extern "C" {
        #[cfg_attr(target_env = "musl", allow(dead_code))]
        static mut stderr: *mut libc::FILE;
        fn fopencookie(
            cookie: *mut c_void,
            mode: *const c_char,
            functions: CookieIoFunctions,
        ) -> *mut libc::FILE;
    }

    pub(super) fn redirect_stderr() {
        let functions = CookieIoFunctions {
            read: ptr::null(),
            write: Some(write_filtered),
            seek: ptr::null(),
            close: ptr::null(),
        };
        // SAFETY: the stream is new and never closed. It has no buffer, so each message arrives as
        // it is written. This runs once, before the first call of bwa-mem3. The documentation of
        // the crate requires that no other C code writes to `stderr` at that moment.
        unsafe {
            let stream = fopencookie(ptr::null_mut(), c"w".as_ptr(), functions);
            if !stream.is_null() {
                libc::setvbuf(stream, ptr::null_mut(), libc::_IONBF, 0);
            }
            #[cfg(target_env = "musl")]
            {
                readmill_aligner_stderr = if stream.is_null() { stderr } else { stream };
            }
            #[cfg(not(target_env = "musl"))]
            if !stream.is_null() {
                stderr = stream;
            }
        }
    }

    // SAFETY: see `Writes`.
    unsafe extern "C" fn write_filtered(_: *mut c_void, text: *const c_char, len: usize) -> isize {
        // SAFETY: stdio passes `len` bytes, which are valid during this call.
        let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
        if cfg!(target_env = "musl") {
            write_lines(text);
        } else if !crate::bwa::quiet::is_chatter(text) {
            let _ = std::io::stderr().write_all(text);
        }
        len as isize
    }

    /// Writes the complete lines that are not progress messages, and keeps the rest.
    fn write_lines(text: &[u8]) {
        let Ok(mut line) = LINE.lock() else { return };
        for piece in text.split_inclusive(|&byte| byte == b'\n') {
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                if !crate::bwa::quiet::is_chatter(&line) {
                    let _ = std::io::stderr().write_all(&line);
                }
                line.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_chatter;

    #[test]
    fn errors_are_not_chatter() {
        for text in [
            "* Entering FMI_search\n",
            "[0000][PE] mean and std.dev: (396.21, 82.47)\n",
            "0,\t1\n",
            "\n",
        ] {
            assert!(is_chatter(text.as_bytes()), "{text}");
        }
        for text in
            ["ERROR! Unable to open the file: x\n", "[fread] Unexpected end of file\n", "12 GB\n"]
        {
            assert!(!is_chatter(text.as_bytes()), "{text}");
        }
    }
}
