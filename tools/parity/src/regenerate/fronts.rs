//! Regenerates the list of option names from the help of each tool with a front.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use readmill_peers::Tool;

use super::asked::RegenerateRequest;

/// Subcommands of each tool. (MarkDuplicatesSpark is missing, because its help needs all of Spark;
/// its line is maintained by hand.)
const SAMTOOLS: &str = "sort view markdup fixmate merge index flagstat stats idxstats fastq bam2fq collate bamshuf cat quickcheck \
                        addreplacerg faidx dict head reheader import reset split depth coverage bedcov";
const PICARD: &str = "SortSam MarkDuplicates MergeSamFiles AddOrReplaceReadGroups ReorderSam CleanSam \
                      FixMateInformation SetNmMdAndUqTags MarkIlluminaAdapters SamToFastq FastqToSam RevertSam \
                      MergeBamAlignment BuildBamIndex CreateSequenceDictionary ViewSam";
const GATK: &str = "BaseRecalibrator ApplyBQSR GatherBQSRReports AnalyzeCovariates MarkDuplicates SortSam \
     CreateSequenceDictionary HaplotypeCaller";
const ELPREP: &str = "filter split merge sfm";
const BWA: &str = "mem index";

/// Returns one line per subcommand, `TOOL COMMAND: OPTIONS`, and the existing line of
/// MarkDuplicatesSpark.
pub fn list_front_options(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let before = std::fs::read_to_string(path)?;
    let by_hand = before.lines().find(|line| line.starts_with("gatk MarkDuplicatesSpark:"));
    let peers = asked.peers;
    let tools: [(&str, Tool, &str); 6] = [
        ("samtools", peers.newest_samtools()?, SAMTOOLS),
        ("picard", peers.picard()?, PICARD),
        ("gatk", peers.gatk()?, GATK),
        ("elprep", peers.elprep()?, ELPREP),
        ("bwa", peers.bwa()?, BWA),
        ("bwa-mem2", peers.bwa_mem2()?, BWA),
    ];
    let mut text = String::from("#\n");
    for (name, tool, commands) in tools {
        for command in commands.split_whitespace() {
            // (bwa prints its help if there are no operands.)
            let help = if name.starts_with("bwa") { "" } else { "--help" };
            let mut asking = asked.dir.peer_command(&tool, &format!("{command} {help}"));
            let said = asking.stdin(Stdio::null()).output()?;
            let said = [said.stdout, said.stderr].concat();
            let help = String::from_utf8_lossy(&said);
            let mut names: BTreeSet<String> = help.lines().flat_map(option_names).collect();
            if names.is_empty() {
                names.extend(help.lines().flat_map(usage_option_names));
            }
            ensure!(!names.is_empty(), "{name} {command} has no options");
            let names: Vec<String> = names.into_iter().collect();
            text += &format!("{name} {command}: {}\n", names.join(" "));
        }
    }
    text += by_hand.context("no line of MarkDuplicatesSpark")?;
    Ok(text + "\n")
}

/// Returns the option names in a help line that starts with an option. The names end at two spaces.
fn option_names(line: &str) -> Vec<String> {
    let line = line.trim_start().trim_start_matches("Options:").trim_start().trim_start_matches('[');
    // A line that starts with a dash may also be a sentence or a line of dashes.
    if !line.starts_with('-') || line.starts_with("---") {
        return Vec::new();
    }
    let front = line.split("  ").next().unwrap_or_default();
    let front = front.split(['<', ']']).next().filter(|_| !front.contains('[')).unwrap_or(front);
    let pieces = front.split(", ").flat_map(|piece| piece.split(",-").enumerate().map(restore_dash));
    let pieces: Vec<String> = pieces.collect();
    let mut names = Vec::new();
    for piece in pieces {
        let words = piece.split(' ').take_while(|word| word.starts_with('-') && word.len() > 1);
        names.extend(words.flat_map(expand_optional_part));
    }
    // A description may continue with a negative number, such as the default value -11.
    names.retain(|name| !["-aa", "-"].contains(&name.as_str()) && !name.ends_with('.'));
    names
}

/// Returns the option names in a usage line, for commands without other help: `Usage:
/// bwa-mem2 index [-p prefix] <in.fasta>`.
fn usage_option_names(line: &str) -> Vec<String> {
    let usage = line.strip_prefix("Usage:").unwrap_or_default();
    let words = usage.split_whitespace().filter_map(|word| word.strip_prefix('['));
    words.filter(|word| word.starts_with('-')).map(str::to_owned).collect()
}

fn restore_dash((number, piece): (usize, &str)) -> String {
    if number == 0 { piece.to_owned() } else { format!("-{piece}") }
}

/// Returns the names that a word of the help represents: `--excl[ude]-flags` is two names.
fn expand_optional_part(word: &str) -> Vec<String> {
    let word = word.trim_end_matches([',', ']']).split('=').next().unwrap_or_default();
    match (word.split_once('['), word.split_once(']')) {
        (Some((start, _)), Some((middle, end))) => {
            let inner = middle.split_once('[').map_or("", |(_, inner)| inner);
            vec![format!("{start}{end}"), format!("{start}{inner}{end}")]
        }
        (Some((start, _)), None) => vec![start.to_owned()],
        _ => vec![word.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::option_names;

    #[test]
    fn names_are_found_in_lines_of_help() {
        for (line, names) in [
            ("  -@, --threads INT", "-@ --threads"),
            ("  -F, --excl[ude]-flags FLAG ...have none of", "-F --excl-flags --exclude-flags"),
            ("--INPUT,-I <File>             The SAM", "--INPUT -I"),
            ("--COMPRESSION_LEVEL <Integer> Compression level, all", "--COMPRESSION_LEVEL"),
            ("[--output-type [sam | bam]]", "--output-type"),
            ("[--clean-sam]", "--clean-sam"),
            ("  -m --mode TYPE     Duplicate decision", "-m --mode"),
            ("  -a -a, -aa   Output absolutely all positions, including", "-a -a"),
            ("    -c, --coverage <int>,<int>,<int>    Coverage", "-c --coverage"),
            ("       -O INT[,INT]  gap open penalties", "-O"),
            ("Options: -b FILE  list of input", "-b"),
            ("  -U, --unoutput FILE, --output-unselected FILE", "-U --unoutput --output-unselected"),
            ("---------", ""),
            ("                              -11. ", ""),
        ] {
            assert_eq!(option_names(line).join(" "), names, "{line}");
        }
    }
}
