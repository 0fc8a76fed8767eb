//! Stages that are killed at any moment, and two processes at one stage: whoever comes after goes on, and the output is
//! that of one run.

use std::process::Command;
use std::time::{Duration, Instant};

use readmill_process::pause::Moment::{self, *};

use crate::faults::fixtures::{Running, bam, many};
use crate::faults::paused::Paused;
use crate::shard::identity::MARKING;
use crate::shard::{Files, Scene, samples};

/// A job of two slices and two ranges, with duplicates.
fn scene() -> (Scene, Files) {
    let text = samples::text(1500, 900, 31);
    let command = format!("prep in/* -l 1 -o out/x.bam --sort coordinate {MARKING}");
    let scene = Scene::new(&[("x.bam", samples::in_blocks(&text, 9000))], &command);
    let expected = scene.plain();
    (scene, expected)
}

/// Asserts that a directory has no temporary files of stages, once the job is cleaned, and that it is gone.
#[track_caller]
fn cleans_up(scene: &Scene) {
    scene.shard("clean --work work").succeeds();
    assert_eq!(scene.stages(), [""; 0]);
    assert!(!scene.path("work").exists());
    assert_eq!(scene.folders.left(), [""; 0]);
}

/// Removes what a killed run leaves beside the outputs.
fn remove_partial(scene: &Scene) {
    for name in scene.outputs().keys() {
        assert!(name.ends_with(".partial"), "{name} has its name before it is complete");
        std::fs::remove_file(scene.folders.out(name)).unwrap();
    }
}

const STAGES: [(&str, &[(Moment, u32)]); 5] = [
    ("map 2", &[(Started, 1), (InputOpened, 1), (PieceRead, 1), (PieceRead, 2)]),
    ("cut", &[(Started, 1), (InputOpened, 1)]),
    ("judge", &[(Started, 1), (InputOpened, 1)]),
    ("write 1..2", &[(Started, 1), (InputOpened, 1), (InputOpened, 2)]),
    ("join", &[(Started, 1), (InputOpened, 1), (OutputsComplete, 1)]),
];

#[test]
fn a_stage_ends_with_the_process_that_it_is_to_end_with() {
    let (scene, expected) = scene();
    scene.plan("--shards 2 --ranges 2").succeeds();
    let mut engine = Command::new("sleep").arg("600").spawn().unwrap();
    let words = format!("shard map 2 --work work -q --end-with {}", engine.id());
    let (say, wait) = (scene.path("say"), scene.path("wait"));
    std::fs::write(&say, "").unwrap();
    assert!(Command::new("mkfifo").arg(&wait).status().unwrap().success());
    let mut stage = scene.folders.command();
    stage.args(words.split(' '));
    stage.env("READMILL_PAUSE_AT", format!("PieceRead:{}:{}", say.display(), wait.display()));
    let mut stage = stage.spawn().unwrap();
    let begun = Instant::now();
    while std::fs::read(&say).unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the stage does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert!(!stage.wait().unwrap().success());
    assert_eq!(scene.stages(), ["job.json"]);

    // It is no longer there at all.
    let refused = scene.folders.readmill(words.split(' '));
    assert_eq!(refused.status.code(), Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("there is no process"), "{}", refused.stderr);

    scene.run().succeeds();
    scene.is_written(&expected, "after a stage had ended with its engine");
}

#[test]
fn a_stage_that_is_killed_at_a_named_moment_is_done_by_the_next_run() {
    let (scene, expected) = scene();
    scene.plan("--shards 2 --ranges 2").succeeds();
    for (stage, moments) in STAGES {
        for &moment in moments {
            let words = format!("shard {stage} --work work -q");
            let ended = Paused::at(&scene.folders, moment, words.split(' ')).stop_by(libc::SIGKILL);
            assert_eq!(ended.status.code(), None, "{stage}, {moment:?}");
            remove_partial(&scene);
        }
        scene.shard(&format!("{stage} --work work -q")).succeeds();
        if stage == "map 2" {
            scene.shard("map 1 --work work -q").succeeds();
        }
    }
    scene.is_written(&expected, "killed at named moments");
    cleans_up(&scene);
}

