//! What is removed at the end: the files of the stages, and nothing else.

use crate::shard::{Scene, samples};

fn scene(command: &str) -> Scene {
    Scene::new(&[("map-reads.sam", samples::text(40, 10, 1).into())], command)
}

#[test]
fn files_of_others_stay_whatever_their_names_are() {
    let scene = scene("sort in/* -o out/x.bam");
    let expected = scene.plain();
    std::fs::create_dir(scene.path("work")).unwrap();
    let others = [
        "map-of-genome.bed",
        "write-up.txt",
        "cut.bam",
        "judge.tsv",
        "join.bam",
        "job.json.old",
        ".cut.swp",
    ];
    others.iter().for_each(|name| std::fs::write(scene.stage(name), name).unwrap());
    scene.plan("").succeeds();
    scene.run().succeeds();
    scene.is_written(&expected, "beside other files");
    scene.shard("clean --work work").succeeds();
    let mut sorted = others.map(String::from).to_vec();
    sorted.sort();
    assert_eq!(scene.stages(), sorted);
}

#[test]
fn an_output_in_the_directory_of_the_stages_stays() {
    for name in ["cut.bam", "join.bam", "map-reads.bam", "x.bam"] {
        let scene = scene(&format!("sort in/* -o work/{name}"));
        std::fs::create_dir(scene.path("work")).unwrap();
        scene.resume().succeeds();
        assert_eq!(scene.stages(), [name.to_string(), format!("{name}.bai")]);
    }
}

#[test]
fn an_input_in_the_directory_of_the_stages_stays() {
    let scene = scene("sort in/map-reads.sam -o out/x.bam");
    let input = std::fs::read(scene.path("in/map-reads.sam")).unwrap();
    let words = scene.command.iter().map(String::as_str).chain(["--resume", "in"]);
    scene.folders.readmill(words).succeeds();
    assert!(std::fs::read(scene.path("in/map-reads.sam")).is_ok_and(|bytes| bytes == input));
}

#[test]
fn a_directory_without_a_job_is_not_cleaned() {
    let scene = scene("sort in/* -o out/x.bam");
    scene.shard("clean --work in").fails(1, &["in does not contain a job"]);
    scene.shard("clean --work nowhere").fails(1, &["nowhere does not contain a job"]);
    assert!(scene.path("in/map-reads.sam").exists());
}

#[test]
fn a_job_whose_plan_is_damaged_can_be_cleaned() {
    let scene = scene("sort in/* -o out/x.bam");
    scene.plan("").succeeds();
    scene.run().succeeds();
    std::fs::write(scene.stage("job.json"), "{").unwrap();
    scene.shard("clean --work work").succeeds();
    assert!(!scene.path("work").exists());
}

#[test]
fn a_cleaning_that_is_cut_short_leaves_the_plan_so_that_it_can_be_repeated() {
    let scene = scene("sort in/* -o out/x.bam");
    scene.plan("").succeeds();
    std::fs::create_dir(scene.stage("join")).unwrap(); // which is removed last, but for the plan
    scene.shard("clean --work work").fails(3, &["work cannot be emptied"]);
    std::fs::remove_dir(scene.stage("join")).unwrap();
    assert_eq!(scene.stages(), ["job.json"]);
    scene.shard("clean --work work").succeeds();
    assert!(!scene.path("work").exists());
}

#[test]
fn what_a_killed_plan_left_behind_does_not_hinder_the_next_one() {
    let scene = scene("sort in/* -o out/x.bam");
    let expected = scene.plain();
    std::fs::create_dir(scene.path("work")).unwrap();
    std::fs::write(scene.stage(".job.json.some-host.77.1a2b"), "{").unwrap();
    scene.resume().succeeds();
    assert!(!scene.path("work").exists());
    scene.is_written(&expected, "beside a plan that was not finished");
}
