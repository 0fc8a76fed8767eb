//! No space left: in the output, in the spill, by a limit on the size of files.

use std::path::Path;

use readmill_simulate::Rng;

use crate::faults::fixtures::{TestFolders, bam, many};

/// Least memory of one thread, and an input that does not fit into it.
const LITTLE: [&str; 4] = ["-m", "50M", "-@", "1"];

fn place_with_much() -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(1_500, 20_000)));
    folders
}

#[test]
fn a_temporary_directory_that_is_not_there() {
    let folders = place_with_much();
    let args = ["sort", "in/x.bam", "-o", "out/x.bam", "-T", "/nonexistent/tmp"];
    let ended = folders.readmill(args.iter().chain(&LITTLE));
    ended.fails(3, &["/nonexistent/tmp", "set an existing, writable directory", "--temp-dir"]);
    assert_eq!(folders.left(), [""; 0]);
    let ended = folders.readmill(args[..4].iter().chain(&LITTLE));
    ended.succeeds();
    assert!(!ended.stderr.contains("in 0 runs"), "it has to spill: {}", ended.stderr);
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
}

/// Runs `script` with a file system of 4 MiB at `small`; `None` if mounting is not allowed.
pub fn with_small_disk(folders: &TestFolders, script: &str) -> Option<crate::faults::fixtures::Ended> {
    let mount = "mkdir -p small && mount -t tmpfs -o size=4m readmill small";
    let allowed = folders.run(
        std::process::Command::new("unshare")
            .args(["-rm", "sh", "-c", mount])
            .current_dir(folders.out("").parent()?.parent()?),
    );
    if !allowed.status.success() {
        println!("skipped: mounting is not allowed here ({})", allowed.stderr.trim());
        return None;
    }
    let script = format!("exec unshare -rm sh -c '{mount} && {script}' \"$0\"");
    Some(folders.run(&mut folders.shell(&script)))
}

#[test]
fn an_output_on_a_full_disk() {
    let folders = place_with_much();
    let script = "\"$0\" sort in/x.bam -l 0 -o small/x.bam; code=$?; ls -A small; exit $code";
    let Some(ended) = with_small_disk(&folders, script) else { return };
    ended.fails(3, &["small/x.bam", "No space left on device", "free some space"]);
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "", "nothing is left");
}

#[test]
fn a_spill_on_a_full_disk() {
    let folders = place_with_much();
    let script =
        "\"$0\" sort in/x.bam -l 1 -m 50M -@ 1 -o out/x.bam -T small; code=$?; ls -A small; exit $code";
    let noise = noisy_input();
    folders.input("x.bam", &noise);
    let Some(ended) = with_small_disk(&folders, script) else { return };
    ended.fails(
        3,
        &["will be spilled", "small has", "MiB free", "No space left on device", "--temp-dir"],
    );
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "");
    assert_eq!(folders.left(), [""; 0]);

    // The size of a pipe's data is unknown.
    let piped = script.replace("\"$0\" sort in/x.bam", "cat in/x.bam | \"$0\" sort -");
    let Some(ended) = with_small_disk(&folders, &piped) else { return };
    ended.fails(3, &["spilling in small failed", "No space left on device", "--temp-dir"]);
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "");
    assert_eq!(folders.left(), [""; 0]);
}

/// Reads that do not compress.
fn noisy_input() -> Vec<u8> {
    let mut random = Rng::new(1);
    let mut letter = || b'!' + random.below(90) as u8;
    let records = (0..1_500).rev().flat_map(|i| {
        let filler: Vec<u8> = std::iter::repeat_with(&mut letter).take(20_000).collect();
        crate::faults::fixtures::record(&format!("r{i}"), 0, i, &[b"XXZ", &filler[..], b"\0"].concat())
    });
    bam(&records.collect::<Vec<u8>>())
}

#[test]
fn a_limit_on_the_size_of_files() {
    let folders = place_with_much();
    let script = "ulimit -f 100; exec \"$0\" sort in/x.bam -l 0 -o out/x.bam";
    folders.run(&mut folders.shell(script)).fails(3, &["out/x.bam", "File too large"]);
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn a_limit_on_the_size_of_files_that_the_spill_meets() {
    let folders = place_with_much();
    folders.input("x.bam", noisy_input());
    let script = "ulimit -f 1000; exec \"$0\" sort in/x.bam -m 50M -@ 1 -o /dev/null";
    folders.run(&mut folders.shell(script)).fails(3, &["spill", "File too large", "--temp-dir"]);
    assert_eq!(folders.left(), [""; 0]);
    assert!(Path::new("/dev/null").exists());
}
