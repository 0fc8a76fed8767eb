//! The families of UMIs in the description of a run, compared with the molecule numbers of its output.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::duplicates::oracle::field;
use crate::run_json::described;
use crate::support::random::TestRandom;
use crate::support::{TestDir, arg, column, number, readmill, records};

const HEADER: &str = "@HD\tVN:1.6\tGO:query\n@SQ\tSN:c1\tLN:100000\n@RG\tID:a\tLB:L\tSM:s\n";

/// Pairs at 40 places, and single reads at 10 others. Each is from one of a few molecules of its place,
/// from either strand; some UMIs have an error, and some templates have none.
fn reads(random: &mut TestRandom) -> String {
    let mut text = HEADER.to_string();
    for name in 0..900 {
        let place = random.below(50);
        let molecule = ["AACC-GGTT", "ACGT-TTAA", "CCCC-AAGA"][random.below(1 + place % 3)];
        let strand = random.below(2);
        let mut umi = molecule.to_string();
        if let Some((first, last)) = molecule.split_once('-').filter(|_| strand == 1 && place < 40) {
            umi = format!("{last}-{first}");
        }
        if random.once_in(8) {
            umi.replace_range(1..2, "N");
        }
        let umi = if random.once_in(20) { String::new() } else { format!("\tRX:Z:{umi}") };
        let at = 1_000 + 1_000 * place;
        let mut line = |flag: usize, at: usize, mate: &str| {
            text += &format!("n{name}\t{flag}\tc1\t{at}\t60\t4M\t{mate}\t0\tACGT\tIIII\tRG:Z:a{umi}\n");
        };
        if place >= 40 {
            line(0, at, "*\t0");
            continue;
        }
        let [first, last] = [[99, 147], [163, 83]][strand];
        line(first, at, &format!("=\t{}", at + 200));
        line(last, at + 200, &format!("=\t{at}"));
    }
    text
}

/// Returns the families of `lines`, one for each template, from their molecule numbers. A method that
/// joins strands writes them as `number/A` and `number/B`.
fn families_of(lines: &[&str], joins_strands: bool) -> Value {
    let mut families: BTreeMap<String, HashMap<String, u64>> = BTreeMap::new();
    let mut strands: HashMap<String, [bool; 2]> = HashMap::new();
    let mut without = 0;
    for line in lines {
        let Some(umi) = field(line, "RX:Z:") else {
            without += 1;
            continue;
        };
        let molecule = field(line, "MI:Z:").expect("a molecule");
        let (family, strand) = molecule.split_once('/').unwrap_or((molecule, "A"));
        // A UMI of the other strand is the same if its halves are swapped.
        let is_other = joins_strands && number(line, 1) & 0x80 != 0;
        let umi = match umi.split_once('-').filter(|_| is_other) {
            Some((first, last)) => format!("{last}-{first}"),
            None => umi.to_string(),
        };
        *families.entry(family.to_string()).or_default().entry(umi).or_default() += 1;
        strands.entry(family.to_string()).or_default()[usize::from(strand == "B")] = true;
    }
    let total = |umis: &HashMap<String, u64>| umis.values().sum::<u64>();
    let most = |umis: &HashMap<String, u64>| umis.values().copied().max().unwrap_or(0);
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    families.values().for_each(|umis| *sizes.entry(total(umis)).or_default() += 1);
    let both = strands.values().filter(|strands| **strands == [true, true]).count();
    json!({
        "templates": families.values().map(total).sum::<u64>(),
        "without_umi": without,
        "corrected": families.values().map(|umis| total(umis) - most(umis)).sum::<u64>(),
        "families": families.len(),
        "both_strands": joins_strands.then_some(both),
        "largest": families.values().map(total).max().unwrap_or(0),
        "sizes": {
            "size": sizes.keys().collect::<Vec<_>>(),
            "families": sizes.values().collect::<Vec<_>>(),
        },
    })
}

#[test]
fn families_are_those_of_the_molecule_numbers() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", reads(&mut TestRandom::new(7))));
    let [output, json] = ["x.sam", "x.json"].map(|name| arg(&dir.path(name)));
    for method in ["exact", "directional", "paired"] {
        let mut all: Vec<Value> = Vec::new();
        for more in ["-@ 1", "-@ 3 -m 160M", "--resume"] {
            let stages = arg(&dir.path(&format!("stages-{method}")));
            let more = if more == "--resume" { format!("{more} {stages}") } else { more.to_string() };
            let line = format!(
                "prep {input} -o {output} --sort coordinate --mark-duplicates --umi tag:RX --umi-method {method} --json {json} {more}"
            );
            let done = readmill(line.split(' '));
            assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
            all.push(described(&dir, "x.json")["reports"]["umi_families"].take());
        }
        let text = std::fs::read_to_string(&output).expect("the output");
        let lines = records(&text);
        let is_single = |line: &&&str| number(line, 1) & 0x1 == 0;
        let is_first = |line: &&&str| number(line, 1) & 0x10 == 0 && !is_single(line);
        // Each pair once: by its forward read, which is the left one.
        let pairs: Vec<&str> = lines.iter().filter(is_first).copied().collect();
        let singles: Vec<&str> = lines.iter().filter(is_single).copied().collect();
        assert!(pairs.len() > 600 && singles.len() > 100, "{} {}", pairs.len(), column(lines[0], 0));
        let joins = method == "paired";
        let wanted =
            json!({"pairs": families_of(&pairs, joins), "single_reads": families_of(&singles, joins)});
        assert!(wanted["pairs"]["without_umi"].as_u64() > Some(10), "{wanted}");
        assert_eq!(wanted["pairs"]["corrected"].as_u64() > Some(20), method != "exact", "{wanted}");
        assert_eq!(all, [wanted.clone(), wanted.clone(), wanted], "{method}");
    }
}
