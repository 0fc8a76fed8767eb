//! The help of every command: a short help (`-h`) that fits on a screen, and a long help (`--help`)
//! with all flags and examples.

use clap::{Arg, Command};

/// Maximum number of flags for which the short help of a command shows all of them.
const MAX_SHORT_HELP_FLAGS: usize = 22;

/// Long names of the flags that the short help shows for commands with more than
/// [`MAX_SHORT_HELP_FLAGS`] flags.
const SHORT_HELP_FLAGS: &[&str] = &[
    "bqsr",
    "by",
    "interleaved",
    "known-sites",
    "level",
    "mark-duplicates",
    "memory",
    "metrics",
    "output",
    "output-format",
    "reference",
    "remove-duplicates",
    "resume",
    "rg",
    "sort",
    "temp-dir",
    "threads",
];

/// Commands whose short help also shows all flags with a letter, because users know these letters
/// from samtools.
const COMMANDS_WITH_LETTERS: &[&str] =
    &["bedcov", "coverage", "depth", "filter", "merge", "sort", "view"];

/// Flags with a letter that the short help of [`COMMANDS_WITH_LETTERS`] omits, because they are
/// rarely needed.
const RARE_LETTER_FLAGS: &[&str] = &[
    "customized-index",
    "exclude-all-flags",
    "exclude-no-read-group",
    "fast",
    "in-read-groups",
    "library",
    "min-query-length",
    "uncompressed",
    "unoutput",
    "with-tag",
    "with-tag-in",
];

