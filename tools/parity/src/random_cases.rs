//! Compares small random inputs in every sort order. Cases that aligners rarely write are frequent:
//! equal positions, equal names with all combinations of flags, names that differ only in zeros and
//! digits, and tags of every type.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::orders::{ORDERS, OrderComparison, OrderTool};
use crate::outputs::{ReadsFile, run_in_parallel};
use crate::random::SeededRandom;

const MAX_READS: u64 = 40;

/// Sorts `cases` inputs in every order with readmill and with the tool that defines the order.
/// samtools reads half of them as SAM and half as BAM.
pub fn compare_random_cases(dir: &SampleDir<'_>, cases: u64, ledger: &mut Ledger) {
    ledger.print_heading("cases", "small random inputs in every order");
    ledger.check("cases: inputs for samtools and for Picard", || {
        let mut records = 0;
        for case in 0..cases {
            for oracle in [Oracle::Samtools, Oracle::Picard] {
                records += write_input(dir, case, oracle)?;
            }
        }
        Ok(format!("{} inputs, {records} records", 2 * cases))
    });
    for asked in ORDERS {
        ledger.check(&format!("cases: {}", asked.describe("XX")), || match asked.of {
            OrderTool::Picard => compare_with_picard(dir, asked, cases),
            _ => compare_with_samtools(dir, asked, cases),
        });
    }
    ledger.check("cases: template-coordinate without MC is refused by both", || {
        ensure_missing_mc_refused(dir)
    });
}

fn input_stem(case: u64, oracle: Oracle) -> String {
    match oracle {
        Oracle::Samtools => format!("case-{case}"),
        Oracle::Picard => format!("picard-{case}"),
    }
}

/// Writes one input as SAM, and also as BAM if it is read as BAM. Returns the number of records.
fn write_input(dir: &SampleDir<'_>, case: u64, oracle: Oracle) -> Result<usize> {
    let random = &mut SeededRandom::new(2 * case + u64::from(oracle == Oracle::Picard));
    let mut text = random_header(random).into_bytes();
    let reads = random_reads(random, oracle, MAX_READS);
    text.extend_from_slice(&reads);
    let stem = input_stem(case, oracle);
    fs::write(dir.path(&format!("{stem}.sam")), text)?;
    if is_bam(case) || oracle == Oracle::Picard {
        dir.run_samtools_1_24(&format!("view --no-PG -b -o {stem}.bam {stem}.sam"))?;
    }
    Ok(reads.iter().filter(|&&byte| byte == b'\n').count())
}

fn is_bam(case: u64) -> bool {
    case % 2 == 1
}

fn compare_with_samtools(dir: &SampleDir<'_>, asked: OrderComparison, cases: u64) -> Result<String> {
    let mut records = 0;
    for case in 0..cases {
        let stem = input_stem(case, Oracle::Samtools);
        let (input, format, level) = match is_bam(case) {
            true => (format!("{stem}.bam"), "bam", "-l 1"),
            false => (format!("{stem}.sam"), "sam", ""),
        };
        let options = format!("-O {format} {level} {input}");
        let ours = asked.readmill_command(dir, "XX", &options);
        let theirs = asked.samtools_command(dir, "XX", &options).context("no order of samtools")?;
        let left = run_in_parallel([ours, theirs])?;
        let (ours, theirs) = (left[0].parse_reads()?, left[1].parse_reads()?);
        ours.ensure_same(&theirs).with_context(|| format!("{} {input}", asked.flags("XX")))?;
        records += ours.records.len();
    }
    Ok(format!("{cases} inputs, {records} records"))
}

fn compare_with_picard(dir: &SampleDir<'_>, asked: OrderComparison, cases: u64) -> Result<String> {
    let file = |case| format!("{}.bam", input_stem(case, Oracle::Picard));
    let inputs: Vec<(String, String)> = (0..cases).map(|case| (file(case), file(case))).collect();
    let records = compare_queryname(dir, asked, &inputs)?;
    Ok(format!("{cases} inputs, {records} records"))
}

