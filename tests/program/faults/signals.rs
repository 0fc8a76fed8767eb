//! Told to stop at a named moment: what is said, what is left, and the exit code.
#![allow(unsafe_code, reason = "a test of the system's ways")]

use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::Stdio;

use readmill_process::pause::Moment::{self, *};

use crate::faults::fixtures::{HEADER, TestFolders, bam, bam_header, block, blocks, many};
use crate::faults::outputs::folders_with;
use crate::faults::paused::{Paused, STOPPING, Start};

/// A job with all its outputs, in the order of their names.
struct Job {
    args: &'static str,
    /// The first output that is opened.
    main: &'static str,
    outputs: &'static [&'static str],
}

impl Job {
    /// A signal at any of these moments leaves no output.
    #[track_caller]
    fn leaves_nothing(&self, folders: &TestFolders, moments: &[(Moment, u32)]) {
        for &moment in moments {
            let ended = Paused::at(folders, moment, self.args.split(' ')).stop_by(libc::SIGTERM);
            assert_eq!(ended.status.code(), Some(143), "{moment:?}: {}", ended.stderr);
            assert_eq!(folders.left(), [""; 0], "{moment:?}");
            let last = ended.stderr.lines().last().unwrap_or_default();
            let said = match moment.0 {
                Started | InputOpened => last == "readmill: stopped by SIGTERM",
                _ => {
                    last.starts_with(&format!("readmill: stopped by SIGTERM; {}", self.main))
                        && (last.ends_with(" not written"))
                }
            };
            assert!(said, "{moment:?}: {}", ended.stderr);
        }
    }

    /// A signal while outputs get their names, and after that, leaves all of them.
    #[track_caller]
    fn leaves_all(&self, folders: &TestFolders, named: u32) {
        let moments = (1..=named).map(|time| (FileNamed, time)).chain([(AllNamed, 1)]);
        for moment in moments {
            let ended = Paused::at(folders, moment, self.args.split(' ')).go_on_with(libc::SIGTERM);
            assert_eq!(ended.status.code(), Some(143), "{moment:?}: {}", ended.stderr);
            let last = ended.stderr.lines().last().unwrap_or_default();
            assert_eq!(last, "readmill: stopped by SIGTERM; all output files are complete");
            assert_eq!(folders.left(), self.outputs, "{moment:?}");
            self.outputs.iter().for_each(|name| std::fs::remove_file(folders.out(name)).unwrap());
        }
    }
}

const BEFORE: [(Moment, u32); 5] =
    [(Started, 1), (InputOpened, 1), (PieceRead, 1), (PieceRead, 2), (OutputsComplete, 1)];

#[test]
fn each_signal_stops_the_run_and_is_named() {
    for (signal, name) in STOPPING {
        let folders = folders_with(2_000);
        let paused = Paused::at(&folders, (PieceRead, 2), ["sort", "in/x.bam", "-o", "out/x.bam", "-q"]);
        assert_eq!(folders.left(), ["x.bam.partial"]);
        let ended = paused.stop_by(signal);
        assert_eq!(ended.status.code(), Some(128 + signal), "{name}");
        assert_eq!(ended.stderr, format!("readmill: stopped by {name}; out/x.bam was not written\n"));
        assert_eq!(folders.left(), [""; 0], "{name}");
    }
}

/// Under nohup SIGHUP is ignored, in a background job of a script SIGINT and SIGQUIT are.
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    for (signal, name) in STOPPING {
        let folders = folders_with(100);
        let args = ["sort", "in/x.bam", "-o", "out/x.bam"];
        let start = Start { ignored: Some(signal), ..Start::default() };
        let ended = Paused::with(start, &folders, (PieceRead, 1), args).go_on_with(signal);
        ended.succeeds();
        assert_eq!(folders.left(), ["x.bam", "x.bam.bai"], "{name}");
    }
}

#[test]
fn an_older_output_survives_a_signal() {
    let folders = folders_with(100);
    std::fs::write(folders.out("x.bam"), "older").unwrap();
    let args = ["sort", "in/x.bam", "-o", "out/x.bam"];
    Paused::at(&folders, (OutputsComplete, 1), args).stop_by(libc::SIGUSR1);
    assert_eq!(folders.left(), ["x.bam"]);
    assert_eq!(std::fs::read_to_string(folders.out("x.bam")).unwrap(), "older");
}

#[test]
fn while_passing_through() {
    let job = Job {
        args: "prep in/x.bam -o out/x.bam --drop-unmapped",
        main: "out/x.bam was",
        outputs: &["x.bam"],
    };
    let folders = folders_with(2_000);
    job.leaves_nothing(&folders, &BEFORE);
    job.leaves_all(&folders, 1);
}

#[test]
fn with_outputs_beside_the_main_one() {
    let job = Job {
        args: "prep in/x.bam -o out/x.bam --sort coordinate --mark-duplicates --metrics out/m.txt \
               --copy-to out/c.bam=mapq>0 --move-to out/m.bam=duplicates --flagstat out/f.txt",
        main: "out/x.bam and ",
        outputs: &["c.bam", "c.bam.bai", "f.txt", "m.bam", "m.bam.bai", "m.txt", "x.bam", "x.bam.bai"],
    };
    let folders = folders_with(2_000);
    job.leaves_nothing(&folders, &BEFORE);
    job.leaves_all(&folders, 8);
}

#[test]
fn while_splitting() {
    let job = Job {
        args: "split in/x.bam -o out/s --by records=700",
        main: "out/s.part00001.bam",
        outputs: &["s.part00001.bam", "s.part00002.bam", "s.part00003.bam"],
    };
    let folders = folders_with(2_000);
    job.leaves_nothing(&folders, &[(InputOpened, 1), (OutputsComplete, 1)]);
    job.leaves_all(&folders, 3);
}

