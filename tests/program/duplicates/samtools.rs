//! Duplicates by the rules of samtools markdup. The expected marks are those of samtools 1.24.

use crate::support::{self, TestDir, arg, column, number, readmill, records};

pub const HEADER: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:10000\n@SQ\tSN:c2\tLN:10000\n";

/// A read of four bases of this quality.
pub fn read(
    name: &str,
    flag: u16,
    pos: u32,
    cigar: &str,
    next: &str,
    quality: char,
    fields: &str,
) -> String {
    let quality = quality.to_string().repeat(4);
    format!("{name}\t{flag}\tc1\t{pos}\t60\t{cigar}\t{next}\t0\tACGT\t{quality}\t{fields}\n")
}

/// The first and the last read of a pair at 100 and 300, of these qualities.
fn pair(name: &str, first: char, last: char) -> [String; 2] {
    let score = |quality: char| 4 * (quality as u32 - 33);
    let fields = |quality| format!("MC:Z:4M\tms:i:{}", score(quality));
    [
        read(name, 99, 100, "4M", "=\t300", first, &fields(last)),
        read(name, 147, 300, "4M", "=\t100", last, &fields(first)),
    ]
}

/// A file of these records.
fn text(records: &[String]) -> String {
    HEADER.to_string() + &records.concat()
}

pub fn run(text: &str, flags: &str) -> support::ProgramRun {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", support::bam(text)));
    let words = format!("markdup --rules samtools {flags} -O sam -o - --no-PG {input}");
    readmill(words.split_whitespace())
}

pub fn output(text: &str, flags: &str) -> String {
    let done = run(text, flags);
    assert_eq!(done.code, Some(0), "{flags}: {}", done.stderr);
    String::from_utf8(done.stdout).expect("SAM text")
}

/// Name and position of the records that are flagged.
fn flagged(text: &str, flags: &str) -> Vec<String> {
    let output = output(text, flags);
    let flagged = records(&output).into_iter().filter(|line| number(line, 1) & 0x400 != 0);
    flagged.map(|line| format!("{}:{}", column(line, 0), column(line, 3))).collect()
}

#[test]
fn the_pair_of_the_higher_score_stays_then_that_of_the_smaller_name() {
    let [[a1, a2], [b1, b2]] = [pair("a", 'I', '5'), pair("b", 'I', 'I')];
    let better = text(&[a1, b1, a2, b2]);
    assert_eq!(flagged(&better, ""), ["a:100", "a:300"]);
    let [[a1, a2], [b1, b2], [c1, c2]] =
        [pair("r10", '5', 'I'), pair("r9", 'I', '5'), pair("R", '0', '0')];
    let tied = text(&[b1, c1, a1, b2, c2, a2]);
    assert_eq!(flagged(&tied, ""), ["r9:100", "R:100", "r9:300", "R:300"]);
    assert_eq!(records(&output(&tied, "--remove-duplicates")).len(), 2);
}

/// Quality 14 does not count; a read without qualities counts 255 for each base.
#[test]
fn scores_are_sums_of_qualities_of_15_and_more() {
    let fields = "MC:Z:4M\tms:i:0";
    let of = |name: &str, quality: &str| {
        format!("{name}\t99\tc1\t100\t60\t4M\t=\t300\t0\tACGT\t{quality}\t{fields}\n")
    };
    for (qualities, expected) in
        [(["0!!!", "////"], "b:100"), (["JJJJ", "*"], "a:100"), (["////", "/!//"], "b:100")]
    {
        let text = text(&[of("a", qualities[0]), of("b", qualities[1])]);
        assert_eq!(flagged(&text, ""), [expected], "{qualities:?}");
    }
}

#[test]
fn single_reads_lose_against_pairs_and_among_each_other_the_first_of_the_best_stays() {
    let [first, last] = pair("p", '0', '0');
    let single = |name: &str, flag, pos, cigar: &str, quality| {
        read(name, flag, pos, cigar, "*\t0", quality, "NM:i:0")
    };
    let records = [
        first,
        single("s", 0, 100, "4M", 'I'),
        single("t", 9, 102, "2S2M", 'I'), // its mate is unmapped
        single("u", 0, 200, "4M", '5'),
        single("v", 0, 200, "4M", 'I'),
        single("w", 0, 201, "1S3M", 'I'),
        single("x", 16, 200, "4M", 'I'),    // on the other strand
        single("y", 0x200, 200, "4M", 'I'), // failed quality control
        last,
    ];
    assert_eq!(flagged(&text(&records), ""), ["s:100", "t:102", "u:200", "w:201"]);
}

