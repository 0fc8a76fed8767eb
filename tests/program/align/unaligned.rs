//! Reads of SAM, BAM and CRAM files: aligned as those of FASTQ, with the fields of their records.

use crate::align::*;

/// Optional fields of the sample's reads; RG is the last, as CRAM gives it back.
fn fields(template: usize, segment: usize) -> String {
    match template % 5 {
        0 => "\tRX:Z:ACG-TTT\tNM:i:9\tRG:Z:a".into(),
        1 => format!("\tXT:i:{template}\tbc:B:S,1,{segment}\tRG:Z:b"),
        _ => "\tPG:Z:p".into(),
    }
}

/// The fields that remain after removing those of the aligner.
fn kept(template: usize, segment: usize) -> String {
    fields(template, segment).replace("\tNM:i:9", "")
}

fn is_bad(template: usize) -> bool {
    template % 11 == 2
}

fn complement(base: char) -> char {
    match base {
        'A' => 'T',
        'C' => 'G',
        'G' => 'C',
        'T' => 'A',
        other => other,
    }
}

/// The sample as SAM; some mates are in reverse order, and some reads are reverse-complemented.
pub fn sam() -> String {
    let texts = reads().each_ref().map(|bytes| std::str::from_utf8(bytes).expect("FASTQ is text"));
    let [ones, twos] = texts.map(|text| text.lines().collect::<Vec<_>>());
    let mut out = String::from(
        "@HD\tVN:1.6\tSO:queryname\n@RG\tID:a\tSM:s\n@RG\tID:b\tSM:s\n@PG\tID:p\tPN:p\n@CO\tkept\n",
    );
    for (at, pair) in ones.chunks(4).zip(twos.chunks(4)).enumerate() {
        let mut lines = [(0, pair.0), (1, pair.1)].map(|(segment, record)| {
            let name = record[0][1..].split(' ').next().unwrap_or_default();
            let (mut bases, mut qualities) = (record[1].to_string(), record[3].to_string());
            let mut flags = [77, 141][segment] | if is_bad(at) { 0x200 } else { 0 };
            if at % 13 == 4 {
                flags |= 0x10;
                bases = bases.chars().rev().map(complement).collect();
                qualities = qualities.chars().rev().collect();
            }
            let fields = fields(at, segment);
            format!("{name}\t{flags}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}{fields}\n")
        });
        if at % 17 == 3 {
            lines.reverse();
        }
        out.extend(lines);
    }
    out
}

/// Records of the sample's FASTQ, with the fields and flags of these.
fn wanted() -> Vec<String> {
    let (_desk, files) = dir();
    let plain = lines(&[&arg(&files[0]), &arg(&files[1])]);
    let mut names: Vec<&str> = Vec::new();
    let each = records(&plain).into_iter().map(|line| {
        if names.last() != Some(&column(line, 0)) {
            names.push(column(line, 0));
        }
        let (at, flags) = (names.len() - 1, number(line, 1));
        let line = match is_bad(at) {
            true => line.replacen(&format!("\t{flags}\t"), &format!("\t{}\t", flags | 0x200), 1),
            false => line.to_string(),
        };
        line + &kept(at, usize::from(flags & 0x80 != 0))
    });
    each.collect()
}

