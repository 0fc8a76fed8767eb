//! Indexes of bwa 0.7, which lack the transform.

use std::path::{Path, PathBuf};

use super::{lines, reads, reference};
use crate::support::{TestDir, arg, readmill};

/// The files of an index that bwa 0.7 makes and readmill reads, under another prefix, and the file that they lack.
fn index_of_bwa(dir: &TestDir, prefix: &str) -> (String, PathBuf) {
    let path = |ending: &str| dir.path(&format!("{prefix}{ending}"));
    for ending in [".amb", ".ann", ".pac"] {
        std::fs::copy(format!("{}{ending}", reference()), path(ending)).expect("a copy");
    }
    (arg(&path("")), path(".bwt.2bit.64"))
}

#[track_caller]
fn has_the_transform(file: &Path) {
    let wanted = std::fs::read(format!("{}.bwt.2bit.64", reference())).expect("the index");
    assert!(std::fs::read(file).expect("the file") == wanted);
}

#[test]
fn the_file_that_an_index_of_bwa_lacks_is_made_once() {
    let dir = TestDir::new();
    let [one, two] = [0, 1].map(|at| arg(&dir.file(&format!("{at}.fq"), &reads()[at])));
    let (prefix, lacking) = index_of_bwa(&dir, "ref.fa");
    let aligned = |words: &[&str]| {
        let line = ["align", "-K", "200000", "-O", "sam", &prefix, &one, &two];
        readmill(line.iter().chain(words))
    };
    std::fs::write(&prefix, "not read\n").expect("a file in place of the FASTA");
    let done = aligned(&[]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains("--complete-index") && !lacking.exists(), "{}", done.stderr);
    let done = aligned(&["--complete-index", "-m", "10M"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("raise -m") && !lacking.exists(), "{}", done.stderr);

    // Several at once: one of them makes it.
    let started: Vec<_> = std::iter::repeat_with(|| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_readmill"));
        command.args(["align", "--complete-index", &prefix, &one, "-o", "/dev/null", "-O", "sam"]);
        command.stderr(std::process::Stdio::piped()).spawn().expect("the program")
    })
    .take(3)
    .collect();
    let mut made = 0;
    for run in started {
        let done = run.wait_with_output().expect("the program's end");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        made += usize::from(said.contains("readmill: wrote "));
    }
    assert_eq!(made, 1);
    has_the_transform(&lacking);
    let done = aligned(&["--complete-index"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!done.stderr.contains("ref.fa.bwt.2bit.64"), "{}", done.stderr);
    let records = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('@')).map(str::to_string).collect()
    };
    assert_eq!(records(&String::from_utf8(done.stdout).expect("text")), records(&lines(&[&one, &two])));
    assert!(!dir.names().iter().any(|name| name.contains("partial")), "{:?}", dir.names());
}

#[test]
fn the_front_of_bwa_completes_an_index_and_finds_that_of_64_bits_first() {
    let dir = TestDir::new();
    let one = arg(&dir.file("1.fq", &reads()[0]));
    let (_, lacking) = index_of_bwa(&dir, "ref.fa.64");
    let reference = arg(&dir.file("ref.fa", ""));
    let refused = readmill(["bwa", "mem", &reference, &one]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let hint = format!("readmill index {reference}`");
    assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
    dir.file("ref.fa.64.bwt", "");
    let done = readmill(["bwa", "mem", &reference, &one]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("only a bwa 0.7 index"), "{}", done.stderr);
    has_the_transform(&lacking);
    let two = readmill(["bwa-mem2", "mem", &reference, &one]);
    assert_eq!(two.code, Some(3), "bwa-mem2 takes the name as it is: {}", two.stderr);
}
