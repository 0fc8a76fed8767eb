//! What users of other tools do without thinking: a pipe without a dash, `-@ 0`, values in capitals, names of other tools'
//! commands; and messages for programs.
#![allow(clippy::unwrap_used)]

use crate::faults::fixtures::{Ended, TestFolders, bam, many};

/// Folders with a file of reads in no order, `in/x.bam`.
fn folders() -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(300, 90)));
    folders
}

fn run(folders: &TestFolders, line: &str) -> Ended {
    folders.run(&mut folders.shell(line))
}

#[test]
fn standard_input_is_the_input_where_none_is_given() {
    let folders = folders();
    run(&folders, "$0 sort in/x.bam -l 1 --no-PG -o out/named.bam").succeeds();
    run(&folders, "$0 sort -l 1 --no-PG -o out/piped.bam < in/x.bam").succeeds();
    run(&folders, "cat in/x.bam | $0 sort -l 1 --no-PG > out/both.bam").succeeds();
    let [named, piped] =
        ["named.bam", "piped.bam"].map(|name| std::fs::read(folders.out(name)).unwrap());
    assert!(named == piped, "named and piped differ");
    assert!(std::fs::metadata(folders.out("both.bam")).unwrap().len() > 1000);
    let ended = run(&folders, "$0 flagstat < in/x.bam");
    ended.succeeds();
    assert!(String::from_utf8_lossy(&ended.stdout).starts_with("300 + 0 in total"));
    run(&folders, "$0 sort -o out/none.bam < /dev/null").fails(2, &["standard input"]);
}

#[test]
fn no_threads_are_one_thread() {
    let folders = folders();
    let ended = run(&folders, "$0 sort -@ 0 in/x.bam -o out/x.bam");
    ended.succeeds();
    assert!(ended.stderr.contains("1 thread in total"), "{}", ended.stderr);
}

#[test]
fn values_are_taken_in_any_case() {
    let folders = folders();
    for line in [
        "$0 sort --sort COORDINATE -O BAM in/x.bam -o out/a.bam",
        "$0 sort --sort Name -O SAM in/x.bam -o out/a.sam",
        "$0 sort -O Cram,No-Ref in/x.bam -o out/a.cram",
        "$0 sort --write-index=CSI in/x.bam -o out/c.bam",
        "$0 markdup --duplicate-mode AUTO in/x.bam -o out/d.bam",
    ] {
        run(&folders, line).succeeds();
    }
    let text = std::fs::read_to_string(folders.out("a.sam")).unwrap();
    assert!(text.starts_with("@HD\tVN:1.6\tSO:queryname\tSS:queryname:natural"), "{text:.80}");
}

#[test]
fn threads_and_memory_have_defaults_in_the_environment() {
    let folders = folders();
    let line = "READMILL_THREADS=1 READMILL_MEMORY=200M $0 sort in/x.bam -o out/x.bam";
    let said = run(&folders, line).stderr;
    assert!(said.contains("1 thread in total, 200 MiB of memory in total"), "{said}");
    let said = run(&folders, &line.replace(" in/x.bam", " -m 300M in/x.bam")).stderr;
    assert!(said.contains("300 MiB of memory in total"), "a flag counts more: {said}");
    run(&folders, "READMILL_MEMORY=lots $0 sort in/x.bam -o out/x.bam 2>&1 | grep -q lots").succeeds();
}

#[test]
fn names_of_other_tools_lead_to_ours() {
    let folders = folders();
    for (line, tip) in [
        ("mem ref.fa in/x.bam", "readmill align REF R1.fq R2.fq"),
        ("fixmate in/x.bam out/x.bam", "readmill prep in.bam -o out.bam --fix-mates"),
        ("MarkDuplicates I=in/x.bam", "readmill markdup in.bam -o out.bam --metrics FILE"),
        ("sort --nr-of-threads 4 in/x.bam", "-@ N is the number of threads in all"),
        ("sort --TMP_DIR=x in/x.bam", "--temp-dir DIR is where readmill spills"),
        ("bamshuf in/x.bam", "readmill collate in.bam -o out.bam"),
        (
            "view -m 100M in/x.bam",
            "-m of view is the least length of reads, as in samtools; --memory SIZE is",
        ),
    ] {
        let ended = run(&folders, &format!("$0 {line}"));
        assert_eq!(ended.status.code(), Some(1), "{line}");
        assert!(ended.stderr.contains(&format!("tip: {tip}")), "{line}: {}", ended.stderr);
    }
}

/// The messages of a run, each of which must be an object in JSON.
fn messages(ended: &Ended) -> Vec<serde_json::Value> {
    let message = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
    ended.stderr.lines().map(message).collect()
}

#[test]
fn a_wrong_command_line_is_a_message_too() {
    let folders = folders();
    for line in
        ["$0 sort --log-format json --bogus", "READMILL_LOG_FORMAT=json $0 samtools view --bogus"]
    {
        let ended = run(&folders, line);
        assert_eq!(ended.status.code(), Some(1), "{line}");
        let all = messages(&ended);
        assert!(
            all[0]["level"] == "error" && all[0]["message"].to_string().contains("bogus"),
            "{all:?}"
        );
    }
}

#[test]
fn help_that_cannot_be_printed_is_an_error() {
    let folders = folders();
    for line in ["$0 --help", "$0 -V", "$0 picard SortSam --help"] {
        run(&folders, &format!("{line} > /dev/full")).fails(3, &["standard output cannot be written"]);
    }
}

#[test]
fn messages_are_json_for_programs() {
    let folders = folders();
    let done = run(&folders, "$0 sort --log-format json -v in/x.bam -o out/x.bam");
    done.succeeds();
    let said = messages(&done);
    assert!(said.len() > 2);
    for message in &said {
        assert!(message["time"].as_f64().unwrap() > 1.7e9, "{message}");
        assert_eq!(message["level"], "info", "{message}");
        assert!(!message["message"].as_str().unwrap().is_empty());
    }
    let failed = run(&folders, "READMILL_LOG_FORMAT=json $0 sort in/absent.bam -o out/y.bam");
    assert_eq!(failed.status.code(), Some(3));
    let said = messages(&failed);
    let last = said.last().unwrap();
    assert_eq!(last["level"], "error");
    assert!(last["message"].as_str().unwrap().starts_with("in/absent.bam"), "{last}");
}

#[test]
fn the_short_flag_of_the_version_says_what_the_build_has_too() {
    let folders = folders();
    let ended = run(&folders, "$0 -V");
    ended.succeeds();
    let text = String::from_utf8(ended.stdout).unwrap();
    let first = format!("readmill {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(text.lines().next(), Some(first.as_str()));
    for word in ["commit", "aligners", "codecs     libdeflate", "processor"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}
