//! Fuzzes index files: BAI, CSI and CRAI. The indexed file is valid and never changes.

use std::cell::OnceCell;
use std::fs::File;
use std::io::Cursor;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

use readmill_cram::Reader;
use readmill_format::bgzf::{Chunk, Codec, Deflater, EOF_BLOCK};
use readmill_format::region::{ContigPart, Region};
use readmill_input::regions::{IndexedInput, RequestedRegions};
use readmill_input::{Claim, OpenOptions, Source};
use readmill_record::Result;

use crate::reference::file_in_memory;
use crate::{ITEM_LIMIT, cram, expect_refusal, memory_ledger, seeds};

const RECORD_COUNT: usize = 3;

struct IndexedSample {
    bytes: Vec<u8>,
    file: Arc<File>,
    indexes: Vec<Vec<u8>>,
}

impl IndexedSample {
    fn new(bytes: Vec<u8>, indexes: Vec<Vec<u8>>) -> Self {
        let file = Arc::new(file_in_memory(&bytes));
        IndexedSample { bytes, file, indexes }
    }
}

thread_local! {
    static BAM: OnceCell<IndexedSample> = const { OnceCell::new() };
    static CRAM: OnceCell<IndexedSample> = const { OnceCell::new() };
}

/// Seeds of [`check_index`]: a byte that selects the indexed file, and an index.
pub fn index_seeds() -> Vec<Vec<u8>> {
    let of = |kind: u8, sample: &IndexedSample| {
        let with_kind = |index: &Vec<u8>| [&[kind], &index[..]].concat();
        sample.indexes.iter().map(with_kind).collect::<Vec<_>>()
    };
    [of(0, &bam_sample()), of(1, &cram_sample())].concat()
}

fn bam_sample() -> IndexedSample {
    let text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:4000\n@SQ\tSN:chr2\tLN:2000000000\n";
    let mut head = b"BAM\x01".to_vec();
    let number = |n: usize, out: &mut Vec<u8>| out.extend_from_slice(&(n as u32).to_le_bytes());
    number(text.len(), &mut head);
    head.extend_from_slice(text.as_bytes());
    number(2, &mut head);
    for (name, length) in [("c1\0", 4000), ("chr2\0", 2_000_000_000)] {
        number(name.len(), &mut head);
        head.extend_from_slice(name.as_bytes());
        number(length, &mut head);
    }
    let mut deflater = Deflater::new(Codec::Libdeflate, 1);
    let mut file = Vec::new();
    deflater.deflate_block(&head, &mut file);
    let begin = (file.len() as u64) << 16;
    let records = seeds::seed_records();
    for record in std::iter::repeat_n(&records[0], RECORD_COUNT) {
        deflater.deflate_block(record, &mut file);
    }
    let end = (file.len() as u64) << 16;
    file.extend_from_slice(&EOF_BLOCK);
    let large = |n: u64, out: &mut Vec<u8>| out.extend_from_slice(&n.to_le_bytes());
    let (mut bai, mut csi) = (b"BAI\x01".to_vec(), b"CSI\x01".to_vec());
    for n in [2, 1, 4681, 1] {
        number(n, &mut bai);
    }
    for n in [14, 5, 0, 2, 1, 4681] {
        number(n, &mut csi);
    }
    large(begin, &mut csi);
    number(1, &mut csi);
    for index in [&mut bai, &mut csi] {
        large(begin, index);
        large(end, index);
    }
    number(1, &mut bai);
    large(begin, &mut bai);
    number(0, &mut bai);
    number(0, &mut bai);
    number(0, &mut csi);
    IndexedSample::new(file, vec![bai, csi])
}

fn cram_sample() -> IndexedSample {
    let bytes = cram::file_seeds().remove(0);
    let reader = Reader::open(Box::new(Cursor::new(bytes.clone())), false, ITEM_LIMIT, &memory_ledger());
    let first = reader.and_then(|mut reader| reader.claim(Vec::new()));
    let first = first.unwrap_or_else(|e| panic!("a seed is refused: {e}"));
    let offset = first.map_or(0, |container| container.offset);
    IndexedSample::new(bytes, vec![format!("0\t1\t4000\t{offset}\t1\t100\n").into_bytes()])
}

/// Reads regions of a valid file through the given index. With any index, reading must end
/// and return parts of the file only.
pub fn check_index(bytes: &[u8]) {
    let Some((&kind, index)) = bytes.split_first() else { return };
    let index = file_in_memory(index);
    let path = PathBuf::from(format!("/proc/self/fd/{}", index.as_raw_fd()));
    let (sample, make): (_, fn() -> IndexedSample) =
        if kind % 2 == 0 { (&BAM, bam_sample) } else { (&CRAM, cram_sample) };
    sample.with(|sample| {
        let sample = sample.get_or_init(make);
        let part = |contig, start, end| Region::Part(ContigPart { contig, start, end });
        let some = vec![part(0, 90, 200), part(0, 0, 4000), part(0, 5000, 6000), Region::Unplaced];
        for (list, each_once) in [(some.clone(), false), (some, true), (vec![part(0, 150, 151)], false)]
        {
            if let Err(error) = read_regions(sample, &path, list, each_once) {
                expect_refusal(&error);
            }
        }
    });
}

/// Reads regions of a sample. Checks that their claims are not larger than the regions can
/// be.
fn read_regions(
    sample: &IndexedSample,
    index: &std::path::Path,
    list: Vec<Region>,
    each_once: bool,
) -> Result<()> {
    let ledger = memory_ledger();
    let options = OpenOptions {
        max_line: ITEM_LIMIT,
        max_container: ITEM_LIMIT,
        ledger: ledger.clone(),
        ..OpenOptions::default()
    };
    let source = Source::open(Box::new(Cursor::new(sample.bytes.clone())), &options)?;
    let charge = ledger.empty_charge("regions");
    let number = list.len();
    let regions = match each_once {
        true => RequestedRegions::from_union(list, charge),
        false => RequestedRegions::in_turn(list, charge)?,
    };
    let input = IndexedInput { file: Arc::clone(&sample.file), index };
    let mut source = source.select_regions(&input, regions, &options)?;
    let (mut bytes, max_bytes) = (0, number * (sample.bytes.len() + RECORD_COUNT * 1024) * 8);
    while let Some(claim) = source.claim(Chunk::default())? {
        bytes += match claim {
            Claim::Bytes(records) => records.len(),
            other => other.read_bytes(),
        };
        assert!(bytes <= max_bytes, "the regions have more bytes than the file");
    }
    Ok(())
}
