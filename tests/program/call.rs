//! Variants: of a file, and in the run that writes the reads.

use std::fs;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use readmill_simulate::{Profile, Sample};

use crate::run_json::described;
use crate::support::resources::{query_min_memory, words};
use crate::support::{ProgramRun, TestDir, arg, bgzip, readmill};

/// Reads of one sample in the order of the sequencer, sorted reads with marked duplicates, and their
/// reference.
struct Files {
    dir: TestDir,
    reads: String,
    sorted: String,
    reference: String,
}

impl Files {
    fn simulate(pairs: u64) -> Self {
        let dir = TestDir::new();
        let contigs = [("chr1", 90_000), ("chr2", 60_000), ("chr3", 300)];
        let contigs = contigs.map(|(name, length)| (name.to_owned(), length)).to_vec();
        let sample = Sample::new(Profile { contigs, ..Profile::small().with_pairs(pairs) });
        let (mut reads, mut reference) = (Vec::new(), Vec::new());
        sample.raw_header(&mut reads);
        let mut records = sample.records();
        while records.append_next(&mut reads) {}
        sample.write_fasta(&mut reference).expect("a reference");
        let reads = arg(&dir.file("in.bam", bgzip(&reads)));
        let reference = arg(&dir.file("ref.fa", reference));
        let sorted = arg(&dir.path("sorted.bam"));
        run(&format!("prep {reads} -o {sorted} --sort coordinate --mark-duplicates --no-index"));
        Files { dir, reads, sorted, reference }
    }

