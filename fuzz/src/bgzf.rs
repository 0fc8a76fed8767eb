//! Fuzzes BGZF: foreign blocks, and blocks that readmill writes.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use readmill_format::bgzf::{BlockReader, Chunk, Codec, Deflater, EOF_BLOCK, Inflater, MAX_BLOCK};

use crate::{expect_refusal, pieces, seeds};

thread_local! {
    static INFLATER: RefCell<Inflater> = RefCell::default();
    static DEFLATERS: RefCell<[Deflater; 3]> = RefCell::new([
        Deflater::new(Codec::Libdeflate, 1),
        Deflater::new(Codec::Libdeflate, 6),
        Deflater::new(Codec::ZlibRs, 1),
    ]);
    /// A second decoder, and its buffer, which is one byte larger than a block may inflate
    /// to.
    static OTHER: RefCell<(Decompress, Vec<u8>)> =
        RefCell::new((Decompress::new(false), vec![0; MAX_BLOCK + 1]));
}

/// Limits that keep targets fast, since a block may inflate to a hundred times its size:
/// the number of blocks per input, and the number of bytes that are compressed.
const MAX_BLOCKS: usize = 3;
const MAX_COMPRESSED_BYTES: usize = 4096;

/// Seeds of [`check_blocks`]: a byte that selects the test, and its data.
pub fn block_seeds() -> Vec<Vec<u8>> {
    let text = seeds::LINES.join("\n").into_bytes();
    let mut file = vec![0];
    Deflater::new(Codec::Libdeflate, 6).deflate_block(&text[..700], &mut file);
    Deflater::new(Codec::Libdeflate, 0).deflate_block(b"stored", &mut file);
    file.extend_from_slice(&EOF_BLOCK);
    let data = |level, text: &[u8]| {
        let mut block = Vec::new();
        Deflater::new(Codec::ZlibRs, level).deflate_block(text, &mut block);
        block[18..block.len() - 8].to_vec()
    };
    let payloads = pieces::join_parts(&[&data(6, &text[..500]), &data(0, b"stored"), b""]);
    vec![
        file,
        [&[1][..], &payloads].concat(),
        [&[2][..], &text[..300]].concat(),
        vec![3; 90],
        vec![4, 0, 1, 2],
    ]
}

/// Selects a test by the first byte: reading a file, reading Deflate data in correct
/// blocks, or compressing data.
pub fn check_blocks(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    match kind {
        0 => _ = read_file(bytes, false),
        1 => check_foreign_blocks(bytes),
        kind => check_round_trip(usize::from(kind), bytes),
    }
}

fn read_file(file: &[u8], allow_missing_eof: bool) -> Option<Vec<u8>> {
    let (mut reader, mut chunk) = (BlockReader::new(file, allow_missing_eof), Chunk::default());
    let mut all = Vec::new();
    loop {
        match reader.next_chunk(&mut chunk) {
            Ok(true) => {}
            Ok(false) => return Some(all),
            Err(error) => {
                expect_refusal(&error);
                return None;
            }
        }
        let before = all.len();
        if let Err(error) = INFLATER.with_borrow_mut(|inflater| inflater.append_chunk(&chunk, &mut all))
        {
            expect_refusal(&error);
            return None;
        }
        assert_eq!(all.len() - before, chunk.inflated, "blocks are as long as they say");
    }
}

/// Reads Deflate data in blocks with correct lengths and checksums. A second decoder must give
/// the same result.
fn check_foreign_blocks(bytes: &[u8]) {
    let (mut file, mut expected) = (Vec::new(), Vec::new());
    let mut sound = true;
    for data in pieces::split_parts(bytes).filter(|data| !data.is_empty()).take(MAX_BLOCKS) {
        OTHER.with_borrow_mut(|(decoder, content)| {
            decoder.reset(false);
            let end = decoder.decompress(data, content, FlushDecompress::Finish);
            let n = (decoder.total_out() as usize).min(MAX_BLOCK);
            let whole = matches!(end, Ok(Status::StreamEnd)) && decoder.total_out() as usize == n;
            sound &= whole && decoder.total_in() == data.len() as u64;
            append_block(data, &content[..n], &mut file);
            expected.extend_from_slice(&content[..n]);
        });
    }
    let found = read_file(&file, true);
    if sound {
        assert!(found.as_ref() == Some(&expected), "two decoders of DEFLATE differ");
    }
}

fn append_block(data: &[u8], content: &[u8], file: &mut Vec<u8>) {
    file.extend_from_slice(&EOF_BLOCK[..16]);
    file.extend_from_slice(&((data.len() + 25) as u16).to_le_bytes());
    file.extend_from_slice(data);
    file.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    file.extend_from_slice(&(content.len() as u32).to_le_bytes());
}

/// Compresses data, and checks that inflating them gives the same bytes, and that a missing
/// end-of-file marker is noticed.
fn check_round_trip(kind: usize, bytes: &[u8]) {
    let mut file = Vec::new();
    let copies = 1 + kind / 3 % 16; // repeated data compress well
    let payload = bytes.repeat(copies);
    let payload = &payload[..payload.len().min(MAX_COMPRESSED_BYTES)];
    DEFLATERS.with_borrow_mut(|deflaters| deflaters[kind % 3].deflate_block(payload, &mut file));
    assert!(file.len() <= payload.len() + 31, "a block is larger than if it were stored");
    assert!(
        read_file(&file, true).as_deref() == Some(payload),
        "what was compressed does not come back"
    );
    assert!(read_file(&file, false).is_none() || payload.is_empty(), "the end of a file is missed");
}
