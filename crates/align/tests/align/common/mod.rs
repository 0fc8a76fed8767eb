//! A small genome and reads from it, the same on every machine.
#![allow(clippy::disallowed_methods, reason = "tests start threads of their own")]
#![allow(dead_code, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

#[cfg(feature = "bwa")]
use readmill_align::bwa::{self, BwaIndexOptions, BwaKernel, BwaOptions};
#[cfg(feature = "minibwa")]
use readmill_align::minibwa::{self, MinibwaKernel, MinibwaOptions};
use readmill_align::{Aligner, Cohorts, Kernel, Seeded};
use readmill_record::{Read, ReadBatch};
use tempfile::TempDir;

/// Pseudo-random numbers (xorshift64*, Vigna 2016).
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % limit
    }

    pub fn bases(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| b"ACGT"[self.below(4) as usize]).collect()
    }

    /// Returns a copy in which about one in `one_in` bases differs.
    pub fn changed(&mut self, of: &[u8], one_in: u64) -> Vec<u8> {
        let mut copy = Vec::with_capacity(of.len());
        for &base in of {
            match self.below(10 * one_in) {
                0 => {}
                1 => copy.extend([base, b'A']),
                2..10 => copy.push(b"ACGT"[self.below(4) as usize]),
                _ => copy.push(base),
            }
        }
        copy
    }
}

pub fn reverse_complement(of: &[u8]) -> Vec<u8> {
    let other = |base: &u8| match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        _ => b'N',
    };
    of.iter().rev().map(other).collect()
}

/// Returns three sequences. Half of their bases are in similar repeats; the sequences also contain
/// runs of N, rare letters and soft-masked bases.
pub fn genome() -> Vec<(&'static str, Vec<u8>)> {
    let mut draw = Draw(20_261_122);
    let families: Vec<Vec<u8>> = (0..5).map(|at| draw.bases(300 + 400 * at)).collect();
    let mut sequences = Vec::new();
    for (head, length) in [("one first of three", 90_000), ("two", 40_001), ("three\tlast", 10_000)] {
        let mut bases = Vec::new();
        while bases.len() < length {
            let fresh = 400 + draw.below(1500) as usize;
            bases.extend(draw.bases(fresh));
            let family = families[draw.below(5) as usize].clone();
            let copy = match draw.below(4) {
                0 => family,
                1 => reverse_complement(&draw.changed(&family, 50)),
                _ => draw.changed(&family, 20),
            };
            bases.extend(copy);
        }
        bases.truncate(length);
        bases[3000..3200].fill(b'N');
        bases[4000..4003].copy_from_slice(b"RYY");
        bases[5000..6000].make_ascii_lowercase();
        sequences.push((head, bases));
    }
    sequences
}

/// Returns the genome as FASTA with `end` as line end.
pub fn fasta(end: &str) -> String {
    let mut text = String::new();
    for (head, bases) in genome() {
        write!(text, ">{head}{end}").unwrap();
        for line in bases.chunks(61) {
            write!(text, "{}{end}", std::str::from_utf8(line).unwrap()).unwrap();
        }
    }
    text
}

/// The name, bases and qualities of a read.
pub type Parts = (String, Vec<u8>, Vec<u8>);

/// Returns templates of two reads each, with lengths from 20 to 150.
pub fn templates(count: usize) -> Vec<[Parts; 2]> {
    let (mut draw, genome) = (Draw(7), genome());
    let mut templates = Vec::new();
    for number in 0..count {
        let mut bases = genome[draw.below(3) as usize].1.to_ascii_uppercase();
        let (length, end) = (160 + draw.below(300) as usize, bases.len());
        let start = draw.below((end - length) as u64) as usize;
        let mut insert = bases.drain(start..start + length).collect::<Vec<_>>();
        if draw.below(25) == 0 {
            insert = [&insert[..80], &reverse_complement(&bases[2000..2100])].concat();
        }
        if draw.below(50) == 0 {
            insert = draw.bases(200);
        }
        if draw.below(2) == 0 {
            insert = reverse_complement(&insert);
        }
        let mut read = |of: &[u8], suffix: &str| {
            let one_in = if draw.below(10) == 0 { 15 } else { 200 };
            let mut bases = draw.changed(of, one_in);
            let length = if draw.below(4) == 0 { 20 + draw.below(130) as usize } else { 150 };
            bases.truncate(length);
            if draw.below(20) == 0 {
                bases[10] = b'N';
            }
            let qualities = bases.iter().map(|_| b"#,:F"[draw.below(4) as usize]).collect();
            let suffix = if number % 2 == 0 { suffix } else { "" };
            (format!("read:{number}{suffix}"), bases, qualities)
        };
        let last = reverse_complement(&insert);
        templates.push([read(&insert, "/1"), read(&last, "/2")]);
    }
    templates
}

/// Returns all reads as one batch, with `segments` reads per template.
pub fn reads(segments: usize, count: usize) -> ReadBatch {
    let mut reads = ReadBatch::new(segments, 0);
    for template in templates(count) {
        for (name, bases, qualities) in &template[..segments] {
            let (name, qualities) = (name.as_bytes(), Some(&qualities[..]));
            reads.push_read(Read { name, comment: b"", bases, qualities });
        }
    }
    reads
}