#[test]
fn records_of_any_format_are_reads_with_their_fields() {
    let dir = TestDir::new();
    let wanted = wanted();
    let sam = arg(&dir.file("in.sam", sam()));
    let text = lines(&[&sam]);
    assert!(records(&text) == wanted);
    let header: Vec<&str> = text.lines().filter(|line| line.starts_with('@')).collect();
    assert_eq!(header[0], "@HD\tVN:1.6\tSO:unsorted\tGO:query");
    for line in ["@RG\tID:a\tSM:s", "@RG\tID:b\tSM:s", "@PG\tID:p\tPN:p", "@CO\tkept"] {
        assert!(header.contains(&line), "{line}: {header:?}");
    }
    assert!(header.iter().any(|line| line.starts_with("@PG\tID:bwa\t") && line.contains("\tPP:p\t")));
    for format in ["bam", "cram,no-ref"] {
        let packed = arg(&dir.path(&format!("in.{}", &format[..3])));
        let done = readmill(["filter", &sam, "-o", &packed, "-O", format]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(records(&lines(&[&packed])) == wanted, "{format}");
        assert!(records(&lines(&[&packed, "--unaligned", "-@", "5"])) == wanted, "{format}");
    }
}

#[test]
fn single_records_are_single_reads() {
    let dir = TestDir::new();
    let keep = |line: &&str| line.starts_with('@') || number(line, 1) & 0x40 != 0;
    let text = sam().lines().filter(keep).fold(String::new(), |all, line| {
        let single = |at: usize| format!("\t{}\t", at);
        let flags = if line.starts_with('@') { 0 } else { number(line, 1) };
        all + &line.replacen(&single(flags as usize), &single((flags & !0x49) as usize), 1) + "\n"
    });
    let single = lines(&[&arg(&dir.file("in.sam", text))]);
    let (_files_desk, files) = crate::align::dir();
    let plain = lines(&[&arg(&files[0])]);
    let columns = |text: &str| -> Vec<String> {
        records(text)
            .iter()
            .map(|line| [column(line, 0), column(line, 3), column(line, 9)].join("\t"))
            .collect()
    };
    assert!(columns(&single) == columns(&plain));
}

#[test]
fn lanes_may_have_groups_of_one_name() {
    let dir = TestDir::new();
    let other = sam().replace("@RG\tID:a\tSM:s", "@RG\tID:a\tSM:t");
    let files = [dir.file("1.sam", sam()), dir.file("2.sam", other)].map(|path| arg(&path));
    let text = lines(&[&files[0], &files[1], "-o", "-"]);
    let wanted = wanted();
    let found = records(&text);
    assert_eq!(found.len(), 2 * wanted.len());
    assert!(found[..wanted.len()] == wanted);
    let renamed = wanted.iter().map(|line| line.replace("RG:Z:a", "RG:Z:a.1"));
    assert!(found[wanted.len()..].iter().eq(&renamed.collect::<Vec<_>>()));
    assert!(text.contains("@RG\tID:a.1\tSM:t\n"));
}

#[test]
fn barcodes_are_taken_of_records_too() {
    let dir = TestDir::new();
    let sam = arg(&dir.file("in.sam", sam()));
    let text = lines(&[&sam, "--read-structures", "5M+T,+T"]);
    let (of_umis, all) =
        (records(&text).iter().filter(|line| line.contains("\tRX:Z:")).count(), records(&text).len());
    assert_eq!(of_umis, all);
    assert!(!text.contains("ACG-TTT"), "the UMI that was read stands for the one there was");
}

#[test]
fn bytes_do_not_depend_on_means() {
    let command = format!("align {} -K 200000", reference());
    same_bytes_with(&FEW_RESOURCES, &[sam().into_bytes()], &command, "sam");
    let command = format!("{command} --sort coordinate --mark-duplicates --metrics METRICS");
    same_bytes_with(&FEW_RESOURCES, &[bgzip(sam().as_bytes())], &command, "bam");
}

#[test]
fn what_is_no_read_is_told() {
    let dir = TestDir::new();
    let text = sam();
    let head = text.lines().take_while(|line| line.starts_with('@')).count();
    let with = |at: usize, change: &dyn Fn(&str) -> String| -> String {
        let each = text
            .lines()
            .enumerate()
            .map(|(i, line)| if i == head + at { change(line) } else { format!("{line}\n") });
        each.collect()
    };
    let flag = |line: &str, from: u32, to: u32| {
        line.replacen(&format!("\t{from}\t"), &format!("\t{to}\t"), 1) + "\n"
    };
    let cases: [(usize, String, &str); 5] = [
        (4500, with(4500, &|line| flag(line, 77, 77 | 0x100)), "secondary"),
        (4500, with(4500, &|line| flag(line, 77, 4)), "single reads and pairs"),
        (4501, with(4501, &|line| flag(line, 141, 77)), "the same read of the pair occurs twice"),
        (4500, with(4500, &|_| String::new()), "not the adjacent record"),
        (5000, with(5000, &|line| line.replacen("\t0\t0\t", "\tx\t0\t", 1) + "\n"), "POS"),
    ];
    let output = arg(&dir.path("out.bam"));
    for (record, text, told) in cases {
        let bad = arg(&dir.file("bad.sam", &text));
        for threads in ["1", "4"] {
            let done = align(&[&bad, "-o", &output, "-@", threads]);
            assert_eq!(done.code, Some(2), "{told}: {}", done.stderr);
            let place = [record, record + 1].map(|number| format!("bad.sam: record {number} "));
            assert!(done.stderr.contains(told), "{told}: {}", done.stderr);
            assert!(place.iter().any(|place| done.stderr.contains(place)), "{told}: {}", done.stderr);
        }
    }
    let aligned = "@SQ\tSN:c\tLN:9\nr\t0\tc\t1\t9\t4M\t*\t0\t0\tACGT\tIIII\n";
    let done = align(&[&arg(&dir.file("aligned.sam", aligned)), "-o", &output]);
    assert!(done.code == Some(2) && done.stderr.contains("readmill prep --revert"), "{}", done.stderr);
    let (_files_desk, files) = crate::align::dir();
    let (bad, fastq) = (arg(&dir.file("in.sam", &text)), arg(&files[0]));
    for args in [&[&bad[..], &fastq][..], &[&bad, "-R", "@RG\\tID:x"], &[&bad, "-p"], &[&bad, "-C"]] {
        let done = align(&[args, &["-o", &output]].concat());
        assert_eq!(done.code, Some(1), "{args:?}: {}", done.stderr);
    }
    assert!(!dir.path("out.bam").exists());
}
