//! Outputs that cannot be written, that are not regular files, or whose name or `X.partial` is taken: by a link, by the
//! input, by older files, by another run; and files of metrics.
#![allow(clippy::disallowed_methods, reason = "tests start threads of their own")]

use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use readmill_format::bgzf::EOF_BLOCK;

use crate::faults::fixtures::{Ended, TestFolders, bam, many};

/// Test folders with an input of `n` reads at `in/x.bam`.
pub fn folders_with(n: usize) -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(n, 200)));
    folders
}

/// Sorts `in/x.bam` into `output`.
pub fn sort(folders: &TestFolders, output: &str) -> Ended {
    folders.readmill(["sort", "in/x.bam", "-o", output])
}

#[test]
fn a_place_that_cannot_be_written() {
    let folders = folders_with(10);
    sort(&folders, "none/x.bam")
        .fails(3, &["none/x.bam cannot be written", "No such file", "mkdir -p none"]);
    sort(&folders, "in/x.bam/x.bam").fails(3, &["in/x.bam/x.bam cannot be written", "Not a directory"]);
    sort(&folders, "out").fails(1, &["out is a directory", "give the name of a file"]);
    assert!(folders.lines(Path::new("in/x.bam")).len() == 10, "the input is whole");
}

#[test]
fn a_failure_leaves_the_older_output_and_its_index_alone() {
    let folders = folders_with(10);
    sort(&folders, "out/x.bam").succeeds();
    let files = ["x.bam", "x.bam.bai"];
    let before = files.map(|name| std::fs::read(folders.out(name)).unwrap());
    let cut = bam(&many(10, 200));
    folders.input("x.bam", &cut[..cut.len() - 30]);
    sort(&folders, "out/x.bam").fails(2, &["truncated"]);
    assert_eq!(folders.left(), files);
    assert!(files.map(|name| std::fs::read(folders.out(name)).unwrap()) == before);
}

