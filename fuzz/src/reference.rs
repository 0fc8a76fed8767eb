//! Fuzzes the reference: FASTA, plain and BGZF, with its indexes (.fai, .gzi). All files
//! are in memory.

use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use readmill_format::reference::{Reference, ReferenceFiles};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::{expect_refusal, memory_ledger, pieces};

const FASTA: &[u8] = b">c1 first\nACGTACGTAC\nGTNNRYacgt\nACG\n>chr2\nTTTTTTTT\nGG\n";
const FAI: &[u8] = b"c1\t23\t10\t10\t11\nchr2\t10\t42\t8\t9\n";

/// Returns a file in memory (memfd) with this content.
///
/// # Panics
/// If the system does not support such files.
pub fn file_in_memory(content: &[u8]) -> File {
    let made = memfd_create("fuzz", MemfdFlags::CLOEXEC).map(File::from).map_err(Into::into);
    let filled = made.and_then(|file| file.write_all_at(content, 0).map(|()| file));
    filled.unwrap_or_else(|e| panic!("no file in memory: {e}"))
}

fn compressed_fasta() -> (Vec<u8>, Vec<u8>) {
    let (mut file, mut index) = (Vec::new(), 1u64.to_le_bytes().to_vec());
    let mut deflater = Deflater::new(Codec::Libdeflate, 6);
    deflater.deflate_block(&FASTA[..25], &mut file);
    index.extend_from_slice(&(file.len() as u64).to_le_bytes());
    index.extend_from_slice(&25u64.to_le_bytes());
    deflater.deflate_block(&FASTA[25..], &mut file);
    file.extend_from_slice(&EOF_BLOCK);
    (file, index)
}

/// Seeds of [`check_reference`]: a FASTA, its .fai (empty if there is none), and its .gzi.
pub fn reference_seeds() -> Vec<Vec<u8>> {
    let (file, gzi) = compressed_fasta();
    vec![
        pieces::join_parts(&[FASTA, FAI]),
        pieces::join_parts(&[FASTA]),
        pieces::join_parts(&[&file, FAI, &gzi]),
        pieces::join_parts(&[&file, b"", &gzi]),
        pieces::join_parts(&[b">c1\r\nACGT\r\nAC\r\n>c2\n\n>c3\nA", b"c1\t6\t5\t4\t6\n"]),
    ]
}

/// Opens a reference with the given files. If it is accepted, reading bases at the start,
/// middle and end of each contig gives that many bases or an error of the input. Bases beyond
/// the end are never read.
pub fn check_reference(bytes: &[u8]) {
    let mut parts = pieces::split_parts(bytes);
    let fasta = parts.next().unwrap_or_default();
    let mut index = || {
        let bytes = parts.next().filter(|bytes| !bytes.is_empty())?;
        Some(Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Read + Send>)
    };
    let files = ReferenceFiles { fasta: file_in_memory(fasta), fai: index(), gzi: index() };
    let reference = match Reference::from_files(Path::new("ref.fa"), files, &memory_ledger()) {
        Ok(reference) => reference,
        Err(error) => return expect_refusal(&error),
    };
    let _ = reference.notes();
    let (mut window, mut letters) = (reference.code_window(), reference.letter_window());
    for (number, (_, length)) in (0..).zip(reference.contigs()).take(8) {
        assert_eq!(reference.contig_length(number), length);
        // By its index, a contig may be longer than its file. Reading the missing bases
        // must give an error.
        let max_bases = length.min(5000);
        for (start, end) in [
            (0, max_bases),
            (length - max_bases, length),
            (max_bases / 2, max_bases / 2 + 1),
            (length, length + 1),
        ] {
            match window.codes(number, start, end) {
                Ok(codes) => {
                    assert!(end <= length, "a base beyond the end of its contig is read");
                    assert!(codes.len() == (end - start) as usize && codes.iter().all(|&code| code < 5));
                }
                Err(error) => expect_refusal(&error),
            }
            match letters.codes(number, start, end) {
                Ok(letters) => assert_eq!(letters.len(), (end - start) as usize),
                Err(error) => expect_refusal(&error),
            }
        }
    }
}
