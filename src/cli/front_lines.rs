//! Tests that readmill's own command line parser accepts the lines that the fronts write. The
//! fronts crate does not know the parser, so the tests are in this crate.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;

use readmill_fronts::elsewhere::{self, Alternative};
use readmill_fronts::grammar::{Does, Opt, Takes};
use readmill_fronts::tool::{Tool, ToolCommand, Translation};
use readmill_fronts::{TOOLS, TranslatedLine};

use super::parse_command_line;

/// Arguments that each command needs in addition to the tested option. `IN` is replaced by a read
/// file, and `DICT` by a dictionary.
const LINES: &[(&str, &str)] = &[
    ("samtools markdup", "IN o.bam"),
    ("samtools fixmate", "IN o.bam"),
    ("samtools merge", "-f o.bam IN IN"),
    ("samtools collate", "IN x"),
    ("samtools bamshuf", "IN x"),
    ("samtools addreplacerg", "-r ID:g IN"),
    ("samtools split", "-u rest.bam IN"),
    ("samtools import", "1.fq"),
    ("samtools faidx", "r.fa chr1"),
    ("samtools reheader", "h.sam IN"),
    ("samtools bedcov", "t.bed IN"),
    ("picard SortSam", "-I IN -O o.bam -SO coordinate"),
    ("picard MarkDuplicates", "-I IN -O o.bam -M m"),
    ("picard MergeBamAlignment", "-UNMAPPED IN -ALIGNED IN -O o.bam -R r.fa"),
    ("picard MergeSamFiles", "-I IN -I IN -O o.bam"),
    ("picard AddOrReplaceReadGroups", "-I IN -O o.bam -LB l -PL p -PU u -SM s"),
    ("picard ReorderSam", "-I IN -O o.bam -SD DICT"),
    ("picard CleanSam", "-I IN -O o.bam"),
    ("picard FixMateInformation", "-I IN -O o.bam"),
    ("picard SetNmMdAndUqTags", "-I IN -O o.bam -R r.fa"),
    ("picard SamToFastq", "-I IN -F 1.fq"),
    ("picard FastqToSam", "-F1 1.fq -O o.bam -SM s"),
    ("picard MarkIlluminaAdapters", "-I IN -O o.bam -M m"),
    ("picard RevertSam", "-I IN -O o.bam"),
    ("picard BuildBamIndex", "-I IN"),
    ("picard CreateSequenceDictionary", "-R r.fa"),
    ("picard ViewSam", "-I IN"),
    ("gatk BaseRecalibrator", "-I IN -O t -R r.fa --known-sites k.vcf"),
    ("gatk ApplyBQSR", "-I IN -O o.bam -bqsr t"),
    ("gatk GatherBQSRReports", "-I a -O o"),
    ("gatk AnalyzeCovariates", "-bqsr t -csv o"),
    ("gatk HaplotypeCaller", "-I IN -O o.vcf -R r.fa"),
    ("gatk MarkDuplicates", "-I IN -O o.bam -M m"),
    ("gatk SortSam", "-I IN -O o.bam -SO coordinate"),
    ("gatk CreateSequenceDictionary", "-R r.fa"),
    ("gatk MarkDuplicatesSpark", "-I IN -O o.bam"),
    ("elprep filter", "IN o.bam"),
    ("elprep sfm", "IN o.bam"),
    ("bwa mem", "r.fa 1.fq"),
    ("bwa index", "r.fa"),
    ("bwa-mem2 mem", "r.fa 1.fq"),
    ("bwa-mem2 index", "r.fa"),
];

const VALUES: &[&str] = &[
    "1",
    "20",
    "0.5",
    "RX",
    "coordinate",
    "bam",
    "SUM_OF_BASE_QUALITIES",
    "All",
    r"@RG\tID:g\tSM:s",
    "mapq>1",
    "null",
    "json",
    "%!",
    "1,9,2",
];

/// Command lines of the tools, each followed by the native line, indented.
const EXPECTED_LINES: &str = include_str!("../../crates/fronts/src/tests/lines.txt");

struct Case<'a> {
    tool: &'static Tool,
    command: &'static ToolCommand,
    reads: &'a str,
    dictionary: &'a str,
}