#[test]
fn devices_are_written_through_and_stay_devices() {
    let identity = |path: &str| {
        let meta = std::fs::metadata(path).unwrap();
        assert!(meta.file_type().is_char_device(), "{path}");
        (meta.ino(), meta.rdev(), meta.mode())
    };
    let folders = folders_with(2_000);
    for format in ["bam", "sam"] {
        let into = |device: &str| {
            let before = identity(device);
            let ended = folders.readmill(["sort", "in/x.bam", "-O", format, "-o", device]);
            assert_eq!(identity(device), before);
            ended
        };
        into("/dev/null").succeeds();
        into("/dev/full").fails(3, &["/dev/full", "No space left on device", "free some space"]);
    }
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn a_fifo_is_written_through_and_stays_a_fifo() {
    let folders = folders_with(20_000);
    let fifo = folders.out("x.bam");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let from = fifo.clone();
    let bytes = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut bytes = Vec::new();
            std::fs::File::open(from).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        });
        sort(&folders, "out/x.bam").succeeds();
        reader.join().unwrap()
    });
    assert!(bytes.ends_with(&EOF_BLOCK));
    assert_eq!(folders.lines(&folders.input("y.bam", bytes)).len(), 20_000);
    assert!(std::fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    assert_eq!(folders.left(), ["x.bam"], "no index of a pipe");
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let folders = folders_with(50_000);
    for format in ["bam", "sam"] {
        let script = "{ \"$0\" sort in/x.bam -q -O FORMAT; echo $? >status; } | head -c 1000 >/dev/null";
        let ended = folders.run(&mut folders.shell(&script.replace("FORMAT", format)));
        assert_eq!(ended.stderr, "");
        let status = folders.input("status", "").with_file_name("../status");
        assert_eq!(std::fs::read_to_string(status).unwrap(), "141\n");
        assert_eq!(folders.left(), [""; 0]);
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let folders = folders_with(100);
    let ended = folders.run(&mut folders.shell("\"$0\" sort in/x.bam >/dev/full"));
    ended.fails(3, &["standard output", "No space left on device"]);
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_the_work() {
    let folders = folders_with(100);
    let ended = folders.run(&mut folders.shell("\"$0\" sort in/x.bam -o out/x.bam 2>/dev/full"));
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
    let ended = folders.run(&mut folders.shell("\"$0\" sort in/none.bam 2>/dev/full"));
    assert_eq!(ended.status.code(), Some(3));
}

#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let folders = folders_with(10);
    let target = folders.input("elsewhere.bam", "old");
    symlink(&target, folders.out("x.bam")).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert!(std::fs::symlink_metadata(folders.out("x.bam")).unwrap().is_symlink());
    assert!(!std::fs::symlink_metadata(&target).unwrap().is_symlink());
    assert_eq!(folders.lines(&target).len(), 10);
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let folders = folders_with(10);
    symlink("../in/later.bam", folders.out("x.bam")).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert!(std::fs::symlink_metadata(folders.out("x.bam")).unwrap().is_symlink());
    assert_eq!(folders.lines(Path::new("in/later.bam")).len(), 10);
}

#[test]
fn an_input_with_the_name_of_the_temporary_output_survives() {
    let folders = TestFolders::new();
    let file = folders.out("x.bam.partial");
    std::fs::write(&file, bam(&many(30_000, 200))).unwrap();
    folders.readmill(["sort", "out/x.bam.partial", "-o", "out/x.bam"]);
    assert_eq!(folders.lines(&file).len(), 30_000);
}

#[test]
fn stale_indexes_are_removed_and_the_new_one_is_there() {
    let folders = folders_with(10);
    let stale = ["x.bam.csi", "x.bai", "x.csi", "x.bam.bai"];
    let spoil = || stale.map(|name| std::fs::write(folders.out(name), "stale").unwrap());
    spoil();
    let ended = sort(&folders, "out/x.bam");
    ended.succeeds();
    for name in &stale[..3] {
        assert!(ended.stderr.contains(&format!("out/{name}, an index of an older")), "{}", ended.stderr);
    }
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
    assert!(std::fs::read(folders.out("x.bam.bai")).unwrap().starts_with(b"BAI\x01"));

    spoil();
    folders.readmill(["sort", "in/x.bam", "-o", "out/x.bam", "--write-index=csi"]).succeeds();
    assert_eq!(folders.left(), ["x.bam", "x.bam.csi"]);

    spoil();
    folders.readmill(["prep", "in/x.bam", "-o", "out/x.bam"]).succeeds();
    assert_eq!(folders.left(), ["x.bam"], "unsorted, so it has no index, least of all an old one");
}

#[test]
fn the_index_is_not_older_than_its_file() {
    let folders = folders_with(1_000);
    sort(&folders, "out/x.bam").succeeds();
    let modified = |name: &str| std::fs::metadata(folders.out(name)).unwrap().modified().unwrap();
    assert!(modified("x.bam.bai") >= modified("x.bam"));
}

#[test]
fn an_index_that_is_a_link_is_replaced() {
    let folders = folders_with(10);
    let target = folders.input("elsewhere.bai", "old");
    symlink(&target, folders.out("x.bam.bai")).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert!(std::fs::read(folders.out("x.bam.bai")).unwrap().starts_with(b"BAI\x01"));
}

#[test]
fn an_index_that_cannot_be_written_leaves_no_output() {
    let folders = folders_with(10);
    std::fs::create_dir(folders.out("x.bam.bai")).unwrap();
    let ended = sort(&folders, "out/x.bam");
    ended.fails(1, &["out/x.bam.bai is a directory"]);
    assert_eq!(folders.left(), ["x.bam.bai"]);
}

#[test]
fn an_older_output_that_is_read_only_is_replaced() {
    let folders = folders_with(10);
    let output = folders.out("x.bam");
    std::fs::write(&output, "old").unwrap();
    std::fs::set_permissions(&output, std::fs::Permissions::from_mode(0o444)).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert_eq!(folders.lines(&output).len(), 10);
}

/// A command line for each kind of output, and the file it writes.
const OUTPUTS: [(&str, &str); 9] = [
    ("sort in/x.bam -o out/y", "out/y"),
    ("sort in/x.bam -o out/x.bam", "out/x.bam.bai"),
    ("markdup in/x.bam -o out/x.bam --metrics out/y", "out/y"),
    ("prep in/x.bam -o out/x.bam --stats out/y", "out/y"),
    ("prep in/x.bam -o out/x.bam --copy-to out/y=mapq>0", "out/y"),
    ("sort in/x.bam -o out/x.bam --out-parts 2", "out/x.bam.part-002"),
    ("split in/x.bam -o out/s --by records=10", "out/s.part00001.bam"),
    ("fastq in/x.bam -0 out/y", "out/y"),
    ("flagstat in/x.bam -o out/y", "out/y"),
];

fn run(folders: &TestFolders, args: &str) -> Ended {
    folders.readmill(args.split(' '))
}

fn partial(folders: &TestFolders, output: &str) -> std::path::PathBuf {
    folders.out("..").join(format!("{output}.partial"))
}

/// A link was followed: its target was overwritten, and the output was the link in the end.
#[test]
fn a_link_is_not_followed() {
    for (args, output) in OUTPUTS {
        let folders = folders_with(30);
        let victim = folders.input("victim", "precious");
        let link = partial(&folders, output);
        symlink(&victim, &link).unwrap();
        let name =
            format!("{output}.partial is a symbolic link; remove it, or choose another output name");
        run(&folders, args).fails(3, &[&format!("{output} cannot be written: {name}")]);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious", "{args}");
        assert_eq!(std::fs::read_link(&link).unwrap(), victim, "{args}");
        assert_eq!(folders.left().len(), 1, "{args}: {:?}", folders.left());
    }
}

#[test]
fn a_link_to_a_file_that_is_not_there_is_not_followed() {
    let folders = folders_with(30);
    symlink("../in/new", folders.out("x.bam.partial")).unwrap();
    sort(&folders, "out/x.bam").fails(3, &["out/x.bam.partial is a symbolic link"]);
    assert!(!folders.out("../in/new").exists());
}

#[test]
fn what_is_no_regular_file_is_left_alone() {
    for kind in ["directory", "named pipe"] {
        let folders = folders_with(30);
        let make = if kind == "directory" { "mkdir" } else { "mkfifo" };
        let made = Command::new(make).arg(folders.out("x.bam.partial")).status();
        assert!(made.unwrap().success());
        let message = format!("out/x.bam.partial is a {kind}; remove it, or choose another output name");
        sort(&folders, "out/x.bam").fails(3, &[&message]);
        assert_eq!(folders.left(), ["x.bam.partial"], "it is somebody else's");
    }
}

/// A hard link to a file with another name overwrote its content.
#[test]
fn what_a_killed_run_left_is_replaced_and_its_other_names_stay() {
    for (args, output) in OUTPUTS {
        let folders = folders_with(30);
        let victim = folders.input("victim", "precious");
        std::fs::hard_link(&victim, partial(&folders, output)).unwrap();
        std::fs::set_permissions(&victim, Permissions::from_mode(0o444)).unwrap();
        run(&folders, args).succeeds();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious", "{args}");
        assert!(folders.left().iter().all(|name| !name.ends_with(".partial")), "{:?}", folders.left());
    }
}

/// Of two runs with one output, the second is refused, and the first goes on.
#[cfg(debug_assertions)]
#[test]
fn an_output_that_another_run_is_writing() {
    use crate::faults::paused::Paused;
    use readmill_process::pause::Moment::PieceRead;
    let folders = folders_with(300);
    let first = Paused::at(&folders, (PieceRead, 1), ["sort", "in/x.bam", "-o", "out/x.bam"]);
    folders.input("y.bam", bam(&many(10, 200)));
    let second = folders.readmill(["sort", "in/y.bam", "-o", "out/x.bam"]);
    second.fails(
        3,
        &["out/x.bam cannot be written: another run is writing this file", "another output name"],
    );
    first.go_on().succeeds();
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 300);
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
}