/// By templates, pairs whose reads lie on one strand are compared by their outer ends; by sequences, by their 5′ ends.
#[test]
fn pairs_on_one_strand_depend_on_which_ends_are_compared() {
    let pair = |name: &str, first: &str, last: &str, pos: u32| {
        let fields = |cigar: &str| format!("MC:Z:{cigar}\tms:i:160");
        [
            read(name, 65, 100, first, &format!("=\t{pos}"), 'I', &fields(last)),
            read(name, 129, pos, last, "=\t100", 'I', &fields(first)),
        ]
    };
    let [[a1, a2], [b1, b2], [c1, c2]] =
        [pair("a", "4M", "4M", 300), pair("b", "4M", "3M1S", 300), pair("c", "4M", "1I3M", 301)];
    let text = text(&[a1, b1, c1, a2, b2, c2]);
    assert_eq!(flagged(&text, ""), ["b:100", "c:100", "b:300", "c:301"]);
    assert_eq!(flagged(&text, "--ends sequence"), ["b:100", "b:300"]);
}

#[test]
fn other_records_get_the_mark_of_a_duplicate_of_their_name() {
    let [[a1, a2], [b1, b2]] = [pair("a", 'I', 'I'), pair("b", 'I', '5')];
    let b2 = b2.replace("MC:Z", "SA:Z:c2,5,+,4M,60,0;\tMC:Z");
    let other = |name: &str, flag| read(name, flag, 500, "4M", "=\t100", 'I', "NM:i:0");
    let records = [a1, b1, a2, b2, other("b", 2113), other("b", 321), other("a", 2113)];
    let text = text(&records);
    assert_eq!(flagged(&text, ""), ["b:100", "b:300"]);
    assert_eq!(flagged(&text, "--duplicate-mode template"), ["b:100", "b:300", "b:500", "b:500"]);
    let without = text.replace("SA:Z:c2,5,+,4M,60,0;\t", "");
    assert_eq!(flagged(&without, "--duplicate-mode template"), ["b:100", "b:300"]);
}

#[test]
fn marks_of_the_input_stay_unless_they_are_cleared() {
    let [first, last] = pair("a", 'I', 'I');
    let marked = |line: &str, flag: u16, with: u16| {
        line.replace(&format!("\t{flag}\t"), &format!("\t{with}\t"))
            .replace("MC:Z", "dt:Z:SQ\tdo:Z:x\tMC:Z")
    };
    let text = text(&[marked(&first, 99, 1123), marked(&last, 147, 147)]);
    assert_eq!(flagged(&text, ""), ["a:100"]);
    assert_eq!(output(&text, "").matches("dt:Z:SQ\tdo:Z:x").count(), 2);
    let cleared = output(&text, "--clear-marks");
    assert!(!cleared.contains("\t1123\t"));
    let [first, last] = records(&cleared)[..] else { panic!("{cleared}") };
    assert!(!first.contains("dt:Z") && !first.contains("do:Z"), "{first}");
    assert!(last.contains("dt:Z:SQ\tdo:Z:x"), "{last}");
}

#[test]
fn reads_that_failed_quality_control_take_part_if_asked_and_lose() {
    let failed = |line: &String| {
        let flag = number(line, 1);
        line.replacen(&format!("\t{flag}\t"), &format!("\t{}\t", flag + 0x200), 1)
    };
    let [[a1, a2], [b1, b2]] = [pair("a", 'I', 'I').map(|line| failed(&line)), pair("b", '0', '0')];
    let single = |name: &str, flag, quality| read(name, flag, 500, "4M", "*\t0", quality, "NM:i:0");
    let text = text(&[a1, b1, a2, b2, single("c", 0x200, 'I'), single("d", 0, '0')]);
    assert_eq!(flagged(&text, ""), [""; 0]);
    assert_eq!(flagged(&text, "--include-fails"), ["a:100", "a:300", "d:500"]);
}

#[test]
fn reads_of_other_barcodes_or_read_groups_are_no_duplicates() {
    let with =
        |name: &str, fields: &str| pair(name, 'I', 'I').map(|line| line.trim_end().to_owned() + fields);
    let text = text(
        &[
            with("a", "\tRX:Z:AC\tRG:Z:x\n"),
            with("b", "\tRX:Z:AC\tRG:Z:y\n"),
            with("c", "\tRX:Z:AG\tRG:Z:x\n"),
            with("d", "\tRX:i:7\tRG:Z:z\n"),
            with("e", "\n"),
        ]
        .map(|[first, _]| first),
    );
    let text = text.replace("@SQ\tSN:c2", "@RG\tID:x\n@RG\tID:y\n@SQ\tSN:c2");
    assert_eq!(flagged(&text, ""), ["b:100", "c:100", "d:100", "e:100"]);
    assert_eq!(flagged(&text, "--barcode-tag RX"), ["b:100", "e:100"]);
    assert_eq!(flagged(&text, "--use-read-groups"), ["c:100", "e:100"]);
    assert_eq!(flagged(&text, "--use-read-groups --barcode-tag RX"), ["e:100"]);
}

#[test]
fn reads_whose_mates_were_not_fixed_are_refused_with_the_way() {
    let [first, last] = pair("a", 'I', 'I');
    for (field, words) in [("MC", "the CIGAR of its mate"), ("ms", "the score of its mate")] {
        let text = text(&[first.clone(), last.replace(field, "XX")]);
        let done = run(&text, "");
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        for words in [words, "record 2", "--fix-mates samtools"] {
            assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
        }
    }
}

