//! How long critical sections take on this machine, measured on one thread: what no number of threads can share.

use std::io;

use crate::clock::of_thread;
use crate::files::Files;
use crate::parsing::{Batch, Way};

/// Nanoseconds of CPU time per read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Section {
    /// With the lock held.
    pub held: f64,
    /// In all.
    pub all: f64,
}

/// Measures a way of reading on so many pairs, which are read from the page cache.
///
/// # Errors
/// If the files cannot be read, or are not what the way expects.
pub fn measure(files: &Files, way: Way, pairs: usize) -> io::Result<Section> {
    let run = |parse: bool| -> io::Result<f64> {
        let mut sources = files.open(way)?;
        let (mut batch, mut done) = (Batch::default(), 0);
        let start = of_thread();
        while done < pairs && way.take(&mut sources, &mut batch)? {
            if parse {
                way.parse(&mut batch)?;
            }
            done += way.pairs();
        }
        Ok((of_thread() - start).as_nanos() as f64 / (2 * done).max(1) as f64)
    };
    Ok(Section { held: run(false)?, all: run(true)? })
}
