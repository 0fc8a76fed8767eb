//! Checks that the built index equals that of bwa-mem2.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::io::Write;
use std::path::{Path, PathBuf};

use common::{digest, fasta, reference};
use flate2::{Compression, write::GzEncoder};
use readmill_align::Kernel;
use readmill_align::bwa::{self, BwaIndexOptions, BwaKernel, BwaOptions, build_index};
use readmill_record::{Error, ErrorKind};

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// The digests are those of the files that bwa-mem2 2.2.1 built from the same reference.
#[test]
fn files_are_those_of_bwa_mem2() {
    for (suffix, expected) in [
        (".amb", 0x5179_6237_8be4_9ab5),
        (".ann", 0x1105_b702_1413_5475),
        (".pac", 0x17d6_4095_5e4d_9a80),
        (".0123", 0x78f0_855c_0897_89ca),
        (".bwt.2bit.64", 0x63f5_bfa8_40a3_0b6e),
    ] {
        let found = digest(&std::fs::read(beside(reference(), suffix)).unwrap());
        assert_eq!(found, expected, "{suffix}: {found:#x}");
    }
}

#[test]
fn gzip_and_other_line_ends_change_nothing() {
    let place = tempfile::tempdir().unwrap();
    let crlf = place.path().join("crlf.fa");
    std::fs::write(&crlf, fasta("\r\n")).unwrap();
    let packed = place.path().join("packed.fa.gz");
    let mut gz = GzEncoder::new(std::fs::File::create(&packed).unwrap(), Compression::fast());
    gz.write_all(fasta("\n\n").as_bytes()).unwrap();
    gz.finish().unwrap();
    for file in [crlf, packed] {
        build_index(&file, &file, BwaIndexOptions::default(), &mut |_| ()).unwrap();
        assert_eq!(bwa::FILES.find_prefix(&file).unwrap(), file);
        for suffix in [".amb", ".ann", ".pac", ".bwt.2bit.64"] {
            let same = std::fs::read(beside(&file, suffix)).unwrap()
                == std::fs::read(beside(reference(), suffix)).unwrap();
            assert!(same, "{}{suffix}", file.display());
        }
        assert!(!beside(&file, ".0123").exists());
    }
}

fn refused(text: &str, options: BwaIndexOptions) -> Error {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ref.fa");
    std::fs::write(&file, text).unwrap();
    let error = build_index(&file, &file, options, &mut |_| ()).unwrap_err();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "files were left behind");
    error
}

#[test]
fn what_is_no_reference_is_refused() {
    for (text, what) in [
        ("", "no bases"),
        (">a\n", "no bases"),
        ("ACGT\n", "must begin with `>`"),
        ("@r\nACGT\n+\nIIII\n", "this is FASTQ"),
        (">a\nAC\n>b\nAC\n>a\nAC\n", "two sequences have the name a"),
        (">a\nAC\n> b\nAC\n", "sequence 2 has no name"),
    ] {
        let error = refused(text, BwaIndexOptions::default());
        assert_eq!(error.kind, ErrorKind::Input);
        assert!(error.what.contains(what) && error.place.file.is_some(), "{error}");
    }
}

#[test]
fn an_index_that_takes_too_much_memory_is_not_begun() {
    let error = refused(&fasta("\n"), BwaIndexOptions { memory: Some(1 << 20), unpacked: false });
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.what.contains("needs 18M"), "{error}");
}

#[test]
fn an_index_is_found_under_the_names_that_are_in_use() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ref.fa.gz");
    std::fs::write(&file, ">a\nACGT\n").unwrap();
    let error = bwa::FILES.find_prefix(&file).unwrap_err();
    let hint = format!("readmill index {}`", file.display());
    assert!(error.to_string().contains(&hint), "{error}");
    std::fs::remove_file(&file).unwrap(); // an index does without it
    for prefix in ["ref", "ref.fa"] {
        let prefix = place.path().join(prefix);
        for suffix in [".amb", ".ann", ".pac", ".bwt.2bit.64"] {
            std::fs::write(beside(&prefix, suffix), "").unwrap();
        }
        assert_eq!(bwa::FILES.find_prefix(&file).unwrap(), prefix);
    }
}

/// Loads a copy of the index, after `change` has damaged one of its files.
fn loaded(suffix: &str, change: impl Fn(&mut Vec<u8>)) -> Result<BwaKernel, Error> {
    let place = tempfile::tempdir().unwrap();
    let prefix = place.path().join("ref.fa");
    for suffix in [".amb", ".ann", ".pac", ".bwt.2bit.64"] {
        std::fs::copy(beside(reference(), suffix), beside(&prefix, suffix)).unwrap();
    }
    if !suffix.is_empty() {
        let mut bytes = std::fs::read(beside(&prefix, suffix)).unwrap_or_default();
        change(&mut bytes);
        std::fs::write(beside(&prefix, suffix), bytes).unwrap();
    }
    BwaKernel::load(&prefix, BwaOptions::default())
}

#[test]
fn a_damaged_index_is_an_error_and_does_not_end_the_process() {
    assert!(loaded("", |_| ()).is_ok());
    for suffix in [".amb", ".ann", ".pac", ".bwt.2bit.64"] {
        let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
        let more = |bytes: &mut Vec<u8>| bytes.extend([b'7'; 5]);
        for (how, result) in [
            ("cut", loaded(suffix, cut)),
            ("emptied", loaded(suffix, Vec::clear)),
            ("of another", loaded(suffix, |bytes| bytes[0] ^= 3)),
            (
                "longer",
                if suffix == ".amb" || suffix == ".ann" { continue } else { loaded(suffix, more) },
            ),
        ] {
            match result {
                Err(error) => assert_eq!(error.kind, ErrorKind::Input, "{suffix} {how}: {error}"),
                // A changed base is still a valid base, so the change cannot be detected.
                Ok(_) => assert_eq!((suffix, how), (".pac", "of another")),
            }
        }
    }
}

#[test]
fn alternate_loci_are_known() {
    let kernel = loaded(".alt", |bytes| *bytes = b"@HD\tVN:1.5\nthree\t0\tone\t1\n".to_vec()).unwrap();
    let contigs: Vec<_> =
        kernel.contigs().iter().map(|contig| (contig.name.as_str(), contig.alternate)).collect();
    assert_eq!(contigs, [("one", false), ("two", false), ("three", true)]);
    assert_eq!(kernel.contigs()[1].length, 40_001);
}
