//! Generates docs/fronts.md from the option tables. A test compares the page with the tables; with
//! `READMILL_WRITE_DOCS=1`, it writes the page.

use super::TOOLS;
use super::elsewhere::{self, Alternative};
use super::grammar::{Does, Opt};
use super::tool::{ToolCommand, Translation};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fronts.md");

const WRITE_VARIABLE: &str = "READMILL_WRITE_DOCS";

const BEGIN: &str = "# Command lines of other tools

readmill runs the command lines of samtools, Picard, GATK, elPrep and bwa, without these tools.

```
readmill samtools sort -@ 3 -m 1G -o sorted.bam in.bam
readmill picard MarkDuplicates I=sorted.bam O=marked.bam M=metrics.txt
readmill gatk --java-options -Xmx4g ApplyBQSR -I marked.bam -bqsr recal.table -O out.bam
readmill elprep filter in.bam out.bam --mark-duplicates --sorting-order coordinate
readmill bwa mem -t 4 ref.fa R1.fq.gz R2.fq.gz > out.sam
```

A link to readmill with the name of the tool does the same: `ln -s \"$(command -v readmill)\" samtools`, then `./samtools sort …`.
`--explain`, or `READMILL_EXPLAIN=1` in the environment, prints the native command line to standard error:

```
readmill: samtools sort -@ 3 -m 1G -o sorted.bam in.bam
readmill: runs as: readmill sort -@ 4 -m 4096M -o sorted.bam -l 6 --no-index in.bam
```

`readmill samtools sort --help` lists the options of a subcommand and their translation.

## Rules

- A command line is parsed as the tool parses it: outputs without a flag, combined short flags, abbreviated long names,
  `NAME=value`, `--arguments_file`, `null`, lists in files.
- An option that could change a result is translated or refused, never ignored. The error message gives the native command, if there is one.
- [The last table](#commands-without-a-front) lists the other commands of these tools, with a native command or the reason why there is none. `readmill help samtools`
  lists both.
- Threads: `samtools -@ N` means N + 1 threads; the default is one thread, as in samtools. `bwa -t` is the total, as is
  `HaplotypeCaller --native-pair-hmm-threads`. Other tools of Picard and GATK have no such option: readmill uses all threads that the
  process may use.
- Memory: `samtools sort -m` is the memory per thread, and becomes the sum for all threads, but at least 512 MiB. `-Xmx` of at least 1 GiB becomes `-m` (for view, `--memory`; `bqsr gather` has no limit).
- Compression: level 6 for samtools, 5 for Picard, 2 for GATK (set by its launcher), unless the command line sets another level.
- Indexes: as in the tools, samtools writes an index with `--write-index`, Picard with `CREATE_INDEX=true`, and GATK by default. Picard and GATK name it `out.bai`.
- `bwa mem` with a bwa 0.7 index: readmill builds the missing file, `REF.bwt.2bit.64`, once, in the same directory
  (`--complete-index` of [align](align.md#index)). Without any index, it is an error, as in bwa.
- `readmill gatk` also runs the tools of Picard, as GATK does; their options are listed under Picard.
- Exit codes are those of readmill: 0 if everything is complete, and another code otherwise ([running](running.md)).
- `readmill samtools markdup` marks duplicates by the rules of samtools, or, with `--as-picard`, which samtools does not have, by those of Picard.
- The results are those of the tool, except for accepted differences. The page of each native command lists them under \"Differences from …\";
  [parity](parity.md#accepted-differences) has an index by number, such as row 161.
";

#[derive(Default)]
struct OptionCounts {
    native: usize,
    harmless: usize,
    by_value: usize,
    refused: usize,
}

impl OptionCounts {
    fn count_options(command: &ToolCommand) -> Self {
        let mut numbers = OptionCounts::default();
        for option in command_options(command) {
            match option.does {
                Does::Words(_) | Does::WordsIfFalse(_) | Does::Built(_) => numbers.native += 1,
                Does::Harmless(_) => numbers.harmless += 1,
                Does::Only(..) => numbers.by_value += 1,
                Does::Refused(..) => numbers.refused += 1,
            }
        }
        numbers
    }
}

fn command_options(command: &ToolCommand) -> impl Iterator<Item = &'static Opt> {
    command.options.iter().flat_map(|group| group.iter())
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn render_page() -> String {
    let mut text = format!(
        "{BEGIN}\n## Subcommands\n\n| command | translated options | ignored options | options with only some values \
         | refused options |\n|---|--:|--:|--:|--:|\n"
    );
    let mut all = OptionCounts::default();
    for (tool, command) in translated_commands() {
        if let Translation::Refused(_, way) = command.make {
            text +=
                &format!("| `{tool} {}` | refused: {} | | | all |\n", command.name, escape_cell(way));
            continue;
        }
        let OptionCounts { native, harmless, by_value, refused } = OptionCounts::count_options(command);
        text +=
            &format!("| `{tool} {}` | {native} | {harmless} | {by_value} | {refused} |\n", command.name);
        all.native += native;
        all.harmless += harmless;
        all.by_value += by_value;
        all.refused += refused;
    }
    let OptionCounts { native, harmless, by_value, refused } = all;
    text += &format!("| all | {native} | {harmless} | {by_value} | {refused} |\n");
    for (tool, command) in translated_commands() {
        text += &format!("\n## {tool} {}\n\n", command.name);
        if let Translation::Refused(why, way) = command.make {
            text += &format!(
                "Not supported, with any option: {}. Instead: {}.\n",
                escape_cell(why),
                escape_cell(way)
            );
            continue;
        }
        text += "| option | translation |\n|---|---|\n";
        for option in command_options(command) {
            let names: Vec<String> = option.names().map(|name| format!("`{name}`")).collect();
            text +=
                &format!("| {} | {} |\n", names.join(", "), escape_cell(&option.describe_translation()));
        }
    }
    text + &render_elsewhere_table()
}

fn render_elsewhere_table() -> String {
    let mut text = String::from(
        "\n## Commands without a front\n\nThese command lines are refused. The error message gives the native command that does the same, or what to use \
         instead.\n\n| command | instead |\n|---|---|\n",
    );
    for row in elsewhere::UNTRANSLATED {
        let command = |name: &&str| format!("`{} {name}`", row.tool);
        let commands = match row.names {
            [] => format!("`{}`", row.tool),
            names => names.iter().map(command).collect::<Vec<_>>().join(", "),
        };
        let instead = match row.answer {
            Alternative::Line(line, "") => format!("`{line}`"),
            Alternative::Line(line, how) => format!("`{line}`: {how}"),
            Alternative::Nothing(why) => why.to_string(),
        };
        text += &format!("| {commands} | {} |\n", escape_cell(&instead));
    }
    text
}

/// Returns all translated commands. Omits bwa-mem2, because its commands are those of bwa.
fn translated_commands() -> impl Iterator<Item = (&'static str, &'static ToolCommand)> {
    let tools = TOOLS.iter().filter(|tool| tool.name != "bwa-mem2");
    tools.flat_map(|tool| tool.commands.iter().map(|command| (tool.name, command)))
}

#[test]
fn the_page_is_what_the_tables_say() {
    if std::env::var_os(WRITE_VARIABLE).is_some() {
        std::fs::write(PAGE, render_page()).expect("the page is written");
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        found == render_page(),
        "regenerate it: {WRITE_VARIABLE}=1 cargo test --locked -p readmill-fronts page"
    );
}