/// Examples for the long help of each command. A test parses all of them.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "align",
        &[
            "readmill index ref.fa",
            "readmill align ref.fa R1.fq.gz R2.fq.gz -R '@RG\\tID:lane1\\tSM:sample' -o aligned.bam",
            "readmill align ref.fa R1.fq.gz R2.fq.gz -R '@RG\\tID:lane1\\tSM:sample' --sort coordinate --mark-duplicates -o ready.cram --reference ref.fa",
            "readmill align ref.fa R1.fq.gz R2.fq.gz --trim --cut-tail --sort coordinate -o trimmed.bam",
            "readmill align ref.fa R1.fastq.gz R2.fastq.gz -o out.bam --sort coordinate --fastqc qc",
        ],
    ),
    (
        "import",
        &[
            "readmill import R1.fq.gz R2.fq.gz -R '@RG\\tID:lane1\\tSM:sample' -o unaligned.bam",
            "readmill import R1.fq.gz R2.fq.gz --mark-adapters --adapter-metrics adapters.txt --sort queryname -o unaligned.bam",
        ],
    ),
    (
        "merge-alignment",
        &[
            "readmill merge-alignment unaligned.bam aligned.bam --reference ref.fa -o merged.bam --sort coordinate --nm-md-uq",
            "bwa mem -p ref.fa reads.fq | readmill merge-alignment unaligned.bam - -o merged.bam --sort queryname",
        ],
    ),
    ("index", &["readmill index ref.fa"]),
    (
        "prep",
        &[
            "readmill prep in.bam -o out.bam --sort coordinate --mark-duplicates --metrics dup.txt",
            "readmill prep in.bam -o out.bam --sort coordinate --mark-duplicates --reference ref.fa --bqsr --known-sites dbsnp.vcf.gz",
            "bwa mem ref.fa R1.fq R2.fq | readmill prep -o out.bam --sort coordinate --mark-duplicates",
        ],
    ),
    (
        "sort",
        &[
            "readmill sort in.bam -o sorted.bam",
            "readmill sort -n in.bam -o by-name.bam -@ 8 -m 4G",
            "bwa mem ref.fa R1.fq R2.fq | readmill sort -o sorted.bam",
        ],
    ),
    ("merge", &["readmill merge lane1.bam lane2.bam -o sample.bam"]),
    (
        "markdup",
        &[
            "readmill markdup sorted.bam -o marked.bam --metrics dup.txt",
            "readmill markdup sorted.bam -o unique.bam --remove-duplicates",
        ],
    ),
    (
        "filter",
        &[
            "readmill filter -q 20 -F 0x904 in.bam -o good.bam",
            "readmill filter -L exome.bed in.bam -o on-target.bam",
            "readmill filter -e '[NM] <= 2 && mapq >= 30' in.bam -o out.bam",
        ],
    ),
    (
        "bqsr table",
        &["readmill bqsr table in.bam --reference ref.fa --known-sites dbsnp.vcf.gz -o recal.table"],
    ),
    ("bqsr apply", &["readmill bqsr apply --bqsr-table recal.table in.bam -o out.bam"]),
    ("split", &["readmill split --by read-group in.bam -o lanes"]),
    (
        "fastq",
        &[
            "readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz -s single.fq.gz -0 other.fq.gz",
            "readmill fastq in.bam --per-read-group 'lanes/{ID}_{end}.fastq.gz'",
        ],
    ),
    ("flagstat", &["readmill flagstat in.bam"]),
    ("idxstats", &["readmill idxstats in.bam"]),
    (
        "stats",
        &[
            "readmill stats in.bam -o in.stats",
            "readmill stats -p -d -t exons.tsv -g 20 sorted.bam -o exons.stats",
        ],
    ),
    (
        "fingerprint count",
        &["readmill fingerprint count in.bam --sites common.vcf.gz -o in.fingerprint"],
    ),
    ("fingerprint compare", &["readmill fingerprint compare tumour.fingerprint normal.fingerprint"]),
    (
        "depth",
        &[
            "readmill depth -a -r chr1:1,000-2,000 sorted.bam",
            "readmill depth -q 20 -Q 30 -s -H tumour.bam normal.bam -o depth.txt",
            "readmill depth -b exons.bed sorted.cram",
        ],
    ),
    ("coverage", &["readmill coverage sorted.bam", "readmill coverage -m -w 60 -r chr1 sorted.bam"]),
    ("bedcov", &["readmill bedcov -d 20 -c exons.bed tumour.bam normal.bam"]),
    (
        "report",
        &[
            "readmill report sample.run.json -o sample.html",
            "readmill report *.run.json --assay exome --sample-sheet samples.tsv -o cohort.html",
            "readmill report *.run.json -o cohort.html --multiqc qc/readmill_mqc.json",
        ],
    ),
    ("checksum", &["readmill checksum in.bam"]),
    ("compare", &["readmill compare old.bam new.bam"]),
    (
        "shard",
        &[
            "readmill shard plan --work DIR --shards 8 prep in.bam -o out.bam --sort coordinate",
            "readmill shard run --work DIR",
        ],
    ),
    (
        "cluster",
        &[
            "readmill cluster local --run -- prep in.bam -o out.bam --sort coordinate",
            "readmill cluster slurm --workers 8 --cores 16 --memory 64G --time 2:00:00 --run -- prep in.bam -o out.bam --sort coordinate",
        ],
    ),
    (
        "shard plan",
        &["readmill shard plan --work DIR --shards 8 prep in.bam -o out.bam --sort coordinate"],
    ),
    ("shard run", &["readmill shard run --work DIR"]),
    (
        "view",
        &[
            "readmill view in.bam chr1:1,000-2,000",
            "readmill view -b -o out.bam in.cram chr1 chr2",
            "readmill view -b -M -L exons.bed in.bam",
            "readmill view -c -F UNMAP,DUP in.bam",
            "readmill view -u -q 20 -e '[NM] < 5' in.bam",
        ],
    ),
    ("demo", &["readmill demo"]),
];

/// Adds examples to a command and all its subcommands, hides rare flags in the short help, and
/// makes flag values case-insensitive. Called once, before the command line is parsed.
pub fn complete_help(command: Command) -> Command {
    complete_subcommand_help(command, "")
}

