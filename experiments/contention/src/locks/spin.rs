//! Test and test-and-set. Nobody gives way: a holder that loses its core is waited for all the same.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};

use super::exclusion::{Apart, Lock};

#[derive(Default)]
pub struct Spin(Apart<AtomicBool>);

impl Lock for Spin {
    fn hold(&self, _: usize, critical: &mut dyn FnMut()) {
        let Spin(Apart(held)) = self;
        while held.swap(true, Ordering::Acquire) {
            while held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        critical();
        held.store(false, Ordering::Release);
    }
}
