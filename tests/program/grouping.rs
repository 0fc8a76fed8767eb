//! The mode that `auto` takes: by the content, or by the header if the content is inconclusive.

use crate::support::{self, ProgramRun, TestDir, arg, column, number, readmill, records};

const REFERENCE: &str = "@SQ\tSN:c\tLN:10000\n@RG\tID:a\tLB:L\tSM:s\n@RG\tID:b\tLB:L\tSM:s\n";

/// A read of this name and FLAG; its mate is on the same contig.
fn read(name: &str, flag: u16, places: [u32; 2], quality: char, group: char) -> String {
    let quality = quality.to_string().repeat(10);
    let [pos, next] = places;
    format!("{name}\t{flag}\tc\t{pos}\t60\t10M\t=\t{next}\t0\tAAAAAAAAAA\t{quality}\tRG:Z:{group}")
}

/// SAM text of these reads, with a header with this order.
fn text(order: &str, reads: &[String]) -> String {
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    support::with_header(&format!("@HD\tVN:1.6\t{order}\n{REFERENCE}"), &reads)
}

/// Marks duplicates; returns the messages, and name and FLAG (without 0x400) of each flagged record.
fn marked(text: &str, flags: &str) -> (ProgramRun, Vec<String>) {
    let dir = TestDir::new();
    let input = dir.file("in.sam", text);
    let mut args = vec!["markdup".to_string(), "-O".into(), "sam".into(), "-q".into(), arg(&input)];
    args.extend(flags.split_whitespace().map(String::from));
    let done = readmill(args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let output = String::from_utf8(done.stdout.clone()).expect("SAM text");
    let flagged = records(&output).into_iter().filter(|line| number(line, 1) & 0x400 != 0);
    let marks = flagged.map(|line| format!("{} {}", column(line, 0), number(line, 1) - 0x400));
    (done, marks.collect())
}

/// Each read twice, once in each read group, sorted by coordinate: no two ends of a template are adjacent.
fn doubled() -> Vec<String> {
    let both = |name, flag, places| ['a', 'b'].map(|group| read(name, flag, places, 'I', group));
    [
        both("x", 99, [100, 300]),
        both("y", 99, [100, 400]),
        both("x", 147, [300, 100]),
        both("y", 147, [400, 100]),
    ]
    .concat()
}

/// Picard 3.4.0 flags the second copy of each read, in coordinate mode; on the regrouped reads, as queryname, all.
#[test]
fn doubled_sorted_reads_are_not_taken_for_grouped() {
    let copies = ["x 99", "y 99", "x 147", "y 147"];
    for order in ["SO:coordinate", "SO:unsorted"] {
        let given = text(order, &doubled());
        let (done, marks) = marked(&given, "");
        assert_eq!(marks, copies, "{order}");
        assert_eq!(done.stderr, "");
        let all = ["x 99", "x 99", "y 99", "y 99", "x 147", "x 147", "y 147", "y 147"];
        assert_eq!(marked(&given, "--duplicate-mode template").1, all, "{order}");
        let regrouped = support::regrouped(&given);
        assert_eq!(marked(&regrouped, "--duplicate-mode template").1.len(), 8, "{order}");
    }
    let (_, marks) = marked(&support::regrouped(&text("SO:queryname", &doubled())), "");
    assert_eq!(marks.len(), 8);
}

/// An extract that lacks most mates, and a duplicate of two records and a supplementary one.
fn extract() -> Vec<String> {
    let lone = (0..4).map(|i| read(&format!("l{i}"), 99, [1000 + 100 * i, 5000], 'I', 'a'));
    let template = |name, quality| {
        [(99, [100, 300]), (147, [300, 100]), (2147, [700, 300])]
            .map(|(flag, places)| read(name, flag, places, quality, 'a'))
    };
    lone.chain(template("p", 'I')).chain(template("q", '5')).collect()
}

/// Picard 3.4.0 flags all three records of q, as the header says queryname.
#[test]
fn the_header_decides_where_most_mates_are_missing() {
    for order in ["SO:queryname", "SO:unsorted\tGO:query"] {
        let (done, marks) = marked(&text(order, &extract()), "");
        assert_eq!(marks, ["q 99", "q 147", "q 2147"], "{order}");
        assert_eq!(done.stderr, "");
    }
    for order in ["SO:unsorted", "SO:unknown", "SO:coordinate"] {
        let (done, marks) = marked(&text(order, &extract()), "");
        assert_eq!(marks, ["q 99", "q 147"], "{order}");
        assert_eq!(done.stderr, "");
    }
}

/// Reads that are grouped and sorted at once. Picard 3.4.0 flags the supplementary record of q where the header says
/// queryname, and leaves it where it says coordinate.
#[test]
fn the_header_decides_where_reads_are_grouped_and_sorted_at_once() {
    let template =
        |name, quality| [99, 147, 2147].map(|flag| read(name, flag, [100, 100], quality, 'a'));
    let reads = [template("p", 'I'), template("q", '5')].concat();
    for (order, expected) in [
        ("SO:coordinate", &["q 99", "q 147"][..]),
        ("SO:queryname", &["q 99", "q 147", "q 2147"]),
        ("SO:unsorted", &["q 99", "q 147", "q 2147"]),
    ] {
        let (done, marks) = marked(&text(order, &reads), "");
        assert_eq!(marks, expected, "{order}");
        assert_eq!(done.stderr, "", "{order}");
    }
}

#[test]
fn content_that_contradicts_the_header_wins_and_is_warned_of() {
    let scattered = text("SO:queryname", &doubled());
    let (done, marks) = marked(&scattered, "");
    assert_eq!(marks, ["x 99", "y 99", "x 147", "y 147"]);
    let words = ["warning", "SO:queryname", "but they are not", "coordinate mode", "--duplicate-mode"];
    words.iter().for_each(|word| assert!(done.stderr.contains(word), "{word}: {}", done.stderr));
    assert_eq!(marked(&scattered, "--duplicate-mode coordinate").0.stderr, "");

    let template = |name, quality| {
        [(99, [100, 300]), (147, [300, 100])]
            .map(|(flag, places)| read(name, flag, places, quality, 'a'))
    };
    let mut grouped = [template("p", 'I'), template("q", '5')].concat();
    grouped.push(read("q", 2147, [50, 300], '5', 'a'));
    let (done, marks) = marked(&text("SO:coordinate", &grouped), "");
    assert_eq!(marks, ["q 99", "q 147", "q 2147"]);
    let words = ["warning", "SO:coordinate", "are grouped by name", "template mode", "--duplicate-mode"];
    words.iter().for_each(|word| assert!(done.stderr.contains(word), "{word}: {}", done.stderr));
}

/// The mode must not depend on threads or memory: a header's claim that the last read contradicts.
#[test]
fn the_mode_is_the_same_with_any_threads_and_memory() {
    let pair = |i: u32| {
        let name = format!("f{i}");
        [(99, [1 + i % 9000, 9500]), (147, [9500, 1 + i % 9000])]
            .map(|(flag, places)| read(&name, flag, places, 'I', 'a'))
    };
    let mut reads: Vec<String> = (0..20_000).flat_map(pair).collect();
    reads.insert(0, read("z", 99, [100, 300], 'I', 'a'));
    reads.push(read("z", 147, [300, 100], 'I', 'a'));
    let given = text("SO:queryname", &reads);
    let outputs = ["-@ 1 -m 64M", "-@ 3 -m 200M"].map(|means| {
        let (done, _) = marked(&given, &format!("--no-PG {means}"));
        assert!(done.stderr.contains("but they are not"), "{means}: {}", done.stderr);
        done.stdout
    });
    assert!(outputs[0] == outputs[1]);
}
