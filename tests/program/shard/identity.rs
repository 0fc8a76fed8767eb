//! One case of each kind; `matrix` has the product of all of them.

use crate::shard::samples::{self, Sample};
use crate::shard::{Files, Scene};
use crate::support::coordinate_sorted;

pub const MARKING: &str = "--mark-duplicates --metrics out/m.txt --metrics-json out/m.json";

/// Asserts that a command writes the same with each of these divisions.
#[track_caller]
fn same(sample: &Sample, command: &str, divisions: &[&str]) -> Files {
    let scene = Scene::new(&sample.files, command);
    let expected = scene.plain();
    for division in divisions {
        println!("{}: {command}, {division}", sample.name);
        scene.same(&expected, division);
    }
    expected
}

#[test]
fn every_kind_of_input_is_sorted_and_marked_as_in_one_run() {
    for (number, sample) in samples::all(400).iter().chain(&samples::smallest()).enumerate() {
        let division = ["--shards 7 --ranges 3", "--shards 2 --ranges 1", "--shards 64 --ranges 50"];
        let command = format!("prep in/* -o out/x.bam --sort coordinate {MARKING}");
        same(sample, &command, &[division[number % 3]]);
        same(sample, "sort in/* -o out/x.bam -n", &[division[(number + 1) % 3]]);
    }
}

#[test]
fn every_order_is_that_of_one_run() {
    let text = samples::text(2500, 900, 11);
    let sample = Sample { name: "sample", files: vec![("x.bam", samples::in_blocks(&text, 20_000))] };
    let orders =
        "coordinate natural lexicographic queryname template-coordinate tag:RX tag:XX:natural minhash";
    for order in orders.split(' ') {
        let command = format!("prep in/* -l 1 -o out/x.bam --sort {order}");
        let files = same(&sample, &command, &["--shards 3 --ranges 5"]);
        assert!(files["x.bam"].len() > 100_000, "{order}: one partition is no test");
    }
}

#[test]
fn files_without_a_placed_read_are_sorted_as_in_one_run_with_or_without_an_index() {
    for sample in samples::all(60).iter().filter(|sample| sample.name == "no read has a place") {
        for order in ["coordinate", "minhash", "natural"] {
            let command = format!("prep in/* -l 1 -o out/x.bam --sort {order}");
            same(sample, &command, &["--shards 2 --ranges 2"]);
        }
    }
}

#[test]
fn every_way_to_mark_duplicates_is_that_of_one_run() {
    let text = samples::text(1800, 900, 12);
    let inputs = [text.clone(), coordinate_sorted(&text), samples::scattered(&text, 1)];
    let inputs = inputs.map(|text| vec![("x.bam", samples::in_blocks(&text, 9000))]);
    let ways = [
        "",
        "--duplicate-mode coordinate --tag-duplicates all",
        "--duplicate-mode template --sort none",
        "--remove-duplicates --out-parts 3 --sort queryname",
        "--remove-optical-duplicates --optical-distance 200 --sort none",
        "--barcode-tag BC --tag-duplicates optical",
        "--barcode-tag RX --duplex-umi --require-flags 0x1 --scoring-strategy random",
        "--read-one-barcode-tag BC --read-two-barcode-tag RX --duplicate-mode coordinate --sort none",
        "--min-mapq 1 --exclude-flags 0x100",
        "--subsample 0.5 --subsample-after-duplicates --sort natural",
        "--exclude [BC]==\"AA\"",
    ];
    for (number, way) in ways.iter().enumerate() {
        let sort = if way.contains("--sort") { "" } else { "--sort coordinate" };
        let command = format!("prep in/* -l 1 -o out/x.bam {sort} {MARKING} {way}");
        let division = ["--shards 4 --ranges 3", "--shards 9", "--shards 2 --ranges 2"];
        let (at, division) = (number % 3, division[number / 3 % 3]);
        let name = ["adjacent", "sorted", "scattered"][at];
        same(&Sample { name, files: inputs[at].clone() }, &command, &[division]);
    }
}

#[test]
fn levels_parts_and_indexes_are_those_of_one_run() {
    let text = samples::text(2000, 900, 13);
    let sample = Sample { name: "sample", files: vec![("x.bam", samples::in_blocks(&text, 60_000))] };
    for flags in
        ["-l 0", "-l 6 --out-parts 2", "--write-index=csi -l 0 --out-parts 5", "--no-index -l 1 --no-PG"]
    {
        same(
            &sample,
            &format!("sort in/* -o out/x.bam {flags}"),
            &["--shards 5 --ranges 4", "--shards 1 --ranges 9"],
        );
    }
}

#[test]
fn files_with_different_headers_are_merged_as_in_one_run() {
    let sample = samples::all(300).into_iter().find(|sample| sample.files.len() > 1).unwrap();
    for command in ["merge in/* -o out/x.bam", "merge -n in/* -o out/x.bam", "markdup in/* -o out/x.bam"]
    {
        same(&sample, command, &["--shards 6 --ranges 2"]);
    }
}

#[test]
fn resume_writes_what_one_run_writes_and_leaves_nothing() {
    let text = samples::text(300, 100, 14);
    let scene = Scene::new(&[("x.sam", text.into())], &format!("prep in/* -o out/x.bam {MARKING}"));
    let expected = scene.plain();
    scene.resume().succeeds();
    assert!(!scene.path("work").exists());
    scene.is_written(&expected, "--resume");
}
