//! Old processors, emulated by qemu-x86_64: everything that needs no newer one runs there and gives the same bytes.
//!
//! Static initialisers of C++ code run before `main`, so these tests mean most in a release build:
//! `cargo test --release -p readmill --test program -- --ignored processors::`.

use std::process::Command;

use readmill_simulate::{Profile, Sample};

use crate::support::{ProgramRun, TestDir, arg, readmill};

/// Runs the program on that processor; `None` is the real one.
fn on(processor: Option<&str>, args: &[&str]) -> ProgramRun {
    let Some(processor) = processor else { return readmill(args) };
    let mut command = Command::new("qemu-x86_64");
    let done = command.args(["-cpu", processor, env!("CARGO_BIN_EXE_readmill")]).args(args).output();
    let done = done.expect("qemu-x86_64 starts: its package is qemu-user");
    ProgramRun {
        code: done.status.code(),
        stdout: done.stdout,
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// A sample with its files.
struct ProcessorSample {
    dir: TestDir,
    reference: String,
    known: String,
    reads: [String; 2],
    sam: String,
}

impl ProcessorSample {
    fn new() -> Self {
        let sample = Sample::new(Profile { single_per_mille: 0, ..Profile::small().with_pairs(300) });
        let dir = TestDir::new();
        let (mut fasta, mut fai, mut known) = (Vec::new(), Vec::new(), Vec::new());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        sample.write_fasta(&mut fasta).expect("bytes in memory");
        sample.write_fai(&mut fai).expect("bytes in memory");
        sample.write_known_sites(&mut known).expect("bytes in memory");
        sample.write_fastq(&mut one, &mut two).expect("bytes in memory");
        let reference = arg(&dir.file("ref.fa", fasta));
        dir.file("ref.fa.fai", fai);
        let known = arg(&dir.file("known.vcf", known));
        let reads = [("1.fq", one), ("2.fq", two)].map(|(name, bytes)| arg(&dir.file(name, bytes)));
        let sam = arg(&dir.path("aligned.sam"));
        let scene = ProcessorSample { dir, reference, known, reads, sam };
        scene.done(None, &["index", &scene.reference, "-q"]);
        let [one, two] = &scene.reads;
        let group = "@RG\\tID:a\\tSM:s\\tPL:ILLUMINA";
        scene.done(None, &["align", &scene.reference, one, two, "-R", group, "-q", "-o", &scene.sam]);
        scene
    }

    /// The bytes that the program writes to standard output.
    #[track_caller]
    fn done(&self, processor: Option<&str>, args: &[&str]) -> Vec<u8> {
        let done = on(processor, args);
        assert_eq!(done.code, Some(0), "{processor:?} {args:?}: {}", done.stderr);
        done.stdout
    }

    /// Asserts that the command gives the same bytes as on the real processor.
    #[track_caller]
    fn same(&self, processor: &str, args: &[&str]) {
        let args = [args, &["-q", "-@", "2"]].concat();
        let (here, there) = (self.done(None, &args), self.done(Some(processor), &args));
        assert!(!here.is_empty() && here == there, "{processor} {args:?}");
    }

    /// All commands that do not align.
    fn preparing(&self, processor: &str) {
        let version = self.done(Some(processor), &["--version"]);
        assert!(version.starts_with(b"readmill "), "{processor}");
        self.same(processor, &["sort", &self.sam, "-O", "bam"]);
        self.same(processor, &["sort", &self.sam, "-O", "cram", "--reference", &self.reference]);
        self.same(processor, &["markdup", &self.sam, "-O", "bam", "--codec", "zlib"]);
        let table = arg(&self.dir.path("table"));
        let training = ["--reference", &self.reference[..], "--known-sites", &self.known];
        self.done(
            Some(processor),
            &[&["bqsr", "table", &self.sam, "-q", "-o", &table], &training[..]].concat(),
        );
        self.same(processor, &["bqsr", "apply", &self.sam, "--bqsr-recal-file", &table, "-O", "bam"]);
        let prepared =
            ["prep", &self.sam, "--sort", "coordinate", "--mark-duplicates", "--bqsr", "-O", "bam"];
        self.same(processor, &[&prepared[..], &training].concat());
    }
}

#[test]
#[ignore = "slow, and needs qemu-x86_64: a part of the nightly tests"]
fn without_avx2_all_but_aligning_is_done() {
    let scene = ProcessorSample::new();
    let [one, two] = scene.reads.each_ref().map(String::as_str);
    for processor in ["Nehalem", "SandyBridge", "qemu64"] {
        scene.preparing(processor);
        let refused = on(Some(processor), &["align", &scene.reference, one, two]);
        assert_eq!(refused.code, Some(1), "{processor}: {}", refused.stderr);
        assert!(refused.stderr.contains("AVX2"), "{processor}: {}", refused.stderr);
    }
}

#[test]
#[ignore = "slow, and needs qemu-x86_64: a part of the nightly tests"]
fn with_avx2_pairs_are_aligned_as_here() {
    let scene = ProcessorSample::new();
    let [one, two] = scene.reads.each_ref().map(String::as_str);
    scene.same("Haswell", &["align", &scene.reference, one, two]);
}
