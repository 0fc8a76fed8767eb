//! Compares molecules from UMIs with umi_tools and, for duplex molecules, with fgumi.
//!
//! Only the grouping of templates is compared, because each tool numbers molecules differently.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{ProgramLines, run_in_parallel};
use crate::random::SeededRandom;

type Molecules = BTreeMap<String, String>;

/// UMI methods: readmill's name, umi_tools' name, and the maximum number of edits between UMIs of
/// one molecule.
const METHODS: [(&str, &str, u32); 5] = [
    ("exact", "unique", 1),
    ("directional", "directional", 1),
    ("directional", "directional", 2),
    ("adjacency", "adjacency", 1),
    ("cluster", "cluster", 1),
];

/// Compares the molecules of random reads at `positions` positions: single-strand ones with
/// umi_tools, duplex ones with fgumi.
pub fn compare_molecules(dir: &SampleDir<'_>, peers: &Peers, positions: u64, ledger: &mut Ledger) {
    ledger.print_heading("umi", "molecules told by UMIs");
    for (name, duplex) in [("single", false), ("duplex", true)] {
        ledger.check(&format!("umi: input {name}.bam"), || write_inputs(dir, name, positions, duplex));
    }
    match peers.umi_tools() {
        Ok(umi_tools) => {
            for (ours, theirs, edits) in METHODS {
                let what = format!("umi: {ours}, {edits} edits, as umi_tools group --method {theirs}");
                ledger.check(&what, || {
                    let ours = molecules_by_readmill(dir, "single", ours, edits)?;
                    ensure_same_grouping(&ours, &molecules_by_umi_tools(dir, &umi_tools, theirs, edits)?)
                });
            }
        }
        Err(error) => ledger.check("umi: umi_tools", || Err(error)),
    }
    match peers.fgumi() {
        Ok(fgumi) => {
            for edits in 0..3 {
                let what = format!("umi: paired, {edits} edits, as fgumi group --strategy paired");
                ledger.check(&what, || {
                    let ours = molecules_by_readmill(dir, "duplex", "paired", edits)?;
                    let theirs = molecules_by_fgumi(dir, &fgumi, edits)?;
                    ensure_same_strands(&ours, &theirs)?;
                    ensure_same_grouping(&remove_strands(ours), &remove_strands(theirs))
                });
            }
        }
        Err(error) => ledger.check("umi: fgumi", || Err(error)),
    }
}

/// Writes random reads in coordinate order with an index, for readmill and umi_tools, and in
/// template-coordinate order, which fgumi needs.
fn write_inputs(dir: &SampleDir<'_>, name: &str, positions: u64, duplex: bool) -> Result<String> {
    let mut random = SeededRandom::new(2 * positions + u64::from(duplex));
    let (text, molecules) = random_families(&mut random, positions, duplex);
    fs::write(dir.path(&format!("{name}.sam")), &text)?;
    dir.run_samtools_1_24(&format!("sort --no-PG -O bam -o {name}.bam {name}.sam"))?;
    dir.run_samtools_1_24(&format!("index {name}.bam"))?;
    dir.run_samtools_1_24(&format!(
        "sort --no-PG --template-coordinate -o {name}.templates.bam {name}.sam"
    ))?;
    let templates = text.lines().filter(|line| !line.starts_with('@')).count() / 2;
    Ok(format!("{positions} positions, {molecules} molecules, {templates} templates"))
}

/// Returns the molecules that readmill writes to MI. Returns an error unless both reads of a
/// template have the same MI, and exactly one template per molecule is not a duplicate.
fn molecules_by_readmill(
    dir: &SampleDir<'_>,
    name: &str,
    method: &str,
    edits: u32,
) -> Result<Molecules> {
    let command =
        format!("markdup {name}.bam -O sam --umi tag:RX --umi-method {method} --umi-edits {edits}");
    let left = run_in_parallel([dir.readmill_command(&(command + " --molecule-tag MI"))])?;
    let (mut molecules, mut kept) = (Molecules::new(), HashMap::new());
    for record in left[0].parse_reads()?.records {
        let record = String::from_utf8_lossy(&record).into_owned();
        let (name, molecule) = name_and_molecule(&record)?;
        let flags: u32 = record.split('\t').nth(1).unwrap_or_default().parse()?;
        *kept.entry(molecule.clone()).or_insert(0) += u32::from(flags & 0x400 == 0);
        if let Some(other) = molecules.insert(name.clone(), molecule) {
            ensure!(
                other == molecules[&name],
                "reads of {name} are in {other} and {}",
                molecules[&name]
            );
        }
    }
    for (molecule, reads) in kept {
        ensure!(reads == 2, "{reads} reads of {molecule} are no duplicates");
    }
    Ok(molecules)
}

