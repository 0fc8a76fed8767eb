//! Loss of power while a job in stages runs: `cargo test --test program -- --ignored shard::power_loss`.
//!
//! A job runs under strace. Its system calls are carried out on the model of a disk, of which only what was synced is sure.
//! After each call that changes the disk, power is lost: there are many states in which the disk may then be found. In
//! each of them
//!
//! - a file that has its name is complete,
//! - what a command has finished that ended with 0 is there,
//! - once `join` is recorded, so are the outputs,
//! - no output has the index of an older one,
//! - and the same command, run again, writes the bytes of a run without stages.

mod disk;
mod recorder;
mod recording;
mod replay;
mod states;
mod trace;

use readmill_simulate::{Profile, Sample};

use crate::invariance_bqsr::data::TemplateReads;
use crate::shard::identity::MARKING;
use crate::shard::power_loss::replay::{Job, Way};
use crate::shard::{Scene, samples};

/// A small job; its command reads `in/x.bam`.
fn scene(command: &str) -> Scene {
    let [text, older] = [61, 62].map(|seed| samples::text(120, 300, seed));
    let [text, older] = [text, older].map(|text| samples::in_blocks(&text, 3000));
    Scene::new(&[("x.bam", text), ("older.bam", older)], command)
}

/// Asserts that a job survives; before it, there are the outputs of another command.
#[track_caller]
fn survives(scene: &Scene, way: Way, older: &str, seed: u64) {
    let expected = scene.plain();
    if !older.is_empty() {
        scene.folders.readmill(older.split(' ')).succeeds();
    }
    let wrong = Job { scene, way, expected }.lose_power(seed).0;
    for (what, (when, times)) in &wrong {
        println!("{what}\n  {times} times, first after {when}");
    }
    assert!(wrong.is_empty(), "{:#?}", wrong.keys());
}

#[test]
#[ignore = "takes minutes, and needs strace; nightly runs it"]
fn stages_survive_a_loss_of_power() {
    let scene = scene(&format!("prep in/x.bam -l 1 -o out/x.bam --sort coordinate {MARKING}"));
    survives(&scene, Way::Stages("--shards 2 --ranges 2"), "", 1);
}

#[test]
#[ignore = "takes minutes, and needs strace; nightly runs it"]
fn resume_survives_a_loss_of_power() {
    let scene = scene(&format!("prep in/x.bam -l 1 -o out/x.bam --sort coordinate {MARKING}"));
    survives(&scene, Way::Resume("new/folder/work"), "", 2);
}

#[test]
#[ignore = "takes minutes, and needs strace; nightly runs it"]
fn resume_over_an_older_output_survives_a_loss_of_power() {
    let scene = scene("sort in/x.bam -l 1 -o out/x.bam");
    survives(&scene, Way::Resume("work"), "sort in/older.bam -l 1 -o out/x.bam -q", 3);
}

#[test]
#[ignore = "takes minutes, and needs strace; nightly runs it"]
fn resume_over_older_parts_survives_a_loss_of_power() {
    let parts = |input: &str, n| format!("sort -n in/{input}.bam -l 1 -o out/x.bam --out-parts {n}");
    let scene = scene(&parts("x", 2));
    survives(&scene, Way::Resume("work"), &format!("{} -q", parts("older", 3)), 4);
}

#[test]
#[ignore = "takes minutes, and needs strace; nightly runs it"]
fn recalibration_in_stages_survives_a_loss_of_power() {
    let contigs = vec![("chr1".to_string(), 9_000)];
    let sample = Sample::new(Profile { pairs: 150, contigs, read_length: 50, ..Profile::small() });
    let mut reference = Vec::new();
    sample.write_fasta(&mut reference).unwrap();
    let inputs = [("x.bam", TemplateReads::of(&sample).bam()), ("ref.fa", reference)];
    let tables = "--reference in/ref.fa --bqsr-table out/t --bqsr-after-table out/a";
    let command = format!(
        "prep in/x.bam -l 1 -o out/x.bam --sort coordinate --mark-duplicates --bqsr --bqsr-bootstrap {tables}"
    );
    survives(&Scene::new(&inputs, &command), Way::Resume("work"), "", 5);
}
