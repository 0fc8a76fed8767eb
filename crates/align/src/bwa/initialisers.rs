//! Skips bwa-mem3's static initialisers on processors that cannot run them.
//!
//! The initialisers run before `main`, whatever the command is. Like the rest of bwa-mem3, they are
//! compiled to AVX instructions, so they would crash on a processor without AVX2. Skipping them is
//! safe, because `check_processor` refuses to align on such a processor and nothing else calls
//! bwa-mem3. With the feature `old-processors`, they contain no AVX instructions and run.
//!
//! The initialisers form a table of functions: first those with a priority, in order, then those
//! without. In this program, only C++ code has initialisers without a priority. [`FIRST`] has the
//! last possible priority, so it can replace all entries after its own.
#![allow(unsafe_code, reason = "changes the table of C++ initialisers")]

use super::pages::make_writable;

type Initialiser = extern "C" fn();

// SAFETY: ELF linkers define both symbols: the first entry of the table, and the end of the table.
unsafe extern "C" {
    static mut __init_array_start: [Initialiser; 0];
    static mut __init_array_end: [Initialiser; 0];
}

// SAFETY: the section holds the table of initialisers, and the C library calls each entry once
// before `main`.
#[used]
#[unsafe(link_section = ".init_array.65535")]
static FIRST: Initialiser = skip_later_initialisers;

extern "C" fn do_nothing() {}

extern "C" fn skip_later_initialisers() {
    if is_x86_feature_detected!("avx2") {
        return;
    }
    // SAFETY: the table is an array of this program between the two symbols. It is written only
    // after it was made writable, and there is only one thread before `main`.
    unsafe {
        let (start, end) = (&raw mut __init_array_start, &raw mut __init_array_end);
        let (mut entry, end) = (start.cast::<Initialiser>(), end.cast::<Initialiser>());
        if make_writable(entry.cast(), end.addr() - entry.addr()).is_err() {
            return;
        }
        let mut behind = false;
        while entry < end {
            let is_own = *entry as usize == skip_later_initialisers as *const () as usize;
            if behind {
                *entry = do_nothing;
            }
            behind |= is_own;
            entry = entry.add(1);
        }
    }
}
