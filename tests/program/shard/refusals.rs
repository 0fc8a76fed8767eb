//! What a job in stages cannot do is refused by its name, when it is planned.

use crate::faults::fixtures::{Ended, TestFolders};
use crate::shard::{Scene, samples};

fn scene(command: &str) -> Scene {
    let text = samples::text(30, 10, 1);
    let bed = b"chr1\t0\t1000\n".to_vec();
    Scene::new(&[("x.sam", text.into()), ("r.bed", bed)], command)
}

/// Asserts that a command is refused with all these words, by its plan and by `--resume`, and leaves nothing.
#[track_caller]
fn refused(command: &str, words: &[&str]) {
    let scene = scene(command);
    let ended = scene.plan("");
    ended.fails(1, words);
    assert!(!ended.stderr.contains("error: error:"), "{command}: {}", ended.stderr);
    assert!(!scene.path("work").exists(), "{command}: the refused plan leaves a directory");
    assert_eq!(scene.folders.left(), [""; 0], "{command}");
}

#[test]
fn outputs_that_are_not_one_file_are_refused() {
    for (command, what) in [
        ("sort in/x.sam", "the output is not a regular file"),
        ("sort in/x.sam -O bam -o -", "the output is not a regular file"),
        ("sort in/x.sam -O bam -o /dev/null", "the output is not a regular file"),
        (
            "sort in/x.sam -o out/x.bam --copy-to out/u.bam=unmapped",
            "some reads are written to other files",
        ),
        (
            "sort in/x.sam -o out/x.bam --move-to out/u.bam=unmapped",
            "some reads are written to other files",
        ),
    ] {
        refused(command, &[what, "cannot be run in stages"]);
    }
}

#[test]
fn inputs_that_cannot_be_read_again_are_refused() {
    refused("sort - -o out/x.bam", &["the input is a pipe", "write the input to a file first"]);
    let scene = scene("sort in/fifo -o out/x.bam");
    let made = std::process::Command::new("mkfifo").arg(scene.path("in/fifo")).status().unwrap();
    assert!(made.success());
    scene.plan("").fails(1, &["in/fifo is not a regular file", "not a pipe"]);
    scene.resume().fails(1, &["in/fifo is not a regular file"]);
}

#[test]
fn steps_that_need_all_reads_at_once_are_refused() {
    for (command, what) in [
        (
            "prep in/x.sam -o out/x.bam --sort coordinate --fix-mates samtools",
            "it updates mate information",
        ),
        (
            "prep in/x.sam -o out/x.bam --sort coordinate --fix-mates picard",
            "it updates mate information",
        ),
        ("markdup in/x.sam -o out/x.bam --rules samtools", "marked with --rules samtools"),
        ("prep in/x.sam -o out/x.bam --min-mapq 1", "neither sorts reads nor marks duplicates"),
    ] {
        refused(command, &[what]);
    }
}

#[test]
fn commands_that_have_no_stages_are_refused_by_name() {
    for command in ["flagstat in/x.sam", "checksum in/x.sam", "fastq in/x.sam"] {
        let name = command.split(' ').next().unwrap();
        refused(
            command,
            &[
                &format!("{name} cannot be run in stages"),
                "COMMAND is sort, merge, markdup, prep or align",
            ],
        );
    }
}

#[test]
fn commands_with_mistakes_are_refused_with_the_usual_message() {
    refused("sort in/x.sam -o out/x.bam --no-such-flag", &["--no-such-flag"]);
    refused("sorted in/x.sam -o out/x.bam", &["sorted"]);
    refused("sort in/x.sam -o out/x.bam --sort by-size", &["by-size"]);
    let scene = scene("sort in/nothing.sam -o out/x.bam");
    scene.plan("").fails(3, &["in/nothing.sam", "No such file"]);
}

#[test]
fn a_command_that_resumes_itself_is_refused_in_a_plan() {
    refused("sort in/x.sam -o out/x.bam --resume other", &["--resume"]);
}

#[test]
fn numbers_of_stages_that_are_not_there_are_refused() {
    let scene = scene("sort in/x.sam -o out/x.bam");
    scene.shard("run --work work").fails(1, &["work does not contain a job", "readmill shard plan"]);
    scene.plan("--shards 2 --ranges 3").succeeds();
    for (stage, words) in [
        ("map 3", &["no stage map 3", "2 stages of this kind"][..]),
        ("map 1..3", &["no stage map 3"]),
        ("write 4", &["no stage write 4", "3 stages of this kind"]),
        ("judge", &["no stage judge"]),
    ] {
        scene.shard(&format!("{stage} --work work -q")).fails(1, words);
    }
    for numbers in ["0", "2..1", "x", "1..", "-1", "1-2", "99999999999999999999"] {
        let ended = scene.shard(&format!("map --work work -q {numbers}"));
        assert_eq!(ended.status.code(), Some(1), "{numbers}: {}", ended.stderr);
    }
    for division in ["--shards 0", "--shards 4097", "--ranges 0", "--ranges x"] {
        let ended = scene.plan_into("other", division);
        assert_eq!(ended.status.code(), Some(1), "{division}: {}", ended.stderr);
    }
}

