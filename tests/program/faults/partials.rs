//! The name `X.partial` is taken: by a link, by a file of a killed run, by another run.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::faults::files::{bam, many};
use crate::faults::outputs::{folders_with, sort};
use crate::faults::program::{Ended, TestFolders};

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
        let name = format!("{output}.partial is a symbolic link; remove it, or write to another name");
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
        let message = format!("out/x.bam.partial is a {kind}; remove it, or write to another name");
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
    use readmill::pause::Moment::PieceRead;
    let folders = folders_with(300);
    let first = Paused::at(&folders, (PieceRead, 1), ["sort", "in/x.bam", "-o", "out/x.bam"]);
    folders.input("y.bam", bam(&many(10, 200)));
    let second = folders.readmill(["sort", "in/y.bam", "-o", "out/x.bam"]);
    second.fails(3, &["out/x.bam cannot be written: another run is writing it", "another name"]);
    first.go_on().succeeds();
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 300);
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
}

/// A foreign file does not get the name of the output.
#[cfg(debug_assertions)]
#[test]
fn a_partial_that_is_replaced_while_it_is_written() {
    use crate::faults::paused::Paused;
    use readmill::pause::Moment::PieceRead;
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
    ended.fails(3, &["out/x.pac.", ".partial: creating it: File exists", "remove it, if no other run"]);
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    assert_eq!(folders.left().len(), 1);
}
