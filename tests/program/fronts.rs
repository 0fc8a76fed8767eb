//! Command lines of other tools, from the program's name to the files that are there in the end.

use std::process::Command;

use crate::support::{self, TestDir, arg, readmill};

const READS: &str = "@HD\tVN:1.6\n@SQ\tSN:1\tLN:100\n\
                     b\t0\t1\t50\t60\t4M\t*\t0\t0\tACGT\tIIII\n\
                     a\t0\t1\t10\t60\t4M\t*\t0\t0\tACGT\tIIII\n";

/// Names of the reads in SAM text.
fn names(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let records = text.lines().filter(|line| !line.starts_with('@'));
    records.map(|line| line.split('\t').next().unwrap_or_default().to_string()).collect()
}

#[test]
fn a_link_called_as_a_tool_is_that_tool() {
    let dir = TestDir::new();
    let input = dir.file("in.sam", READS);
    let link = dir.path("samtools");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_readmill"), &link).expect("a link");
    let mut command = Command::new(&link);
    let run = support::finish(command.args(["sort", "-O", "SAM", "-@", "1", "--explain"]).arg(&input));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(names(&run.stdout), ["a", "b"]);
    assert!(run.stderr.contains("readmill sort -@ 2 -o - -O sam --no-index "), "{}", run.stderr);
}

#[test]
fn the_index_of_picard_is_called_after_the_output_without_its_end() {
    let dir = TestDir::new();
    let input = dir.file("in.sam", READS);
    let words = [format!("I={}", arg(&input)), format!("O={}", arg(&dir.path("out.bam")))];
    let sort = ["picard", "SortSam", "SO=coordinate", "CREATE_INDEX=true", "QUIET=true"];
    let run = readmill(sort.iter().map(|word| word.to_string()).chain(words.clone()));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(dir.names(), ["in.sam", "out.bai", "out.bam"]);
    let sort = ["picard", "SortSam", "SO=coordinate", "QUIET=true"];
    let other = TestDir::new();
    let words = [words[0].clone(), format!("O={}", arg(&other.path("out.bam")))];
    let run = readmill(sort.iter().map(|word| word.to_string()).chain(words));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(other.names(), ["out.bam"]);
}

#[test]
fn what_is_refused_is_said_and_nothing_is_written() {
    let dir = TestDir::new();
    let (input, output) = (arg(&dir.file("in.sam", READS)), arg(&dir.path("out.bam")));
    for (words, said) in [
        (vec!["samtools", "markdup", "--barcode-name", &input, &output], "--umi name"),
        (vec!["samtools", "sort", "-H", "-o", &output, &input], "homopolymers"),
        (vec!["picard", "RevertSam", "I=x", "O=y", "OBR=true"], "not a directory"),
        (vec!["gatk", "Mutect2"], "only as GATK HaplotypeCaller does"),
        (vec!["elprep", "filter", &input], "2 files"),
        (vec!["bwa", "aln"], "the algorithm of bwa mem"),
    ] {
        let run = readmill(&words);
        assert_eq!(run.code, Some(1), "{words:?} {}", run.stderr);
        assert!(run.stderr.contains(said), "{words:?} {}", run.stderr);
        assert_eq!(dir.names(), ["in.sam"]);
    }
}

#[test]
fn inputs_of_mark_duplicates_keep_their_order_unless_their_headers_say_queryname() {
    let dir = TestDir::new();
    let output = arg(&dir.path("out.sam"));
    let read = |name: &str| format!("{name}\t0\t1\t10\t60\t4M\t*\t0\t0\tACGT\tIIII\n");
    let marked = |order: &str| {
        let head = format!("@HD\tVN:1.6\tSO:{order}\n@SQ\tSN:1\tLN:100\n");
        let of = |names: [&str; 2]| names.map(read).concat();
        // (What is sorted says so; what is not, says something else.)
        let one = if order == "queryname" { ["a", "c"] } else { ["c", "a"] };
        let inputs = [("1.sam", one), ("2.sam", ["b", "d"])];
        let inputs = inputs.map(|(file, names)| arg(&dir.file(file, head.clone() + &of(names))));
        let metrics = arg(&dir.path("metrics"));
        let words = ["picard", "MarkDuplicates", "ASSUME_SORT_ORDER=queryname", "QUIET=true"];
        let files = [
            format!("I={}", inputs[0]),
            format!("I={}", inputs[1]),
            format!("O={output}"),
            format!("M={metrics}"),
        ];
        let run = readmill(words.map(str::to_string).into_iter().chain(files));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let text = std::fs::read_to_string(dir.path("out.sam")).expect("the output");
        let marks = text.lines().filter(|line| line.split('\t').nth(1) == Some("1024")).count();
        assert_eq!(marks, 3, "{text}");
        (names(text.as_bytes()), text.contains("SO:queryname"))
    };
    assert_eq!(marked("unsorted"), (["c", "a", "b", "d"].map(String::from).to_vec(), false));
    assert_eq!(marked("queryname"), (["a", "b", "c", "d"].map(String::from).to_vec(), true));
}