fn ensure_missing_mc_refused(dir: &SampleDir<'_>) -> Result<String> {
    let text = "@SQ\tSN:a\tLN:5000\nr\t65\ta\t1\t0\t1M\t=\t7\t0\t*\t*\n";
    fs::write(dir.path("without-mc.sam"), text)?;
    let options = "--template-coordinate -O sam without-mc.sam";
    let ours = dir.readmill_command(&format!("sort {options}"));
    let left = run_in_parallel([ours, dir.samtools_1_24_command(&format!("sort {options}"))])?;
    let [ours, theirs] = &left[..] else { bail!("two programs ran") };
    ensure!(!ours.succeeded && !theirs.succeeded, "one of them took it");
    ensure!(ours.output.is_empty() && ours.messages.contains("MC"), "it said: {}", ours.messages);
    Ok(ours.messages.lines().last().unwrap_or_default().to_owned())
}

/// Sorts by queryname: each set of files with readmill, and a file with the same reads with
/// SortSam. Compares the records byte for byte, except their bins. Returns the number of records.
pub fn compare_queryname(
    dir: &SampleDir<'_>,
    asked: OrderComparison,
    inputs: &[(String, String)],
) -> Result<usize> {
    let calls =
        inputs.iter().map(|(_, file)| format!("SortSam I={file} O=theirs.{file} SORT_ORDER=queryname"));
    let codes = dir.run_picard_calls(&calls.collect::<Vec<_>>())?;
    let mut records = 0;
    for ((files, file), code) in inputs.iter().zip(codes) {
        ensure!(code == 0, "SortSam failed on {file}");
        let ours = asked.readmill_command(dir, "", &format!("-O bam -l 1 -o - {files}"));
        let ours = run_in_parallel([ours])?[0].parse_reads()?.without_bins();
        let theirs = ReadsFile::parse(&fs::read(dir.path(&format!("theirs.{file}")))?)?.without_bins();
        ours.ensure_same_records(&theirs).with_context(|| files.clone())?;
        let order = |reads: &ReadsFile| -> Option<String> {
            let line = reads.header.iter().find(|line| line.starts_with("@HD\t"))?;
            line.split('\t').find(|field| field.starts_with("SO:")).map(str::to_owned)
        };
        ensure!(order(&ours) == order(&theirs), "{files}: {:?}", theirs.header);
        records += ours.records.len();
    }
    Ok(records)
}

/// Header lines after the first one. Two read groups share a library, and one has none.
const HEADER_BODY: &str = "@SQ\tSN:a\tLN:5000\n@SQ\tSN:b\tLN:70000\n@SQ\tSN:c\tLN:400000000\n\
    @RG\tID:1\tLB:zoo\n@RG\tID:2\tLB:ant\n@RG\tID:3\n@RG\tID:4\tLB:zoo\n@RG\tID:5\tLB:an\n@CO\tsmall\n";

const HEADER_FIRST: [&str; 6] = [
    "",
    "@HD\tVN:1.6\tSO:unsorted\tGO:query\n",
    "@HD\tVN:1.5\tSO:coordinate\n",
    "@HD\tVN:1.6\tSO:queryname\tSS:queryname:natural\n",
    "@HD\tVN:1.6\tGO:none\tSS:unsorted:template-coordinate\n",
    "@HD\tSO:unsorted\tVN:1.6\tSS:coordinate:minhash\n",
];

pub fn random_header(random: &mut SeededRandom) -> String {
    format!("{}{HEADER_BODY}", random.pick(&HEADER_FIRST))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    Samtools,
    /// Picard. It has no consistent order for reads that are neither read 1 nor read 2 (or both),
    /// nor for an `HI` that is not an integer, so inputs for it have none of these. They are also
    /// ASCII only.
    Picard,
}

pub fn random_reads(random: &mut SeededRandom, oracle: Oracle, max_records: u64) -> Vec<u8> {
    let mut makers = RecordMaker {
        names: Vec::new(),
        oracle,
        alike_interval: random.pick(&[2, 2, 5, 50]),
        serial: 0,
    };
    let mut text = Vec::new();
    for _ in 0..random.below(max_records + 1) {
        makers.write_record(random, &mut text);
    }
    text
}

