//! Reads that are trimmed before they are aligned.

use serde_json::json;

use crate::align::*;
use crate::run_json::described;

const ADAPTERS: [&str; 2] = [
    "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACACGTACGTATCTCGTATGCCG",
    "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATC",
];

/// The fate of a template.
#[derive(PartialEq)]
enum Fate {
    /// Its reads run into adapters, which are cut off.
    Cut,
    /// Its qualities are so low that it is dropped.
    Dropped,
    /// It stays as it is.
    Left,
}

fn fate(template: usize) -> Fate {
    match template % 4 {
        0 => Fate::Cut,
        1 => Fate::Dropped,
        _ => Fate::Left,
    }
}

fn reversed(bases: &str) -> String {
    let complement = |base| match base {
        'A' => 'T',
        'C' => 'G',
        'G' => 'C',
        'T' => 'A',
        other => other,
    };
    bases.chars().rev().map(complement).collect()
}

/// The sample's first reads without N, with last reads of their own, and what is left of them.
fn raw_and_left() -> [[String; 2]; 2] {
    let text = std::str::from_utf8(&reads()[0]).expect("FASTQ is text");
    let lines: Vec<&str> = text.lines().collect();
    let mut files = <[[String; 2]; 2]>::default();
    let known = lines.chunks(4).filter(|record| !record[1].contains('N'));
    for (number, record) in known.enumerate() {
        let name = record[0].split([' ', '/']).next().unwrap_or_default();
        let fate = fate(number);
        let len = if fate == Fate::Cut { 40 + number % 60 } else { record[1].len() };
        let first = &record[1][..len];
        for (end, bases) in [first.to_string(), reversed(first)].into_iter().enumerate() {
            let mut raw = bases.clone();
            if fate == Fate::Cut {
                raw = (raw + ADAPTERS[end])[..len.min(100) + 20].to_string();
            }
            let quality = if fate == Fate::Dropped { "#" } else { "I" };
            let (one, other) = (quality.repeat(raw.len()), quality.repeat(bases.len()));
            files[0][end] += &format!("{name}\n{raw}\n+\n{one}\n");
            if fate != Fate::Dropped {
                files[1][end] += &format!("{name}\n{bases}\n+\n{other}\n");
            }
        }
    }
    files
}

/// Files of both, in this directory.
fn files(dir: &TestDir) -> [[String; 2]; 2] {
    let texts = raw_and_left();
    [0, 1]
        .map(|which| [0, 1].map(|end| arg(&dir.file(&format!("{which}.{end}.fq"), &texts[which][end]))))
}

#[test]
fn records_are_those_of_reads_that_were_trimmed_before() {
    let dir = TestDir::new();
    let [[raw1, raw2], [left1, left2]] = files(&dir);
    let (ours, theirs) = (lines(&[&raw1, &raw2, "--trim"]), lines(&[&left1, &left2]));
    assert!(records(&ours).len() as u64 > PAIRS);
    assert!(records(&ours) == records(&theirs), "pairs");
    let text = raw_and_left();
    let mut both = String::new();
    let [firsts, lasts] = text[0].each_ref().map(|text| text.lines().collect::<Vec<_>>());
    for (first, last) in firsts.chunks(4).zip(lasts.chunks(4)) {
        [first, last].iter().for_each(|record| both += &(record.join("\n") + "\n"));
    }
    let both = arg(&dir.file("both.fq", both));
    assert!(records(&ours) == records(&lines(&[&both, "-p", "--trim"])), "in turns");
    let lanes = lines(&[&raw1, &raw2, &raw1, &raw2, "--trim", "--allow-same-input"]);
    assert!([records(&ours), records(&ours)].concat() == records(&lanes), "two lanes");
    let single = [&raw1, "--trim", "--trim-adapter-sequence", ADAPTERS[0]];
    let (ours, theirs) = (lines(&single), lines(&[&left1]));
    let same = records(&ours).into_iter().zip(records(&theirs)).filter(|(our, their)| our == their);
    // By chance, a read ends as the adapter begins.
    assert!(same.count() * 100 > records(&theirs).len() * 98, "single reads");
}