/// Implements [`complete_help`] for a command with the parent commands `above`, such as `shard` for
/// `shard plan`.
fn complete_subcommand_help(command: Command, above: &str) -> Command {
    let path = |name: &str| if above.is_empty() { name.to_string() } else { format!("{above} {name}") };
    let is_root = command.get_name() == "readmill";
    let own = if is_root { String::new() } else { path(command.get_name()) };
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set()).count();
    let is_long = flags > MAX_SHORT_HELP_FLAGS;
    let shows_letters = COMMANDS_WITH_LETTERS.contains(&own.as_str());
    let shorten = |arg: Arg| {
        let is_shown = arg.is_positional()
            || arg.get_long().is_none_or(|long| SHORT_HELP_FLAGS.contains(&long))
            || shows_letters
                && arg.get_short().is_some()
                && !arg.get_long().is_some_and(|long| RARE_LETTER_FLAGS.contains(&long));
        let takes_value = arg.get_action().takes_values();
        arg.ignore_case(takes_value).hide_short_help(is_long && !is_shown)
    };
    let notes = command.get_after_help().map(ToString::to_string);
    let examples = EXAMPLES.iter().find(|(name, _)| *name == own).map(|(_, lines)| lines);
    let examples = examples.map(|lines| {
        let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
        format!("Examples:{lines}")
    });
    let behind = Vec::from_iter(notes.into_iter().chain(examples)).join("\n\n");
    let command =
        command.mut_args(shorten).mut_subcommands(|inner| complete_subcommand_help(inner, &own));
    if behind.is_empty() {
        return command;
    }
    let command = command.after_long_help(behind);
    if is_long {
        command.after_help(format!("All flags, and examples: readmill {own} --help"))
    } else {
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// Maximum number of terminal lines of the short help.
    const SCREEN: usize = 54;

    fn command() -> Command {
        complete_help(Cli::command())
    }

    fn each(command: &mut Command, path: &str, look: &mut impl FnMut(&mut Command, &str)) {
        look(command, path);
        for inner in command.get_subcommands_mut() {
            let path = format!("{path} {}", inner.get_name()).trim().to_string();
            each(inner, &path, look);
        }
    }

    #[test]
    fn short_help_fits_a_screen() {
        let (mut all, mut long) = (command(), Vec::new());
        all.build();
        each(&mut all, "", &mut |command, path| {
            let lines = command.render_help().to_string().lines().count();
            if lines > SCREEN {
                long.push(format!("{path}: {lines}"));
            }
        });
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn examples_are_of_commands_that_exist_and_are_parsed() {
        let mut names = Vec::new();
        each(&mut command(), "", &mut |_, path| names.push(path.to_string()));
        for (name, lines) in EXAMPLES {
            let kernels = ["align", "index"].contains(name) && !names.contains(&(*name).to_string());
            assert!(kernels || names.contains(&(*name).to_string()), "{name}");
            for line in *lines {
                let line = line.rsplit("| ").next().unwrap_or_default();
                let words = line.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
                    0 => part.split_whitespace().map(String::from).collect(),
                    _ => vec![part.to_string()],
                });
                if let Err(error) = command().try_get_matches_from(words) {
                    assert!(kernels, "{line}: {error}");
                }
            }
        }
    }

    #[test]
    fn help_names_the_default_compression_level() {
        let expected = format!("[default: {}, or 0 for a pipe]", readmill_format::bgzf::DEFAULT_LEVEL);
        let mut found = 0;
        each(&mut command(), "", &mut |command, path| {
            if !["sort", "markdup"].contains(&path) {
                return;
            }
            for arg in command.get_arguments().filter(|arg| arg.get_long() == Some("level")) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&expected), "{path}: {help}");
                found += 1;
            }
        });
        assert_eq!(found, 2);
    }

    #[test]
    fn flags_of_short_help_exist() {
        let mut longs = Vec::new();
        each(&mut command(), "", &mut |command, _| {
            longs.extend(command.get_arguments().filter_map(|arg| arg.get_long().map(String::from)));
        });
        let unknown: Vec<_> =
            SHORT_HELP_FLAGS.iter().filter(|name| !longs.contains(&(**name).to_string())).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
