//! Keeps bwa-mem3's static initialisers from running where they cannot.
//!
//! They run before `main`, in whatever command, and the C++ compiler has made them of AVX instructions, as all of
//! bwa-mem3. So on a processor without AVX2 they are skipped: nothing of bwa-mem3 is ever called there, because
//! `check_processor` refuses to align. With the feature `old-processors` they are of no such instructions, and run.
//!
//! Initialisers are a table of functions, those with a number in order, then those without. Only C++ code in this
//! program has some without: [`FIRST`] is the last that has a number, and finds itself in the table.
#![allow(unsafe_code, reason = "changes the table of C++ initialisers")]

use super::pages::make_writable;

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
    // SAFETY: the table is an array of this program, from its start to its end, writable by now, and there is one thread.
    unsafe {
        let (start, end) = (&raw mut __init_array_start, &raw mut __init_array_end);
        let (mut entry, end) = (start.cast::<Initialiser>(), end.cast::<Initialiser>());
        if make_writable(entry.cast(), end.addr() - entry.addr()).is_err() {
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
    }
}
