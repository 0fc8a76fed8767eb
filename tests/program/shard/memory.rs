//! Each stage stays within its `-m`: the peak of the process is read while it runs.

use std::time::Duration;

use crate::shard::{Scene, samples};
use crate::support;
use crate::support::resources::sample;

/// Runs a shard command, and returns its peak in MiB, as it was less than a millisecond before its end.
#[track_caller]
fn peak(scene: &Scene, line: &str) -> u64 {
    let mut command = scene.folders.command();
    command.arg("shard").args(line.split(' '));
    let running = scene.folders.start(&mut command);
    let status = format!("/proc/{}/status", running.child.id());
    let mut kibibytes = 0;
    // A process that has ended has a status without memory, until it is waited for.
    while let Some(peak) = std::fs::read_to_string(&status).unwrap().split_once("VmHWM:") {
        let peak = peak.1.trim_start().split(' ').next().and_then(|peak| peak.parse().ok());
        kibibytes = kibibytes.max(peak.unwrap_or(0));
        std::thread::sleep(Duration::from_micros(200));
    }
    let ended = running.ended();
    assert_eq!(ended.status.code(), Some(0), "{line}: {}", ended.stderr);
    assert!(kibibytes > 0, "there is no /proc here");
    kibibytes >> 10
}

/// The least `-m`, in MiB, with which a line runs, found by following the refusals.
fn find_min_memory(scene: &Scene, line: &str) -> u64 {
    let mut memory = 1;
    for _ in 0..20 {
        let ended = scene.shard(&format!("{line} -m {memory}M"));
        if ended.status.success() {
            return memory;
        }
        assert_eq!(ended.status.code(), Some(1), "{line}: -m {memory}M: {}", ended.stderr);
        let number = |words: &str| {
            let rest = ended.stderr.split_once(words)?.1;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        let wanted = number("raise -m to ").or_else(|| number("at least -m "));
        let wanted = wanted.unwrap_or_else(|| panic!("{line}: no -m is named: {}", ended.stderr));
        assert!(
            wanted > memory,
            "{line}: -m {memory}M is refused, and {wanted}M is asked for: {}",
            ended.stderr
        );
        memory = wanted;
    }
    panic!("{line} does not run");
}

/// Runs each stage with the least memory, and again with each of `caps`; asserts that it holds.
fn holds(scene: &Scene, stages: &[&str], threads: usize, caps: &[u64]) {
    for stage in stages {
        let file = scene.stage(&match stage.split_once(' ') {
            Some((name, number)) => format!("{name}-{:04}", number.parse::<u32>().unwrap()),
            None => (*stage).to_string(),
        });
        let line = format!("{stage} --work work -q -@ {threads}");
        let _ = std::fs::remove_file(&file);
        let min_memory = find_min_memory(scene, &line);
        for &memory in [min_memory].iter().chain(caps) {
            if memory < min_memory {
                continue;
            }
            std::fs::remove_file(&file).unwrap();
            let peak = peak(scene, &format!("{line} -m {memory}M"));
            println!("| {stage} -@ {threads} | {min_memory} | -m {memory}M: {peak} |");
            assert!(peak <= memory, "{stage} -@ {threads}: {peak} MiB with -m {memory}M");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn small_jobs_hold_the_least_memory_that_each_stage_accepts() {
    let text = samples::text(12_000, 200, 51);
    let command = "markdup in/* -l 1 --sort coordinate -o out/x.bam --metrics out/m.txt";
    let scene = Scene::new(&[("x.bam", support::bam(&text))], command);
    scene.plan("--shards 3 --ranges 2").succeeds();
    holds(&scene, &["map 1", "map 2", "map 3", "cut", "judge", "write 1", "write 2", "join"], 2, &[]);
}

#[test]
#[ignore = "takes minutes; nightly runs it"]
fn large_jobs_hold_the_memory_of_each_stage() {
    let input = support::bgzip(&sample(150_000));
    let command = "markdup in/* -l 1 --sort coordinate -o out/x.bam --metrics out/m.txt";
    for (threads, division) in
        [(1, "--shards 3 --ranges 2"), (8, "--shards 40 --ranges 2"), (2, "--shards 1 --ranges 1")]
    {
        let scene = Scene::new(&[("x.bam", input.clone())], command);
        scene.plan(division).succeeds();
        let (slices, ranges) = scene.division();
        assert_eq!(ranges.min(2), ranges);
        let rest = format!("2..{slices}");
        holds(&scene, &["map 1"], threads, &[64, 128]);
        if slices > 1 {
            scene.shard(&format!("map --work work -q {rest}")).succeeds();
        }
        holds(&scene, &["cut", "judge", "write 1"], threads, &[64, 128]);
        scene.run().succeeds();
        holds(&scene, &["join"], threads, &[64, 128]);
    }
}
