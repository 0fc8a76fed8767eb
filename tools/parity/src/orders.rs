//! Compares every sort order with the tool that defines it, on reads in aligner order and on
//! shuffled reads.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{
    ProgramLines, compare_bam_records, compare_files, compare_lines, run_in_parallel, skip_program_lines,
};
use crate::random::SeededRandom;

#[derive(Clone, Copy)]
pub struct OrderComparison {
    pub name: &'static str,
    own: &'static str,
    pub of: OrderTool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OrderTool {
    /// `samtools sort` 1.24 with these flags.
    Samtools124(&'static str),
    System,
    /// Picard `SortSam SORT_ORDER=queryname`.
    Picard,
}

const fn samtools_order(name: &'static str, flags: &'static str) -> OrderComparison {
    OrderComparison { name, own: flags, of: OrderTool::Samtools124(flags) }
}

/// All sort orders. `TAG` in the flags is replaced with the sort tag of the sample.
pub const ORDERS: [OrderComparison; 10] = [
    OrderComparison { name: "coordinate", own: "", of: OrderTool::System },
    samtools_order("coordinate", ""),
    samtools_order("natural", "-n"),
    samtools_order("lexicographic", "-N"),
    samtools_order("tag", "-t TAG"),
    samtools_order("tag, then natural", "-t TAG -n"),
    samtools_order("tag, then lexicographic", "-t TAG -N"),
    samtools_order("template-coordinate", "--template-coordinate"),
    samtools_order("minhash", "-M"),
    OrderComparison { name: "queryname", own: "--sort queryname", of: OrderTool::Picard },
];

impl OrderComparison {
    pub fn describe(&self, tag: &str) -> String {
        let whose = match self.of {
            OrderTool::Samtools124(flags) => format!("samtools 1.24 sort {}", flags.replace("TAG", tag)),
            OrderTool::System => "the system's samtools sort".to_owned(),
            OrderTool::Picard => "SortSam".to_owned(),
        };
        format!("{} as {}", self.name, whose.trim())
    }

    pub fn flags(&self, tag: &str) -> String {
        self.own.replace("TAG", tag)
    }

    /// Returns readmill's command for this order. `rest` has further options and the files.
    pub fn readmill_command(&self, dir: &SampleDir<'_>, tag: &str, rest: &str) -> Command {
        dir.readmill_command(&format!("sort {} {rest}", self.flags(tag)))
    }

    /// Returns samtools' command for this order, or `None` if Picard defines it.
    pub fn samtools_command(&self, dir: &SampleDir<'_>, tag: &str, rest: &str) -> Option<Command> {
        match self.of {
            OrderTool::Samtools124(flags) => {
                Some(dir.samtools_1_24_command(&format!("sort {} {rest}", flags.replace("TAG", tag))))
            }
            OrderTool::System => Some(dir.samtools_command(&format!("sort {rest}"))),
            OrderTool::Picard => None,
        }
    }
}

/// The inputs, and the sort tag of each: AS is a number that all records have, CB a string that
/// half of them lack.
const FILES: [(&str, &str); 2] = [("orders.bam", "AS"), ("shuffled.bam", "CB")];

/// Compares every order on one sample. A deep sample is also sorted with the minimum memory. Unless
/// `every` (that is, with `--quick`), only one file of a deep sample is sorted.
pub fn compare_orders(dir: &SampleDir<'_>, is_deep: bool, every: bool, ledger: &mut Ledger) {
    ledger.check("orders: inputs with MC, MI, CB, secondary alignments and repeated names", || {
        let records = write_inputs(dir)?;
        Ok(format!("{records} records"))
    });
    for (number, asked) in ORDERS.into_iter().enumerate() {
        for (input, tag) in FILES {
            let is_in_order = input == "orders.bam";
            if is_deep && !every && !is_in_order {
                continue;
            }
            ledger.check(&format!("orders: {input}, {}", asked.describe(tag)), || {
                let figures = compare_order(dir, asked, input, tag)?;
                let from_parts = if is_in_order { compare_three_inputs(dir, asked, tag)? } else { "" };
                Ok(figures + from_parts)
            });
            if is_deep && asked.of != OrderTool::System {
                let codecs = ["lz4", "zstd", "none"];
                let codecs = if every { &codecs[..] } else { &codecs[number % 3..][..1] };
                ledger
                    .check(&format!("orders: {input}, {}, spilled, the same bytes", asked.name), || {
                        compare_spilled(dir, asked, input, tag, codecs)
                    });
            }
        }
    }
}

/// Sorts one input with readmill and with the tool that defines the order, and compares the
/// results. Leaves `ours.bam`.
fn compare_order(dir: &SampleDir<'_>, asked: OrderComparison, input: &str, tag: &str) -> Result<String> {
    let ours = asked.readmill_command(dir, tag, &format!("{input} -o ours.bam -u --no-index -m 1G"));
    let theirs = asked.samtools_command(dir, tag, &format!("{input} -o theirs.bam -u"));
    for left in run_in_parallel([ours].into_iter().chain(theirs))? {
        ensure!(left.succeeded, "{} failed: {}", left.shown, left.messages);
    }
    if asked.of == OrderTool::Picard {
        compare_with_picard(dir, input)
    } else {
        compare_with_samtools(dir, asked)
    }
}

fn compare_three_inputs(dir: &SampleDir<'_>, asked: OrderComparison, tag: &str) -> Result<&'static str> {
    let (flags, files) = (asked.flags(tag), PARTS.join(" "));
    dir.run_readmill(&format!("sort {flags} {files} -o from-parts.bam -u --no-index -m 1G"))?;
    compare_files(dir, "from-parts.bam", "ours.bam")?;
    Ok("; the same bytes from three files")
}

fn compare_with_samtools(dir: &SampleDir<'_>, asked: OrderComparison) -> Result<String> {
    let header = |file: &str| ProgramLines::start_samtools_1_24(dir, &format!("view -H --no-PG {file}"));
    let lines = compare_lines(header("ours.bam")?, header("theirs.bam")?, skip_program_lines)
        .with_context(|| format!("the header, {}", asked.name))?;
    let bytes = compare_bam_records(dir, "ours.bam", "theirs.bam")?;
    Ok(format!("{lines} lines of header, {bytes} bytes of records"))
}

/// Compares with SortSam as text, because htsjdk computes the bins of BAM records when it writes.
fn compare_with_picard(dir: &SampleDir<'_>, input: &str) -> Result<String> {
    dir.run_picard(&format!(
        "SortSam I={input} O=theirs.bam SORT_ORDER=queryname COMPRESSION_LEVEL=0 VALIDATION_STRINGENCY=SILENT"
    ))?;
    let view = |file: &str| ProgramLines::start_samtools_1_24(dir, &format!("view {file}"));
    let records = compare_lines(view("ours.bam")?, view("theirs.bam")?, |_| true)?;
    Ok(format!("{records} records"))
}

/// Sorts with the minimum memory, so that readmill spills, once per spill codec. The output must
/// have the same bytes as `ours.bam`.
fn compare_spilled(
    dir: &SampleDir<'_>,
    asked: OrderComparison,
    input: &str,
    tag: &str,
    codecs: &[&str],
) -> Result<String> {
    let arguments = format!("sort {} {input} -o spilled.bam -u --no-index -@ 1", asked.flags(tag));
    let min_memory = dir.query_min_memory(&arguments)?;
    let mut done = Vec::new();
    for codec in codecs {
        let said = dir.run_readmill(&format!("{arguments} -m {min_memory} --spill-codec {codec}"))?;
        compare_files(dir, "spilled.bam", "ours.bam").with_context(|| codec.to_string())?;
        let spilled = said.lines().last().and_then(|line| line.rsplit("; ").next()).unwrap_or_default();
        ensure!(!spilled.ends_with(" in 0 runs"), "nothing was spilled: {said}");
        done.push(format!("{codec} {spilled}"));
    }
    Ok(format!("-m {min_memory}: {}", done.join(", ")))
}

const PARTS: [&str; 3] = ["part-1.bam", "part-2.bam", "part-3.bam"];

/// Creates `orders.bam`, its parts, and `shuffled.bam` from `in.bam`. Returns the number of
/// records.
///
/// All paired reads get MC, most reads MI and CB. Some alignments get a secondary alignment at the
/// same position, and some templates the name of an earlier one, so that all orders have ties.
fn write_inputs(dir: &SampleDir<'_>) -> Result<usize> {
    let (header, records) = read_input_bam(dir)?;
    let mut records = add_fields_and_ties(records);
    write_bam(dir, "orders.bam", &header, &records)?;
    let (first, second) = (records.len() / 5, records.len() / 2);
    let parts = [&records[..first], &records[first..second], &records[second..]];
    for (name, part) in PARTS.iter().zip(parts) {
        write_bam(dir, name, &header, part)?;
    }
    SeededRandom::new(records.len() as u64).shuffle(&mut records);
    write_bam(dir, "shuffled.bam", &header, &records)?;
    Ok(records.len())
}

fn read_input_bam(dir: &SampleDir<'_>) -> Result<(String, Vec<String>)> {
    let mut printed = ProgramLines::start_samtools_1_24(dir, "view -h --no-PG in.bam")?;
    let (mut header, mut records, mut line) = (String::new(), Vec::new(), Vec::new());
    while printed.read_line(&mut line)? {
        let text = String::from_utf8_lossy(&line).into_owned();
        if text.starts_with('@') {
            header += &text;
            header.push('\n');
        } else {
            records.push(text);
        }
    }
    Ok((header, records))
}

fn flags(record: &str) -> u32 {
    record.split('\t').nth(1).and_then(|flags| flags.parse().ok()).unwrap_or(0)
}

fn column(record: &str, n: usize) -> &str {
    record.split('\t').nth(n).unwrap_or_default()
}

fn add_fields_and_ties(records: Vec<String>) -> Vec<String> {
    let mut cigars: HashMap<String, [String; 2]> = HashMap::new();
    for record in &records {
        let flags = flags(record);
        if flags & 0x1 != 0 && flags & 0x904 == 0 {
            let cigars = cigars.entry(column(record, 0).to_owned()).or_default();
            cigars[usize::from(flags & 0x80 != 0)] = column(record, 5).to_owned();
        }
    }
    let mut random = SeededRandom::new(records.len() as u64);
    let (mut name, mut other_name, mut earlier) = (String::new(), None, String::from("first"));
    let (mut fields, mut equipped) = (String::new(), Vec::new());
    for mut record in records {
        if column(&record, 0) != name {
            name = column(&record, 0).to_owned();
            other_name = random.once_in(500).then(|| earlier.clone());
            if random.once_in(100) {
                earlier.clone_from(&name);
            }
            fields = random_molecule_and_cell(&mut random);
        }
        let flags = flags(&record);
        if let Some(cigars) = cigars.get(&name).filter(|_| flags & 0x9 == 0x1) {
            let mate = &cigars[usize::from(flags & 0x80 == 0)];
            record += &format!("\tMC:Z:{}", if mate.is_empty() { "*" } else { mate });
        }
        record += &fields;
        if let Some(other) = &other_name {
            record.replace_range(..name.len(), other);
        }
        let secondary = (flags & 0x904 == 0 && random.once_in(100)).then(|| to_secondary(&record));
        equipped.push(record);
        equipped.extend(secondary);
    }
    equipped
}

fn random_molecule_and_cell(random: &mut SeededRandom) -> String {
    let mut fields = String::new();
    if !random.once_in(4) {
        fields += &format!("\tMI:Z:{}{}", random.below(30), random.pick(&["", "/A", "/B"]));
    }
    if random.once_in(2) {
        fields += &format!("\tCB:Z:{:b}-1", 8 + random.below(32));
    }
    fields
}

fn to_secondary(record: &str) -> String {
    let mut columns: Vec<&str> = record.split('\t').collect();
    let flags = (flags(record) | 0x100).to_string();
    (columns[1], columns[9], columns[10]) = (&flags, "*", "*");
    columns.join("\t")
}

fn write_bam(dir: &SampleDir<'_>, name: &str, header: &str, records: &[String]) -> Result<()> {
    let mut samtools = dir.samtools_1_24_command(&format!("view --no-PG -1 -o {name} -"));
    let mut samtools = samtools.stdin(Stdio::piped()).spawn().context("samtools does not start")?;
    let pipe = samtools.stdin.take().context("samtools has no input")?;
    let mut pipe = std::io::BufWriter::with_capacity(1 << 18, pipe);
    pipe.write_all(header.as_bytes())?;
    for record in records {
        pipe.write_all(record.as_bytes())?;
        pipe.write_all(b"\n")?;
    }
    pipe.flush()?;
    drop(pipe);
    ensure!(samtools.wait()?.success(), "samtools does not take the reads of {name}");
    Ok(())
}
