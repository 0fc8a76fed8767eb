//! Random headers whose sequences, read groups and programs clash with those of others, and reads that refer to
//! them.

use crate::parity::cases::reads::Oracle;
use crate::parity::random::SeededRandom;

/// For samtools they look like IDs that it generates. Picard would confuse the two.
fn all_ids(oracle: Oracle) -> [&'static str; 6] {
    match oracle {
        Oracle::Samtools => ["g", "h", "g.1", "g.2", "h.1", "g.1.1"],
        Oracle::Picard => ["g", "h", "i", "j", "k", "l"],
    }
}

/// Some of these, each once, in any order.
fn some<'a>(random: &mut SeededRandom, of: &[&'a str]) -> Vec<&'a str> {
    let mut left = of.to_vec();
    random.shuffle(&mut left);
    left.truncate(random.below(of.len() as u64 + 1) as usize);
    left
}

/// A header. Sequences are mostly in the order of their names, so that dictionaries agree.
pub fn header(random: &mut SeededRandom, oracle: Oracle) -> String {
    let all_ids = all_ids(oracle);
    let mut text =
        random.pick(&["", "@HD\tVN:1.5\tSO:coordinate\n", "@HD\tVN:1.6\tGO:query\n"]).to_owned();
    let mut sequences = some(random, &["1", "2", "3", "4", "5"]);
    if !random.once_in(6) {
        sequences.sort_unstable();
    }
    for name in sequences {
        text += &format!("@SQ\tSN:{name}\tLN:{name}0000\n");
    }
    for id in some(random, &all_ids) {
        let (sample, library) = (random.below(2), random.below(2));
        text += &format!("@RG\tID:{id}\tSM:{sample}\tLB:{library}\n");
    }
    let programs = some(random, &all_ids);
    for (i, id) in programs.iter().enumerate() {
        text += &format!("@PG\tID:{id}\tPN:p\tCL:{}", random.below(2));
        if i > 0 && !random.once_in(3) {
            text += &format!("\tPP:{}", programs[random.below(i as u64) as usize]);
        }
        text.push('\n');
    }
    for _ in 0..random.below(3) {
        text += &format!("@CO\t{}\n", random.below(3));
    }
    text
}

/// The IDs of lines of one kind.
pub fn ids<'a>(header: &'a str, kind: &str) -> Vec<&'a str> {
    let tag = if kind == "@SQ" { "SN:" } else { "ID:" };
    let lines = header.lines().filter(|line| line.starts_with(kind));
    lines.filter_map(|line| line.split('\t').find_map(|field| field.strip_prefix(tag))).collect()
}

/// The header with some reads. For samtools some name a read group or program that their header lacks.
pub fn with_reads(random: &mut SeededRandom, header: &str, oracle: Oracle) -> String {
    let (sequences, mut text) = (ids(header, "@SQ"), header.to_owned());
    for i in 0..random.below(12) {
        let flag = random.pick(&[0, 0x10, 0x41, 0x91]);
        let place = |random: &mut SeededRandom| match sequences.len() {
            0 => ("*", 0),
            n => (sequences[random.below(n as u64) as usize], 1 + random.below(4)),
        };
        let ((rname, pos), (rnext, pnext)) = (place(random), place(random));
        let (flag, cigar) =
            if rname == "*" || random.once_in(6) { (flag | 4, "*") } else { (flag, "1M") };
        let (rname, pos) = if flag & 4 != 0 && random.once_in(2) { ("*", 0) } else { (rname, pos) };
        text += &format!("r{i}\t{flag}\t{rname}\t{pos}\t9\t{cigar}\t{rnext}\t{pnext}\t0\tA\tI\tXA:i:1");
        for (tag, kind) in [("RG", "@RG"), ("PG", "@PG")] {
            let known = ids(header, kind);
            let id = match oracle {
                Oracle::Samtools if random.once_in(5) => random.pick(&all_ids(oracle)),
                _ if known.is_empty() || random.once_in(5) => continue,
                _ => random.pick(&known),
            };
            text += &format!("\t{tag}:Z:{id}");
        }
        text.push_str("\tXB:Z:last\n");
    }
    text
}
