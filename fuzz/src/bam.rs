//! Fuzzes BAM: single records, and whole uncompressed files.

use std::cell::RefCell;

use readmill_format::bam;
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_input::{Claim, Opener};
use readmill_record::{Batch, Error, Header, RecordRef, Stamp, edit, tag};

use crate::{ITEM_LIMIT, accessors, expect_refusal, sam, seeds};

thread_local! {
    static HEADER: Header = seeds::seed_header();
    static SCRATCH: RefCell<BamBuffers> = RefCell::default();
}

#[derive(Default)]
struct BamBuffers {
    raw: Vec<u8>,
    text: Vec<u8>,
    copy: Vec<u8>,
}

pub fn record_seeds() -> Vec<Vec<u8>> {
    let simulated = seeds::simulated_sample().records.iter().take(3).cloned();
    seeds::seed_records().into_iter().chain(simulated).map(|raw| raw[4..].to_vec()).collect()
}

/// Checks a record without `block_size`. If the checker accepts it, accessors, edits and
/// the conversion to SAM must work.
pub fn check_record(bytes: &[u8]) {
    SCRATCH.with_borrow_mut(|BamBuffers { raw, text, copy }| {
        raw.clear();
        raw.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        raw.extend_from_slice(bytes);
        HEADER.with(|header| {
            if RecordRef::check(raw, header.n_ref()).is_err() {
                return;
            }
            let record = RecordRef::new(raw);
            accessors::check_accessors(record);
            check_edits(record, header, copy);
            text.clear();
            readmill_format::sam::write_record(header, record, text);
            sam::check_line(text.strip_suffix(b"\n").unwrap_or(text));
        });
    });
}

fn check_edits(record: RecordRef<'_>, header: &Header, out: &mut Vec<u8>) {
    let sound = |out: &[u8]| assert_eq!(RecordRef::check(out, header.n_ref()), Ok(()), "after an edit");
    out.clear();
    edit::copy_without_field(record, tag::RG, out);
    sound(out);
    assert!(RecordRef::new(out).field(tag::RG).is_none(), "a field that was removed is found");
    edit::append_integer(out, 0, *b"XI", 70_000);
    edit::set_field(out, 0, tag::RG, b"Zone\0");
    edit::set_bin(out);
    sound(out);
    assert_eq!(RecordRef::new(out).read_group(), Some(&b"one"[..]));
    edit::remove_fields(out, 0, tag::RG);
    sound(out);
    out.clear();
    edit::copy_with_text(record, tag::MC, b"10M", out);
    sound(out);
    let all = RecordRef::new(out).fields().filter(|field| field.tag == tag::MC).count();
    assert_eq!(all, 1, "a field that was set is there once");
}

/// Seeds of [`check_stream`]: the chunk size, then a header and records.
pub fn stream_seeds() -> Vec<Vec<u8>> {
    let simulated = seeds::simulated_sample();
    let file = |cut: u8, header: &Header, records: &[Vec<u8>]| {
        let mut bytes = vec![cut];
        bam::header::write_header(header, &mut bytes).expect("a short header");
        bytes.extend(records.iter().flatten());
        bytes
    };
    vec![
        file(0, &seeds::seed_header(), &seeds::seed_records()),
        file(7, &seeds::seed_header(), &seeds::seed_records()[..4]),
        file(200, &simulated.header, &simulated.records[..8]),
        file(33, &seeds::parse_header(b"@CO\tnone\n"), &[]),
    ]
}

/// Reads an uncompressed BAM file in chunks. The first byte sets the chunk size, and the
/// records must not depend on it.
pub fn check_stream(bytes: &[u8]) {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let (header, taken) = match bam::header::parse_header(bytes) {
        Ok(Some(it)) => it,
        Ok(None) => return,
        Err(error) => return expect_refusal(&error),
    };
    let mut again = Vec::new();
    bam::header::write_header(&header, &mut again).expect("a header that was read");
    match bam::header::parse_header(&again) {
        Ok(Some((same, _))) => assert_eq!(same.references(), header.references()),
        other => panic!("a header that was written is not read: {other:?}"),
    }
    let records = &bytes[taken..];
    let mut opener = Opener::new(&header, None);
    let (whole, fault) = read_in_chunks(records, records.len().max(1), &header, &mut opener);
    let cut = (1 + usize::from(cut)).max(records.len() / 24);
    let (pieces, pieces_fault) = read_in_chunks(records, cut, &header, &mut opener);
    assert!(whole == pieces, "records depend on where the file is cut");
    // The message on a truncated record may depend on the chunk size, but not the number of
    // the record.
    let record = |fault: &Option<Error>| fault.as_ref().map(|fault| fault.place.record);
    assert_eq!(record(&fault), record(&pieces_fault), "{fault:?} and {pieces_fault:?}");
}

/// Reads records in chunks of `cut` bytes. Returns the bytes of all valid records, and the
/// error that ended reading, if there was one.
fn read_in_chunks(
    bytes: &[u8],
    cut: usize,
    header: &Header,
    opener: &mut Opener,
) -> (Vec<u8>, Option<Error>) {
    let mut link = ChunkLinker::new(ITEM_LIMIT);
    let (mut all, mut spare) = (Vec::new(), Batch::default());
    let mut chunks = bytes.chunks(cut);
    loop {
        let chunk = chunks.next();
        let linked = match chunk {
            Some(chunk) => {
                let mut opened = OpenedChunk::reuse(spare);
                let claim = Claim::Bytes(chunk.to_vec());
                opener.open(claim, &mut opened).unwrap_or_else(|e| panic!("bytes are refused: {e}"));
                link.link_chunk(opened)
            }
            None => link.finish_input(spare),
        };
        let checks = linked.batch.records().map(|record| record.check(header.n_ref()));
        let good: Vec<_> =
            checks.map_while(|checked| checked.ok().map(|it| it.raw().to_vec())).collect();
        let mut batch = match linked.batch.check(linked.first, header.n_ref()) {
            Ok(batch) => batch,
            Err(error) => {
                expect_refusal(&error);
                all.extend(good.into_iter().flatten()); // the records before the bad one
                return (all, Some(error));
            }
        };
        batch.stamp_templates(linked.first);
        append_batch(&batch, &mut all);
        if let Some(fault) = linked.fault {
            expect_refusal(&fault);
            return (all, Some(fault));
        }
        if chunk.is_none() {
            return (all, None);
        }
        spare = batch;
    }
}

fn append_batch(batch: &Batch, all: &mut Vec<u8>) {
    let mut last = None::<Stamp>;
    for (stamp, record) in batch.records() {
        accessors::check_accessors(record);
        assert!(last.is_none_or(|last| stamp == Stamp::default() || last.ordinal() < stamp.ordinal()));
        last = Some(stamp);
        all.extend_from_slice(record.raw());
    }
}