    fn path(&self, name: &str) -> String {
        arg(&self.dir.path(name))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The records of a VCF file, without its header.
    fn records(&self, name: &str) -> Vec<String> {
        let bytes = self.bytes(name);
        let mut text = String::new();
        match name.ends_with(".gz") {
            true => MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("BGZF"),
            false => (&bytes[..]).read_to_string(&mut text).expect("text"),
        };
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// The sorted reads as text.
    fn sorted_text(&self) -> String {
        let done = readmill(["view", "-h", "--no-PG", &self.sorted]);
        String::from_utf8(done.stdout).expect("text")
    }
}

/// Runs readmill, which must succeed.
#[track_caller]
fn run(line: &str) -> Vec<u8> {
    let ProgramRun { code, stderr, stdout } = readmill(words(line));
    assert_eq!(code, Some(0), "{line}: {stderr}");
    stdout
}

fn position(record: &str) -> u32 {
    record.split('\t').nth(1).and_then(|text| text.parse().ok()).expect("a position")
}

#[test]
fn files_do_not_depend_on_resources_or_on_the_format_of_the_reads() {
    let files = Files::simulate(14_000);
    let Files { sorted, reference, .. } = &files;
    let text = files.path("sorted.sam");
    let cram = files.path("sorted.cram");
    run(&format!("view -h -o {text} {sorted}"));
    run(&format!("view -o {cram} {sorted} --reference {reference}"));
    for mode in ["gvcf", "bp -L chr1:20000-60000 -L chr2", "vcf"] {
        let call = |input: &str, name: &str, resources: &str| {
            let output = files.path(name);
            let line =
                format!("call {input} --reference {reference} -o {output} --mode {mode} {resources}");
            match resources.strip_suffix("MIN") {
                Some(rest) => {
                    let line = line.replace(resources, rest);
                    let memory = query_min_memory(&words(line.trim_end_matches("-m ")));
                    run(&format!("{line}{memory}"))
                }
                None => run(&line),
            };
        };
        call(sorted, "first.vcf.gz", "-@ 1");
        assert!(files.records("first.vcf.gz").len() > 100, "{mode}");
        let [first, index] = ["first.vcf.gz", "first.vcf.gz.tbi"].map(|name| files.bytes(name));
        for (input, resources) in [
            (sorted, "-@ 2"),
            (sorted, "-@ 8"),
            (sorted, "-@ 1 -m MIN"),
            (sorted, "-@ 8 -m MIN"),
            (&text, "-@ 3"),
            (&cram, "-@ 3"),
        ] {
            call(input, "other.vcf.gz", resources);
            assert!(files.bytes("other.vcf.gz") == first, "{mode}, {input}, {resources}");
            assert!(files.bytes("other.vcf.gz.tbi") == index, "{mode}, {input}, {resources}");
        }
    }
}

#[test]
fn variants_of_the_same_pass_are_those_of_the_output() {
    let files = Files::simulate(4_000);
    let Files { reads, sorted, reference, .. } = &files;
    // The header states an order, but the first read is the last one in the file.
    let text = files.sorted_text();
    let at = text.find("\nHS").expect("a read") + 1;
    let end = at + text[at..].find('\n').expect("a line") + 1;
    let moved = [&text[..at], &text[end..], &text[at..end]].concat();
    let unsorted = arg(&files.dir.file("moved.sam", moved));
    for (input, steps) in [
        (reads, "--sort coordinate"),
        (reads, "--sort coordinate --mark-duplicates"),
        (reads, "--sort coordinate --mark-duplicates --remove-duplicates"),
        (sorted, ""),
        (sorted, "--sort coordinate --mark-duplicates"),
        (&unsorted, "--sort coordinate"),
        (&unsorted, "--sort coordinate --mark-duplicates"),
    ] {
        for (mode, threads) in [("gvcf", 4), ("vcf", 3)] {
            let [output, same, after] =
                ["out.bam", "same.vcf.gz", "after.vcf.gz"].map(|name| files.path(name));
            run(&format!(
                "prep {input} -o {output} {steps} --reference {reference} --call {same} --call-mode {mode} -@ {threads}"
            ));
            run(&format!("call {output} --reference {reference} -o {after} --mode {mode}"));
            assert!(files.records("same.vcf.gz").len() > 20, "{steps} {mode}");
            for end in ["", ".tbi"] {
                let [same, after] =
                    ["same.vcf.gz", "after.vcf.gz"].map(|name| files.bytes(&format!("{name}{end}")));
                assert!(same == after, "{input} {steps} {mode} {threads} {end}");
            }
        }
    }
    let done = readmill(words(&format!(
        "call {unsorted} --reference {reference} -o {}",
        files.path("refused.vcf.gz")
    )));
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(!files.dir.names().iter().any(|name| name.starts_with("refused")));
}

#[test]
fn modes_intervals_and_numbers_are_those_of_the_records() {
    let files = Files::simulate(6_000);
    let Files { sorted, reference, .. } = &files;
    let call = |name: &str, rest: &str| {
        run(&format!("call {sorted} --reference {reference} -o {} {rest}", files.path(name)));
        files.records(name)
    };
    let sites = call("sites.vcf", "--mode bp -L chr1:30001-31000 -L chr3");
    assert_eq!(sites.len(), 1_300);
    let padded = call("padded.vcf", "--mode bp -L chr1:30001-31000 --interval-padding 50");
    assert_eq!(padded.len(), 1_100);
    assert_eq!([&padded[0], &padded[1_099]].map(|it| position(it)), [29_951, 31_050]);
    let targets = arg(&files.dir.file("targets.bed", "chr1\t30000\t31000\nchr2\t0\t10\n"));
    let of_file = call("of_file.vcf", &format!("--mode bp -L {targets} --exclude-intervals chr2:6-10"));
    assert_eq!(of_file.len(), 1_005);

    let json = files.path("run.json");
    let variants = call("variants.vcf", &format!("--mode vcf --json {json}"));
    let described = described(&files.dir, "run.json");
    let numbers = &described["reports"]["variants"];
    let number = |name: &str| numbers[name].as_u64().unwrap_or_else(|| panic!("{name}: {numbers}"));
    assert_eq!(number("records"), variants.len() as u64);
    assert_eq!(number("variants"), number("heterozygous") + number("homozygous"));
    assert_eq!(number("snps"), number("transitions") + number("transversions"));
    let bases = |record: &str, column: usize| record.split('\t').nth(column).map_or(0, str::len);
    let is_deletion = |it: &&String| bases(it, 4) < bases(it, 3) && !it.contains(',');
    assert!(number("deletions") >= variants.iter().filter(is_deletion).count().min(1) as u64);
    assert!(number("snps") > 20, "{numbers}");
    assert_eq!(described["outputs"][0]["kind"], "variant_calls");

    // Plain text has no index, and a name tells that it is compressed.
    let names = files.dir.names();
    assert!(!names.iter().any(|name| name.ends_with(".tbi") || name.ends_with(".idx")), "{names:?}");
    let blocks = call("blocks.g.vcf.gz", "");
    assert!(blocks.iter().any(|record| record.contains("<NON_REF>\t.\t.\tEND=")), "{blocks:?}");
    assert!(files.dir.names().contains(&"blocks.g.vcf.gz.tbi".to_owned()));
    let printed = run(&format!("call {sorted} --reference {reference} --mode vcf -o -"));
    assert!(printed == files.bytes("variants.vcf"));
    let printed =
        run(&format!("gatk HaplotypeCaller -I {sorted} -R {reference} -O /dev/stdout --QUIET"));
    assert!(printed == files.bytes("variants.vcf"));
}

#[test]
fn what_cannot_be_called_is_refused_and_nothing_is_written() {
    let files = Files::simulate(500);
    let Files { dir, reads, sorted, reference, .. } = &files;
    let text = files.sorted_text();
    let (without, with) = (text.lines().filter(|line| !line.starts_with("@RG")), text.lines());
    let without: String = without.map(|line| format!("{line}\n")).collect();
    let with: Vec<&str> = with.filter(|line| line.starts_with("@RG")).collect();
    let sample = with[0].split('\t').find(|field| field.starts_with("SM:")).expect("a sample");
    let file = |name: &str, text: String| arg(&dir.file(name, text));
    let no_group = file("no_group.sam", without);
    let no_sample = file("no_sample.sam", text.replace(&format!("\t{sample}"), ""));
    let one_sample = file("one_sample.sam", text.replacen(&format!("\t{sample}"), "", 1));
    let two = file("two.sam", text.replacen(sample, "SM:other", 1));
    let other = file("other.sam", text.replace("chr2", "chrQ"));
    let longer = file("longer.sam", text.replace("LN:60000", "LN:60001"));
    let before = dir.names();
    let (out, bam) = (files.path("out.vcf.gz"), files.path("out.bam"));
    let bcf = files.path("out.bcf");
    let missing = files.path("missing.fa");
    let with = format!("--reference {reference} -o {out}");
    let same_pass = format!("prep {sorted} -o {bam}");
    for (line, code, said) in [
        (format!("call {sorted} -o {out}"), 1, "--reference"),
        (format!("{same_pass} --call {out}"), 1, "--reference"),
        (format!("call {reads} {with}"), 1, "readmill sort"),
        (
            format!("prep {reads} -o {bam} --reference {reference} --call {out}"),
            1,
            "add --sort coordinate",
        ),
        (format!("call {no_group} {with}"), 2, "--read-group"),
        (format!("call {no_sample} {with}"), 2, "--read-group"),
        (format!("call {one_sample} {with}"), 2, "add an @RG line"),
        (format!("call {two} {with}"), 1, "one sample at a time"),
        (format!("call {other} {with}"), 2, "chrQ of the reads is not in the reference"),
        (format!("call {other} {with} -L chrQ"), 2, "chrQ of the reads is not in the reference"),
        (format!("call {longer} {with}"), 2, "60000 bases here, but 60001"),
        (format!("call {sorted} --reference {reference} -o {bcf}"), 1, ".vcf.gz or .vcf"),
        (format!("{same_pass} --reference {reference} --call {bcf}"), 1, ".vcf.gz or .vcf"),
        (format!("call {sorted} {with} -L chr1:89000-91000"), 1, "beyond the end of contig chr1"),
        (format!("call {sorted} {with} -L chr9"), 1, "chr1:100-200"),
        (format!("call {sorted} {with} --interval-padding 9"), 1, "--intervals"),
        (format!("call {sorted} --reference {missing} -o {out}"), 3, "missing.fa"),
        (
            format!(
                "{same_pass} --reference {reference} --call {out} --resume {}",
                files.path("stages")
            ),
            1,
            "without stages",
        ),
        (format!("{same_pass} --call-mode vcf"), 1, "--call <"),
        (
            format!("gatk HaplotypeCaller -I {sorted} -R {reference} -O {out} -ploidy 1"),
            1,
            "run gatk for other ploidies",
        ),
        (
            format!("gatk HaplotypeCaller -I {sorted} -R {reference} -O {out} -ALIAS other"),
            1,
            "another sample",
        ),
    ] {
        let done = readmill(words(&line));
        assert_eq!(done.code, Some(code), "{line}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{line}: {}", done.stderr);
        assert!(!done.stderr.contains("panicked"), "{line}: {}", done.stderr);
        assert_eq!(dir.names(), before, "{line}");
    }
    // A contig without reads may be missing in the reference.
    let rest = file("rest.sam", text.replacen("@SQ\tSN:chr3", "@SQ\tSN:decoy", 1));
    run(&format!("call {rest} {with} -L chr1"));
    run(&format!("call {rest} {with}"));
    assert!(!files.records("out.vcf.gz").iter().any(|record| record.starts_with("decoy")));
}