#[test]
fn a_stage_whose_files_are_missing_says_which() {
    let scene = scene("markdup in/x.sam -o out/x.bam");
    scene.plan("--shards 2 --ranges 2").succeeds();
    let missing = |stage: &str| -> Ended { scene.shard(&format!("{stage} --work work -q")) };
    missing("cut")
        .fails(75, &["work/map-0001 is missing", "map 1 is not finished", "readmill shard run"]);
    scene.shard("map --work work -q 1..2").succeeds();
    missing("judge").fails(75, &["work/cut is missing"]);
    missing("write 1").fails(75, &["work/cut is missing"]);
    missing("cut").succeeds();
    missing("write 1").fails(75, &["work/judge is missing"]);
    missing("join").fails(75, &["work/judge is missing"]);
    let said = missing("join").stderr;
    assert!(!said.contains("in/x.sam: "), "the input is not at fault: {said}");
    assert_eq!(scene.folders.left(), [""; 0]);
}

#[test]
fn a_directory_that_has_another_job_is_refused() {
    let scene = scene("sort in/x.sam -o out/x.bam");
    scene.plan("").succeeds();
    scene.plan("--shards 5").succeeds(); // the same job goes on, as it was divided
    let words = ["shard", "plan", "--work", "work", "sort", "-n", "in/x.sam", "-o", "out/x.bam"];
    scene.folders.readmill(words).fails(1, &["work contains another job", "use another directory"]);
    let resumed = ["sort", "-n", "in/x.sam", "-o", "out/x.bam", "--resume", "work"];
    scene.folders.readmill(resumed).fails(1, &["work contains another job"]);
}

/// A header, and reads of one name with more than a mebibyte among others.
fn long_template() -> String {
    let line = |name: &str, i: usize| {
        format!(
            "{name}\t0\tchr1\t{}\t60\t20M\t*\t0\t0\t{}\t*\tXX:Z:{}\n",
            1 + i,
            "ACGT".repeat(5),
            "x".repeat(3000)
        )
    };
    let reads = (0..400).map(|i| line(&format!("a{i}"), i)).chain((0..500).map(|i| line("long", i)));
    samples::HEADER.to_string()
        + &reads.chain((0..400).map(|i| line(&format!("b{i}"), i))).collect::<String>()
}

#[test]
fn a_template_of_more_than_a_mebibyte_is_refused_with_flags_that_exist() {
    let scene = Scene::new(&[("x.sam", long_template().into())], "markdup in/* -o out/x.bam");
    let expected = scene.plain();
    scene.plan("--shards 4").succeeds();
    let ended = scene.run();
    ended.fails(2, &["more than 1 MiB", "without stages"]);
    assert!(!ended.stderr.contains("--slices"), "there is no such flag: {}", ended.stderr);
    assert!(scene.outputs().is_empty());
    scene.shard("clean --work work").succeeds();
    scene.same(&expected, "--shards 1 --ranges 3");
    let scene = Scene::new(&[("x.sam", long_template().into())], "sort in/* -o out/x.bam");
    let expected = scene.plain();
    scene.same(&expected, "--shards 4");
}

#[test]
fn names_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let folders = TestFolders::new();
    folders.input("x.sam", samples::text(3, 0, 1));
    let output = std::ffi::OsStr::from_bytes(b"out/\xff.bam");
    let words = ["shard", "plan", "--work", "work", "sort", "in/x.sam", "-o"].map(std::ffi::OsStr::new);
    folders.readmill(words.into_iter().chain([output])).fails(1, &["is not UTF-8"]);
}

#[test]
fn a_file_of_somebody_else_with_the_name_of_a_stage_is_refused_and_stays() {
    let scene = scene("sort in/x.sam -o out/x.bam");
    scene.plan("--shards 2").succeeds();
    std::fs::write(scene.stage("map-0002"), "notes of somebody else, in a few words").unwrap();
    let said = &["work/map-0002: has the name of a stage file", "move the file"];
    scene.run().fails(1, said);
    scene.shard("map 2 --work work").fails(1, said);
    scene.shard("status --work work").fails(1, said);
    let kept = std::fs::read(scene.stage("map-0002")).unwrap();
    assert_eq!(kept, b"notes of somebody else, in a few words");
}

#[test]
fn a_plan_of_another_version_is_refused_as_one() {
    let scene = scene("sort in/x.sam -o out/x.bam");
    scene.plan("").succeeds();
    let plan = std::fs::read_to_string(scene.stage("job.json")).unwrap();
    let mut other: serde_json::Value = serde_json::from_str(&plan).unwrap();
    other["program"] = "9.0.0 00ff".into();
    other.as_object_mut().unwrap().remove("anchor");
    std::fs::write(scene.stage("job.json"), other.to_string()).unwrap();
    scene
        .run()
        .fails(2, &["planned by a different build of readmill (9.0.0 00ff)", "with the same build"]);
}

#[test]
fn more_slices_than_files_that_may_be_open() {
    let text = crate::shard::samples::text(400, 900, 8);
    let scene = Scene::new(&[("x.sam", text.into())], "sort in/* -o out/x.bam");
    let expected = scene.plain();
    scene.plan("--shards 120 --ranges 2").succeeds();
    assert!(scene.division().0 > 100);
    let script = "ulimit -S -n 60; exec \"$0\" shard run --work work -q";
    scene.folders.run(&mut scene.folders.shell(script)).succeeds();
    scene.is_written(&expected, "with few files open");
}

#[test]
fn reads_without_the_field_of_the_order_are_warned_of_once() {
    let text = crate::shard::samples::text(40, 0, 8);
    let scene = Scene::new(&[("x.sam", text.into())], "sort -t ZZ in/* -o out/x.bam");
    scene.plan("--shards 3").succeeds();
    let ended = scene.shard("run --work work");
    let warnings = ended.stderr.matches("no read has the field ZZ, which is the sort key").count();
    assert_eq!(warnings, 1, "{}", ended.stderr);
    ended.succeeds();
}
