//! Keeps bwa-mem3's static initialisers from running where they cannot.
//!
//! They run before `main`, in whatever command, and the C++ compiler has made them of AVX instructions, as all of
//! bwa-mem3. (Its crate can be compiled for SSE4.2, but bwa-mem3 0.4.4 has no mate rescue below AVX2: it ends the
//! process at the first pair that needs one.) So on a processor without AVX2 they are skipped: nothing of bwa-mem3 is
//! ever called there, because `check_processor` refuses to align.
//!
//! Initialisers are a table of functions, those with a number in order, then those without. Only C++ code in this
//! program has some without: [`FIRST`] is the last that has a number, and finds itself in the table.
#![allow(unsafe_code, reason = "changes the table of C++ initialisers")]

use std::ffi::c_void;

type Initialiser = extern "C" fn();

// SAFETY: as linkers for ELF define them: the table's first entry, and its end.
unsafe extern "C" {
    static mut __init_array_start: [Initialiser; 0];
    static mut __init_array_end: [Initialiser; 0];
}

// SAFETY: an entry of the table of initialisers, which the C library calls once before `main`.
#[used]
#[unsafe(link_section = ".init_array.65535")]
static FIRST: Initialiser = skip_others;

extern "C" fn nothing() {}

extern "C" fn skip_others() {
    if is_x86_feature_detected!("avx2") {
        return;
    }
    // SAFETY: the table is an array of this program, from its start to its end; its pages, which the loader has made
    // read-only, are writable for the time of the change, and there is one thread.
    unsafe {
        let (start, end) = (&raw mut __init_array_start, &raw mut __init_array_end);
        let (mut entry, end) = (start.cast::<Initialiser>(), end.cast::<Initialiser>());
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let pages = entry.map_addr(|at| at & !(page - 1)).cast::<c_void>();
        let bytes = end.addr() - pages.addr();
        if libc::mprotect(pages, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        let mut behind = false;
        while entry < end {
            let is_own = *entry as usize == skip_others as *const () as usize;
            if behind {
                *entry = nothing;
            }
            behind |= is_own;
            entry = entry.add(1);
        }
        libc::mprotect(pages, bytes, libc::PROT_READ);
    }
}
