//! Waiting awake, for a while.

use std::hint::spin_loop;
use std::thread::yield_now;

/// Looks before a thread offers its core to others.
const LOOKS: u32 = 128;

/// Waits until something is so; after a while, others may run between two looks.
pub fn wait_until(mut so: impl FnMut() -> bool) {
    let mut looks = 0;
    while !so() {
        if looks < LOOKS {
            looks += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// Waits so many times longer than one look takes; what is long gives way to others.
pub fn pause(looks: u32) {
    (0..looks).for_each(|_| spin_loop());
    if looks >= LOOKS {
        yield_now();
    }
}