struct RecordMaker {
    names: Vec<Vec<u8>>,
    oracle: Oracle,
    /// One read in `alike_interval` gets a common position and CIGAR, so that the last criterion of
    /// an order decides.
    alike_interval: u64,
    serial: u64,
}

const NAME_PIECES: [&[u8]; 25] = [
    b"0",
    b"00",
    b"1",
    b"01",
    b"9",
    b"10",
    b"007",
    b"1234567890",
    b"12345678901",
    b"012345678902",
    b"99999999999999999999999",
    b"a",
    b"A",
    b"x",
    b":",
    b"/",
    b"#",
    b"!",
    b"-",
    b"_",
    b"~",
    b"HXX",
    b"1101",
    b":1:",
    b"\xc3",
];

const FLAGS: [u64; 10] = [0, 0x41, 0x81, 0x41, 0x81, 0x40, 0x80, 0x1, 0xc1, 0xc0];
const POSITIONS: [u64; 8] = [0, 3, 3, 4, 8, 100, 4990, 60000];

impl RecordMaker {
    fn write_record(&mut self, random: &mut SeededRandom, text: &mut Vec<u8>) {
        let is_picard = self.oracle == Oracle::Picard;
        let mut flags = random.pick(&FLAGS[..if is_picard { 7 } else { 10 }]);
        for (bit, n) in [(0x10, 2), (0x20, 2), (0x100, 4), (0x800, 4), (0x400, 5), (0x200, 9)] {
            flags |= if random.once_in(n) { bit } else { 0 };
        }
        let is_alike = random.once_in(self.alike_interval);
        let (mut rname, mut cigar) = (random.pick(&["a", "b", "c", "*"]), random_cigar(random));
        let (mut pos, mut mate) = (random.pick(&POSITIONS), random.pick(&["*", "=", "a", "c"]));
        let (mut pnext, mut mate_cigar) = (random.pick(&POSITIONS), self::random_cigar(random));
        if is_alike {
            (rname, pos, cigar) = ("b", 4, "4M".to_owned());
            (mate, pnext, mate_cigar) = ("=", 4, "4M".to_owned());
        } else {
            flags |= if random.once_in(5) { 0x4 } else { 0 } | if random.once_in(5) { 0x8 } else { 0 };
        }
        let bases = if rname == "*" || flags & 4 != 0 {
            flags |= 4;
            cigar = "*".to_owned();
            random_bases(random)
        } else {
            "*".to_owned()
        };
        if pnext == 0 || mate == "*" || mate == "=" && (rname == "*" || pos == 0) {
            flags |= 8; // samtools has no consistent place for mates that are mapped nowhere
        }
        let name = self.random_name(random);
        let quals: String = bases.chars().map(|_| char::from(b'!' + random.below(60) as u8)).collect();
        let quals = if bases == "*" { "*".to_owned() } else { quals };
        let (mapq, tlen) = (random.below(61), random.pick(&["0", "-70", "300"]));
        text.extend_from_slice(&name);
        let columns = format!(
            "\t{flags}\t{rname}\t{pos}\t{mapq}\t{cigar}\t{mate}\t{pnext}\t{tlen}\t{bases}\t{quals}"
        );
        text.extend_from_slice(columns.as_bytes());
        text.extend_from_slice(self.random_tags(random, &mate_cigar).as_bytes());
        text.push(b'\n');
    }