#[test]
fn while_writing_fastq() {
    let job = Job {
        args: "fastq in/x.bam -1 out/1.fq -2 out/2.fq -0 out/0.fq.gz",
        main: "out/0.fq.gz and ",
        outputs: &["0.fq.gz", "1.fq", "2.fq"],
    };
    let folders = folders_with(2_000);
    job.leaves_nothing(&folders, &BEFORE);
    job.leaves_all(&folders, 3);
}

#[test]
fn while_counting() {
    let job = Job { args: "flagstat in/x.bam -o out/f.txt", main: "out/f.txt was", outputs: &["f.txt"] };
    let folders = folders_with(2_000);
    job.leaves_nothing(&folders, &BEFORE);
    job.leaves_all(&folders, 1);
}

/// Folders of FastQC's reports are made before the run.
#[test]
fn while_there_is_an_empty_folder_for_a_report() {
    let folders = folders_with(2_000);
    for moment in [(PieceRead, 1), (OutputsComplete, 1)] {
        let args = ["sort", "in/x.bam", "-o", "out/x.bam", "--fastqc", "out/a/b"];
        let ended = Paused::at(&folders, moment, args).stop_by(libc::SIGTERM);
        assert_eq!(ended.status.code(), Some(143), "{}", ended.stderr);
        assert_eq!(folders.left(), [""; 0], "{moment:?}");
    }
}

#[test]
fn after_spilling() {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(1_500, 20_000)));
    let job = Job {
        args: "markdup in/x.bam -o out/x.bam -m 50M -@ 1 -T tmp",
        main: "out/x.bam was",
        outputs: &["x.bam"],
    };
    job.leaves_nothing(&folders, &[(RunSpilled, 1)]);
}

/// The signal comes before the program reads the pipe or while it waits for it, which is all the same.
#[test]
fn while_standard_input_says_nothing() {
    let folders = TestFolders::new();
    let fifo = folders.input("none", "").with_file_name("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // Open for both, so that the program's opening does not wait, and its reading does.
    let _pipe = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let running = Paused::at(&folders, (Started, 1), ["sort", "in/fifo", "-o", "out/x.bam"]).leave();
    running.send(libc::SIGTERM);
    let ended = running.ended();
    assert_eq!(ended.status.code(), Some(143));
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn an_input_that_breaks_off_leaves_nothing() {
    let folders = TestFolders::new();
    let mut command = folders.command();
    command.args(["sort", "-", "-o", "out/x.bam"]).stdin(Stdio::piped());
    let mut running = folders.start(&mut command);
    let mut pipe = running.child.stdin.take().unwrap();
    pipe.write_all(&block(&bam_header(HEADER))).unwrap();
    blocks(&many(60_000, 150), 0xff00).iter().for_each(|block| pipe.write_all(block).unwrap());
    drop(pipe);
    running.ended().fails(2, &["EOF block is missing"]);
    assert_eq!(folders.left(), [""; 0]);
}

/// The run waits for the reader of its log; the signal does not.
#[test]
fn a_log_that_nobody_reads_keeps_no_signal_waiting() {
    let folders = folders_with(100);
    let (_unread, log) = std::io::pipe().unwrap();
    fill(&log);
    let start = Start { stderr: Some(log), ..Start::default() };
    let args = ["sort", "in/x.bam", "-o", "out/x.bam"];
    let running = Paused::with(start, &folders, (Started, 1), args).leave();
    running.send(libc::SIGTERM);
    assert_eq!(running.ended().status.code(), Some(143));
    assert_eq!(folders.left(), [""; 0]);
}

/// Fills a pipe.
fn fill(mut pipe: &std::io::PipeWriter) {
    let fd = pipe.as_raw_fd();
    // SAFETY: these have no requirement on memory.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    // SAFETY: as above.
    unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) };
    while pipe.write(&[b'x'; 4096]).is_ok() {}
    // SAFETY: as above.
    unsafe { libc::fcntl(fd, libc::F_SETFL, flags) };
}

#[cfg(feature = "bwa")]
mod index {
    use super::*;

    const FILES: [&str; 4] = ["x.amb", "x.ann", "x.bwt.2bit.64", "x.pac"];
    const ARGS: [&str; 5] = ["index", "in/ref.fa", "-o", "out/x", "-q"];

    fn folders() -> TestFolders {
        let folders = TestFolders::new();
        folders.input("ref.fa", [b">c\n", &b"ACGTTGCATTACAGGACCA".repeat(200)[..], b"\n"].concat());
        folders
    }

    #[test]
    fn while_making_an_index() {
        for (signal, name) in STOPPING {
            let folders = folders();
            let paused = Paused::at(&folders, (IndexBegun, 1), ARGS);
            let left = folders.left();
            assert!(left.len() == 3 && left.iter().all(|name| name.ends_with(".partial")), "{left:?}");
            let ended = paused.stop_by(signal);
            assert_eq!(ended.status.code(), Some(128 + signal));
            let said =
                format!("readmill: stopped by {name}; the index with prefix out/x was not written\n");
            assert_eq!(ended.stderr, said);
            assert_eq!(folders.left(), [""; 0], "{name}");
        }
    }

    #[test]
    fn while_its_files_get_their_names() {
        let folders = folders();
        let ended = Paused::at(&folders, (IndexComplete, 1), ARGS).go_on_with(libc::SIGTERM);
        assert_eq!(ended.status.code(), Some(143));
        assert_eq!(ended.stderr, "readmill: stopped by SIGTERM; all output files are complete\n");
        assert_eq!(folders.left(), FILES);
    }
}
