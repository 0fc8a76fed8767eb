//! Tests of data that reads pass on to their records: fields of comments, UMIs of names, barcodes of bases.

use crate::align::*;

/// The sample's reads, with each record changed by `change` (template number, segment, lines).
fn changed(change: impl Fn(usize, usize, [&str; 4]) -> String) -> [Vec<u8>; 2] {
    [0, 1].map(|segment| {
        let text = std::str::from_utf8(&reads()[segment]).expect("FASTQ is text");
        let lines: Vec<&str> = text.lines().collect();
        let records = lines.chunks(4).enumerate();
        records
            .map(|(at, record)| change(at, segment, [record[0], record[1], record[2], record[3]]))
            .collect::<String>()
            .into_bytes()
    })
}

fn files(dir: &TestDir, name: &str, reads: &[Vec<u8>; 2]) -> [String; 2] {
    [0, 1].map(|at| arg(&dir.file(&format!("{name}.{at}.fq"), &reads[at])))
}

/// Number of the template and segment that a record is of.
fn origins(text: &str) -> Vec<(usize, usize)> {
    let mut names: Vec<&str> = Vec::new();
    let each = records(text).into_iter().map(|line| {
        let name = column(line, 0);
        if names.last() != Some(&name) {
            names.push(name);
        }
        (names.len() - 1, usize::from(number(line, 1) & 0x80 != 0))
    });
    each.collect()
}

/// The records of `text`, each followed by the fields that `fields` returns for its read.
fn with(text: &str, fields: impl Fn(usize, usize) -> String) -> Vec<String> {
    let origins = origins(text);
    let each = records(text).into_iter().zip(origins);
    each.map(|(line, (template, segment))| format!("{line}{}", fields(template, segment))).collect()
}

/// The comment of a read; some have none.
fn comment(template: usize, segment: usize) -> String {
    match template % 7 {
        3 => String::new(),
        5 => format!("BC:Z:AC GT\tRG:Z:of{segment}\tNM:i:77"),
        _ => format!("XT:i:{template}\tbc:B:S,1,{segment}"),
    }
}

fn commented() -> [Vec<u8>; 2] {
    changed(|template, segment, [head, bases, plus, qualities]| {
        let name = head.split(' ').next().unwrap_or_default();
        let blank = if template % 2 == 0 { "\t" } else { " " };
        format!("{name}{blank}{}\n{bases}\n{plus}\n{qualities}\n", comment(template, segment))
    })
}

#[test]
fn comments_are_fields_of_all_records() {
    let (dir, plain) = dir();
    let [one, two] = files(&dir, "c", &commented());
    let plain = lines(&[&arg(&plain[0]), &arg(&plain[1]), "-R", "@RG\\tID:a"]);
    let wanted = with(&plain, |template, segment| match comment(template, segment) {
        text if text.is_empty() => text,
        text if text.starts_with("BC") => "\tBC:Z:AC GT".into(), // RG and NM are others' to say
        text => format!("\t{text}"),
    });
    let found = lines(&["-C", &one, &two, "-R", "@RG\\tID:a"]);
    assert!(records(&found) == wanted);
    assert!(records(&lines(&[&one, &two, "-R", "@RG\\tID:a"])) == records(&plain), "not asked for");
    // With a blank line at the start, all records are read serially.
    let unusual = commented().map(|bytes| [b"\n".to_vec(), bytes].concat());
    let [one, two] = files(&dir, "u", &unusual);
    assert!(records(&lines(&["-C", &one, &two, "-R", "@RG\\tID:a"])) == wanted);
}

#[test]
fn comments_that_are_no_fields_are_told() {
    let dir = TestDir::new();
    for (bad, front) in [("1:N:0:ACGT", ""), ("BC:Z:A\tBC:Z:C", ""), ("XT:i:x", "\n")] {
        let mut reads = changed(|template, segment, [head, bases, plus, qualities]| {
            let name = head.split(' ').next().unwrap_or_default();
            let comment = if (template, segment) == (2500, 1) { bad } else { "" };
            format!("{name} {comment}\n{bases}\n{plus}\n{qualities}\n")
        });
        reads[1].splice(0..0, front.bytes());
        let [one, two] = files(&dir, "c", &reads);
        let done = align(&["-C", &one, &two, "-o", &arg(&dir.path("out.bam"))]);
        assert_eq!(done.code, Some(2), "{bad}: {}", done.stderr);
        assert!(
            done.stderr.contains("c.1.fq") && done.stderr.contains("2501"),
            "{bad}: {}",
            done.stderr
        );
        assert!(!dir.path("out.bam").exists());
    }
}

