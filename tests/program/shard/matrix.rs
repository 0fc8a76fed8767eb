//! The product of inputs, orders, ways to mark duplicates, slices and ranges: `cargo test --test program -- --ignored
//! shard::`.

use crate::shard::{Scene, identity::MARKING, samples};

/// Slices and ranges.
const DIVISIONS: [&str; 12] = [
    "--shards 1 --ranges 1",
    "--shards 1 --ranges 3",
    "--shards 1 --ranges 50",
    "--shards 2 --ranges 1",
    "--shards 2 --ranges 3",
    "--shards 2 --ranges 50",
    "--shards 7 --ranges 1",
    "--shards 7 --ranges 3",
    "--shards 7 --ranges 50",
    "--shards 64 --ranges 1",
    "--shards 64 --ranges 3",
    "--shards 64 --ranges 50",
];

const ORDERS: [&str; 8] = [
    "coordinate",
    "natural",
    "lexicographic",
    "queryname",
    "template-coordinate",
    "tag:RX",
    "tag:XX:natural",
    "minhash",
];

const MODES: [&str; 4] =
    ["", "--duplicate-mode auto", "--duplicate-mode template", "--duplicate-mode coordinate"];

const WAYS: [&str; 6] = [
    "",
    "--tag-duplicates all --optical-distance 100",
    "--barcode-tag BC --remove-duplicates",
    "--barcode-tag RX --read-one-barcode-tag BC --out-parts 3 -l 0",
    "--min-mapq 1 --subsample 0.7 -l 6",
    "--remove-optical-duplicates --write-index=csi --out-parts 2",
];

/// Whether an order goes with these flags.
fn goes_together(order: &str, way: &str) -> bool {
    order == "coordinate" || !way.contains("index")
}

/// Runs a command without stages and with these divisions; what fails without stages fails in stages.
fn same(sample: &samples::Sample, command: &str, divisions: &[&str]) -> usize {
    let scene = Scene::new(&sample.files, command);
    if !scene.folders.readmill(&scene.command).status.success() {
        let planned = scene.plan("--shards 2 --ranges 2");
        assert!(
            !planned.status.success() || !scene.run().status.success(),
            "{}: {command}",
            sample.name
        );
        return 0;
    }
    let expected = scene.plain();
    for division in divisions {
        scene.same(&expected, division);
    }
    divisions.len()
}

#[test]
#[ignore = "takes minutes; nightly runs it"]
fn every_order_of_every_input_however_it_is_divided() {
    let mut runs = 0;
    for sample in samples::all(900).iter().chain(&samples::smallest()) {
        for order in ORDERS {
            runs += same(sample, &format!("prep in/* -l 1 -o out/x.bam --sort {order}"), &DIVISIONS);
        }
    }
    println!("{runs} jobs");
    assert!(runs > 1000, "{runs}");
}

#[test]
#[ignore = "takes minutes; nightly runs it"]
fn every_way_to_mark_duplicates_of_every_input_however_it_is_divided() {
    let (mut runs, mut at) = (0, 0);
    for sample in samples::all(900).iter().chain(&samples::smallest()) {
        for mode in MODES {
            for way in WAYS {
                for order in ["coordinate", "none", "queryname"] {
                    if goes_together(order, way) {
                        let flags = format!("--sort {order} {MARKING} {mode} {way}");
                        // Two divisions, others each time.
                        let divisions = [at % 12, (at + 7) % 12].map(|division| DIVISIONS[division]);
                        at += 1;
                        runs += same(sample, &format!("prep in/* -o out/x.bam {flags}"), &divisions);
                    }
                }
            }
        }
    }
    println!("{runs} jobs");
    assert!(runs > 1500, "{runs}");
}

/// Each byte of a file is near a border of some number of slices.
#[test]
#[ignore = "takes minutes; nightly runs it"]
fn every_number_of_slices_up_to_the_bytes_of_the_file() {
    let text = samples::text(40, 60, 3);
    for (name, bytes) in
        [("x.bam", samples::in_blocks(&text, 250)), ("x.sam", text.clone().into_bytes())]
    {
        let command =
            format!("prep in/* -l 1 -o out/x.bam --sort none {MARKING} --duplicate-mode template");
        let scene = Scene::new(&[(name, bytes.clone())], &command);
        let expected = scene.plain();
        for shards in (1..64).chain([100, 200, 400, 1000, bytes.len().min(4096)]) {
            scene.same(&expected, &format!("--shards {shards} --ranges 2"));
        }
    }
}