impl Case<'_> {
    fn build_words(&self, option: Option<(&Opt, &str)>) -> Vec<String> {
        let name = format!("{} {}", self.tool.name, self.command.name);
        let rest = LINES.iter().find(|(own, _)| *own == name).map_or("IN", |(_, rest)| rest);
        let rest = rest.replace("IN", self.reads).replace("DICT", self.dictionary);
        let mut words: Vec<String> = match self.tool.name {
            "picard" => vec!["-Xmx2g".into()],
            "gatk" => vec!["--java-options".into(), "-Xmx2g".into()],
            _ => Vec::new(),
        };
        words.push(self.command.name.to_string());
        words.extend(rest.split(' ').map(str::to_string));
        if let Some((option, value)) = option {
            words.push(option.names().last().unwrap_or_default().to_string());
            words.extend((option.takes != Takes::Nothing).then(|| value.to_string()));
        }
        words
    }

    /// Tests the line for one option. Returns `false` if the native parser refuses the value, and
    /// `Err` if it refuses anything else.
    fn test_option(&self, option: Option<(&Opt, &str)>) -> Result<bool, String> {
        let words = self.build_words(option);
        let typed = words.join(" ");
        let native = match self.tool.translate(words) {
            Ok(TranslatedLine::Native(words, _)) => words,
            Ok(TranslatedLine::Answer(_)) | Err(_) => return Ok(true), // the front has checked the value itself
        };
        match parse_command_line(&native) {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) =>
            {
                Ok(false)
            }
            Err(error) => Err(format!("{} {typed}: {native:?}: {error}", self.tool.name)),
        }
    }

    fn test_all_options(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match self.test_option(None) {
            Ok(true) => {}
            Ok(false) => faults.push(format!("{} {}: a value", self.tool.name, self.command.name)),
            Err(fault) => faults.push(fault),
        }
        let takes_effect = |option: &&Opt| {
            !matches!(option.does, Does::Harmless(_) | Does::Refused(..) | Does::Only(..))
        };
        for option in self.command.options.iter().flat_map(|group| group.iter()).filter(takes_effect) {
            let values = match option.takes {
                Takes::Nothing => &[""][..],
                Takes::Truth => &["true", "false"],
                _ => VALUES,
            };
            let is_truth = option.takes == Takes::Truth;
            let mut is_any_good = false;
            for value in values {
                match self.test_option(Some((option, value))) {
                    Ok(is_good) => is_any_good |= is_good,
                    Err(fault) => faults.push(fault),
                }
                if is_any_good && !is_truth {
                    break;
                }
            }
            if !is_any_good {
                let name = self.command.name;
                faults.push(format!("{} {name} {}: no value is good", self.tool.name, option.names));
            }
        }
        faults
    }
}

fn write_test_files(directory: &Path) -> [String; 2] {
    ["in.sam", "in.dict"].map(|name| {
        let path = directory.join(name);
        std::fs::write(&path, "@HD\tVN:1.6\tSO:queryname\n@SQ\tSN:chr1\tLN:1000\n").expect("a file");
        path.display().to_string()
    })
}

#[test]
fn the_native_command_line_takes_what_each_option_becomes() {
    let directory = tempfile::tempdir().expect("a directory");
    let [reads, dictionary] = write_test_files(directory.path());
    let mut faults = Vec::new();
    for tool in TOOLS.iter().copied() {
        for command in
            tool.commands.iter().filter(|command| matches!(command.make, Translation::Line(_)))
        {
            faults.extend(
                Case { tool, command, reads: &reads, dictionary: &dictionary }.test_all_options(),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// If the line without options were refused, the other test could not test any option.
#[test]
fn the_front_takes_the_line_of_each_command() {
    let directory = tempfile::tempdir().expect("a directory");
    let [reads, dictionary] = write_test_files(directory.path());
    for tool in TOOLS.iter().copied() {
        for command in
            tool.commands.iter().filter(|command| matches!(command.make, Translation::Line(_)))
        {
            let words = Case { tool, command, reads: &reads, dictionary: &dictionary }.build_words(None);
            let typed = words.join(" ");
            let made = tool.translate(words);
            assert!(
                matches!(made, Ok(TranslatedLine::Native(..))),
                "{} {typed}: {:?}",
                tool.name,
                made.err()
            );
        }
    }
}

#[test]
fn the_native_command_line_takes_the_expected_lines() {
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with([' ', '#']);
    for line in EXPECTED_LINES.lines().filter(is_line) {
        let words: Vec<OsString> =
            std::iter::once("readmill").chain(line.split(' ')).map(OsString::from).collect();
        let Ok(Some(TranslatedLine::Native(native, files))) =
            readmill_fronts::translate_arguments(&words)
        else {
            panic!("{line} is not translated")
        };
        let source = files.source.map(|rest| [vec!["readmill".into()], rest].concat());
        for words in [native].into_iter().chain(source) {
            let error = parse_command_line(&words).err().map(|error| error.to_string());
            assert_eq!(error, None, "{line}: {words:?}");
        }
    }
}

#[test]
fn native_lines_in_place_of_other_commands_are_accepted() {
    let mut lines = 0;
    for row in elsewhere::UNTRANSLATED {
        let Alternative::Line(line, _) = row.answer else { continue };
        let line = line.replace("R1.fq.gz", "1.fq").replace("R2.fq.gz", "2.fq");
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = parse_command_line(&words).err().map(|error| error.to_string());
        assert_eq!(error, None, "{} {:?}: {line}", row.tool, row.names);
        lines += 1;
    }
    assert!(lines > 60, "{lines}");
}