/// A foreign file does not get the name of the output.
#[cfg(debug_assertions)]
#[test]
fn a_partial_that_is_replaced_while_it_is_written() {
    use crate::faults::paused::Paused;
    use readmill_process::pause::Moment::PieceRead;
    let folders = folders_with(30);
    let paused = Paused::at(&folders, (PieceRead, 1), ["sort", "in/x.bam", "-o", "out/x.bam"]);
    std::fs::remove_file(folders.out("x.bam.partial")).unwrap();
    std::fs::write(folders.out("x.bam.partial"), "another's").unwrap();
    let said = "out/x.bam.partial was replaced or removed by another program";
    paused.go_on().fails(3, &[said]);
    assert_eq!(folders.left(), ["x.bam.partial"]);
    assert_eq!(std::fs::read_to_string(folders.out("x.bam.partial")).unwrap(), "another's");
}

/// The files of an aligner's index are called after the process, which a shell knows before.
#[cfg(feature = "bwa")]
#[test]
fn a_link_of_an_index_is_not_followed() {
    let folders = TestFolders::new();
    folders.input("ref.fa", [b">c\n", &b"ACGTTGCATTACAGGACCA".repeat(200)[..], b"\n"].concat());
    let victim = folders.input("victim", "precious");
    let script = "ln -s ../in/victim out/x.pac.$$.partial && exec \"$0\" index in/ref.fa -o out/x";
    let ended = folders.run(&mut folders.shell(script));
    ended.fails(
        3,
        &["out/x.pac.", ".partial: cannot be created: File exists", "remove this file if no other run"],
    );
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    assert_eq!(folders.left().len(), 1);
}