fn name_and_molecule(record: &str) -> Result<(String, String)> {
    let molecule = record.split('\t').find_map(|field| field.strip_prefix("MI:Z:"));
    let name = record.split('\t').next().unwrap_or_default();
    Ok((name.to_owned(), molecule.with_context(|| format!("{name} has no MI"))?.to_owned()))
}

fn molecules_by_umi_tools(
    dir: &SampleDir<'_>,
    umi_tools: &Tool,
    method: &str,
    edits: u32,
) -> Result<Molecules> {
    let files = "-I single.bam --group-out groups.tsv -L umi_tools.log";
    let rules = format!("--paired --method {method} --edit-distance-threshold {edits}");
    let source = "--extract-umi-method tag --umi-tag RX";
    dir.run_peer(umi_tools, &format!("group {files} {source} {rules}"))?;
    let text = fs::read_to_string(dir.path("groups.tsv"))?;
    let group = |line: &str| {
        let (first, last) = (line.split('\t').next()?, line.split('\t').next_back()?);
        Some((first.to_owned(), last.to_owned()))
    };
    Ok(text.lines().skip(1).filter_map(group).collect())
}

fn molecules_by_fgumi(dir: &SampleDir<'_>, fgumi: &Tool, edits: u32) -> Result<Molecules> {
    dir.run_peer(
        fgumi,
        &format!("group -i duplex.templates.bam -o fgumi.bam --strategy paired --edits {edits}"),
    )?;
    let text = ProgramLines::start_samtools_1_24(dir, "view fgumi.bam")?.read_text()?;
    text.lines().map(name_and_molecule).collect()
}

/// Returns an error unless both results group the templates identically. Names of the groups may
/// differ.
fn ensure_same_grouping(ours: &Molecules, theirs: &Molecules) -> Result<String> {
    ensure!(ours.keys().eq(theirs.keys()), "{} templates, theirs has {}", ours.len(), theirs.len());
    let (mut to, mut from) = (HashMap::new(), HashMap::new());
    for ((name, one), other) in ours.iter().zip(theirs.values()) {
        let (known, other_way) = (to.entry(one).or_insert(other), from.entry(other).or_insert(one));
        ensure!(
            *known == other && *other_way == one,
            "{name} is in {one}, in theirs in {other}; {known} is {one}, {other_way} is {other}"
        );
    }
    Ok(format!("{} templates, {} molecules", ours.len(), to.len()))
}

/// Returns an error unless each template has the same strand (`/A` or `/B`) in both results.
fn ensure_same_strands(ours: &Molecules, theirs: &Molecules) -> Result<()> {
    let strand = |molecule: &str| molecule.split_once('/').map(|(_, strand)| strand.to_owned());
    for (name, molecule) in ours {
        let (one, other) = (strand(molecule), theirs.get(name).and_then(|theirs| strand(theirs)));
        ensure!(
            one == other && one.is_some(),
            "{name} is in {molecule}, in theirs in {:?}",
            theirs.get(name)
        );
    }
    Ok(())
}

fn remove_strands(mut molecules: Molecules) -> Molecules {
    for molecule in molecules.values_mut() {
        molecule.truncate(molecule.find('/').unwrap_or(molecule.len()));
    }
    molecules
}

const READ: u64 = 30;

/// Distance in bases between two positions, so that molecules of different positions are never
/// close.
const POSITION_DISTANCE: u64 = 3_000;

struct Position {
    sequence: u64,
    /// Leftmost base (1-based).
    start: u64,
    length: u64,
}

/// The UMIs at the lower and at the higher end of a molecule. Only duplex molecules have the second
/// one.
type EndUmis = [Vec<u8>; 2];