/// Returns the path of the reference, whose indexes are built by the first call. If
/// `READMILL_TEST_KEEP` names a directory, the reference and the indexes are kept there together
/// with the reads as FASTQ, so that other aligners can be run on them.
pub fn reference() -> &'static Path {
    static MADE: OnceLock<(Option<TempDir>, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let kept = std::env::var_os("READMILL_TEST_KEEP").map(PathBuf::from);
        let own = kept.is_none().then(|| TempDir::new().unwrap());
        let path = kept.clone().unwrap_or_else(|| own.as_ref().unwrap().path().into()).join("ref.fa");
        std::fs::write(&path, fasta("\n")).unwrap();
        #[cfg(feature = "bwa")]
        {
            let options = BwaIndexOptions { memory: None, unpacked: true };
            bwa::build_index(&path, &path, options, &mut |_| ()).unwrap();
        }
        #[cfg(feature = "minibwa")]
        minibwa::build_index(&path, &path, None, &mut |_| ()).unwrap();
        for segment in 0..2 * usize::from(kept.is_some()) {
            let mut text = String::new();
            for template in templates(READS) {
                let (name, bases, qualities) = &template[segment];
                let part = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                writeln!(text, "@{name}\n{}\n+\n{}", part(bases), part(qualities)).unwrap();
            }
            std::fs::write(path.with_file_name(format!("r{}.fq", segment + 1)), text).unwrap();
        }
        (own, path)
    });
    path
}

/// Number of templates in the comparisons with other aligners.
pub const READS: usize = 3000;

#[cfg(feature = "bwa")]
pub fn kernel(options: BwaOptions) -> Arc<dyn Kernel> {
    Arc::new(BwaKernel::load(&bwa::FILES.find_prefix(reference()).unwrap(), options).unwrap())
}

#[cfg(feature = "minibwa")]
pub fn minibwa(options: MinibwaOptions) -> Arc<dyn Kernel> {
    Arc::new(MinibwaKernel::load(&minibwa::FILES.find_prefix(reference()).unwrap(), options).unwrap())
}

/// Returns the records of one batch.
pub fn records(
    kernel: &Arc<dyn Kernel>,
    reads: &ReadBatch,
    group: Option<&[u8]>,
) -> Vec<(usize, Vec<u8>)> {
    let mut aligner = kernel.clone().new_aligner().unwrap();
    let seeded = aligner.seed_reads(reads).unwrap();
    let model = kernel.infer_insert_sizes(&[&seeded]).unwrap();
    let mut records = Vec::new();
    let sink = &mut |read: usize, record: &[u8]| {
        records.push((read, record.to_vec()));
        Ok(())
    };
    aligner.emit_records(reads, seeded, &model, group, sink).unwrap();
    records
}

/// Returns the records of a stream that is aligned batch by batch on one thread.
pub fn align(kernel: &Arc<dyn Kernel>, reads: &ReadBatch, batch: usize, threads: usize) -> Vec<u8> {
    let (mut out, mut pending) = (Vec::new(), Vec::new());
    let mut cohorts = kernel.cohort_bases(reads.segments()).map(Cohorts::new);
    for first in (0..reads.template_count()).step_by(batch) {
        let part = reads.copy_templates(first..reads.template_count().min(first + batch));
        let mut from = 0;
        while from < part.template_count() {
            let (range, ends) = match &mut cohorts {
                Some(cohorts) => cohorts.take_templates(&part, from),
                None => (from..part.template_count(), true),
            };
            from = range.end;
            pending.push(part.copy_templates(range));
            if ends {
                cohort(kernel, &std::mem::take(&mut pending), threads, &mut out);
            }
        }
    }
    cohort(kernel, &pending, threads, &mut out);
    out
}

/// Seeds batches on several threads, and emits them on other threads.
fn cohort(kernel: &Arc<dyn Kernel>, batches: &[ReadBatch], threads: usize, out: &mut Vec<u8>) {
    let each = batches.len().div_ceil(threads).max(1);
    let seed = |batches: &[ReadBatch]| {
        let mut aligner = Arc::clone(kernel).new_aligner().unwrap();
        batches.iter().map(|batch| aligner.seed_reads(batch).unwrap()).collect::<Vec<_>>()
    };
    let seeded: Vec<Seeded> = std::thread::scope(|scope| {
        let work: Vec<_> = batches.chunks(each).map(|part| scope.spawn(move || seed(part))).collect();
        work.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let model = kernel.infer_insert_sizes(&seeded.iter().collect::<Vec<_>>()).unwrap();
    let mut aligner = Arc::clone(kernel).new_aligner().unwrap();
    for (batch, seeded) in batches.iter().zip(seeded) {
        emit(aligner.as_mut(), batch, seeded, &model, out);
    }
}

fn emit(
    aligner: &mut dyn Aligner,
    batch: &ReadBatch,
    seeded: Seeded,
    model: &readmill_align::InsertModel,
    out: &mut Vec<u8>,
) {
    let mut previous = 0;
    let sink = &mut |read: usize, record: &[u8]| {
        assert!((previous..batch.len()).contains(&read), "records come in the order of their reads");
        previous = read;
        out.extend_from_slice(record);
        Ok(())
    };
    aligner.emit_records(batch, seeded, model, None, sink).unwrap();
}

/// FNV-1a, 64 bits.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
