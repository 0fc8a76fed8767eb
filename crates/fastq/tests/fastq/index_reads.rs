//! Index reads: files with one record per template.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::common;

use std::fs::File;
use std::io::{Cursor, Write};
use std::process::Command;
use std::sync::Arc;

use common::{PACKINGS, Packing, Random};
use readmill_fastq::{BatchLinker, BatchOptions, Claims, FastqInput, FastqLayout};
use readmill_record::{ReadBatch, Result};

/// Returns the bases of index read `number`.
fn bases(number: usize) -> String {
    format!("{number:08b}").replace('0', "A").replace('1', "C")
}

/// Generates the files of read 1, read 2 and index reads, with blank lines before every `loose`th
/// record.
fn texts(templates: usize, loose: usize) -> [String; 3] {
    let file = |ending: &str, bases: &dyn Fn(usize) -> String| -> String {
        let record = |i: usize| {
            let (bases, blank) = (bases(i), if i % loose == loose - 1 { "\n" } else { "" });
            format!("{blank}@r{i}{ending}\n{bases}\n+\n{}\n", "I".repeat(bases.len()))
        };
        (0..templates).map(record).collect()
    };
    let read = |i: usize| "ACGT".repeat(5 + i % 7);
    [file("/1", &read), file("/2", &read), file(" 2:N:0:ACGT", &bases)]
}

/// Returns the names and bases of the index reads of all templates.
fn read(
    layout: FastqLayout,
    index: Vec<FastqInput>,
    options: BatchOptions,
) -> Result<Vec<(String, String)>> {
    let claims = Arc::new(Claims::open_with_index_reads(layout, index, options)?);
    let (mut linker, mut all) = (BatchLinker::new(&claims), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for ticket in 0.. {
        let mut reads = ReadBatch::default();
        let taken = claims.take(ticket, &mut reads);
        linker.link(taken, &mut reads)?;
        for template in 0..reads.template_count() {
            let mut index = reads.index_reads(template);
            let read = index.next().unwrap();
            assert_eq!(index.len(), 0);
            all.push((text(reads.read(template * reads.segments()).name), text(read.bases)));
        }
        if claims.has_ended() {
            break;
        }
    }
    Ok(all)
}

fn input(text: &str, packing: Packing, name: &str) -> FastqInput {
    let packed = common::pack(text.as_bytes(), packing, &mut Random::new(3));
    FastqInput::Stream(name.into(), Box::new(Cursor::new(packed)))
}

#[test]
fn each_template_has_its_index_read_however_files_are_packed() {
    for (templates, loose) in [(0, 9), (1, 9), (700, 10_000), (700, 200)] {
        let texts = texts(templates, loose);
        let expected: Vec<_> = (0..templates).map(|i| (format!("r{i}/1"), bases(i))).collect();
        for packing in PACKINGS {
            let options = BatchOptions { templates: 64, block_bytes: 900, ..BatchOptions::default() };
            let [one, two, index] = ["1", "2", "u"].map(|name| {
                let number = ["1", "2", "u"].iter().position(|it| *it == name).unwrap();
                input(&texts[number], packing, name)
            });
            let found = read(FastqLayout::Paired(one, two), vec![index], options).unwrap();
            assert!(found == expected, "{templates} {loose} {packing:?}");
        }
    }
}

#[test]
fn an_index_read_of_another_template_is_an_error_that_names_both() {
    let error = |one: &str, index: &str| {
        let layout = FastqLayout::Single(input(one, Packing::Plain, "R1"));
        let error = read(layout, vec![input(index, Packing::Plain, "U")], BatchOptions::default());
        error.expect_err("an error").to_string()
    };
    let [one, _, index] = texts(3, 9);
    let other = error(&one, &index.replace("@r1 ", "@x "));
    assert!(
        other.starts_with(
            "U: record 2: the index read is named x, but the read at the same position in R1 is named r1"
        ),
        "{other}"
    );
    let [_, _, fewer] = texts(2, 9);
    let lacking = error(&one, &fewer);
    assert!(
        lacking.starts_with("R1: record 3 (read r2/1): the read has no index read: U has fewer records"),
        "{lacking}"
    );
    let [_, _, more] = texts(4, 9);
    let left = error(&one, &more);
    assert!(
        left.starts_with("U: record 4 (read r3): the index read has no read: R1 has fewer records"),
        "{left}"
    );
}

#[test]
fn mates_that_are_numbered_share_their_index_read() {
    let [one, two, index] = texts(9, 90);
    for separator in [".", "_", ":"] {
        for index in [index.clone(), index.replace(" 2:N:0:ACGT", &format!("{separator}4"))] {
            let [one, two] =
                [&one, &two].map(|text| input(&text.replace('/', separator), Packing::Plain, "R"));
            let index = vec![input(&index, Packing::Plain, "U")];
            let found = read(FastqLayout::Paired(one, two), index, BatchOptions::default()).unwrap();
            assert_eq!(found[8], ("r8".to_string(), bases(8)), "{separator}");
        }
    }
}

/// Regression test: a program that filled three pipes in turn once waited forever.
#[test]
fn three_pipes_that_are_filled_in_turn_are_emptied_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["1", "2", "u"].map(|name| directory.path().join(name));
    assert!(Command::new("mkfifo").args(&paths).status().unwrap().success());
    let texts = texts(5000, 10_000);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut pipes = paths.each_ref().map(|path| File::create(path).unwrap());
            let mut rests = texts.each_ref().map(|text| text.as_bytes());
            while rests.iter().any(|rest| !rest.is_empty()) {
                for (rest, pipe) in rests.iter_mut().zip(&mut pipes) {
                    let (now, later) = rest.split_at(150_000.min(rest.len()));
                    pipe.write_all(now).unwrap();
                    *rest = later;
                }
            }
        });
        let [one, two, index] = paths.each_ref().map(|path| FastqInput::Path(path.clone()));
        read(FastqLayout::Paired(one, two), vec![index], BatchOptions::default()).unwrap()
    });
    assert_eq!((found.len(), &found[4999].1), (5000, &bases(4999)));
}
