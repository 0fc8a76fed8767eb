//! Stage files that are cut, changed or emptied: they are removed, the next run makes them anew, and no wrong output is
//! written. Inputs that change, directories that go away, and full disks.

use std::path::Path;

use crate::faults::fixtures::{TestFolders, bam, many};
use crate::faults::space::with_small_disk;
use crate::shard::identity::MARKING;
use crate::shard::{Files, Scene, samples};
use crate::support::random::TestRandom;

/// The stages of a job of two slices and two ranges, and for each the first stage that reads its file.
const READERS: [(&str, &str); 6] = [
    ("map-0001", "cut"),
    ("map-0002", "judge"),
    ("cut", "judge"),
    ("judge", "write 1"),
    ("write-0001", "join"),
    ("write-0002", "join"),
];

/// The stages in their order.
const ALL: [&str; 7] = ["map-0001", "map-0002", "cut", "judge", "write-0001", "write-0002", "join"];

/// A job, all of which is done, what it writes, and the files of its stages.
fn done() -> (Scene, Files, Files) {
    let text = samples::text(2000, 900, 41);
    let command = format!("prep in/* -l 1 -o out/x.bam --sort coordinate {MARKING}");
    let scene = Scene::new(&[("x.bam", samples::in_blocks(&text, 9000))], &command);
    let expected = scene.plain();
    scene.plan("--shards 2 --ranges 2").succeeds();
    scene.run().succeeds();
    scene.is_written(&expected, "without damage");
    let files = crate::shard::files(&scene.path("work"));
    (scene, expected, files)
}

/// Puts the files of the stages before `reader` back, and removes the others.
fn until(scene: &Scene, files: &Files, reader: &str) {
    let reader = if reader == "write 1" { "write-0001" } else { reader };
    let end = ALL.iter().position(|stage| *stage == reader).unwrap();
    ALL[end..].iter().for_each(|name| drop(std::fs::remove_file(scene.stage(name))));
    ALL[..end].iter().for_each(|name| std::fs::write(scene.stage(name), &files[*name]).unwrap());
}

/// Damages a file, and asserts that the stages from `reader` on find it, and that a run makes it good.
fn is_healed(
    (scene, expected, files): &(Scene, Files, Files),
    (name, reader): (&str, &str),
    (what, bytes): (String, Vec<u8>),
    wrong: &mut Vec<String>,
) {
    until(scene, files, reader);
    std::fs::write(scene.stage(name), &bytes).unwrap();
    let mut codes = Vec::new();
    let from = ["cut", "judge", "write 1", "write 2", "join"];
    let at = from.iter().position(|stage| *stage == reader).unwrap();
    for stage in &from[at..] {
        let ended = scene.shard(&format!("{stage} --work work -q"));
        codes.push(ended.status.code());
        if !ended.status.success() {
            let is_removed = !scene.stage(name).exists();
            let says = ended.stderr.contains(&format!("work/{name} was damaged and has been removed"));
            if ended.status.code() != Some(75) || !is_removed || !says {
                wrong.push(format!(
                    "{name} {what}: {stage} {codes:?}, removed: {is_removed}: {}",
                    ended.stderr
                ));
            }
            break;
        }
    }
    if codes.iter().all(|code| *code == Some(0)) && what.starts_with("cut") {
        wrong.push(format!("{name} {what}: nobody noticed"));
    }
    let ended = scene.run();
    let written = scene.outputs();
    if !ended.status.success() || written != *expected {
        let same = written == *expected;
        wrong.push(format!(
            "{name} {what}: {codes:?}, then {:?}, same: {same}: {}",
            ended.status, ended.stderr
        ));
    }
    written.keys().for_each(|name| std::fs::remove_file(scene.folders.out(name)).unwrap());
}

