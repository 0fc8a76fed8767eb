//! Adapters behind short templates: XT on all records of a read.

use crate::align::*;

/// Adapters of first and last reads: of the kit of most of the sample, and of another one.
const ADAPTERS: [[&str; 2]; 2] = [
    [
        "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACACGTACGTATCTCGTATGCCG",
        "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATC",
    ],
    [
        "AGATCGGAAGAGCGGTTCAGCAGGAATGCCGAGACCGATCTCGTATGCCGTCTTC",
        "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATC",
    ],
];

/// Bases of a template before the adapter; `None` if its reads do not reach the adapter.
fn template_len(template: usize) -> Option<usize> {
    (template % 3 != 1).then_some(20 + template % 100)
}

/// The sample's reads, two thirds of them so short that an adapter follows.
pub fn short() -> [Vec<u8>; 2] {
    [0, 1].map(|segment| {
        let text = std::str::from_utf8(&reads()[segment]).expect("FASTQ is text");
        let lines: Vec<&str> = text.lines().collect();
        let each = lines.chunks(4).enumerate().map(|(template, record)| {
            let (head, bases) = (record[0], record[1]);
            let name = head.split(' ').next().unwrap_or_default();
            let mut read = bases.to_string();
            if let Some(len) = template_len(template).filter(|&len| len < bases.len()) {
                // There are few of the other kit, and none is found after enough of the first.
                let kit = usize::from(template % 30 == 0);
                read = bases[..len].to_string() + ADAPTERS[kit][segment];
                read.extend(std::iter::repeat_n('G', bases.len()));
                read.truncate(bases.len());
            }
            format!("{name} XT:i:999\tXX:i:{template}\n{read}\n+\n{}\n", record[3])
        });
        each.collect::<String>().into_bytes()
    })
}

fn files(dir: &TestDir, reads: &[Vec<u8>; 2]) -> [String; 2] {
    [0, 1].map(|at| arg(&dir.file(&format!("short.{at}.fq"), &reads[at])))
}

fn field<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    line.split('\t').skip(11).find(|field| field.starts_with(tag))
}

#[test]
fn records_say_where_the_adapter_starts() {
    let dir = TestDir::new();
    let [one, two] = files(&dir, &short());
    let plain = lines(&[&one, &two, "-C"]);
    let marked = lines(&[&one, &two, "-C", "--mark-adapters", "--prune-adapters-after", "0"]);
    let (mut found, mut wrong) = (0, 0);
    assert_eq!(records(&plain).len(), records(&marked).len());
    for (before, after) in records(&plain).into_iter().zip(records(&marked)) {
        let fields = |line: &str| -> Vec<String> {
            line.split('\t').filter(|it| !it.starts_with("XT:")).map(str::to_string).collect()
        };
        assert_eq!(fields(before), fields(after), "reads and their records are otherwise as they were");
        let template: usize = field(after, "XX:i:").expect("a comment")[5..].parse().expect("a number");
        let says = field(after, "XT:i:").map(|field| field[5..].parse::<usize>().expect("a number"));
        found += usize::from(says.is_some());
        // By chance, a template without adapter looks as if it had one.
        wrong += usize::from(says != template_len(template).map(|len| len + 1));
    }
    assert!(found > 3000 && wrong < 40, "{found} {wrong}");
}

#[test]
fn rare_adapters_are_dropped_by_default() {
    let dir = TestDir::new();
    let [one, _] = files(&dir, &short());
    let count = |args: &[&str]| {
        let text = lines(&[args, &["--mark-adapters"]].concat());
        records(&text).into_iter().filter(|line| field(line, "XT:i:").is_some()).count()
    };
    let (pruned, all) = (count(&[&one]), count(&[&one, "--prune-adapters-after", "-1"]));
    assert!(pruned + 80 < all, "{pruned} of {all}");
    assert!(count(&[&one, "--adapters", "NEXTERA_V2"]) < 10);
    let custom = ["--adapters", "NEXTERA_V2", "--five-prime-adapter", "ACGCTCTTCCGATCT"];
    let three_prime = ["--three-prime-adapter", "AGATCGGAAGAGC", &one];
    assert!(count(&[&custom[..], &three_prime].concat()) > pruned);
}

#[test]
fn bytes_do_not_depend_on_means() {
    let command = format!("align {} -K 200000 -C --mark-adapters", reference());
    same_bytes_with(&FEW_RESOURCES, &short(), &command, "sam");
    let dir = TestDir::new();
    let [one, two] = files(&dir, &short());
    let metrics = arg(&dir.path("metrics.txt"));
    let text = lines(&[&one, &two, "--mark-adapters", "--adapter-metrics", &metrics]);
    let marked = records(&text).into_iter().filter(|line| number(line, 1) & 0x900 == 0);
    let marked = marked.filter(|line| field(line, "XT:i:").is_some()).count();
    let metrics = std::fs::read_to_string(metrics).expect("metrics");
    assert!(metrics.contains("# MarkIlluminaAdapters INPUT=short.0.fq (readmill align"), "{metrics}");
    let rows = metrics.split("clipped_bases\tread_count\n").nth(1).expect("rows").lines();
    let reads = rows.filter_map(|row| row.split_once('\t')?.1.parse::<usize>().ok());
    assert_eq!(reads.sum::<usize>(), marked);
}

#[test]
fn metrics_are_named_after_the_output_and_not_the_first_reads() {
    let dir = TestDir::new();
    let [one, two] = files(&dir, &short());
    let [metrics, output] = ["metrics.txt", "NA1.bam"].map(|name| arg(&dir.path(name)));
    let words: [&str; 7] = [&one, &two, "--mark-adapters", "--adapter-metrics", &metrics, "-o", &output];
    for (more, name) in [
        (&[][..], "NA1"),
        (&["--sample", "NA2"][..], "NA2"),
        (&["-o", "-", "-R", "@RG\\tID:a\\tSM:NA3"][..], "NA3"),
    ] {
        let kept = words.iter().take(if name == "NA3" { 5 } else { 7 });
        let done = align(&kept.chain(more).copied().collect::<Vec<_>>());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let text = std::fs::read_to_string(&metrics).expect("metrics");
        assert!(
            text.contains(&format!("# MarkIlluminaAdapters INPUT={name} (readmill align")),
            "{text:.300}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_desk, files) = dir();
    let files = files.map(|path| arg(&path));
    let inputs = files.each_ref().map(String::as_str);
    for wrong in [
        &["--adapters", "INDEXED"][..],
        &["--mark-adapters", "--adapters", "INDEX"],
        &["--mark-adapters", "--five-prime-adapter", "ACGT"],
        &["--mark-adapters", "--five-prime-adapter", "ACXT", "--three-prime-adapter", "ACGT"],
        &["--mark-adapters", "--min-match-bases-pe", "0"],
        &["--mark-adapters", "--max-error-rate-se", "2"],
        &["--mark-adapters", "--num-adapters-to-keep", "0"],
        &["--mark-adapters", "--adapter-truncation-length", "0"],
    ] {
        let done = align(&[wrong, &inputs[..]].concat());
        assert_eq!(done.code, Some(1), "{wrong:?}: {}", done.stderr);
    }
}
