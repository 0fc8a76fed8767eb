//! Fuzzes the index of bwa mem: four files that are checked and then loaded by C++ code.

use std::cell::OnceCell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_align::Kernel;
use readmill_align::bwa::{BwaKernel, BwaOptions, build_index};
use readmill_record::Read;
use readmill_record::{ReadBatch, RecordRef, Result};
use tempfile::TempDir;

use crate::limits::expect_refusal;
use crate::reference::file_in_memory;
use crate::{accessors, pieces, seeds};

const SUFFIXES: [&str; 4] = [".ann", ".amb", ".pac", ".bwt.2bit.64"];

const REFERENCE_BASES: usize = 300;

/// A directory with the names of the index files. They are links to files in memory, whose
/// contents each input replaces, so that no disk is used.
struct BwaIndexFiles {
    directory: TempDir,
    files: Vec<File>,
}

thread_local! {
    static DESK: OnceCell<BwaIndexFiles> = const { OnceCell::new() };
}

impl BwaIndexFiles {
    fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let files: Vec<File> = SUFFIXES.iter().map(|_| file_in_memory(b"")).collect();
        for (file, suffix) in files.iter().zip(SUFFIXES) {
            let content = format!("/proc/self/fd/{}", file.as_raw_fd());
            symlink(content, directory.path().join(format!("ref.fa{suffix}")))?;
        }
        Ok(BwaIndexFiles { directory, files })
    }

    fn index_prefix(&self) -> PathBuf {
        self.directory.path().join("ref.fa")
    }

    fn write_contents(&self, contents: &[&[u8]]) -> std::io::Result<()> {
        for (file, content) in self.files.iter().zip(contents) {
            file.set_len(content.len() as u64)?;
            file.write_all_at(content, 0)?;
        }
        Ok(())
    }
}

fn reference_bases() -> &'static [u8] {
    &seeds::simulated_sample().contig[..REFERENCE_BASES]
}

pub fn index_seeds() -> Vec<Vec<u8>> {
    let make = || -> std::io::Result<Vec<u8>> {
        let directory = tempfile::tempdir()?;
        let reference = directory.path().join("ref.fa");
        std::fs::write(
            &reference,
            [b">c1 a comment\n", reference_bases(), b"\n>c2\n", &reference_bases()[50..90], b"NNNNN\n"]
                .concat(),
        )?;
        build_index(&reference, &reference, Default::default(), &mut |_| {})
            .map_err(std::io::Error::other)?;
        let read = |suffix: &str| std::fs::read(directory.path().join(format!("ref.fa{suffix}")));
        let files = SUFFIXES.iter().map(|suffix| read(suffix)).collect::<std::io::Result<Vec<_>>>()?;
        Ok(pieces::join_parts(&files.iter().map(|file| &file[..]).collect::<Vec<_>>()))
    };
    vec![make().unwrap_or_else(|e| panic!("no index is made: {e}"))]
}

/// Loads an index from the four parts of the input. If it is accepted, reads are aligned
/// with it, and their records must be valid.
pub fn check_index(bytes: &[u8]) {
    let contents: Vec<&[u8]> = pieces::split_parts(bytes).collect();
    if contents.len() != SUFFIXES.len() {
        return;
    }
    DESK.with(|desk| {
        let desk = desk.get_or_init(|| BwaIndexFiles::new().unwrap_or_else(|e| panic!("no files: {e}")));
        desk.write_contents(&contents).unwrap_or_else(|e| panic!("no files in memory: {e}"));
        if let Err(error) = align_reads(&desk.index_prefix()) {
            expect_refusal(&error);
        }
    });
}

fn align_reads(prefix: &Path) -> Result<()> {
    let kernel = Arc::new(BwaKernel::load(prefix, BwaOptions::default())?);
    let n_ref = kernel.contigs().len() as i32;
    let mut reads = ReadBatch::new(2, 0);
    for bases in [&reference_bases()[20..90], &reference_bases()[130..210]] {
        reads.push_read(Read { name: b"r", comment: b"", bases, qualities: None });
    }
    let mut aligner = Arc::clone(&kernel).new_aligner()?;
    let seeded = aligner.seed_reads(&reads)?;
    let model = kernel.infer_insert_sizes(&[&seeded])?;
    let sink = &mut |_: usize, raw: &[u8]| {
        assert_eq!(RecordRef::check(raw, n_ref), Ok(()), "the aligner makes a record that is none");
        accessors::check_accessors(RecordRef::new(raw));
        Ok(())
    };
    aligner.emit_records(&reads, seeded, &model, None, sink)
}