#[test]
fn files_that_are_cut_short_are_made_again() {
    let job = done();
    let mut wrong = Vec::new();
    for stage in READERS {
        let bytes = &job.2[stage.0];
        let end = bytes.len();
        for length in [0, 8, 23, 24, end / 2, end - 20, end - 1] {
            let damage = (format!("cut to {length} of {end}"), bytes[..length].to_vec());
            is_healed(&job, stage, damage, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_in_which_a_byte_has_changed_are_made_again() {
    let job = done();
    let (mut wrong, mut random) = (Vec::new(), TestRandom::new(5));
    for stage in READERS {
        let bytes = &job.2[stage.0];
        let end = bytes.len();
        // The magic, the data, the footer, its checksum, its length, the magic again. (The hash of the job is another case.)
        let some = [0; 3].map(|_| 24 + random.below(end - 24));
        for at in [0, 24, 24 + end / 3, end - 20, end - 10, end - 8, end - 1].into_iter().chain(some) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x41;
            is_healed(&job, stage, (format!("changed at {at} of {end}"), bytes), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_file_with_more_behind_it_or_of_zeros_is_made_again() {
    let job = done();
    let mut wrong = Vec::new();
    for stage in READERS {
        let longer = [&job.2[stage.0][..], b"more"].concat();
        is_healed(&job, stage, ("cut, with more behind it".into(), longer), &mut wrong);
        is_healed(&job, stage, ("cut: zeros".into(), vec![0; job.2[stage.0].len()]), &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_output_that_is_changed_or_gone_is_joined_again() {
    let (scene, expected, _) = done();
    scene.run().succeeds();
    scene.is_written(&expected, "all outputs gone");
    for name in expected.keys() {
        scene.run().succeeds();
        std::fs::remove_file(scene.folders.out(name)).unwrap();
        scene.run().succeeds();
        scene.is_written(&expected, &format!("{name} was gone"));
    }
    scene.run().succeeds();
    std::fs::write(scene.folders.out("x.bam"), "short").unwrap();
    scene.run().succeeds();
    scene.is_written(&expected, "x.bam was changed");
}

#[test]
fn a_plan_that_is_damaged_or_edited_is_refused() {
    let (scene, expected, files) = done();
    let plan = String::from_utf8(files["job.json"].clone()).unwrap();
    let (from, to) = plan.split_at(plan.len() / 2);
    let ranges = "\"ranges\": 2";
    assert!(plan.contains(ranges));
    for (what, text) in [
        ("cut", from.to_string()),
        ("emptied", String::new()),
        ("the end of it", to.to_string()),
        ("fewer ranges", plan.replace(ranges, "\"ranges\": 1")),
        ("more ranges", plan.replace(ranges, "\"ranges\": 3")),
        ("another output", plan.replace("out/x.bam", "out/y.bam")),
        ("other flags", plan.replace("\"1\"", "\"2\"")),
        ("a later format", plan.replace("\"format\": 3", "\"format\": 4")),
    ] {
        std::fs::write(scene.stage("job.json"), text).unwrap();
        std::fs::remove_file(scene.stage("join")).ok();
        let ended = scene.run();
        assert_eq!(ended.status.code(), Some(2), "{what}: {}", ended.stderr);
        assert!(scene.outputs().is_empty(), "{what}");
        scene.shard("status --work work"); // does not fail by a panic
    }
    std::fs::write(scene.stage("job.json"), b"\xff\0\0").unwrap();
    scene.run().fails(2, &["the plan is damaged", "readmill shard clean"]);
    std::fs::write(scene.stage("job.json"), plan).unwrap();
    scene.run().succeeds();
    scene.is_written(&expected, "the plan is as it was");
}

#[test]
fn a_plan_that_is_edited_before_the_first_stage_loses_no_reads() {
    let text = samples::text(300, 200, 42);
    let scene = Scene::new(&[("x.bam", samples::in_blocks(&text, 3000))], "sort in/* -o out/x.bam");
    let expected = scene.plain();
    scene.plan("--shards 3 --ranges 2").succeeds();
    let plan: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scene.stage("job.json")).unwrap()).unwrap();
    let mut fewer = plan.clone();
    fewer["slices"].as_array_mut().unwrap().remove(1);
    let mut twice = plan.clone();
    twice["slices"][1] = plan["slices"][0].clone();
    let mut none = plan.clone();
    none["ranges"] = 0.into();
    let mut beyond = plan.clone();
    beyond["slices"][1]["input"] = 7.into();
    let mut moved = plan.clone();
    moved["slices"][1]["part"]["between"]["from"]["within"] = 1.into();
    let mut wrong = Vec::new();
    for (what, plan) in [
        ("a slice less", fewer),
        ("a slice twice", twice),
        ("no ranges", none),
        ("an input that is not there", beyond),
        ("a border moved", moved),
    ] {
        let text = serde_json::to_string_pretty(&plan).unwrap() + "\n";
        std::fs::write(scene.stage("job.json"), text).unwrap();
        let ended = scene.run();
        let is_wrong = ended.status.success() && scene.outputs() != expected;
        if is_wrong || ended.stderr.contains("panicked") {
            wrong.push(format!("{what}: {:?}: {}", ended.status, ended.stderr));
        }
        scene.outputs().keys().for_each(|name| std::fs::remove_file(scene.folders.out(name)).unwrap());
        scene.stages().iter().for_each(|name| std::fs::remove_file(scene.stage(name)).unwrap());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_input_that_changes_after_the_plan_is_refused() {
    let (scene, expected, files) = done();
    let input = std::fs::read(scene.path("in/x.bam")).unwrap();
    until(&scene, &files, "map-0002");
    std::fs::write(scene.path("in/x.bam"), [&input[..], b"more"].concat()).unwrap();
    scene.run().fails(2, &["in/x.bam has changed since the job was planned", "plan the job again"]);
    std::fs::remove_file(scene.path("in/x.bam")).unwrap();
    scene.run().fails(3, &["in/x.bam", "No such file"]);
    std::fs::write(scene.path("in/x.bam"), &input).unwrap();
    let planned: serde_json::Value = serde_json::from_slice(&files["job.json"]).unwrap();
    let [seconds, nanoseconds] = [0, 1].map(|at| planned["inputs"][0]["changed"][at].as_u64().unwrap());
    let then = std::time::Duration::new(seconds, nanoseconds as u32);
    let then = std::time::UNIX_EPOCH + then;
    std::fs::File::options()
        .write(true)
        .open(scene.path("in/x.bam"))
        .unwrap()
        .set_modified(then)
        .unwrap();
    scene.run().succeeds();
    scene.is_written(&expected, "the input is as it was");
}

#[test]
fn an_input_of_the_same_size_that_is_written_within_a_second_of_the_plan_is_refused() {
    let one = samples::text(60, 0, 1);
    let scene = Scene::new(&[("x.sam", one.clone().into())], "sort in/* -o out/x.bam");
    scene.plan("").succeeds();
    std::fs::write(scene.path("in/x.sam"), one.replace("M:1:F:1:", "M:2:F:2:")).unwrap();
    scene.run().fails(2, &["in/x.sam has changed since the job was planned"]);
}

#[test]
fn an_output_directory_that_is_missing_or_goes_away_is_named() {
    let text = samples::text(60, 0, 2);
    let scene = Scene::new(&[("x.sam", text.into())], "sort in/* -o out/x.bam");
    let expected = scene.plain();
    scene.plan("").succeeds();
    std::fs::remove_dir(scene.path("out")).unwrap();
    scene.run().fails(3, &["out/x.bam"]);
    std::fs::create_dir(scene.path("out")).unwrap();
    scene.run().succeeds();
    scene.is_written(&expected, "the directory is there again");
}

#[test]
fn a_directory_for_stages_that_is_a_file_is_named() {
    let text = samples::text(20, 0, 2);
    let scene = Scene::new(&[("x.sam", text.into())], "sort in/* -o out/x.bam");
    scene.plan_into("in/x.sam", "").fails(3, &["in/x.sam", "Not a directory"]);
    scene.plan_into("in/x.sam/work", "").fails(3, &["in/x.sam/work", "Not a directory"]);
}

/// Whether this process may write where permissions say that it may not.
fn is_root(folders: &TestFolders) -> bool {
    let dir = folders.out("sealed");
    std::fs::create_dir(&dir).unwrap();
    let sealed = std::os::unix::fs::PermissionsExt::from_mode(0o500);
    std::fs::set_permissions(&dir, sealed).unwrap();
    let is_root = std::fs::write(dir.join("x"), "").is_ok();
    std::fs::remove_dir_all(&dir).unwrap();
    is_root
}

#[test]
fn a_directory_for_stages_that_cannot_be_written_is_named() {
    let text = samples::text(20, 0, 2);
    let scene = Scene::new(&[("x.sam", text.into())], "sort in/* -o out/x.bam");
    if is_root(&scene.folders) {
        println!("skipped: this user may write anywhere");
        return;
    }
    scene.plan("").succeeds();
    let sealed = std::os::unix::fs::PermissionsExt::from_mode(0o500);
    std::fs::set_permissions(scene.path("work"), sealed).unwrap();
    scene.run().fails(3, &["work/map-0001 cannot be written", "Permission denied"]);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(scene.path("work"), open).unwrap();
}

#[test]
fn a_full_disk_leaves_no_half_stage() {
    let scene = Scene::new(&[("x.bam", bam(&many(1500, 20_000)))], "sort in/x.bam -o out/x.bam");
    let noise = Path::new("in/noise.sam");
    let lines = (0..3000).map(|i| {
        let mut random = TestRandom::new(i);
        let bases: String = (0..4000).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect();
        format!("r{i}\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t*\n")
    });
    scene.folders.input("noise.sam", lines.collect::<String>());
    let script = format!(
        "\"$0\" shard plan --work small/w sort {} -o out/x.bam -q && {{ \"$0\" shard run --work small/w -q; code=$?; \
         ls -A small/w; exit $code; }}",
        noise.display()
    );
    let Some(ended) = with_small_disk(&scene.folders, &script) else { return };
    ended.fails(75, &["small/w/", "map-0001", "No space left on device"]);
    let helps = !ended.stderr.contains("--temp-dir");
    assert!(helps, "another --temp-dir is no help where the files of the stages are: {}", ended.stderr);
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "job.json\n", "nothing else is left");
    assert!(scene.outputs().is_empty());
}

#[test]
fn the_number_of_a_bad_record_is_that_of_one_run() {
    let mut lines: Vec<String> = samples::text(300, 40, 9).lines().map(String::from).collect();
    let bad = lines.len() - 20;
    lines[bad] = lines[bad].replacen('\t', "\tx", 1);
    let text = lines.join("\n") + "\n";
    let scene = Scene::new(&[("x.sam", text.into())], "sort in/* -o out/x.bam");
    let plain = scene.folders.readmill(&scene.command);
    scene.plan("--shards 5").succeeds();
    let (slices, _) = scene.division();
    assert_eq!(slices, 5);
    // Alone, the last slice does not know how many records are before it.
    scene.shard("map 5 --work work -q").fails(2, &["slice 5 of 5"]);
    let staged = scene.run();
    assert_eq!(staged.stderr, plain.stderr);
    assert!(plain.stderr.contains("record"), "{}", plain.stderr);
    staged.fails(2, &[]);
}

#[test]
fn status_says_what_is_missing_damaged_or_stale_and_removes_nothing() {
    let (scene, _, files) = done();
    let status = || String::from_utf8(scene.shard("status --work work").stdout).unwrap();
    let mut cut = files["cut"].clone();
    let end = cut.len();
    cut[end - 30] ^= 1;
    std::fs::write(scene.stage("cut"), &cut).unwrap();
    std::fs::remove_file(scene.stage("map-0001")).unwrap();
    let said = status();
    assert!(said.contains("map 1\tmissing") && said.contains("cut\tdamaged"), "{said}");
    assert!(said.contains("map 2\tfinished") && said.contains("write 2\tfinished"), "{said}");
    // The output was taken away.
    assert!(said.contains("join\tstale"), "{said}");
    assert_eq!(std::fs::read(scene.stage("cut")).unwrap(), cut);
    assert!(scene.stage("join").exists());
}
