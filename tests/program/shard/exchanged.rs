//! Stage files in the place of others, or made again with other resources than before: the output is that of one run, or
//! the files are refused.

use crate::faults::fixtures::{Ended, bam, many};
use crate::shard::{Files, Scene, samples};

const PREPARE: &str =
    "prep in/* -l 1 -o out/x.bam --sort coordinate --mark-duplicates --metrics out/m.txt";

/// A job with two slices and two ranges, all of which is done, and what it writes.
fn done(seed: u64, command: &str) -> (Scene, Files) {
    let text = samples::text(2500, 900, seed);
    let scene = Scene::new(&[("x.bam", samples::in_blocks(&text, 9000))], command);
    let expected = scene.plain();
    scene.plan("--shards 2 --ranges 2").succeeds();
    scene.run().succeeds();
    scene.is_written(&expected, "without damage");
    (scene, expected)
}

/// Asserts that the stages are refused with this code, or else that the rest of the job writes what is expected.
#[track_caller]
fn refused_or_same(scene: &Scene, expected: &Files, what: &str) -> Ended {
    let ended = scene.run();
    assert!(!ended.stderr.contains("panicked"), "{what}: {}", ended.stderr);
    match ended.status.code() {
        Some(0) => scene.is_written(expected, what),
        Some(2 | 75) => assert!(scene.outputs().is_empty(), "{what}"),
        code => panic!("{what}: {code:?}: {}", ended.stderr),
    }
    ended
}

#[test]
fn a_stage_in_the_place_of_another_of_the_same_job() {
    let (scene, expected) = done(21, PREPARE);
    let stages = ["map-0001", "map-0002", "cut", "judge", "write-0001", "write-0002", "join"];
    let all: Vec<Vec<u8>> =
        stages.iter().map(|name| std::fs::read(scene.stage(name)).unwrap()).collect();
    let mut wrong = Vec::new();
    for (from, bytes) in stages.iter().zip(&all) {
        for (to, place) in stages.iter().enumerate().filter(|(_, to)| *to != from) {
            // Those that follow are not there yet.
            let follow = stages.iter().zip(&all).enumerate().filter(|(at, _)| *at > to);
            follow.for_each(|(_, (name, _))| drop(std::fs::remove_file(scene.stage(name))));
            std::fs::write(scene.stage(place), bytes).unwrap();
            let what = format!("{from} as {place}");
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                refused_or_same(&scene, &expected, &what);
            }));
            wrong.extend(checked.is_err().then_some(what));
            scene
                .outputs()
                .keys()
                .for_each(|name| std::fs::remove_file(scene.folders.out(name)).unwrap());
            for (name, bytes) in stages.iter().zip(&all) {
                std::fs::write(scene.stage(name), bytes).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "wrong output or end: {wrong:?}");
}

#[test]
fn a_stage_of_another_job_is_refused() {
    let ((scene, expected), (other, _)) = (done(22, PREPARE), done(23, PREPARE));
    for (name, follow) in [
        ("map-0001", &["cut", "judge", "write-0001", "write-0002", "join"][..]),
        ("cut", &["judge", "write-0001", "write-0002", "join"]),
        ("judge", &["write-0001", "write-0002", "join"]),
        ("write-0002", &["join"]),
        ("join", &[]),
    ] {
        follow.iter().for_each(|name| drop(std::fs::remove_file(scene.stage(name))));
        let own = std::fs::read(scene.stage(name)).unwrap();
        std::fs::copy(other.stage(name), scene.stage(name)).unwrap();
        let ended = scene.run();
        ended.fails(2, &[name, "belongs to a different job", "readmill shard clean"]);
        assert!(
            !ended.stderr.contains("error: in/x.bam: "),
            "the input is not at fault: {}",
            ended.stderr
        );
        assert!(scene.stage(name).exists(), "it is somebody's");
        std::fs::write(scene.stage(name), own).unwrap();
        scene.run().succeeds();
        scene.is_written(&expected, name);
    }
}

/// Reads that do not fit into the least memory, and the job that sorts them, with much memory.
fn large() -> (Scene, Files) {
    let scene = Scene::new(&[("x.bam", bam(&many(60_000, 800)))], "sort in/* -l 1 -o out/x.bam");
    let expected = scene.plain();
    scene.plan("--shards 2 --ranges 4").succeeds();
    (scene, expected)
}

/// Flags of little memory.
const LITTLE: &str = "--work work -q -m 49M -@ 1";

#[test]
fn a_slice_that_is_sorted_again_with_less_memory_before_the_output_is_divided() {
    let (scene, expected) = large();
    scene.shard("map --work work -q 1..2").succeeds();
    std::fs::remove_file(scene.stage("map-0001")).unwrap();
    scene.shard(&format!("run {LITTLE}")).succeeds();
    scene.is_written(&expected, "less memory");
}

#[test]
fn a_slice_that_is_sorted_again_with_less_memory_after_the_output_was_divided() {
    let (scene, expected) = large();
    scene.shard("map --work work -q 1..2").succeeds();
    scene.shard("cut --work work -q").succeeds();
    std::fs::remove_file(scene.stage("map-0001")).unwrap();
    scene.shard(&format!("map {LITTLE} 1")).succeeds();
    refused_or_same(&scene, &expected, "map again after cut");
}

#[test]
fn an_output_that_is_divided_again_while_some_ranges_were_written() {
    let (scene, expected) = large();
    scene.run().succeeds();
    scene.is_written(&expected, "all at once");
    let files = crate::shard::files(&scene.path("work"));
    for gone in ["map-0002 cut write-0002 write-0004", "map-0001 map-0002 cut write-0001 write-0003"] {
        files.iter().for_each(|(name, bytes)| std::fs::write(scene.stage(name), bytes).unwrap());
        gone.split(' ')
            .chain(["join"])
            .for_each(|name| std::fs::remove_file(scene.stage(name)).unwrap());
        scene.shard(&format!("run {LITTLE}"));
        refused_or_same(&scene, &expected, &format!("again: {gone}"));
        scene.outputs().keys().for_each(|name| std::fs::remove_file(scene.folders.out(name)).unwrap());
    }
}
