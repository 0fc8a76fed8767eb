//! `--kernel minibwa`: its index, its options, and the same bytes for any threads and memory.

use readmill_simulate::{Profile, Sample};

use crate::support::resources::{FEW_RESOURCES, same_bytes_with};
use crate::support::{TestDir, arg, number, readmill, records};

const PAIRS: u64 = 2000;

#[test]
fn reads_are_aligned_by_minibwa_and_bytes_depend_on_them_alone() {
    let dir = TestDir::new();
    let sample = Sample::new(Profile { single_per_mille: 0, ..Profile::small().with_pairs(PAIRS) });
    let (mut fasta, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
    sample.write_fasta(&mut fasta).expect("bytes in memory");
    sample.write_fastq(&mut one, &mut two).expect("bytes in memory");
    let reference = arg(&dir.file("ref.fa", fasta));
    let files = [("1.fq", &one), ("2.fq", &two)].map(|(name, bytes)| arg(&dir.file(name, bytes)));

    let done = readmill(["align", "--kernel", "minibwa", &reference, &files[0], &files[1]]);
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("index --kernel minibwa"), "{}", done.stderr);
    let done = readmill(["index", "--kernel", "minibwa", &reference]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);

    let flags = ["--kernel", "minibwa", "--minibwa", "-b MD --xa=2", "-K", "200000", "-O", "sam", "-q"];
    let done = readmill(["align", &reference, &files[0], &files[1]].iter().chain(&flags));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = String::from_utf8(done.stdout).expect("SAM is text");
    let call = "PN:minibwa\tVN:0.6-r416\tCL:minibwa map -b MD --xa=2 -K 200000";
    assert!(text.lines().any(|line| line.starts_with("@PG") && line.contains(call)), "{text:.900}");
    let primary: Vec<&str> =
        records(&text).into_iter().filter(|line| number(line, 1) & 0x900 == 0).collect();
    assert_eq!(primary.len() as u64, 2 * PAIRS);
    let placed = primary.iter().filter(|line| number(line, 1) & 4 == 0);
    assert!(placed.clone().count() as u64 > 2 * PAIRS * 8 / 10);
    assert!(placed.clone().all(|line| line.contains("\tMD:Z:")));

    let command = format!("align --kernel minibwa {reference} -K 200000 -R @RG\\tID:a\\tSM:s");
    same_bytes_with(&FEW_RESOURCES, &[one.clone(), two.clone()], &command, "sam");
    let command = format!("{command} --sort coordinate --mark-duplicates --metrics METRICS");
    same_bytes_with(&FEW_RESOURCES, &[one, two], &command, "bam");
}

#[cfg(feature = "bwa")]
#[test]
fn flags_of_the_other_kernel_are_refused() {
    for (flags, what) in [
        (&["--minibwa", "-k 17"][..], "only with --kernel minibwa"),
        (&["--kernel", "minibwa", "-M"], "only with --kernel bwa"),
        (&["--kernel", "minibwa", "--bwa", "-k 17"], "only with --kernel bwa"),
        (&["--kernel", "minibwa", "--minibwa", "-k"], "needs a number"),
    ] {
        let done = readmill(["align", "ref.fa", "reads.fq"].iter().chain(flags));
        assert_eq!(done.code, Some(1), "{flags:?}");
        assert!(done.stderr.contains(what), "{}", done.stderr);
    }
}
