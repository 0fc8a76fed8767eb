//! Ways of reading pairs from two FASTQ files that threads share, as in Langmead et al. 2018,
//! section 2.
//!
//! Each way has two parts: [`ReadingWay::take_text`] runs while the thread holds the lock of the input,
//! [`ReadingWay::parse_text`] after that. The ways differ in the cost of each part, not in the result: every
//! pair is read once. They imitate what programs do; they are not the code of those programs.

mod fastq;

use std::io;

use readmill_record::ReadBatch;

pub use fastq::{BLOCK_BYTES, FastqSource, Padding};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingWay {
    /// O: a pair is read and parsed under the lock.
    Original,
    /// D: the lines of a pair are read under the lock, character by character, and parsed
    /// afterwards.
    Deferred,
    /// B: like deferred, with several pairs at a time.
    Batches(usize),
    /// Like batches, but line ends are found with vector instructions and remembered, as paraseq
    /// does.
    Searched(usize),
    /// L: a block of each file is read under the lock without looking at it. The files are padded,
    /// so that each block has this number of records.
    Blocks(usize),
}

/// The text that a thread took under the lock, and the reads that it parsed from it. Reused, to
/// keep its memory.
#[derive(Default)]
pub struct PairBatch {
    /// The reads; the two reads of a pair are adjacent.
    pub reads: ReadBatch,
    /// Line ends in the text if they are known; those of the second file follow those of the first.
    ends: Vec<usize>,
    second: usize,
}

impl ReadingWay {
    pub fn name(self) -> String {
        match self {
            ReadingWay::Original => "O".into(),
            ReadingWay::Deferred => "D".into(),
            ReadingWay::Batches(pairs) => format!("B, {pairs} pairs"),
            ReadingWay::Searched(pairs) => format!("B with memchr, {pairs} pairs"),
            ReadingWay::Blocks(_) => "L, padded".into(),
        }
    }

    pub fn pairs_per_batch(self) -> usize {
        match self {
            ReadingWay::Original | ReadingWay::Deferred => 1,
            ReadingWay::Batches(pairs) | ReadingWay::Searched(pairs) | ReadingWay::Blocks(pairs) => {
                pairs
            }
        }
    }

    /// Takes the next pairs of both files. Must be called under the lock of the input. Returns
    /// whether there were any.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or ends within a record.
    pub fn take_text(self, files: &mut [FastqSource; 2], batch: &mut PairBatch) -> io::Result<bool> {
        batch.reads.reset(2, 0);
        batch.ends.clear();
        let mut text = std::mem::take(batch.reads.text_mut());
        let mut any = false;
        if self == ReadingWay::Original {
            for file in files {
                if let Some(span) = fastq::read_record(file, &mut text)? {
                    batch.reads.push_span(span);
                    any = true;
                }
            }
        } else {
            for (number, file) in files.iter_mut().enumerate() {
                if number == 1 {
                    batch.second = text.len();
                }
                any |= match self {
                    ReadingWay::Searched(pairs) => {
                        file.search_lines(4 * pairs, &mut text, &mut batch.ends)?
                    }
                    ReadingWay::Blocks(_) => file.append_block(BLOCK_BYTES, &mut text)?,
                    _ => file.append_lines(4 * self.pairs_per_batch(), &mut text)?,
                };
            }
        }
        *batch.reads.text_mut() = text;
        Ok(any)
    }

    /// Parses the text that was taken into reads.
    ///
    /// # Errors
    ///
    /// If it is not FASTQ with four lines for each record, or if one file has more records than the other.
    pub fn parse_text(self, batch: &mut PairBatch) -> io::Result<()> {
        let text = std::mem::take(batch.reads.text_mut());
        let done = match self {
            ReadingWay::Original => Ok(()), // all is done
            ReadingWay::Searched(_) => fastq::parse_between_ends(&text, &batch.ends, &mut batch.reads),
            ReadingWay::Blocks(_) => {
                fastq::parse_pairs(&text, batch.second, fastq::with_memchr, &mut batch.reads)
            }
            _ => fastq::parse_pairs(&text, batch.second, fastq::by_character, &mut batch.reads),
        };
        *batch.reads.text_mut() = text;
        done
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::path::Path;

    /// Returns names, bases and qualities of all pairs of a batch.
    pub fn pairs(reads: &ReadBatch) -> Vec<String> {
        let shown = |i: usize| format!("{:?}", reads.read(i));
        (0..reads.len()).step_by(2).map(|i| shown(i) + &shown(i + 1)).collect()
    }

    fn all(way: ReadingWay, paths: [&Path; 2]) -> BTreeSet<String> {
        let mut files = paths.map(|path| FastqSource::new(File::open(path).unwrap(), false));
        let (mut batch, mut found) = (PairBatch::default(), BTreeSet::new());
        while way.take_text(&mut files, &mut batch).unwrap() {
            way.parse_text(&mut batch).unwrap();
            for pair in pairs(&batch.reads) {
                assert!(found.insert(pair), "a pair comes twice");
            }
        }
        found
    }

    #[test]
    fn all_ways_give_the_same_pairs() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two, padded_one, padded_two] =
            ["1.fastq", "2.fastq", "1.padded.fastq", "2.padded.fastq"]
                .map(|name| directory.path().join(name));
        let text = |file: usize| -> String {
            let record = |i: usize| {
                let bases = "ACGT".repeat(1 + (i * (file + 3)) % 40);
                format!("@r{i} {file}:N\n{bases}\n+\n{}\n", "I".repeat(bases.len()))
            };
            (0..3000).map(record).collect()
        };
        std::fs::write(&one, text(1)).unwrap();
        std::fs::write(&two, text(2)).unwrap();
        let padding = Padding::fit_to_files([&one, &two]).unwrap();
        for (file, padded) in [(&one, &padded_one), (&two, &padded_two)] {
            padding.write_padded(file, padded).unwrap();
        }
        let expected = all(ReadingWay::Original, [&one, &two]);
        assert_eq!(expected.len(), 3000);
        for way in [
            ReadingWay::Deferred,
            ReadingWay::Batches(32),
            ReadingWay::Searched(7),
            ReadingWay::Searched(1024),
        ] {
            assert!(all(way, [&one, &two]) == expected, "{way:?}");
        }
        assert!(all(ReadingWay::Blocks(padding.records), [&padded_one, &padded_two]) == expected);
        assert_eq!(std::fs::metadata(&padded_one).unwrap().len() % BLOCK_BYTES as u64, 0);
    }

    #[test]
    fn files_of_different_length_and_torn_records_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.fastq");
        for text in ["@a\nA\n+\nI\n@b\nC", "@a\nA\n+\nII\n", "a\nA\n+\nI\n"] {
            std::fs::write(&path, text).unwrap();
            for way in [
                ReadingWay::Original,
                ReadingWay::Deferred,
                ReadingWay::Batches(2),
                ReadingWay::Searched(2),
            ] {
                let mut files = [0, 1].map(|_| FastqSource::new(File::open(&path).unwrap(), false));
                let mut batch = PairBatch::default();
                let mut go = || -> io::Result<()> {
                    while way.take_text(&mut files, &mut batch)? {
                        way.parse_text(&mut batch)?;
                    }
                    Ok(())
                };
                assert!(go().is_err(), "{way:?} takes {text:?}");
            }
        }
    }
}