    fn random_name(&mut self, random: &mut SeededRandom) -> Vec<u8> {
        let known = |random: &mut SeededRandom, names: &[Vec<u8>]| {
            names.get(random.below(names.len().max(1) as u64) as usize).cloned()
        };
        let mut name = match random.below(6) {
            0 | 1 if !self.names.is_empty() => return known(random, &self.names).unwrap_or_default(),
            2 => known(random, &self.names).unwrap_or_default(),
            3 => format!("A7:15:HM:{}:{}", random.below(3), random.below(20000)).into_bytes(),
            _ => Vec::new(),
        };
        let pieces =
            if self.oracle == Oracle::Picard { NAME_PIECES.len() - 1 } else { NAME_PIECES.len() };
        let max_pieces = if random.once_in(40) { 60 } else { 5 };
        for _ in 0..random.below(max_pieces) {
            name.extend_from_slice(random.pick(&NAME_PIECES[..pieces]));
        }
        if random.once_in(4) {
            name.truncate(random.below(name.len() as u64 + 1) as usize);
        }
        name.truncate(254);
        if name.is_empty() {
            name.push(b'r');
        }
        self.names.push(name.clone());
        name
    }

    /// Returns the optional fields in random order. ZZ is unique and identifies the record.
    fn random_tags(&mut self, random: &mut SeededRandom, mate_cigar: &str) -> String {
        self.serial += 1;
        let mut fields = vec![format!("ZZ:i:{}", self.serial), format!("MC:Z:{mate_cigar}")];
        if !random.once_in(5) {
            fields.push(format!("XX:{}", random_tag_value(random)));
        }
        if random.once_in(3) {
            fields.push(format!("HI:i:{}", random.pick(&[-1, 0, 1, 2, 300])));
        }
        if random.once_in(2) {
            fields.push(format!("RG:Z:{}", random.pick(&["1", "2", "3", "4", "5", "undefined"])));
        }
        if random.once_in(3) {
            fields.push(format!("CB:Z:{}", random.pick(&["A", "AC", "ACG", "ACGTACGTACGTACGT-1"])));
        }
        if random.once_in(2) {
            let molecules = ["1", "10", "2", "1/A", "1/B", "1/", "/A", "/", "x"];
            fields.push(format!("MI:Z:{}", random.pick(&molecules)));
        }
        random.shuffle(&mut fields);
        fields.iter().map(|field| format!("\t{field}")).collect()
    }
}

fn random_cigar(random: &mut SeededRandom) -> String {
    let length =
        |random: &mut SeededRandom| if random.once_in(50) { 90_000 } else { 1 + random.below(4) };
    match random.below(5) {
        0 => "*".to_owned(),
        1 => {
            let operators = ["M", "I", "D", "N", "S", "H", "P", "=", "X"];
            (0..=random.below(5))
                .map(|_| format!("{}{}", length(random), random.pick(&operators)))
                .collect()
        }
        2 => format!("{}H{}S5M{}S", length(random), length(random), length(random)),
        3 => format!("5M{}D3M{}S{}H", length(random), length(random), length(random)),
        _ => format!("{}M", 4 + random.below(2)),
    }
}

/// Returns bases, or `*`. Lengths are near the k-mer length of minhash, and the small alphabet
/// makes k-mers equal.
fn random_bases(random: &mut SeededRandom) -> String {
    let from = random.pick(&["ACACG", "ACGT", "ACGTN", "ACMGRSVTWYHKDBN=", "A"]).as_bytes();
    let length = random.pick(&[0, 7, 19, 20, 21, 45]);
    let bases: String = (0..length).map(|_| char::from(random.pick(from))).collect();
    if bases.is_empty() { "*".to_owned() } else { bases }
}

fn random_tag_value(random: &mut SeededRandom) -> String {
    match random.below(7) {
        0 => random.pick(&["A:A", "A:a", "A:!"]).to_owned(),
        1 => random.pick(&["B:c,0", "B:S,1,5", "B:f,2"]).to_owned(),
        2 => random.pick(&["f:-1.5", "f:-0", "f:0", "f:0.25", "f:1", "f:2", "f:1e+30"]).to_owned(),
        3 => format!("{}:{}", random.pick(&["Z", "H"]), random.pick(&["", "1A", "1AE3", "FF"])),
        4 => format!("Z:{}", random.pick(&["", "A", "AC", "ACG", "1", "10", "2", "a b"])),
        _ => format!(
            "i:{}",
            random.pick(&[-40000i64, -200, -1, 0, 1, 2, 2, 100, 200, 50000, 3_000_000_000])
        ),
    }
}
