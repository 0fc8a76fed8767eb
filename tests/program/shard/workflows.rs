//! The stages of a job as workflows: what an engine gets, without the engine. `./dev integrations` has the engines.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::faults::fixtures::Ended;
use crate::shard::{Scene, samples};

/// A directory whose name a shell, Groovy or Python would take apart if it were not quoted.
const ODD: &str = "it's a, \"b\" $HOME `c` %j \\d;e";

/// A job of three slices and two ranges in a directory, with duplicates.
fn planned(work: &str) -> Scene {
    let text = samples::text(300, 200, 19);
    let scene = Scene::new(
        &[("x.sam", text.into())],
        "prep in/* -o out/x.bam --sort coordinate --mark-duplicates",
    );
    scene.plan_into(work, "--shards 3 --ranges 2").succeeds();
    scene
}

/// Runs `shard graph`.
fn graph(scene: &Scene, work: impl AsRef<OsStr>, format: &str) -> Ended {
    let mut command = scene.folders.command();
    command.args(["shard", "graph", "--format", format, "--work"]).arg(work).env_remove("READMILL");
    scene.folders.run(&mut command)
}

/// The text of `shard graph`.
fn text(scene: &Scene, work: &str, format: &str) -> String {
    let ended = graph(scene, work, format);
    assert!(ended.status.success(), "{}", ended.stderr);
    String::from_utf8(ended.stdout).unwrap()
}

/// Writes a program.
fn program(scene: &Scene, name: &str, text: &str) -> String {
    let path = scene.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_string()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_driver_needs_nothing_but_the_list() {
    let scene = planned(ODD);
    let stages: Vec<Value> = serde_json::from_str(&text(&scene, ODD, "json")).unwrap();
    let names = Vec::from_iter(stages.iter().map(|stage| word(&stage["name"])));
    assert_eq!(names, ["map 1", "map 2", "map 3", "cut", "judge", "write 1", "write 2", "join"]);
    let status = scene.folders.readmill(["shard", "status", "--format", "json", "--work", ODD]);
    let status: Vec<Value> = serde_json::from_slice(&status.stdout).unwrap();
    let expected = scene.plain();
    for (at, stage) in stages.iter().enumerate() {
        for key in ["name", "stage", "number", "file"] {
            assert_eq!(stage[key], status[at][key], "{key}");
        }
        let number = stage["number"].as_u64().map_or_else(String::new, |number| format!(" {number}"));
        assert_eq!(word(&stage["name"]), format!("{}{number}", word(&stage["stage"])));
        // Each stage comes after those that it needs, and its command runs it.
        for need in stage["needs"].as_array().unwrap() {
            assert!(names[..at].contains(&word(need)), "{stage}");
        }
        let file = std::path::Path::new(word(&stage["file"]));
        assert!(file.is_absolute() && !file.exists(), "{stage}");
        let words = Vec::from_iter(stage["command"].as_array().unwrap().iter().map(word));
        assert_eq!(words[0], "readmill");
        scene.folders.readmill(words[1..].iter().chain(&["-q"])).succeeds();
        assert!(file.exists(), "{stage}");
    }
    scene.is_written(&expected, "stage by stage");
    // The program can be named.
    let mut command = scene.folders.command();
    command.args(["shard", "graph", "--work", ODD]).env("READMILL", "/opt/read mill");
    let stages: Vec<Value> = serde_json::from_slice(&scene.folders.run(&mut command).stdout).unwrap();
    assert_eq!(stages[0]["command"][0], "/opt/read mill");
}

#[test]
fn each_engine_gets_all_stages() {
    let scene = planned("work");
    for (format, words) in [
        ("snakemake", &["rule map:", "rule join:", "shard write --work {work:q} {wildcards.n}"][..]),
        (
            "nextflow",
            &["process MAP {", "MAP(Channel.of(1..3)", "JOIN(Channel.of(1).combine(write_done))"],
        ),
        ("slurm", &["map=$(submit \"\" map --array=1-3", "join=$(submit \"$write\" join"]),
    ] {
        let text = text(&scene, "work", format);
        words.iter().for_each(|word| assert!(text.contains(word), "{word} is not in\n{text}"));
    }
    // Threads and memory are those of the planned command.
    let [snakemake, nextflow] = ["snakemake", "nextflow"].map(|format| text(&scene, "work", format));
    assert!(snakemake.contains("threads: 2\n    resources: mem_mib=256\n"), "{snakemake}");
    assert!(nextflow.contains("params.cpus = 2\nparams.memory = '256 MB'\n"), "{nextflow}");
    assert_eq!(nextflow.matches("process ").count(), nextflow.matches("    cache false\n").count());
}

#[test]
fn a_picture_has_the_stages_their_counts_and_what_they_need() {
    let scene = planned("work");
    scene.shard("map --work work 1..2 -q").succeeds();
    let picture = text(&scene, "work", "dot");
    for line in [
        "map [label=\"map\\n2 of 3 finished\"]",
        "write [label=\"write\\n0 of 2 finished\"]",
        "map -> cut",
        "map -> write",
        "write -> join",
    ] {
        assert!(picture.lines().any(|it| it.trim() == line), "{line} is not in\n{picture}");
    }
    scene.run().succeeds();
    let finished = text(&scene, "work", "dot");
    assert_eq!(finished.matches("palegreen").count(), 5, "{finished}");
    // Graphviz takes it, where it is installed.
    let file = scene.path("stages.dot");
    std::fs::write(&file, &finished).unwrap();
    if let Ok(drawn) = Command::new("dot").arg("-Tplain").arg(&file).output() {
        let plain = String::from_utf8(drawn.stdout).unwrap();
        assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
        let count = |word| plain.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!((count("node "), count("edge ")), (5, 9), "{plain}");
    }
}

#[test]
fn a_directory_that_a_workflow_cannot_name_is_refused() {
    let scene = planned("work");
    let moved = |name: &OsStr| {
        let path = scene.path("work").with_file_name(name);
        std::fs::rename(scene.path("work"), &path).unwrap();
        let ended = ["json", "dot", "snakemake", "nextflow", "slurm"]
            .map(|format| (format, graph(&scene, &path, format)));
        std::fs::rename(&path, scene.path("work")).unwrap();
        ended
    };
    for name in [&b"two\nlines"[..], b"not UTF-8 \xff"] {
        for (_, ended) in moved(OsStr::from_bytes(name)) {
            ended.fails(1, &["is not UTF-8, or has a line break", "rename the directory"]);
        }
    }
    for (format, ended) in moved("a{b}".as_ref()) {
        match format {
            "snakemake" => ended.fails(1, &["a{b} contains braces", "wildcards"]),
            _ => ended.succeeds(),
        }
    }
}

/// Runs each task of a job, read from standard input, as SLURM does, and once more as long as it asks for that.
const SBATCH: &str = r#"#!/bin/sh
printf '%s\n' "$*" >>submitted
tasks=alone
for word; do
    case $word in --array=1-*) tasks=$(seq "${word#--array=1-}") ;; esac
