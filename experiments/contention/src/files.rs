//! The files that are read, simulated pairs and a padded copy of them, and the measurement of
//! critical sections on one thread.
//!
//! The time of a critical section limits throughput whatever the number of threads.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use readmill_simulate::{Profile, Sample};

use crate::clock::thread_cpu_time;
use crate::parsing::{FastqSource, Padding, PairBatch, ReadingWay};

#[derive(Clone, Debug)]
pub struct Files {
    pub plain: [PathBuf; 2],
    /// The same reads, padded for `ReadingWay::Blocks`.
    pub padded: [PathBuf; 2],
    pub pairs: u64,
    pub in_block: usize,
}

impl Files {
    /// Simulates pairs of 151 bases each, and writes the plain and the padded files.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn simulate_files(directory: &Path, pairs: u64) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let plain = ["r1.fastq", "r2.fastq"].map(|name| directory.join(name));
        let padded = ["r1.padded.fastq", "r2.padded.fastq"].map(|name| directory.join(name));
        let profile = Profile {
            read_length: 151,
            supplementary_per_mille: 0,
            single_per_mille: 0,
            ..Profile::small()
        };
        let sample = Sample::new(profile.with_pairs(pairs).with_seed(1));
        let [mut one, mut two] = [create_writer(&plain[0])?, create_writer(&plain[1])?];
        sample.write_fastq(&mut one, &mut two)?;
        one.flush()?;
        two.flush()?;
        let padding = Padding::fit_to_files([&plain[0], &plain[1]])?;
        for (from, to) in plain.iter().zip(&padded) {
            padding.write_padded(from, to)?;
        }
        Ok(Files { plain, padded, pairs, in_block: padding.records })
    }

    pub fn files_for(&self, way: ReadingWay) -> [&Path; 2] {
        let [one, two] = if matches!(way, ReadingWay::Blocks(_)) { &self.padded } else { &self.plain };
        [one, two]
    }

    /// Opens the files that a way of reading needs. They restart at the end of the file, so that a
    /// measurement can take as long as it needs.
    ///
    /// # Errors
    ///
    /// If they cannot be opened.
    pub fn open_for(&self, way: ReadingWay) -> io::Result<[FastqSource; 2]> {
        let [one, two] = self.files_for(way).map(File::open);
        Ok([FastqSource::new(one?, true), FastqSource::new(two?, true)])
    }

    /// Returns the bytes of the plain files and of the padded files.
    ///
    /// # Errors
    ///
    /// If a file does not exist.
    pub fn size_bytes(&self) -> io::Result<[u64; 2]> {
        let length = |file: &PathBuf| fs::metadata(file).map(|found| found.len());
        let size = |files: &[PathBuf; 2]| files.iter().map(length).sum::<io::Result<u64>>();
        Ok([size(&self.plain)?, size(&self.padded)?])
    }
}

fn create_writer(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 20, File::create(path)?))
}

/// CPU nanoseconds per read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCost {
    /// While the lock is held.
    pub held: f64,
    /// In total, the time under the lock included.
    pub all: f64,
}

/// Measures a way of reading on one thread, for a number of pairs that are in the page cache.
///
/// # Errors
///
/// If the files cannot be read, or do not have the form that the way expects.
pub fn measure_section(files: &Files, way: ReadingWay, pairs: usize) -> io::Result<ReadCost> {
    let run = |parse: bool| -> io::Result<f64> {
        let mut sources = files.open_for(way)?;
        let (mut batch, mut done) = (PairBatch::default(), 0);
        let start = thread_cpu_time();
        while done < pairs && way.take_text(&mut sources, &mut batch)? {
            if parse {
                way.parse_text(&mut batch)?;
            }
            done += way.pairs_per_batch();
        }
        Ok((thread_cpu_time() - start).as_nanos() as f64 / (2 * done).max(1) as f64)
    };
    Ok(ReadCost { held: run(false)?, all: run(true)? })
}