/// Returns SAM text with reads of random molecules at `positions` positions, and the number of
/// molecules. A duplex molecule has a UMI at each end, and both of its strands are sequenced; other
/// molecules have one UMI and one strand.
///
/// Reads have nothing for which the three tools define positions differently: no clips, gaps,
/// mapping qualities of 0 or mates on a different sequence. UMIs at one position have the same
/// length, and duplex UMIs have no N.
pub fn random_families(random: &mut SeededRandom, positions: u64, duplex: bool) -> (String, u64) {
    let (mut templates, mut molecules) = (Vec::new(), 0);
    for at in 0..positions {
        let position = Position {
            sequence: at % 3,
            start: 1 + POSITION_DISTANCE * (1 + at / 3),
            length: 100 + random.below(200),
        };
        let lengths = match duplex {
            true => [random.pick(&[3, 4, 6]), random.pick(&[4, 6])],
            false => [random.pick(&[6, 8, 12]), 0],
        };
        let max_molecules = random.pick(&[2, 4, 10, 60]);
        let number = 1 + random.below(max_molecules);
        let mut ends: EndUmis = Default::default();
        for _ in 0..number {
            // For similar molecules with few templates, the rules on counts and ties decide.
            ends = match random.once_in(2) && !ends[0].is_empty() {
                true => ends.map(|umi| add_errors(random, &umi, 8)),
                false => lengths.map(|length| (0..length).map(|_| random.pick(b"ACGT")).collect()),
            };
            let forward = random.once_in(2);
            let max_templates = random.pick(&[1, 4, 6, 12, 40]);
            for _ in 0..1 + random.below(max_templates) {
                let first_is_lower = if duplex { random.once_in(2) } else { forward };
                let umi = read_umi(random, &ends, duplex, first_is_lower);
                templates.push(template_lines(random, &position, templates.len(), &umi, first_is_lower));
            }
        }
        molecules += number;
    }
    random.shuffle(&mut templates);
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\n");
    for sequence in 0..3 {
        let _ = writeln!(text, "@SQ\tSN:chr{sequence}\tLN:{}", POSITION_DISTANCE * (positions / 3 + 3));
    }
    text += "@RG\tID:g\tLB:l\tSM:s\tPL:ILLUMINA\n";
    (text + &templates.concat(), molecules)
}

fn add_errors(random: &mut SeededRandom, umi: &[u8], once_in: u64) -> Vec<u8> {
    umi.iter().map(|&base| if random.once_in(once_in) { random.pick(b"ACGT") } else { base }).collect()
}

/// Simulates the UMI as sequenced, with errors. For duplex UMIs, that of read 1 comes first.
fn read_umi(random: &mut SeededRandom, ends: &EndUmis, duplex: bool, first_is_lower: bool) -> String {
    let [mut first, mut second] = ends.clone().map(|umi| add_errors(random, &umi, 40));
    if !duplex {
        if random.once_in(100) {
            first[0] = b'N';
        }
        return String::from_utf8_lossy(&first).into_owned();
    }
    if !first_is_lower {
        std::mem::swap(&mut first, &mut second);
    }
    [first, second].map(|umi| String::from_utf8_lossy(&umi).into_owned()).join("-")
}

fn template_lines(
    random: &mut SeededRandom,
    at: &Position,
    number: usize,
    umi: &str,
    first_is_lower: bool,
) -> String {
    let (low, high) = (at.start, at.start + at.length - READ);
    let [low_flags, high_flags] = if first_is_lower { [99, 147] } else { [163, 83] };
    let bases = "A".repeat(READ as usize);
    let qualities = char::from(b'#' + random.below(38) as u8).to_string().repeat(READ as usize);
    let fields = format!("{bases}\t{qualities}\tRG:Z:g\tMC:Z:{READ}M\tMQ:i:60\tRX:Z:{umi}");
    let line = |flags, pos, next, sign| {
        let Position { sequence, length, .. } = at;
        let place = format!("chr{sequence}\t{pos}\t60\t{READ}M\t=\t{next}\t{sign}{length}");
        format!("q{number}\t{flags}\t{place}\t{fields}\n")
    };
    line(low_flags, low, high, "") + &line(high_flags, high, low, "-")
}
