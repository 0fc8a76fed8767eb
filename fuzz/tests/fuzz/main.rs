//! Replays the inputs of each target: its seeds, the inputs that libFuzzer kept
//! (`corpus/TARGET`), those that failed once (`found/TARGET`), and seeded changes of all of
//! these.
//!
//! `READMILL_FUZZ_CHANGES` is the number of changes per target. The default takes about a
//! second per target.
#![allow(clippy::unwrap_used)]

mod memory;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use readmill_fuzz::{MEMORY_BYTES, TARGETS, Target, changes};

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[global_allocator]
static ALLOCATOR: memory::PeakCountingAllocator = memory::PeakCountingAllocator;

/// Memory in bytes that one input may take at a time: twice the limit of readers, since
/// buffers grow by doubling, and a constant part.
const MAX_PEAK_BYTES: usize = 2 * MEMORY_BYTES + (8 << 20);

/// Runs a target on an input and checks its peak memory. On a failure, prints the name of
/// the input and its bytes.
fn run_target(target: &Target, input: &[u8], name: &str) {
    let run = || {
        let peak = memory::measure_peak_bytes(|| (target.run)(input));
        assert!(peak <= MAX_PEAK_BYTES, "it took {peak} bytes of memory");
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        eprintln!("{}: {name} failed: b\"{}\"", target.name, input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut inputs: Vec<(String, Vec<u8>)> =
        (target.seeds)().into_iter().enumerate().map(|(i, seed)| (format!("seed {i}"), seed)).collect();
    for path in
        files(&here.join("corpus").join(name)).into_iter().chain(files(&here.join("found").join(name)))
    {
        inputs.push((path.display().to_string(), std::fs::read(&path).unwrap()));
    }
    for (name, input) in &inputs {
        assert!(
            input.len() <= target.max_bytes || name.contains("found"),
            "{name} is longer than inputs may be"
        );
        run_target(target, input, name);
    }
    let changes = std::env::var("READMILL_FUZZ_CHANGES").map_or(3000, |n| n.parse().unwrap());
    let (mut random, mut input) = (changes::rng_from_name(name), Vec::new());
    for number in 0..changes {
        input.clone_from(&inputs[random.index(inputs.len())].1);
        let other = &inputs[random.index(inputs.len())].1;
        changes::change_bytes(&mut input, other, target.max_bytes, &mut random);
        run_target(target, &input, &format!("change {number}"));
    }
}

/// Makes one test per target, and a test that no target or directory of inputs is
/// forgotten.
macro_rules! replays {
    ($($target:ident),* $(,)?) => {
        $(#[test] fn $target() { replay(stringify!($target)); })*

        #[test]
        fn every_target_is_replayed_and_no_input_is_without_one() {
            let tests = [$(stringify!($target)),*];
            assert!(tests.iter().eq(TARGETS.iter().map(|target| &target.name)));
            for directory in ["corpus", "found"] {
                for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)) {
                    let name = path.file_name().unwrap().to_str().unwrap();
                    assert!(tests.contains(&name), "{} belongs to no target", path.display());
                }
            }
        }
    };
}

replays!(
    bam_record,
    bam_stream,
    bgzf,
    bwa_index,
    cram_codec,
    cram_container,
    cram_file,
    cram_records,
    expression,
    fastq,
    features,
    header,
    index,
    reference,
    regions,
    report,
    sam_line,
    steps,
);

#[test]
fn the_script_that_fuzzes_knows_each_target() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("dev");
    let refused = std::process::Command::new(script).args(["fuzz", "unknown"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(said.trim_end().rsplit_once(": ").unwrap().1, names.join(" "), "{said}");
}
