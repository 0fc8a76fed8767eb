//! Mate rescue by the instructions that older processors have: bwa-mem3 takes them where it is told to.

use std::process::Command;

use readmill_simulate::{Profile, Sample};

use crate::support::random::TestRandom;
use crate::support::{ProgramRun, TestDir, arg, finish, readmill};

/// A reference of a few contigs, with its index.
struct Scene {
    dir: TestDir,
    reference: String,
    contigs: Vec<Vec<u8>>,
}

impl Scene {
    fn new() -> Self {
        let contigs = [("one", 30_000), ("two", 12_000), ("three", 3000)];
        let contigs = contigs.map(|(name, length)| (name.to_string(), length)).to_vec();
        let mut fasta = Vec::new();
        let sample = Sample::new(Profile { contigs, ..Profile::small() });
        sample.write_fasta(&mut fasta).expect("bytes in memory");
        let text = String::from_utf8(fasta).expect("FASTA is text");
        let sequences = text.split('>').skip(1);
        let contigs = sequences.map(|it| it.lines().skip(1).collect::<String>().into_bytes()).collect();
        let dir = TestDir::new();
        let reference = arg(&dir.file("ref.fa", text));
        let done = readmill(["index", &reference, "-q"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        Scene { dir, reference, contigs }
    }

    /// Files of pairs, some of whose mates have no seed: their letters are changed too often.
    fn reads(&self, length: usize, random: &mut TestRandom) -> [String; 2] {
        let mut files = [String::new(), String::new()];
        for pair in 0..500 {
            let contig = &self.contigs[random.below(self.contigs.len())];
            let insert = (2 * length + random.below(length)).min(contig.len());
            let start = match random.below(10) {
                0 => 0,
                1 => contig.len() - insert,
                _ => random.below(contig.len() - insert + 1),
            };
            let template = &contig[start..start + insert];
            let mut ends = [template[..length].to_vec(), complement(&template[insert - length..])];
            if random.once_in(2) {
                ends.reverse();
            }
            if random.below(3) > 0 {
                let mate = random.below(2);
                ends[mate] = damaged(&ends[mate], random);
            }
            for (file, bases) in files.iter_mut().zip(&ends) {
                let (bases, qualities) = (String::from_utf8_lossy(bases), "I".repeat(bases.len()));
                *file += &format!("@pair{pair}\n{bases}\n+\n{qualities}\n");
            }
        }
        let [one, two] = files;
        [("1.fq", one), ("2.fq", two)].map(|(name, text)| arg(&self.dir.file(name, text)))
    }

    fn aligned(&self, tier: &str, reads: &[String; 2], options: &[&str]) -> ProgramRun {
        let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
        command.args(["align", &self.reference, &reads[0], &reads[1], "-q", "-O", "sam"]).args(options);
        finish(command.env("BWAMEM3_FORCE_TIER", tier))
    }
}

fn complement(bases: &[u8]) -> Vec<u8> {
    let other = |base: &u8| match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        _ => b'N',
    };
    bases.iter().rev().map(other).collect()
}

/// Changes letters so often that no seed of 19 is left; takes some away, and adds some.
fn damaged(bases: &[u8], random: &mut TestRandom) -> Vec<u8> {
    let mut mate = Vec::new();
    let (mut at, mut next) = (0, random.below(16));
    while at < bases.len() {
        if at >= next {
            next = at + 8 + random.below(11);
            match random.below(20) {
                0 => at += 1 + random.below(6),
                1 => (0..1 + random.below(6)).for_each(|_| mate.push(random.pick(b"ACGT"))),
                2 => mate.push(b'N'),
                _ => mate.push(complement(&bases[at..=at])[0]),
            }
        } else {
            mate.push(bases[at]);
        }
        at += 1;
    }
    mate
}

#[test]
fn mates_are_rescued_alike_by_older_instructions() {
    let scene = Scene::new();
    for (seed, length, options) in [
        (1, 70, &[][..]),
        (2, 150, &[]),
        (3, 150, &["--bwa", "-A 2"]),
        (4, 250, &[]),
        (5, 300, &[]),
        (6, 120, &["--bwa", "-O 5,8 -E 2,1 -B 3"]),
    ] {
        let reads = scene.reads(length, &mut TestRandom::new(seed));
        let here = scene.aligned("avx2", &reads, options);
        assert_eq!(here.code, Some(0), "{length} {options:?}: {}", here.stderr);
        for tier in ["sse41", "sse42", "avx"] {
            let there = scene.aligned(tier, &reads, options);
            assert_eq!(there.code, Some(0), "{tier} {length} {options:?}: {}", there.stderr);
            assert!(here.stdout == there.stdout, "{tier} {length} {options:?}");
        }
        let bwa = format!("-S {}", options.get(1).unwrap_or(&""));
        let without = scene.aligned("avx2", &reads, &["--bwa", &bwa]);
        assert!(mapped(&without) + 100 < mapped(&here), "{length} {options:?}: none is rescued");
    }
}

/// Records of reads that are aligned.
fn mapped(done: &ProgramRun) -> usize {
    let text = String::from_utf8_lossy(&done.stdout);
    let flags = text.lines().filter(|line| !line.starts_with('@')).map(|line| line.split('\t').nth(1));
    flags
        .filter(|flag| flag.is_some_and(|flag| flag.parse().is_ok_and(|flag: u16| flag & 4 == 0)))
        .count()
}

#[test]
fn penalties_that_older_instructions_cannot_do_are_refused() {
    let scene = Scene::new();
    let reads = scene.reads(100, &mut TestRandom::new(7));
    for (penalties, code) in [("-O 6,0", 1), ("-O 1 -E 255", 1), ("-O 0,1", 0), ("-O 6,0 -S", 0)] {
        let done = scene.aligned("sse42", &reads, &["--bwa", penalties]);
        assert_eq!(done.code, Some(code), "{penalties}: {}", done.stderr);
        assert_eq!(done.stderr.contains("without AVX2"), code == 1, "{penalties}: {}", done.stderr);
        let here = scene.aligned("avx2", &reads, &["--bwa", penalties]);
        assert_eq!(here.code, Some(0), "{penalties}: {}", here.stderr);
        assert!(code == 1 || done.stdout == here.stdout, "{penalties}");
    }
}
