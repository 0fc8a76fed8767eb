//! Tests of the native lines that the fronts write. They also check that no option of a
//! tool is missing from the tables.

mod picard;
mod refusals;

use std::collections::BTreeSet;

use readmill_record::Result;

use super::elsewhere;
use super::grammar::{Grammar, ParsedArguments};
use super::tool::{ToolCommand, TranslatedLine, Translation};
use super::{TOOLS, headers, line};

/// The options in the help of each tool, as listed by `./dev parity --regenerate
/// fronts`.
const OPTIONS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/fronts/options.txt"));

/// Command lines of the tools, and the native lines that they become.
const LINES: &str = include_str!("lines.txt");

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

/// Returns the pairs of [`LINES`]: a line of a tool, and the native line.
fn expected_lines() -> Vec<(&'static str, String)> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for line in LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), pairs.last_mut()) {
            (Some(more), Some((_, native))) if native.is_empty() => native.push_str(more),
            (Some(more), Some((_, native))) => *native += &format!(" {more}"),
            (None, _) => pairs.push((line, String::new())),
            (Some(more), None) => panic!("no line is above {more}"),
        }
    }
    pairs
}

#[test]
fn lines_of_tools_become_native_ones() {
    for (line, expected) in expected_lines() {
        let made = native(line);
        let memory = made.split(' ').skip_while(|word| *word != "-m").nth(1);
        let memory = memory.filter(|_| expected.contains("MEMORY")).unwrap_or_default();
        assert_eq!(made, expected.replace("MEMORY", memory), "{line}");
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
fn listed_regions_of_faidx_come_first_and_may_begin_with_a_hash() {
    let dir = tempfile::tempdir().expect("a line that is translated");
    let list = dir.path().join("regions");
    std::fs::write(&list, "c2:1-5\n#c3\n").expect("a line that is translated");
    let made = native(&format!("samtools faidx r.fa c1 -r {}", list.display()));
    assert_eq!(made, "readmill faidx r.fa c2:1-5 #c3 c1");
}

#[test]
fn a_single_h_is_help_unless_the_command_has_another_h() {
    for line in ["samtools sort -h", "samtools coverage -h", "samtools faidx -h"] {
        assert!(native(line).contains("Options and their translation"), "{line}: {}", native(line));
    }
    assert!(native("samtools head -h").contains("-h needs a value"));
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
        ("gatk Mutect2 -I a", "readmill calls variants only as GATK HaplotypeCaller does"),
        ("gatk HaplotypeCallerSpark -I a", "readmill call in.bam"),
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
