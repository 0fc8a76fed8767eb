//! Named pipes that one program fills alternately, a few records at a time.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::common;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use common::{Packing, Random, crew, oracle};
use readmill_fastq::{BatchOptions, Claims, FastqInput, FastqLayout};

/// More records than the pipes can hold, and more than one batch.
const PAIRS: usize = 5000;

fn text(mate: usize) -> Vec<Vec<u8>> {
    let record = |i: usize| {
        let (bases, qualities) = ("ACGTN".repeat(20 + i % 11), "IFI,#".repeat(20 + i % 11));
        format!("@r{i}/{mate}\n{bases}\n+\n{qualities}\n").into_bytes()
    };
    (0..PAIRS).map(record).collect()
}

fn read(threads: usize, packing: Packing, step: usize) {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> =
        [1, 2].iter().map(|mate| directory.path().join(format!("R{mate}"))).collect();
    assert!(Command::new("mkfifo").args(&paths).status().unwrap().success());
    let records = [text(1), text(2)];
    let truth = oracle::read(&[records[0].concat(), records[1].concat()], 2);
    let mut random = Random::new(1);
    let packed = records.map(|text| common::pack(&text.concat(), packing, &mut random));
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut pipes: Vec<File> = paths.iter().map(|path| File::create(path).unwrap()).collect();
            let mut rests = packed.each_ref().map(Vec::as_slice);
            while rests.iter().any(|rest| !rest.is_empty()) {
                for (rest, pipe) in rests.iter_mut().zip(&mut pipes) {
                    let (now, later) = rest.split_at(step.min(rest.len()));
                    pipe.write_all(now).unwrap();
                    *rest = later;
                }
            }
        });
        let [one, two] = [0, 1].map(|file| FastqInput::Path(paths[file].clone()));
        let claims =
            Arc::new(Claims::open(FastqLayout::Paired(one, two), BatchOptions::default()).unwrap());
        crew::run(&claims, threads, 8, 1)
    });
    assert_eq!(outcome.error, None);
    assert!(outcome.reads == truth.reads);
    // The BGZF blocks are so small here that there are not enough slots for the chunks of a batch.
    assert!(outcome.reread_batches == 0 || packing == Packing::Bgzf);
}

#[test]
fn pipes_that_are_filled_in_turn_are_emptied_in_turn() {
    for threads in [1, 3] {
        for packing in [Packing::Pipe, Packing::Gzip, Packing::Bgzf] {
            read(threads, packing, 300);
            read(threads, packing, 200_000);
        }
    }
}
