//! What happens on file servers: handles that are stale, and clocks that differ between machines.

use std::time::{Duration, SystemTime};

use crate::faults::fixtures::Ended;
use crate::shard::identity::MARKING;
use crate::shard::{Scene, samples};

fn scene() -> Scene {
    let text = samples::text(1500, 900, 51);
    let command = format!("prep in/* -l 1 -o out/x.bam --sort coordinate {MARKING}");
    Scene::new(&[("x.bam", samples::in_blocks(&text, 9000))], &command)
}

#[test]
fn files_of_any_time_are_taken_as_they_are() {
    let scene = scene();
    let expected = scene.plain();
    let years = |n: u64| Duration::from_secs(n * 365 * 86400);
    let now = SystemTime::now();
    let times = [SystemTime::UNIX_EPOCH, now - years(1), now + years(50)];
    let set = |path: std::path::PathBuf, time: SystemTime| {
        std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    set(scene.path("in/x.bam"), now + years(1));
    scene.plan("--shards 3 --ranges 2").succeeds();
    set(scene.stage("job.json"), times[2]);
    let stages = ["map 1", "map 2", "map 3", "cut", "judge", "write 1", "write 2"];
    let files = ["map-0001", "map-0002", "map-0003", "cut", "judge", "write-0001", "write-0002"];
    for (number, (stage, file)) in stages.iter().zip(files).enumerate() {
        scene.shard(&format!("{stage} --work work -q")).succeeds();
        set(scene.stage(file), times[number % 3]);
    }
    let changed = || std::fs::metadata(scene.stage("map-0001")).unwrap().modified().unwrap();
    scene.run().succeeds();
    assert_eq!(changed(), times[0], "map 1 was made again");
    scene.is_written(&expected, "with clocks that differ");
}

/// Runs a stage, and has its call number `when` of `call` fail as if the handle of its file were stale. Whether it came to
/// that call.
fn with_stale_handle(scene: &Scene, stage: &str, call: &str, when: usize) -> (Ended, bool) {
    let log = scene.path("strace");
    let script = format!(
        "exec strace -f -qq -o {} -e trace={call} -e inject={call}:error=ESTALE:when={when} \"$0\" \
         shard {stage} --work work -q -@ 1",
        log.display()
    );
    let ended = scene.folders.run(&mut scene.folders.shell(&script));
    let log = std::fs::read_to_string(log).unwrap_or_default();
    (ended, log.contains("(INJECTED)"))
}

#[test]
#[ignore = "takes minutes, and needs strace; nightly runs it"]
fn a_stale_handle_at_any_call_of_a_stage_heals_by_another_run() {
    let scene = scene();
    let expected = scene.plain();
    scene.plan("--shards 2 --ranges 2").succeeds();
    let (mut failed, mut wrong) = (0, Vec::new());
    for stage in ["map 1", "map 2", "cut", "judge", "write 1", "write 2", "join"] {
        for call in ["read", "pread64", "write", "pwrite64", "fsync"] {
            for when in (1..).map(|n: usize| n + n * n / 8) {
                let (ended, came) = with_stale_handle(&scene, stage, call, when);
                if !came {
                    assert!(when > 1 || ended.status.success(), "{stage}: {}", ended.stderr);
                    break;
                }
                let what = format!("{stage}, {call} {when}: {:?}: {}", ended.status, ended.stderr);
                match ended.status.code() {
                    Some(127) => continue, // the program was not loaded
                    Some(0) => {} // the call did not matter, such as one of the system's own files
                    Some(75) if ended.stderr.contains("error: ") => failed += 1,
                    _ => wrong.push(what.clone()),
                }
                if ended.stderr.contains("panicked") {
                    wrong.push(what);
                }
                // A stage that is finished would not come to the call again.
                let file = stage.replace(' ', "-000");
                drop(std::fs::remove_file(scene.stage(&file)));
                if stage == "join" {
                    scene
                        .outputs()
                        .keys()
                        .for_each(|name| drop(std::fs::remove_file(scene.folders.out(name))));
                }
            }
        }
        scene.shard(&format!("{stage} --work work -q")).succeeds();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(failed > 50, "only {failed} calls failed");
    scene.is_written(&expected, "after stale handles");
}
