//! The files that are read: simulated pairs as a sequencer gives them, and a padded copy. How long critical sections take on
//! them on this machine, measured on one thread: what no number of threads can share.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use readmill_simulate::{Profile, Sample};

use crate::clock::of_thread;
use crate::parsing::{Batch, Padding, Source, Way};

/// The files that are read.
#[derive(Clone, Debug)]
pub struct Files {
    /// First and second reads, as they come.
    pub plain: [PathBuf; 2],
    /// The same, padded.
    pub padded: [PathBuf; 2],
    /// Pairs in them.
    pub pairs: u64,
    /// Records in a padded block.
    pub in_block: usize,
}

impl Files {
    /// Writes so many pairs of 151 bases each into a directory.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn make(directory: &Path, pairs: u64) -> io::Result<Self> {
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
        let [mut one, mut two] = [writer(&plain[0])?, writer(&plain[1])?];
        sample.write_fastq(&mut one, &mut two)?;
        one.flush()?;
        two.flush()?;
        let padding = Padding::fit([&plain[0], &plain[1]])?;
        for (from, to) in plain.iter().zip(&padded) {
            padding.pad(from, to)?;
        }
        Ok(Files { plain, padded, pairs, in_block: padding.records })
    }

    /// Those that this way reads.
    pub fn of(&self, way: Way) -> [&Path; 2] {
        let [one, two] = if matches!(way, Way::Blocks(_)) { &self.padded } else { &self.plain };
        [one, two]
    }

    /// The same, opened; they start again at their end.
    ///
    /// # Errors
    /// If they cannot be opened.
    pub fn open(&self, way: Way) -> io::Result<[Source; 2]> {
        let [one, two] = self.of(way).map(File::open);
        Ok([Source::new(one?, true), Source::new(two?, true)])
    }

    /// Bytes of the plain files and of the padded ones.
    ///
    /// # Errors
    /// If they cannot be found.
    pub fn bytes(&self) -> io::Result<[u64; 2]> {
        let length = |file: &PathBuf| fs::metadata(file).map(|found| found.len());
        let size = |files: &[PathBuf; 2]| files.iter().map(length).sum::<io::Result<u64>>();
        Ok([size(&self.plain)?, size(&self.padded)?])
    }
}

fn writer(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 20, File::create(path)?))
}

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
pub fn measure_section(files: &Files, way: Way, pairs: usize) -> io::Result<Section> {
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
