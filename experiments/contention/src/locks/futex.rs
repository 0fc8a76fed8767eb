//! The mutex of the standard library.

use std::sync::{Mutex, PoisonError};

use super::exclusion::{Apart, Lock};

#[derive(Default)]
pub struct Futex(Apart<Mutex<()>>);

impl Lock for Futex {
    fn hold(&self, _: usize, critical: &mut dyn FnMut()) {
        let _guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        critical();
    }
}