done
cat >job
for task in $tasks; do
    restarts=0 again=yes
    while [ $again = yes ]; do
        rm -f requeued
        (
            export task
            [ $task = alone ] || export SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task
            [ $restarts = 0 ] || export SLURM_RESTART_COUNT=$restarts
            export SLURM_JOB_ID=7
            . ./given
            exec sh job
        ) || echo "code $?" >>ran
        again=no
        [ ! -e requeued ] || again=yes restarts=$((restarts + 1))
    done
done
echo '9;cluster'
"#;

/// Notes what the script asks for.
const SCONTROL: &str = r#"#!/bin/sh
case $task in
    alone) [ "$*" = 'requeue 7' ] ;;
    *) [ "$*" = "requeue 7_$task" ] ;;
esac && touch requeued
"#;

/// Stands for readmill: notes its arguments, and ends with the next of the codes that it was given.
const FAKE: &str = r#"#!/bin/sh
{ printf '%s|' "$@"; echo; } >>ran
code=$(head -n 1 codes)
sed 1d codes >rest
mv rest codes
exit "${code:-0}"
"#;

/// Submits the stages to a cluster that is not there. Its tasks have the variables `given`, and end with `codes`. Returns
/// what was submitted, what ran, and the messages.
fn submit(scene: &Scene, given: &str, codes: &str) -> (String, String, String) {
    program(scene, "bin/sbatch", SBATCH);
    program(scene, "bin/scontrol", SCONTROL);
    let fake = program(scene, "it's a, $HOME/read \"mill\"", FAKE);
    std::fs::write(scene.path("stages.sh"), text(scene, ODD, "slurm")).unwrap();
    std::fs::write(scene.path("given"), given).unwrap();
    std::fs::write(scene.path("codes"), codes.replace(' ', "\n")).unwrap();
    ["submitted", "ran"].iter().for_each(|name| std::fs::write(scene.path(name), "").unwrap());
    let mut command = scene.folders.shell("exec sh stages.sh --time=9 --export=NONE");
    let mut path = scene.path("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    // Variables of a job in which the stages are submitted.
    command
        .env("SLURM_ARRAY_JOB_ID", "3")
        .env("SLURM_ARRAY_TASK_ID", "4")
        .env("SLURM_RESTART_COUNT", "9");
    command.env("SLURM_MEM_PER_NODE", "1").env("SLURM_CPUS_ON_NODE", "1");
    let ended = scene.folders.run(command.env("PATH", path).env("READMILL", fake));
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(ended.stdout.ends_with(b"the last job is 9;cluster\n"));
    let read = |name: &str| std::fs::read_to_string(scene.path(name)).unwrap();
    (read("submitted"), read("ran"), ended.stderr)
}

#[test]
fn slurm_gives_each_stage_its_words_threads_and_memory() {
    let scene = planned(ODD);
    let work = scene.path(ODD);
    for (given, flags) in [
        ("export SLURM_CPUS_PER_TASK=4 SLURM_CPUS_ON_NODE=4 SLURM_MEM_PER_NODE=700", "-@|4|-m|700M|"),
        ("export SLURM_CPUS_ON_NODE=3 SLURM_MEM_PER_CPU=500", "-@|3|-m|1500M|"),
        ("export SLURM_CPUS_ON_NODE=2 SLURM_MEM_PER_NODE=0", "-@|2|"),
        ("export SLURM_CPUS_ON_NODE=2 SLURM_MEM_PER_CPU=0", "-@|2|"),
        ("", ""),
    ] {
        let (submitted, ran, _) = submit(&scene, given, "");
        let stages = ["map 1", "map 2", "map 3", "cut", "judge", "write 1", "write 2", "join"];
        let line = |stage: &str| {
            let (name, number) = stage.split_once(' ').unwrap_or((stage, ""));
            let number = if number.is_empty() { String::new() } else { format!("{number}|") };
            format!("shard|{name}|--work|{}|{number}{flags}", work.display())
        };
        assert_eq!(Vec::from_iter(ran.lines()), stages.map(line), "{given}");
        assert_eq!(submitted.lines().count(), 5);
        let cut = submitted.lines().nth(1).unwrap();
        assert!(cut.contains("--dependency=afterok:9 --kill-on-invalid-dep=yes --time=9"), "{cut}");
    }
}

#[test]
fn slurm_runs_a_task_again_that_may_succeed_then_and_no_other() {
    let scene = planned(ODD);
    for (codes, runs, says) in [
        ("75 137 0", 3, "map 1 ended with 75; requeueing it"),
        ("0 0 0 75", 1, "cut ended with 75; requeueing it"),
        ("75 75 75 75", 4, "map 1 ended with 75; fix the cause"),
        ("2", 1, "map 1 ended with 2; fix the cause, then submit the stages again"),
        ("101", 1, "map 1 ended with 101; fix"),
    ] {
        let (_, ran, said) = submit(&scene, "", codes);
        let count = ran.lines().filter(|line| line.ends_with("|1|") && line.contains("|map|")).count();
        assert_eq!(count, runs, "{codes}: {ran}");
        assert!(said.contains(says), "{codes}: {said}");
    }
}

#[test]
fn a_task_that_slurm_ends_is_not_put_back_into_the_queue() {
    let scene = planned(ODD);
    // The program tells SLURM's script to end, as SLURM does, and ends by the signal that it gets from there.
    let sleeps =
        "#!/bin/sh\necho run >>ran\nkill -TERM $PPID\nsleep 60 &\ntrap 'kill $!; exit 143' TERM\nwait\n";
    submit(&scene, "", "");
    let job = scene.path("job");
    let fake = program(&scene, "fake", sleeps);
    let text = std::fs::read_to_string(&job).unwrap();
    let at = text.find("\nwork=").unwrap();
    std::fs::write(&job, format!("#!/bin/sh\nreadmill='{fake}'{}", &text[at..])).unwrap();
    let mut path = scene.path("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = scene.folders.shell("exec sh job");
    let ended = scene.folders.run(command.env("PATH", path).env("SLURM_JOB_ID", "7"));
    assert_eq!(ended.status.code(), Some(143), "{}", ended.stderr);
    assert!(!scene.path("requeued").exists());
}