#[test]
fn a_join_that_is_killed_while_outputs_get_their_names_is_done_again() {
    for moment in [(FileNamed, 1), (FileNamed, 2), (FileNamed, 3), (AllNamed, 1)] {
        let (scene, expected) = scene();
        scene.plan("--shards 2 --ranges 2").succeeds();
        let words = "shard run --work work -q";
        Paused::at(&scene.folders, moment, words.split(' ')).stop_by(libc::SIGKILL);
        assert!(!scene.stages().contains(&"join".to_string()));
        scene.run().succeeds();
        scene.is_written(&expected, "killed while files got names");
        cleans_up(&scene);
    }
}

/// Starts a command, and kills it as soon as `is_time`. Returns whether it came to that.
fn killed(scene: &Scene, words: &[String], mut is_time: impl FnMut() -> bool) -> bool {
    let mut running: Running = scene.folders.start(scene.folders.command().args(words));
    loop {
        if let Some(status) = running.child.try_wait().unwrap() {
            assert!(status.success(), "{words:?}: {}", running.ended().stderr);
            return false;
        }
        if is_time() {
            running.send(libc::SIGKILL);
            return running.ended().status.code().is_none();
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Words of a command line.
fn words(line: &str) -> Vec<String> {
    line.split(' ').map(String::from).collect()
}

#[test]
fn a_stage_that_is_killed_while_its_file_is_being_written_leaves_a_temporary_name_alone() {
    let (scene, expected) = scene();
    scene.plan("--shards 2 --ranges 2").succeeds();
    for (stage, file) in [
        ("map 1", "map-0001"),
        ("map 2", "map-0002"),
        ("cut", "cut"),
        ("judge", "judge"),
        ("write 1", "write-0001"),
        ("write 2", "write-0002"),
    ] {
        let temporary = || scene.stages().iter().any(|name| name.starts_with(&format!(".{file}.")));
        let line = words(&format!("shard {stage} --work work -q"));
        if killed(&scene, &line, temporary) {
            // A file may have both names for a moment: then it is complete.
            let left = scene.stages().into_iter().find(|name| name.starts_with(&format!(".{file}.")));
            if let (true, Some(left)) = (scene.stage(file).exists(), left) {
                let [one, other] = [scene.stage(&left), scene.stage(file)].map(std::fs::read);
                assert_eq!(one.unwrap(), other.unwrap(), "{stage}: both names");
            }
        }
        scene.shard(&format!("{stage} --work work -q")).succeeds();
        assert!(scene.stage(file).exists());
    }
    scene.run().succeeds();
    scene.is_written(&expected, "killed while files were written");
    cleans_up(&scene);
}

/// Kills a command after a longer time again and again, until it ends before that; with these steps in milliseconds.
fn killed_again_and_again(scene: &Scene, words: &[String], step: u64) -> usize {
    let mut times = 0;
    loop {
        let (began, patience) = (Instant::now(), Duration::from_millis(step * (1 + times as u64)));
        if !killed(scene, words, || began.elapsed() > patience) {
            return times;
        }
        times += 1;
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_comes_to_an_end() {
    let (scene, expected) = scene();
    scene.plan("--shards 5 --ranges 3").succeeds();
    let times = killed_again_and_again(&scene, &words("shard run --work work -q"), 7);
    assert!(times > 2, "it was killed {times} times");
    scene.is_written(&expected, "killed again and again");
    cleans_up(&scene);
}

#[test]
fn resume_that_is_killed_again_and_again_comes_to_an_end() {
    let (scene, expected) = scene();
    let times = killed_again_and_again(&scene, &scene.resuming(), 7);
    assert!(times > 2, "it was killed {times} times");
    assert!(!scene.path("work").exists());
    scene.is_written(&expected, "--resume, killed again and again");
}

#[test]
fn resume_that_is_killed_at_a_named_moment_goes_on() {
    let (scene, expected) = scene();
    for moment in
        [(PieceRead, 2), (InputOpened, 2), (InputOpened, 2), (InputOpened, 2), (OutputsComplete, 1)]
    {
        Paused::at(&scene.folders, moment, scene.resuming()).stop_by(libc::SIGKILL);
        remove_partial(&scene);
    }
    scene.resume().succeeds();
    assert!(!scene.path("work").exists());
    scene.is_written(&expected, "--resume, killed at named moments");
}

#[test]
fn sigterm_leaves_no_temporary_file_and_the_next_run_goes_on() {
    let (scene, expected) = scene();
    scene.plan("--shards 2 --ranges 2").succeeds();
    let words = "shard run --work work -q";
    for moment in [(PieceRead, 2), (OutputsComplete, 1)] {
        let ended = Paused::at(&scene.folders, moment, words.split(' ')).stop_by(libc::SIGTERM);
        assert_eq!(ended.status.code(), Some(143), "{}", ended.stderr);
        let hidden: Vec<String> =
            scene.stages().into_iter().filter(|name| name.starts_with('.')).collect();
        assert_eq!(hidden, [""; 0], "{moment:?}");
        assert_eq!(scene.folders.left(), [""; 0]);
    }
    scene.run().succeeds();
    scene.is_written(&expected, "SIGTERM");
}

#[test]
fn two_processes_at_one_stage_finish_it_once() {
    let (scene, expected) = scene();
    scene.plan("--shards 2 --ranges 2").succeeds();
    for (stage, moment) in [
        ("map 1", PieceRead),
        ("map 2", PieceRead),
        ("cut", InputOpened),
        ("judge", InputOpened),
        ("write 1..2", InputOpened),
    ] {
        let line = format!("shard {stage} --work work -q");
        let first = Paused::at(&scene.folders, (moment, 1), line.split(' '));
        scene.shard(&format!("{stage} --work work -q")).succeeds();
        let before: Files = crate::shard::files(&scene.path("work"));
        first.go_on().succeeds();
        let after = crate::shard::files(&scene.path("work"));
        let shown: Files = before.into_iter().filter(|(name, _)| !name.starts_with('.')).collect();
        assert!(shown == after, "{stage}: the slower process changed something, or left something");
    }
    scene.run().succeeds();
    scene.is_written(&expected, "two at each stage");
}

#[test]
fn two_joins_at_once_write_one_whole_output() {
    let (scene, expected) = scene();
    scene.plan("--shards 2 --ranges 2").succeeds();
    scene.shard("map --work work -q 1..2").succeeds();
    ["cut", "judge"].iter().for_each(|stage| scene.shard(&format!("{stage} --work work -q")).succeeds());
    scene.shard("write --work work -q 1..2").succeeds();
    let first = Paused::at(&scene.folders, (OutputsComplete, 1), "shard join --work work -q".split(' '));
    let second = scene.shard("join --work work -q");
    println!("the second: {:?}: {}", second.status, second.stderr);
    let first = first.go_on();
    println!("the first: {:?}: {}", first.status, first.stderr);
    assert!([&first, &second].iter().any(|ended| ended.status.success()));
    scene.is_written(&expected, "two joins");
    scene.run().succeeds();
}

#[test]
fn two_whole_runs_at_once_with_different_memory_write_one_whole_output() {
    let scene = Scene::new(&[("x.bam", bam(&many(40_000, 1000)))], "sort in/* -l 1 -o out/x.bam");
    let expected = scene.plain();
    scene.plan("--shards 3 --ranges 3").succeeds();
    let start = |flags: &str| {
        let words = words(&format!("shard run --work work -q {flags}"));
        let logs = ["stdout", "stderr"].map(|log| scene.path(&format!("{log}{}", words.len())));
        let [out, err] = logs.each_ref().map(|log| std::fs::File::create(log).unwrap());
        (scene.folders.command().args(words).stdout(out).stderr(err).spawn().unwrap(), logs)
    };
    let (one, two) = (start("-m 49M -@ 1"), start("-m 512M"));
    for (mut child, [_, err]) in [one, two] {
        let status = child.wait().unwrap();
        println!("{status:?}: {}", std::fs::read_to_string(err).unwrap());
    }
    scene.run().succeeds();
    scene.is_written(&expected, "two runs");
}

#[test]
fn a_second_run_with_the_same_directory_waits_outside() {
    let (scene, expected) = scene();
    let first = Paused::at(&scene.folders, (PieceRead, 1), scene.resuming());
    scene.resume().fails(
        75,
        &["another readmill process is running the job in work", "wait until that process ends"],
    );
    assert!(first.go_on().status.success()); // (both write to one log)
    scene.is_written(&expected, "--resume, while another run tried the same");
    assert!(!scene.path("work").exists());
}

#[test]
fn what_a_killed_plan_left_does_not_stop_the_next_one() {
    let (scene, expected) = scene();
    std::fs::create_dir(scene.path("work")).unwrap();
    for name in [".job.json.host.12.0a", ".map-0001.host.12.0a"] {
        std::fs::write(scene.stage(name), "left").unwrap();
    }
    scene.resume().succeeds();
    assert!(!scene.path("work").exists());
    scene.is_written(&expected, "--resume, after a plan was killed");
}
