//! The flags that `--assay` adds to a command with `--report`, so that the report has all sections
//! that suit the assay.
//!
//! A preset is the text of flags. The command line is parsed again with these flags at its end, so
//! a run with a preset is the run with the same flags written out. A flag that the user gave is
//! never added.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use readmill_fronts::quote_for_shell;
use readmill_process::console::write_log_line;

/// The flags that a command line lacks.
#[derive(Debug, Default)]
pub struct Preset {
    /// The flags with their values, as words of the command line.
    pub words: Vec<OsString>,
    /// The sections that stay empty, each with the flag that would fill it.
    left_out: Vec<&'static str>,
    assay: String,
    is_quiet: bool,
}

impl Preset {
    /// Returns the flags that `matches` of the command `root` lacks. `None` unless the command line
    /// has both `--assay` and `--report`.
    pub fn for_command_line(root: &Command, matches: &ArgMatches) -> Option<Self> {
        let line = GivenFlags::find_command(root, matches);
        let assay = line.value("assay")?;
        // `readmill report` has `--assay`, but not `--report`. Standard output gives no prefix.
        let report = line.value("report").filter(|file| *file != "-")?;
        let prefix = Path::new(report).with_extension("").into_os_string(); // `a/s` from `a/s.html`
        let (assay_name, is_quiet) = (assay.to_string_lossy().into_owned(), line.is_given("quiet"));
        let mut preset = Preset { assay: assay_name, is_quiet, ..Preset::default() };
        preset.add_file(&line, "json", &prefix, ".run.json");
        if line.name == "qc" {
            preset.add_programs(&line, "metrics", assay);
        } else if line.knows("qc") {
            preset.add_file(&line, "flagstat", &prefix, ".flagstat");
            preset.add_file(&line, "stats", &prefix, ".stats");
            if line.is_given("mark_duplicates") || line.name == "markdup" {
                preset.add_file(&line, "metrics", &prefix, ".metrics");
            }
            preset.add_file(&line, "qc", &prefix, "");
            preset.add_programs(&line, "qc_metrics", assay);
            preset.add_coverage(&line, assay, &prefix);
        }
        Some(preset)
    }

    /// Returns `words` with the flags of the preset, before a `--`, after which all words are files.
    pub fn complete(&self, words: &[OsString]) -> Vec<OsString> {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (before, after) = words.split_at(end);
        [before, &self.words, after].concat()
    }

    /// Logs the flags, and what they leave out, unless the command line has `--quiet`.
    pub fn write_note(&self) {
        if self.is_quiet || self.words.is_empty() {
            return;
        }
        let words: Vec<String> =
            self.words.iter().map(|word| quote_for_shell(&word.to_string_lossy())).collect();
        write_log_line(&format!("readmill: note: --assay {} adds {}", self.assay, words.join(" ")));
        if !self.left_out.is_empty() {
            let missing = self.left_out.join("; ");
            write_log_line(&format!("readmill: note: the report will not have {missing}"));
        }
    }

    /// Adds `--FLAG PREFIXENDING`, unless the flag is given or the command does not have it.
    fn add_file(&mut self, line: &GivenFlags<'_>, id: &str, prefix: &OsStr, ending: &str) {
        let mut file = prefix.to_os_string();
        file.push(ending);
        self.add(line, id, &file);
    }

    fn add(&mut self, line: &GivenFlags<'_>, id: &str, value: impl AsRef<OsStr>) {
        if line.knows(id) && !line.is_given(id) {
            self.words.extend([format!("--{}", id.replace('_', "-")).into(), value.as_ref().into()]);
        }
    }

    /// Adds Picard's programs for the assay with the flag `id`, and counts by library and lane.
    fn add_programs(&mut self, line: &GivenFlags<'_>, id: &str, assay: &OsStr) {
        // These files have no levels.
        if !line.is_given("per_target_coverage") && !line.is_given("per_base_coverage") {
            self.add(line, "metric_accumulation_level", "ALL_READS,LIBRARY,READ_GROUP");
        }
        if !line.has_reference() {
            self.left_out.push("GC bias and DNA damage (add --reference)");
            return;
        }
        let mut programs = "all".to_string();
        if assay == "wgs" && line.sorts_by_coordinate() {
            programs += ",CollectWgsMetrics";
        }
        if assay == "exome" || assay == "panel" {
            let mut targets = line.values("target_intervals");
            if targets.is_empty() {
                targets.extend(line.bed_of_coverage());
            }
            if targets.is_empty() {
                self.left_out.push("metrics of targets (add --target-intervals FILE)");
            } else if line.sorts_by_coordinate() {
                programs += ",CollectHsMetrics";
                for file in targets {
                    self.add(line, "target_intervals", file);
                    self.add(line, "bait_intervals", file);
                }
            }
        }
        if assay == "rna" {
            match line.is_given("ref_flat") {
                true => programs += ",CollectRnaSeqMetrics",
                false => self.left_out.push("metrics of transcripts (add --ref-flat FILE)"),
            }
        }
        self.add(line, id, programs);
    }

    fn add_coverage(&mut self, line: &GivenFlags<'_>, assay: &OsStr, prefix: &OsStr) {
        if assay == "rna" {
            return;
        }
        if !line.sorts_by_coordinate() {
            if !line.is_given("coverage") {
                self.left_out.push("coverage (sort by coordinate in the same run)");
            }
            return;
        }
        if !line.is_given("coverage") && !line.is_given("coverage_no_per_base") {
            self.words.push("--coverage-no-per-base".into());
        }
        self.add(line, "coverage", prefix);
        // `--coverage-by` takes one file.
        if let [file] = line.values("target_intervals")[..]
            && is_bed(file)
        {
            self.add(line, "coverage_by", file);
        }
    }
}