#[test]
fn unaligned_bam_is_trimmed_as_fastq_is() {
    let dir = TestDir::new();
    let [[raw1, raw2], _] = files(&dir);
    let unaligned = arg(&dir.path("unaligned.bam"));
    let done = readmill(["import", &raw1, &raw2, "-o", &unaligned, "-q"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let [fastq, bam] = [lines(&[&raw1, &raw2, "--trim"]), lines(&[&unaligned, "--trim"])];
    assert!(records(&fastq) == records(&bam));
}

#[test]
fn bytes_do_not_depend_on_means() {
    let command =
        format!("align {} -K 200000 --trim --cut-tail --trim-poly-x --correction", reference());
    let inputs = raw_and_left()[0].each_ref().map(|text| text.clone().into_bytes());
    same_bytes_with(&FEW_RESOURCES, &inputs, &command, "sam");
    let command = format!("{command} --mark-adapters --sort coordinate --mark-duplicates");
    same_bytes_with(&FEW_RESOURCES, &inputs, &command, "bam");
}

#[test]
fn what_was_dropped_is_told() {
    let dir = TestDir::new();
    let [[raw1, raw2], _] = files(&dir);
    let (output, json) = (arg(&dir.path("out.sam")), arg(&dir.path("out.json")));
    let words = ["align", reference(), &raw1, &raw2, "--trim", "-o", &output, "--json", &json];
    let done = readmill(words);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let pairs = raw_and_left()[0][0].lines().count() / 4;
    let reads = |of: &Fate| 2 * (0..pairs).filter(|&number| fate(number) == *of).count();
    let dropped = reads(&Fate::Dropped);
    let line = format!("readmill: {dropped} reads dropped by --trim (low quality)\n");
    assert!(done.stderr.contains(&line), "{}", done.stderr);
    let run = described(&dir, "out.json");
    let trimming = &run["trimming"];
    assert_eq!(
        trimming["filtering_result"],
        json!({
            "passed_filter_reads": 2 * pairs - dropped,
            "low_quality_reads": dropped,
            "too_many_N_reads": 0,
            "too_short_reads": 0,
            "too_long_reads": 0,
        })
    );
    assert_eq!(trimming["adapter_cutting"]["adapter_trimmed_reads"], json!(reads(&Fate::Cut)));
    assert_eq!(trimming["summary"]["before_filtering"]["total_reads"], json!(2 * pairs));
    let text = std::fs::read_to_string(dir.path("out.sam")).expect("SAM");
    let primary = records(&text).into_iter().filter(|line| number(line, 1) & 0x900 == 0);
    assert_eq!(trimming["summary"]["after_filtering"]["total_reads"], json!(primary.count()));
    assert_eq!(run["reads"]["counts"][0]["reads"], json!(dropped));
    let done = readmill(["align", reference(), &raw1, &raw2, "-o", &output, "--json", &json]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(described(&dir, "out.json")["trimming"].is_null());
}

#[test]
fn the_page_shows_what_was_trimmed_and_the_modules_of_each_file() {
    let dir = TestDir::new();
    let [[raw1, raw2], _] = files(&dir);
    let path = |name: &str| arg(&dir.path(name));
    let [output, json, page, modules] = ["out.bam", "out.json", "out.html", "modules"].map(path);
    let words = ["align", reference(), &raw1, &raw2, "--trim", "--trim-poly-x", "-o", &output];
    let reports = ["--json", &json, "--report", &page, "--fastqc", &modules, "--flagstat"];
    let done = readmill(words.into_iter().chain(reports).chain([path("flagstat").as_str()]));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = std::fs::read_to_string(dir.path("out.html")).expect("a page");
    let run = described(&dir, "out.json");
    let reads = &run["trimming"]["filtering_result"]["low_quality_reads"];
    let pointer = "/trimming/filtering_result/low_quality_reads";
    assert!(text.contains(&format!("<data value=\"{reads}\" data-json=\"{pointer}\">")), "{reads}");
    for wanted in [
        "<section id=\"s0-trimming\"",
        "id=\"s0-templates-plot\"",
        "id=\"s0-tails-plot\"",
        "Trimming dropped",
        "<section id=\"s0-fastqc\"",
        "0.0.fq</th>",
        "id=\"s0-read-gc-plot\"",
        "data-columns=\"/reports/fastqc/1/modules/",
    ] {
        assert!(text.contains(wanted), "{wanted}");
    }
    assert!(text.len() < 1 << 20, "{}", text.len());
}

#[test]
fn nothing_may_be_left() {
    let dir = TestDir::new();
    let [[raw1, raw2], _] = files(&dir);
    let none = lines(&[&raw1, &raw2, "--trim", "--length-required", "1000"]);
    assert_eq!(records(&none).len(), 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = TestDir::new();
    let [[raw1, raw2], _] = files(&dir);
    let fasta = arg(&dir.file("reads.fa", ">a\nACGTACGTACGT\n"));
    for (wrong, code, says) in [
        (&["--cut-front", &raw1, &raw2][..], 1, "--trim"),
        (&["--trim", "--trim-front1", "31", &raw1, &raw2], 1, "31"),
        (&["--trim", "--cut-tail", "--cut-right", &raw1, &raw2], 1, "cannot be used with"),
        (&["--trim", "--cut-window-size", "5", &raw1, &raw2], 1, "--cut-front"),
        (&["--trim", "--trim-adapter-sequence", "ACGN", &raw1, &raw2], 1, "four bases"),
        (&["--trim", "--detect_adapter_for_pe", &raw1, &raw2], 1, "detected from the overlap of mates"),
        (&["--trim", &raw1], 1, "--trim-adapter-sequence"),
        (&["--trim", "--correction", "--disable-adapter-trimming", &raw1], 1, "pairs"),
        (&["--trim", "--trim-front2", "5", "--disable-adapter-trimming", &raw1], 1, "pairs"),
        (&["--trim", "--length-required", "50", "--length-limit", "40", &raw1, &raw2], 1, "below"),
        (&["--trim", "--disable-adapter-trimming", &fasta], 2, "no qualities"),
    ] {
        let done = align(wrong);
        assert_eq!(done.code, Some(code), "{wrong:?}: {}", done.stderr);
        assert!(done.stderr.contains(says), "{wrong:?}: {}", done.stderr);
    }
}
