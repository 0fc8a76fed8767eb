//! Tests of the native lines that the fronts write. They also check that no option of a
//! tool is missing from the tables.

mod picard;
mod refusals;
mod samtools;

use std::collections::BTreeSet;

use readmill_record::Result;

use super::elsewhere::{self, Alternative};
use super::grammar::{Grammar, ParsedArguments};
use super::tool::{ToolCommand, TranslatedLine, Translation};
use super::{TOOLS, headers, line, parsed};

/// The options in the help of each tool, as listed by `./dev parity --regenerate
/// fronts`.
const OPTIONS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracles/fronts/options.txt"));

fn front(line: &str) -> Result<TranslatedLine> {
    let mut words = line.split(' ').map(str::to_string);
    let name = words.next().unwrap_or_default();
    let tool = TOOLS.iter().find(|tool| tool.name == name).expect("a tool");
    tool.translate(words.collect())
}

/// Returns the native line for a command line, or the text of the answer or error.
fn native(line: &str) -> String {
    match front(line) {
        Ok(TranslatedLine::Native(words, _)) => {
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        }
        Ok(TranslatedLine::Answer(text)) => text,
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn every_option_of_a_help_is_in_its_table() {
    let mut commands = 0;
    for line in OPTIONS.lines().filter(|line| !line.starts_with('#')) {
        let (name, options) = line.split_once(": ").expect("a name and its options");
        let (tool, command) = name.split_once(' ').expect("a tool and its command");
        let tool = TOOLS.iter().find(|it| it.name == tool).expect("a tool with a front");
        let found = tool.commands.iter().find(|it| it.name == command);
        let found = found.unwrap_or_else(|| panic!("{name} has no table"));
        commands += 1;
        if matches!(found.make, Translation::Refused(..)) {
            continue;
        }
        let known = names(found);
        let missing: Vec<&str> = options.split(' ').filter(|option| !known.contains(option)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
    }
    assert_eq!(commands, TOOLS.iter().map(|tool| tool.commands.len()).sum::<usize>());
}

fn names(command: &ToolCommand) -> BTreeSet<&'static str> {
    command.options.iter().flat_map(|group| group.iter()).flat_map(|option| option.names()).collect()
}

#[test]
fn no_name_stands_twice_in_a_table() {
    for command in TOOLS.iter().flat_map(|tool| tool.commands) {
        let all =
            command.options.iter().flat_map(|group| group.iter()).flat_map(|option| option.names());
        assert_eq!(all.count(), names(command).len(), "{}", command.name);
    }
}

#[test]
fn lines_of_elprep_and_bwa_become_native_ones() {
    for (line, wanted) in [
        (
            "elprep filter a.bam o.bam --filter-mapping-quality=20 -mark-duplicates --sorting-order queryname --timed",
            "readmill prep --min-mapq 20 --mark-duplicates --duplicate-mode coordinate --sort lexicographic -o o.bam \
             --no-index a.bam",
        ),
        (
            "elprep filter a.bam o.bam --mark-duplicates=true --clean-sam=0 --mark-duplicates=F --sqq [10,20,30] --bqsr t",
            "readmill prep --static-quantized-quals 10 --static-quantized-quals 20 --static-quantized-quals 30 \
             --bqsr --bqsr-table t -o o.bam --no-index a.bam",
        ),
        // In elPrep 4, --reference has this name.
        (
            "elprep filter a.bam o.bam --bqsr t --bqsr-reference r.fa",
            "readmill prep --bqsr --bqsr-table t --reference r.fa -o o.bam --no-index a.bam",
        ),
        (
            "elprep filter a.bam o.bam --bqsr t --known-sites none.elsites,k.vcf --reference r.fa",
            "readmill prep --bqsr --bqsr-table t --reference r.fa --known-sites none.elsites --known-sites k.vcf -o o.bam \
             --no-index a.bam",
        ),
        (
            "bwa mem -t4 -k 17 -YM r.fa 1.fq 2.fq",
            "readmill align --as-given --complete-index -@ 4 -K 40000000 --bwa=-k 17 -Y -M -o - -O sam r.fa 1.fq 2.fq",
        ),
        (
            "bwa-mem2 mem -p -K 1000 -o o.sam r.fa 1.fq 2.fq",
            "readmill align --as-given --complete-index --interleaved -@ 1 -K 1000 -o o.sam -O sam r.fa 1.fq",
        ),
        ("bwa index -a bwtsw -p x r.fa", "readmill index -o x r.fa"),
    ] {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(native(line), wanted, "{line}");
        assert_eq!(parsed::native_error(&wanted), None, "{line}");
    }
}

#[test]
fn a_file_of_arguments_that_names_itself_is_read_once() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let path = dir.path().join("arguments");
    let own = format!("--arguments_file {}", path.display());
    std::fs::write(&path, format!("# all\n-I a.bam -O o.bam\n{own}\n-SO queryname\n"))
        .expect("a line that is translated");
    assert_eq!(
        native(&format!("picard SortSam {own}")),
        "readmill sort --sort queryname -o o.bam -l 5 --no-index a.bam"
    );
}

#[test]
fn memory_of_the_line_limits_headers_and_lists() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let [reads, list] = ["a.sam", "list"].map(|name| dir.path().join(name));
    let contig = |n: usize| format!("@SQ\tSN:contig{n}\tLN:1000\n");
    std::fs::write(&reads, (0..200_000).map(contig).collect::<String>())
        .expect("a line that is translated");
    std::fs::write(&list, "x\n".repeat(1 << 20)).expect("a line that is translated");
    let given = |memory| {
        ParsedArguments::parse("x", Grammar::Getopt, &[], Vec::new(), memory)
            .expect("a line that is translated")
    };
    let (small, large) = (given(32 << 20), given(1 << 30));
    let path = |path: &std::path::Path| path.display().to_string();
    assert!(headers::read_header(&small, &path(&reads)).is_err());
    assert!(headers::read_header(&large, &path(&reads)).expect("a line that is translated").is_some());
    assert!(small.read_lines(&path(&list)).is_err());
    assert_eq!(large.read_lines(&path(&list)).expect("a line that is translated").len(), 1 << 20);
}