/// A UMI with this number of bases; a few templates share one.
fn umi(template: usize, bases: usize) -> String {
    let mut code = (template % 300 + 7) * 2_654_435_761;
    let mut base = || {
        code = code.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b"ACGT"[code >> 33 & 3])
    };
    (0..bases).map(|_| base()).collect()
}

#[test]
fn umis_of_names_are_fields_and_tell_duplicates_apart() {
    let dir = TestDir::new();
    let named = changed(|template, segment, [_, bases, plus, qualities]| {
        let umi = format!("{}+{}", umi(template, 4), umi(template + 1, 5));
        format!("@M:1:F:1:1101:{template}:20:{umi}/{}\n{bases}\n{plus}\n{qualities}\n", segment + 1)
    });
    let [one, two] = files(&dir, "n", &named);
    let plain = lines(&[&one, &two]);
    let rx = |template, _| format!("\tRX:Z:{}-{}", umi(template, 4), umi(template + 1, 5));
    assert!(records(&lines(&["--umi-from-name", &one, &two])) == with(&plain, rx));
    assert!(records(&lines(&["--umi-from-name=:", &one, &two])) == with(&plain, rx));
    let marking = ["--mark-duplicates", "--sort", "coordinate"];
    let by_name = lines(&[&marking[..], &["--umi", "name", &one, &two]].concat());
    let by_field = lines(&[&marking[..], &["--umi", "tag:RX", "--umi-from-name", &one, &two]].concat());
    let without = |text: &str| -> Vec<String> {
        let each = |line: &str| {
            line.split('\t').filter(|it| !it.starts_with("RX:")).collect::<Vec<_>>().join("\t")
        };
        records(text).into_iter().map(each).collect()
    };
    assert!(without(&by_field) == without(&by_name));
    assert!(by_field.contains("\tMI:Z:") || by_field.contains("\tMI:i:"));
    let files = files_of_no_umis(&dir);
    let done = align(&["--umi-from-name", &files[0], &files[1]]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("no UMI") && done.stderr.contains("record 1"), "{}", done.stderr);
}

fn files_of_no_umis(dir: &TestDir) -> [String; 2] {
    files(
        dir,
        "none",
        &changed(|template, _, [_, bases, plus, qualities]| {
            format!("@r{template}\n{bases}\n{plus}\n{qualities}\n")
        }),
    )
}

/// Reads with a UMI of six bases and two that are skipped before the first, and of four before the last.
fn inline() -> [Vec<u8>; 2] {
    changed(|template, segment, [head, bases, plus, qualities]| {
        let front = if segment == 0 { umi(template, 6) + "CT" } else { umi(template + 5, 4) };
        let marks = &"01234567"[..front.len()];
        format!("{head}\n{front}{bases}\n{plus}\n{marks}{qualities}\n")
    })
}

#[test]
fn umis_of_bases_are_cut_off_before_the_rest_is_aligned() {
    let (dir, plain) = dir();
    let [one, two] = files(&dir, "i", &inline());
    let plain = lines(&[&arg(&plain[0]), &arg(&plain[1])]);
    let found = lines(&["--read-structures", "6M2S+T,4M+T", &one, &two]);
    let fields =
        |template, _| format!("\tRX:Z:{}-{}\tQX:Z:012345 0123", umi(template, 6), umi(template + 5, 4));
    assert!(records(&found) == with(&plain, fields));
    for (structures, code) in [("6M+T", 1), ("6M,+T", 1), ("999M+T,+T", 2)] {
        let done = align(&["--read-structures", structures, &one, &two]);
        assert_eq!(done.code, Some(code), "{structures}: {}", done.stderr);
    }
    let single = lines(&["--read-structures", "6M2S9T", &one]);
    assert!(records(&single).iter().all(|line| column(line, 9).len() == 9));
}

#[test]
fn bytes_do_not_depend_on_means() {
    let command = format!("align {} -K 200000 --read-structures 6M2S+T,4M+T", reference());
    let command =
        format!("{command} --sort coordinate --mark-duplicates --umi tag:RX --metrics METRICS");
    same_bytes_with(&FEW_RESOURCES, &inline(), &command, "bam");
    let command = format!("align {} -K 200000 -C", reference());
    same_bytes_with(&FEW_RESOURCES, &commented(), &command, "sam");
}