#[test]
fn samtools_merge_overwrites_when_it_is_told_to() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", READS));
    let output = arg(&dir.file("out.sam", "there"));
    let run = readmill(["samtools", "merge", &output, &input]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("-f"), "{}", run.stderr);
    let run = readmill(["samtools", "merge", "-f", &output, &input]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = std::fs::read(dir.path("out.sam")).expect("the output");
    assert_eq!(names(&text), ["a", "b"]);
}

#[test]
fn help_and_versions_are_answers() {
    for (words, said) in [
        (vec!["samtools"], "addreplacerg"),
        (vec!["samtools", "--version"], "instead of samtools 1.24"),
        (vec!["picard", "SortSam", "--help"], "--SORT_ORDER"),
        (vec!["gatk", "--list"], "ApplyBQSR"),
    ] {
        let run = readmill(&words);
        assert_eq!(run.code, Some(0), "{words:?} {}", run.stderr);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(text.contains(said), "{words:?} {text}");
    }
}

/// A pair, whose mates do not stand together, and a read without its mate.
const ALIGNED: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:1\tLN:100\n@RG\tID:g\tSM:s\n\
                       b\t83\t1\t10\t60\t4M\t=\t50\t36\tACGG\t#+5I\tNM:i:0\tRG:Z:g\n\
                       c\t73\t1\t20\t60\t4M\t=\t20\t0\tACGT\tIIII\n\
                       b\t1187\t1\t50\t60\t4M\t=\t10\t-36\tTTGA\t!+5I\tOQ:Z:IIII\tRG:Z:g\n";

#[test]
fn templates_that_are_not_whole_are_dropped_behind_a_sort_in_one_line() {
    let dir = TestDir::new();
    let (input, output) = (arg(&dir.file("in.sam", ALIGNED)), arg(&dir.path("out.sam")));
    let line = |share: &str| {
        let share = format!("MAX_DISCARD_FRACTION={share}");
        let (input, output) = (format!("I={input}"), format!("O={output}"));
        readmill([
            "picard",
            "-Xmx1g",
            "RevertSam",
            "SANITIZE=true",
            "QUIET=true",
            &input,
            &output,
            &share,
        ])
    };
    let run = line("0.5");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = std::fs::read_to_string(&output).expect("the output");
    let expected = [
        "b\t77\t*\t0\t0\t*\t*\t0\t0\tCCGT\tI5+#\tRG:Z:g",
        "b\t141\t*\t0\t0\t*\t*\t0\t0\tTTGA\tIIII\tRG:Z:g",
    ];
    assert_eq!(support::records(&text), expected);
    // Guards against a former defect: an OQ of another length than SEQ ended the run; Picard discards the template.
    dir.file("in.sam", ALIGNED.replace("OQ:Z:IIII", "OQ:Z:III"));
    let run = line("1");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = std::fs::read_to_string(&output).expect("the output");
    assert_eq!(support::records(&text), [""; 0]);
    dir.file("in.sam", ALIGNED);
    std::fs::remove_file(&output).expect("it is there");
    let run = line("0.1");
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("drops 1 of 3 reads (33.333 %), more than 10.000 %"), "{}", run.stderr);
    assert_eq!(dir.names(), ["in.sam"]);
}

#[test]
fn what_is_wrong_with_the_first_of_two_runs_is_said_once() {
    let dir = TestDir::new();
    let broken = ALIGNED.replace("#+5I", "#+5");
    let (input, output) = (arg(&dir.file("in.sam", broken)), arg(&dir.path("out.bam")));
    let words = [format!("I={input}"), format!("O={output}")];
    let line = ["picard", "-Xmx1g", "RevertSam", "SANITIZE=true"].iter().map(|word| word.to_string());
    let run = readmill(line.chain(words));
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert_eq!(run.stderr.matches("error:").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("in.sam"), "{}", run.stderr);
    assert_eq!(dir.names(), ["in.sam"]);
}

#[test]
fn adapters_are_marked_and_their_bases_get_a_low_quality() {
    let dir = TestDir::new();
    let bases = format!("ACGTTGCA{}", "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA");
    let fastq = dir.file("r.fq", format!("@r\n{bases}\n+\n{}\n", "5".repeat(bases.len())));
    let [unaligned, marked, metrics, out] =
        ["u.bam", "m.bam", "m.txt", "o.fq"].map(|name| arg(&dir.path(name)));
    for line in [
        format!("picard FastqToSam F1={} O={unaligned} SM=s V=Standard", arg(&fastq)),
        format!("picard MarkIlluminaAdapters I={unaligned} O={marked} M={metrics}"),
        format!(
            "picard SamToFastq I={marked} F={out} CLIPPING_ATTRIBUTE=XT CLIPPING_ACTION=2 READ1_TRIM=1"
        ),
    ] {
        let run = readmill(line.split(' '));
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    }
    let text = std::fs::read_to_string(out).expect("FASTQ");
    assert_eq!(text, format!("@r\n{}\n+\n{}{}\n", &bases[1..], "5".repeat(7), "#".repeat(33)));
}