/// Marks duplicates of `in/x.bam`.
fn mark(folders: &TestFolders, flags: &str) -> Ended {
    folders.readmill(["markdup", "in/x.bam"].into_iter().chain(flags.split(' ')))
}

#[test]
fn metrics_that_cannot_be_written_are_told_before_anything_is_read() {
    let folders = TestFolders::new();
    // the run that reads this file to its end gives another message
    let mut damaged = bam(&many(30_000, 200));
    let last = damaged.len() - 60; // before the EOF block
    damaged[last] ^= 0xff;
    folders.input("x.bam", damaged);
    for flag in ["--metrics", "--metrics-json"] {
        let with = |path: &str| mark(&folders, &format!("-o out/x.bam {flag} {path}"));
        with("none/m.txt").fails(3, &["none/m.txt cannot be written", "No such file"]);
        with("in/x.bam/m.txt").fails(3, &["in/x.bam/m.txt cannot be written", "Not a directory"]);
        with("in").fails(1, &["in is a directory"]);
        assert_eq!(folders.left(), [""; 0], "{flag}");
    }
}

#[test]
fn metrics_have_a_name_of_their_own() {
    let folders = folders_with(10);
    for (flags, words) in [
        ("-o out/x.bam --metrics out/x.bam", "two outputs have the same name"),
        ("-o out/x.bam --metrics-json out/x.bam", "two outputs have the same name"),
        ("-o out/x.bam --metrics out/m --metrics-json out/m", "two outputs have the same name"),
        ("-o out/x.bam --metrics ./out/x.bam", "two outputs have the same name"),
        ("-o out/x.bam --metrics out/m --metrics-json out/../out/m", "two outputs have the same name"),
        ("-o - --metrics -", "two outputs have the same name"),
        ("--metrics -", "two outputs have the same name"),
    ] {
        mark(&folders, flags).fails(1, &[words]);
        assert_eq!(folders.left(), [""; 0], "{flags}");
    }
}

#[test]
fn metrics_do_not_replace_an_input() {
    let folders = folders_with(10);
    let before = std::fs::read(folders.input("y.bam", bam(&many(10, 200)))).unwrap();
    for flag in ["--metrics", "--metrics-json"] {
        for path in ["in/y.bam", "./in/y.bam", "in/../in/y.bam"] {
            let ended = mark(&folders, &format!("in/y.bam -o out/x.bam {flag} {path}"));
            ended.fails(1, &["y.bam"]);
            assert_eq!(std::fs::read(folders.out("../in/y.bam")).unwrap(), before, "{path}");
            assert_eq!(folders.left(), [""; 0]);
        }
    }
}

#[test]
fn a_run_that_fails_leaves_no_metrics_and_older_ones_alone() {
    let folders = TestFolders::new();
    let cut = bam(&many(3_000, 200));
    folders.input("x.bam", &cut[..cut.len() - 30]);
    let flags = "-o out/x.bam --metrics out/m.txt --metrics-json out/m.json";
    mark(&folders, flags).fails(2, &["truncated"]);
    assert_eq!(folders.left(), [""; 0]);
    for name in ["m.txt", "m.json"] {
        std::fs::write(folders.out(name), "old").unwrap();
    }
    mark(&folders, flags).fails(2, &["truncated"]);
    assert_eq!(folders.left(), ["m.json", "m.txt"]);
    for name in ["m.txt", "m.json"] {
        assert_eq!(std::fs::read(folders.out(name)).unwrap(), b"old");
    }
}

#[test]
fn a_full_disk_under_the_metrics_leaves_no_output() {
    let folders = folders_with(10);
    for flag in ["--metrics", "--metrics-json"] {
        let ended = mark(&folders, &format!("-o out/x.bam {flag} /dev/full"));
        ended.fails(3, &["/dev/full", "No space left on device"]);
        assert_eq!(folders.left(), [""; 0]);
    }
}

#[test]
fn metrics_go_to_standard_output_where_reads_do_not() {
    let folders = folders_with(10);
    let ended = mark(&folders, "-o out/x.bam --metrics -");
    ended.succeeds();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.starts_with("## ") && text.contains("READ_PAIR_DUPLICATES"), "{text}");
    assert_eq!(folders.left(), ["x.bam"]);
}