#[test]
fn flags_of_other_rules_are_refused() {
    for (flags, name) in [
        ("--rules samtools --optical-single", "--optical-single"),
        ("--rules samtools --tag-duplicates all", "--tag-duplicates"),
        ("--rules samtools --optical-distance auto", "--optical-distance auto"),
        ("--rules samtools --umi name", "--umi"),
        ("--rules samtools --barcode-tag RX --duplex-umi", "--duplex-umi"),
        ("--rules samtools --use-read-groups --metrics x", "--metrics with --use-read-groups"),
        ("--rules picard --ends sequence", "--ends"),
        ("--include-fails", "--include-fails"),
        ("--use-read-groups", "--use-read-groups"),
        ("--clear-marks", "--clear-marks"),
        ("--tag-original", "--tag-original"),
        ("--duplicate-count", "--duplicate-count"),
        ("--no-multi-dup", "--no-multi-dup"),
    ] {
        let done = readmill(format!("markdup no.bam -o - {flags}").split_whitespace());
        assert_eq!(done.code, Some(1), "{flags}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("{name} does not work with")), "{flags}: {}", done.stderr);
    }
    let line = "markdup no.bam -o - --rules samtools --metrics no.txt --sample s";
    let done = readmill(line.split_whitespace());
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("omit --sample"), "{}", done.stderr);
}

/// The report of samtools markdup -f, and with --json.
#[test]
fn the_report_is_that_of_samtools() {
    let [[a1, a2], [b1, b2]] = [pair("a", 'I', 'I'), pair("b", 'I', '5')];
    let single = |name: &str, flag| read(name, flag, 500, "4M", "*\t0", 'I', "NM:i:0");
    let b2 = b2.replace("MC:Z", "SA:Z:c2,5,+,4M,60,0;\tMC:Z");
    let other = read("b", 2113, 500, "4M", "=\t100", 'I', "NM:i:0");
    let old = single("d", 1024).replace("\t500\t", "\t501\t");
    let text = text(&[a1, b1, a2, b2, single("c", 0), single("e", 0), other, old]);
    let dir = TestDir::new();
    let [report, json] = ["report.txt", "report.json"].map(|name| arg(&dir.path(name)));
    let flags = format!("--duplicate-mode template --metrics {report} --metrics-json {json}");
    let lines = |kept: u32| {
        format!(
            "READ: 8\nWRITTEN: {kept}\nEXCLUDED: 1\nEXAMINED: 7\nPAIRED: 4\nSINGLE: 3\nDUPLICATE PAIR: 2\n\
             DUPLICATE SINGLE: 1\nDUPLICATE PAIR OPTICAL: 0\nDUPLICATE SINGLE OPTICAL: 0\nDUPLICATE NON PRIMARY: 1\n\
             DUPLICATE NON PRIMARY OPTICAL: 0\nDUPLICATE PRIMARY TOTAL: 3\nDUPLICATE TOTAL: 4\n\
             ESTIMATED_LIBRARY_SIZE: 1\n\n"
        )
    };
    output(&text, &flags);
    let read = |path: &str| std::fs::read_to_string(path).expect("a report");
    let (command, rows) = (read(&report), lines(8));
    let (command, below) = command.split_once('\n').expect("lines");
    assert!(command.starts_with("COMMAND: readmill markdup --rules samtools "), "{command}");
    assert_eq!(below, rows);
    assert!(
        read(&json).ends_with("    \"DUPLICATE TOTAL\": 4,\n    \"ESTIMATED_LIBRARY_SIZE\": 1\n}\n")
    );
    // (The other record counts as written, as in samtools, though it is removed.)
    assert_eq!(records(&output(&text, &format!("{flags} --remove-duplicates"))).len(), 3);
    assert!(read(&report).ends_with(&lines(4)), "{}", read(&report));
}

/// Mates are fixed, duplicates marked and reads sorted in one pass, as fixmate -m, sort and markdup do.
#[test]
fn mates_can_be_fixed_in_the_same_pass() {
    let bare = |line: String| line.replace("MC:Z:4M\t", "").replace("ms:i:", "XX:i:");
    let grouped: Vec<String> =
        ["b", "a"].iter().flat_map(|name| pair(name, 'I', 'I').map(bare)).collect();
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", text(&grouped).replace("SO:coordinate", "GO:query")));
    let flags = "--fix-mates samtools --mark-duplicates --rules samtools --sort coordinate";
    let done = readmill(format!("prep {input} -O sam -o - {flags}").split_whitespace());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let output = String::from_utf8(done.stdout).expect("SAM text");
    let marks = records(&output).into_iter().map(|line| (column(line, 0), number(line, 1)));
    assert_eq!(Vec::from_iter(marks), [("b", 1123), ("a", 99), ("b", 1171), ("a", 147)]);
}