#[test]
fn version_behind_a_command_prints_the_version() {
    for line in ["picard SortSam --version", "gatk ApplyBQSR --version"] {
        assert!(native(line).starts_with("readmill "), "{line}: {}", native(line));
    }
}

#[test]
fn the_shown_line_quotes_names_of_files() {
    let files = ["a b.bam.bai", "a b.bai"].map(std::path::PathBuf::from);
    let [from, to] = files;
    let line = line::NativeLine { renamed: Some((from, to)), ..line::NativeLine::new("sort") };
    assert_eq!(line.to_shell_line(), "readmill sort && mv 'a b.bam.bai' 'a b.bai'");
}

#[test]
fn native_lines_in_place_of_other_commands_are_accepted() {
    let mut lines = 0;
    for row in elsewhere::UNTRANSLATED {
        let Alternative::Line(line, _) = row.answer else { continue };
        let line = line.replace("R1.fq.gz", "1.fq").replace("R2.fq.gz", "2.fq");
        assert_eq!(parsed::native_error(&line), None, "{} {:?}: {line}", row.tool, row.names);
        lines += 1;
    }
    assert!(lines > 60, "{lines}");
}

#[test]
fn no_command_with_a_front_is_said_to_have_none() {
    for row in elsewhere::UNTRANSLATED {
        let tool = TOOLS.iter().find(|tool| tool.name == row.tool);
        let with_front =
            row.names.iter().find(|name| tool.is_some_and(|tool| tool.find_command(name).is_some()));
        assert_eq!(with_front, None, "{}", row.tool);
    }
}

#[test]
fn a_command_without_a_front_names_the_native_line() {
    for (line, said) in [
        ("picard CollectHsMetrics I=a O=b", "readmill qc in.bam -o PREFIX --metrics CollectHsMetrics"),
        ("picard collecthsmetrics --help", "readmill qc in.bam -o PREFIX --metrics CollectHsMetrics"),
        ("gatk CollectHsMetrics -I a", "readmill qc in.bam -o PREFIX --metrics CollectHsMetrics"),
        ("picard DownsampleSam I=a O=b P=0.1", "readmill filter --subsample 0.1"),
        ("samtools calmd a.bam r.fa", "readmill prep in.bam -o out.bam --nm-md-uq --reference ref.fa"),
        ("samtools mpileup a.bam", "readmill does not make pileups"),
        ("gatk HaplotypeCaller -I a", "does not call variants"),
        ("gatk FlagStat -I a", "readmill flagstat in.bam"),
        ("bwa aln r.fa a.fq", "readmill align ref.fa"),
        ("bwa-mem2 shm r.fa", "readmill align ref.fa"),
        ("samtools nonsense", "for other commands, run samtools"),
        ("samtools help calmd", "readmill prep in.bam"),
        ("samtools help sort", "samtools sort, run by readmill"),
        ("picard --list", "DownsampleSam: readmill filter --subsample 0.1"),
    ] {
        let answer = native(line);
        assert!(answer.contains(said), "{line}: {answer}");
    }
}
