//! Fingerprints: in the run that writes the reads, of a file, and compared.

use std::fs;

use crate::support::resources::words;
use crate::support::{ProgramRun, TestDir, arg, readmill};

/// Sites of the test, 100 bases apart.
const SITES: u32 = 120;

/// Reads that cover each site.
const DEPTH: u32 = 12;

fn vcf() -> String {
    let site = |n: u32| format!("chr1\t{}\trs{n}\tA\tC\t.\t.\t.\n", 100 * n + 50);
    let sites: String = (0..SITES).map(site).collect();
    format!("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{sites}")
}

/// Reads of a person, whose genotype at site n is `genotype(n)`: how many alleles are C. `x` and `y` are reads on these.
fn reads(genotype: impl Fn(u32) -> u32, x: u32, y: u32) -> String {
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\n");
    for (name, length) in [("chr1", 20_000), ("chrX", 2_000), ("chrY", 1_000)] {
        text += &format!("@SQ\tSN:{name}\tLN:{length}\n");
    }
    let quality = "I".repeat(50);
    let read = |name: String, contig: &str, pos: u32, base: char| {
        let bases = format!("{}{base}{}", "A".repeat(20), "A".repeat(29));
        format!("{name}\t0\t{contig}\t{pos}\t60\t50M\t*\t0\t0\t{bases}\t{quality}\n")
    };
    for site in (0..SITES).rev() {
        for n in 0..DEPTH {
            let is_second = n * 2 < genotype(site) * DEPTH;
            let base = if is_second { 'C' } else { 'A' };
            text += &read(format!("r{site}.{n}"), "chr1", 100 * site + 30, base);
        }
    }
    for (contig, reads) in [("chrX", x), ("chrY", y)] {
        text.extend((0..reads).map(|n| read(format!("{contig}.{n}"), contig, n + 1, 'A')));
    }
    text
}

#[track_caller]
fn succeeds(line: &str) -> String {
    let ProgramRun { code, stderr, stdout } = readmill(words(line));
    assert_eq!(code, Some(0), "{line}: {stderr}");
    String::from_utf8(stdout).expect("text")
}

#[test]
fn people_are_told_apart_whichever_way_their_reads_came() {
    let dir = TestDir::new();
    let path = |name: &str| arg(&dir.path(name));
    let sites = arg(&dir.file("sites.vcf", vcf()));
    // 1,440 reads on 20,000 bases; a woman has as many on X, a man half of it on X and on Y.
    dir.file("her.sam", reads(|n| n % 3, 144, 0));
    dir.file("him.sam", reads(|n| n / 3 % 3, 72, 36));
    for who in ["her", "him"] {
        let (input, sorted) = (path(&format!("{who}.sam")), path(&format!("{who}.bam")));
        let same_pass =
            format!("--fingerprint {} --fingerprint-sites {sites}", path(&format!("{who}.1")));
        succeeds(&format!("prep {input} -o {sorted} --sort coordinate --sample {who} {same_pass} -@ 3"));
        let stages = format!("--resume {}", path(&format!("{who}.stages")));
        let again = same_pass.replace(".1 ", ".2 ");
        succeeds(&format!("prep {input} -o {sorted} --sort coordinate --sample {who} {again} {stages}"));
        succeeds(&format!(
            "fingerprint count {sorted} --sites {sites} -o {}",
            path(&format!("{who}.3"))
        ));
        let text = |n: u32| {
            let text = fs::read_to_string(dir.path(&format!("{who}.{n}"))).expect("a fingerprint");
            text.replace(&format!("##sample={who}.bam"), &format!("##sample={who}"))
        };
        assert_eq!(text(1), text(2));
        assert_eq!(text(1), text(3));
        assert_eq!(text(1).lines().filter(|line| !line.starts_with('#')).count(), SITES as usize);
    }
    let text = fs::read_to_string(dir.path("her.1")).expect("a fingerprint");
    assert!(text.contains("##autosomes=1440,20000\n##X=144,2000\n##Y=0,1000\n"), "{text}");
    assert!(text.contains("chr1\t150\tA\tC\t6\t6\t0\n"), "{text}");

    let pairs =
        succeeds(&format!("fingerprint compare {} {} {}", path("her.1"), path("her.3"), path("him.1")));
    let verdicts: Vec<Vec<&str>> =
        pairs.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let told: Vec<[&str; 3]> = verdicts.iter().map(|it| [it[6], it[7], it[8]]).collect();
    assert_eq!(
        told,
        [["same", "female", "female"], ["different", "female", "male"], ["different", "female", "male"]]
    );
    let line = format!("fingerprint compare {} {} --expect-same", path("her.1"), path("him.1"));
    assert_eq!(readmill(words(&line)).code, Some(4));
}

#[test]
fn what_is_no_fingerprint_or_has_no_sites_is_refused() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", reads(|_| 0, 1, 1)));
    let elsewhere = arg(&dir.file("sites.vcf", vcf().replace("chr1", "1")));
    let output = arg(&dir.path("out"));
    let done = readmill(words(&format!("fingerprint count {input} --sites {elsewhere} -o {output}")));
    assert!(
        done.code == Some(2) && done.stderr.contains("on a contig in the header of the reads"),
        "{}",
        done.stderr
    );
    let done = readmill(words(&format!("fingerprint count {input} --sites {input} -o {output}")));
    assert!(done.code == Some(2) && done.stderr.contains("not a file of sites"), "{}", done.stderr);
    let done = readmill(words(&format!("fingerprint compare {input} {elsewhere}")));
    assert!(done.code == Some(2) && done.stderr.contains("is not a fingerprint"), "{}", done.stderr);
    assert_eq!(dir.names(), ["in.sam", "sites.vcf"]);
}
