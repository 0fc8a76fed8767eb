//! Fuzzes FASTQ: one or two files, which are read in batches.

use std::path::PathBuf;
use std::sync::Arc;

use readmill_fastq::{BatchLinker, BatchOptions, Claims, FastqInput, FastqLayout};
use readmill_record::bases::LETTERS;
use readmill_record::{Error, ReadBatch};

use crate::{expect_refusal, pieces, seeds};

pub fn fastq_seeds() -> Vec<Vec<u8>> {
    let record = |raw: &Vec<u8>, number: u8| {
        let record = readmill_record::RecordRef::new(raw);
        let name = record.qname();
        let bases: Vec<u8> = record.seq().iter().flat_map(|two| [two >> 4, two & 15]).collect();
        let letters = bases.iter().take(record.l_seq()).map(|&base| LETTERS[usize::from(base)]);
        let qualities = record.qual().iter().map(|quality| quality.wrapping_add(33));
        let mut text = [b"@", name, b"/", &[number], b" 1:N:0:ACGT\n"].concat();
        text.extend(letters);
        text.extend_from_slice(b"\n+\n");
        text.extend(qualities);
        text.push(b'\n');
        text
    };
    let records = &seeds::simulated_sample().records;
    let one: Vec<u8> = records.iter().step_by(2).take(2).flat_map(|raw| record(raw, b'1')).collect();
    let other: Vec<u8> = records.iter().step_by(2).take(2).flat_map(|raw| record(raw, b'2')).collect();
    let mixed: Vec<u8> = records[..4].iter().flat_map(|raw| record(raw, b'1')).collect();
    let odd = b"@a\r\nACGT\r\n+\r\nIIII\r\n\r\n>fasta x\nACGT\nAC\n@b\nAC\nGT\n+b\nII\n@I\n@c\n\n+\n\n";
    let with = |options: u8, texts: &[&[u8]]| [&[options], &pieces::join_parts(texts)[..]].concat();
    let mut gzip = flate2::read::GzEncoder::new(&one[..200], flate2::Compression::fast());
    let mut packed = Vec::new();
    _ = std::io::Read::read_to_end(&mut gzip, &mut packed);
    vec![
        with(0b000, &[&mixed]),
        with(0b101, &[&one, &other]),
        with(0b010, &[&mixed]),
        with(0b100, &[odd]),
        with(0b000, &[&packed]),
        with(0b000, &[b"\x28\xb5\x2f\xfd\x24\x0c\x61\x00\x00@a\nAC\n+\nII\n\x5f\x1b\x6b\xa5"]),
    ]
}

/// Reads one or two files twice, with small and with large buffers. Both runs must return
/// the same reads and the same error.
pub fn check_files(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let texts: Vec<&[u8]> = pieces::split_parts(bytes).take(2).collect();
    let few = BatchOptions {
        templates: 1 + usize::from(choice >> 4),
        block_bytes: 64,
        max_in_flight: 2,
        ..base_options()
    };
    let (some, fault) = read_all(&texts, choice, few);
    let many =
        BatchOptions { templates: few.templates, block_bytes: 8192, max_in_flight: 4, ..base_options() };
    let (others, other_fault) = read_all(&texts, choice, many);
    assert_eq!(fault.is_some(), other_fault.is_some(), "{fault:?} and {other_fault:?}");
    let packed = |text: &&[u8]| text.starts_with(b"\x1f\x8b") || text.get(1..4) == Some(b"\xb5\x2f\xfd");
    if fault.is_some() && texts.iter().any(packed) {
        return; // the buffer size decides how many reads come before the error
    }
    assert!(some == others, "reads depend on how much is read at a time");
    let place = |fault: Option<Error>| fault.map(|it| (it.place.file, it.place.record));
    assert_eq!(place(fault), place(other_fault));
}

fn base_options() -> BatchOptions {
    BatchOptions { record_bytes: 1 << 20, zstd_window_log: 20, max_spins: 0, ..BatchOptions::default() }
}

type OwnedRead = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

fn read_all(texts: &[&[u8]], choice: u8, options: BatchOptions) -> (Vec<OwnedRead>, Option<Error>) {
    let input = |at: usize| {
        let name = PathBuf::from(["R1.fastq", "R2.fastq"][at]);
        FastqInput::Stream(name, Box::new(std::io::Cursor::new(texts[at].to_vec())))
    };
    let layout = match texts.len() {
        2 => FastqLayout::Paired(input(0), input(1)),
        _ if choice & 2 != 0 => FastqLayout::Interleaved(input(0)),
        _ => FastqLayout::Single(input(0)),
    };
    let mut all = Vec::new();
    let claims = match Claims::open(layout, options) {
        Ok(claims) => Arc::new(claims),
        Err(error) => {
            expect_refusal(&error);
            return (all, Some(error));
        }
    };
    let _ = claims.layout_doubt();
    let (mut order, mut reads) = (BatchLinker::new(&claims), ReadBatch::default());
    for ticket in 0.. {
        if claims.has_ended() {
            break;
        }
        let taken = claims.take(ticket, &mut reads);
        if let Err(error) = order.link(taken, &mut reads) {
            expect_refusal(&error);
            return (all, Some(error));
        }
        assert!(
            reads.template_count() <= options.templates
                && reads.len() == reads.template_count() * reads.segments()
        );
        for read in reads.iter() {
            assert!(read.qualities.is_none_or(|qualities| qualities.len() == read.bases.len()));
            all.push((read.name.to_vec(), read.bases.to_vec(), read.qualities.map(<[u8]>::to_vec)));
        }
    }
    (all, None)
}