/// Returns whether a file is a BED file, by its name.
fn is_bed(file: &OsStr) -> bool {
    let name = file.to_string_lossy().to_ascii_lowercase();
    name.ends_with(".bed") || name.ends_with(".bed.gz")
}

/// The flags of the innermost subcommand of a command line.
struct GivenFlags<'a> {
    name: &'a str,
    command: &'a Command,
    matches: &'a ArgMatches,
}

impl<'a> GivenFlags<'a> {
    fn find_command(root: &'a Command, matches: &'a ArgMatches) -> Self {
        let mut line = GivenFlags { name: "", command: root, matches };
        while let Some((name, inner)) = line.matches.subcommand() {
            let Some(command) = line.command.find_subcommand(name) else { break };
            line = GivenFlags { name, command, matches: inner };
        }
        line
    }

    /// Returns whether the command has a flag. Asking `ArgMatches` for an unknown flag is a bug.
    fn knows(&self, id: &str) -> bool {
        self.command.get_arguments().any(|argument| argument.get_id() == id)
    }

    fn is_given(&self, id: &str) -> bool {
        self.knows(id) && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// Returns the values of a flag that is given.
    fn values(&self, id: &str) -> Vec<&'a OsStr> {
        let values = self.is_given(id).then(|| self.matches.get_raw(id)).flatten();
        values.into_iter().flatten().collect()
    }

    /// Returns the value of a flag that takes one.
    fn value(&self, id: &str) -> Option<&'a OsStr> {
        self.values(id).first().copied()
    }

    /// Returns the BED file of `--coverage-by`, whose other values are window sizes.
    fn bed_of_coverage(&self) -> Option<&'a OsStr> {
        self.value("coverage_by").filter(|file| is_bed(file))
    }

    /// `align` always has a reference.
    fn has_reference(&self) -> bool {
        self.name == "align" || self.is_given("reference")
    }

    fn sorts_by_coordinate(&self) -> bool {
        const OTHER_ORDERS: [&str; 6] =
            ["natural", "lexicographic", "tag", "template_coordinate", "minhash", "order"];
        match self.name {
            "sort" => !OTHER_ORDERS.iter().any(|id| self.is_given(id)),
            _ => self.value("sort").is_some_and(|order| order == "coordinate"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// Returns the words that a preset adds, and the number of sections that stay empty.
    fn added(line: &str) -> (String, usize) {
        let mut root = Cli::command();
        let words = std::iter::once("readmill").chain(line.split(' '));
        let matches = root.try_get_matches_from_mut(words).unwrap();
        let Some(preset) = Preset::for_command_line(&root, &matches) else { return Default::default() };
        let words: Vec<&str> = preset.words.iter().filter_map(|it| it.to_str()).collect();
        (words.join(" "), preset.left_out.len())
    }

    #[test]
    fn a_preset_completes_what_the_assay_needs() {
        assert_eq!(added("sort a.bam -o b.bam --report r.html"), Default::default());
        assert_eq!(
            added(
                "prep a.bam -o b.bam --sort coordinate --mark-duplicates --reference f --report d/r.html --assay wgs"
            ),
            (
                "--json d/r.run.json --flagstat d/r.flagstat --stats d/r.stats --metrics d/r.metrics --qc d/r \
                --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP --qc-metrics all,CollectWgsMetrics \
                --coverage-no-per-base --coverage d/r"
                    .into(),
                0
            )
        );
        let (words, left_out) = added(
            "sort a.bam -o b.bam --reference f --report r.html --assay panel --coverage-by t.bed --coverage c",
        );
        for wanted in
            ["--qc-metrics all,CollectHsMetrics", "--target-intervals t.bed --bait-intervals t.bed"]
        {
            assert!(words.contains(wanted), "{words}");
        }
        assert!(!words.contains("--coverage ") && left_out == 0, "{words}");
    }

    #[test]
    fn files_without_levels_keep_the_level_of_all_reads() {
        let line =
            "sort a.bam -o b.bam --reference f --report r.html --assay panel --target-intervals t.bed";
        assert!(added(line).0.contains("--metric-accumulation-level"));
        let (words, _) = added(&format!("{line} --per-target-coverage"));
        assert!(!words.contains("--metric-accumulation-level"), "{words}");
    }

    #[test]
    fn all_files_of_targets_are_baits() {
        let line = "sort a.bam -o b.bam --reference f --report r.html --assay exome";
        let (words, _) = added(&format!("{line} --target-intervals t.bed --target-intervals u.bed"));
        assert!(words.contains("--bait-intervals t.bed --bait-intervals u.bed"), "{words}");
        assert!(!words.contains("--coverage-by") && !words.contains("--target-intervals"), "{words}");
        assert_eq!(added("sort a.bam -o b.bam --report - --assay wgs"), Default::default());
    }

    #[test]
    fn given_flags_stay_and_empty_sections_are_named() {
        let (words, left_out) =
            added("sort -n a.bam -o b.bam --report r.html --assay wgs --flagstat f --qc q --json j");
        assert_eq!(words, "--stats r.stats --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP");
        assert_eq!(left_out, 2);
        let (words, left_out) = added("qc a.bam -o b --reference f --report r.html --assay rna");
        assert!(words.ends_with("--metrics all") && left_out == 1, "{words}");
    }
}
