//! Runs the example as a user would.

use std::process::Command;

#[test]
fn the_filter_and_the_metric_work_in_the_same_pass() {
    let dir = tempfile::tempdir().expect("a directory");
    let (input, output) = (dir.path().join("in.sam"), dir.path().join("out.sam"));
    let seq = |bases: &str, times: usize| bases.repeat(times);
    let line = |name: &str, pos: u32, seq: String| {
        format!("{name}\t0\tc\t{pos}\t60\t{}M\t*\t0\t0\t{seq}\t{}\n", seq.len(), "I".repeat(seq.len()))
    };
    let reads = [
        line("late", 500, seq("GATC", 10)),
        line("short", 300, seq("GGGG", 2)),
        line("early", 100, seq("AATG", 10)),
        line("copy", 100, seq("AATG", 10)),
    ];
    std::fs::write(&input, format!("@SQ\tSN:c\tLN:1000\n{}", reads.concat())).expect("written");
    let run = Command::new(env!("CARGO_BIN_EXE_gc-content")).arg(&input).arg(&output).output();
    let run = run.expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    // (20 + 10 + 10) of 120 bases.
    assert_eq!(String::from_utf8_lossy(&run.stdout), "0.3333\n");
    let text = std::fs::read_to_string(&output).expect("the output");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('@'))
        .map(|line| line.split('\t').take(2).collect())
        .collect();
    assert_eq!(rows, [["early", "0"], ["copy", "1024"], ["late", "0"]]);
    assert!(text.contains("+drop-shorter"), "@PG names the step");
}
