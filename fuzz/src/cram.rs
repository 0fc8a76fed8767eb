//! Fuzzes CRAM: files with blocks of all kinds, whose lengths and checksums are correct,
//! and records that readmill encodes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use readmill_cram::{
    Cache, Container, Decoder, EOF, Encoder, EncoderOptions, MAGIC, Profile, Reader, References, Setup,
    Version, header_container,
};
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_format::reference::{Reference, ReferenceFiles};
use readmill_format::sam;
use readmill_record::{Batch, Detail, Error, Header, Ledger, RecordRef, Result, Stamp};

use crate::reference::file_in_memory;
use crate::{ITEM_LIMIT, expect_refusal, memory_ledger, pieces, seeds};

const VERSIONS: [Version; 3] =
    [Version::DEFAULT, Version { major: 2, minor: 1 }, Version { major: 3, minor: 1 }];

const FILE_HEADER: u8 = 0;
const SLICE_HEADER: u8 = 2;

/// Bytes of a part before the data of its block: method, content type, content ID,
/// uncompressed size.
const PART_HEAD_BYTES: usize = 7;

struct CramState {
    header: Header,
    references: References,
    decoders: HashMap<u8, Decoder>,
    /// One for version 3.0, and one for each profile of 3.1.
    encoders: Vec<Encoder>,
}

thread_local! {
    static STATE: RefCell<CramState> = RefCell::new(CramState::new());
}

impl CramState {
    fn new() -> Self {
        let seeds::Simulated { header, contig, .. } = seeds::simulated_sample();
        let fasta = file_in_memory(&[b">chr1\n", &contig[..], b"\n"].concat());
        let reference = Reference::from_files(
            Path::new("ref.fa"),
            ReferenceFiles { fasta, fai: None, gzi: None },
            &Ledger::unlimited(),
        );
        let reference = reference.unwrap_or_else(|e| panic!("the reference is refused: {e}"));
        let references =
            References::new(header, Some(&reference), &Cache::default(), &Ledger::unlimited())
                .unwrap_or_else(|e| panic!("the references are refused: {e}"));
        let encoder = |version, profile| {
            let mut writing =
                EncoderOptions::new(header, version, Some(references.clone()), 1, &memory_ledger());
            writing.profile = profile;
            Encoder::new(&writing)
        };
        let profiles = Profile::ALL.into_iter().map(|(_, profile)| encoder(Version::V3_1, profile));
        let plain = encoder(Version::DEFAULT, Profile::default());
        let encoders = std::iter::once(plain).chain(profiles).collect();
        CramState { header: header.clone(), references, decoders: HashMap::new(), encoders }
    }

    fn decoder(&mut self, version: u8) -> &mut Decoder {
        let (header, references) = (&self.header, &self.references);
        self.decoders.entry(version).or_insert_with(|| {
            let version = VERSIONS[usize::from(version)];
            let setup = Setup::new(version, header, references.clone(), b"x.cram");
            Decoder::new(Arc::new(setup.unwrap_or_else(|e| panic!("the setup is refused: {e}"))))
        })
    }

    fn encode(&mut self, batch: &Batch, by: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let encoded = self.encoders[by].encode_partition(batch, &mut bytes)?;
        encoded.set_record_counters(&mut bytes, 0);
        let version = if by == 0 { Version::DEFAULT } else { Version::V3_1 };
        let mut file = header_container(&self.header, version)?;
        file.extend_from_slice(&bytes);
        file.extend_from_slice(&EOF);
        Ok(file)
    }

    /// Decodes a file. Returns the records, and the error that ended decoding, if there was
    /// one.
    fn decode(&mut self, file: Vec<u8>, version: u8) -> (Batch, Option<Error>) {
        let mut all = Batch::default();
        let fault = self.try_decode(file, version, &mut all).err();
        (all, fault)
    }

    /// Decodes only parts of the records (flags, places). If whole records are valid, the
    /// parts must be the same.
    fn compare_parts(&mut self, container: &Container, version: u8) {
        let mut decode = |detail| {
            let mut opened = OpenedChunk::reuse(Batch::default());
            self.decoder(version).open(container, detail, &mut opened);
            opened.into_batch()?.check(0, i32::MAX)
        };
        let Ok(whole) = decode(Detail::Whole) else { return };
        for detail in [Detail::Flags, Detail::Places] {
            let parts = decode(detail);
            let parts = parts.unwrap_or_else(|e| panic!("{detail:?} of valid records is refused: {e}"));
            let of =
                |batch: &Batch| Vec::from_iter(batch.records().map(|(_, it)| detail_text(it, detail)));
            assert_eq!(of(&parts), of(&whole), "{detail:?} alone");
        }
    }

    fn try_decode(&mut self, file: Vec<u8>, version: u8, all: &mut Batch) -> Result<()> {
        let mut reader = Reader::open(Box::new(Cursor::new(file)), true, ITEM_LIMIT, &memory_ledger())?;
        let n_ref = self.header.n_ref();
        reader.set_implied_bytes(100);
        let mut link = ChunkLinker::new(ITEM_LIMIT);
        loop {
            let container = reader.claim(Vec::new())?;
            let ended = container.is_none();
            let linked = match container {
                Some(container) => {
                    let (mut opened, max_bytes) =
                        (OpenedChunk::reuse(Batch::default()), container.max_bam_bytes());
                    self.decoder(version).open(&container, Detail::Whole, &mut opened);
                    assert!(opened.len() <= max_bytes, "a container gave more bytes than its bound");
                    self.compare_parts(&container, version);
                    link.link_chunk(opened)
                }
                None => link.finish_input(Batch::default()),
            };
            let batch = linked.batch.check(linked.first, n_ref)?;
            batch.records().try_for_each(|(stamp, record)| all.push(record.raw(), stamp))?;
            linked.fault.map_or(Ok(()), Err)?;
            if ended {
                return Ok(());
            }
        }
    }
}

/// Returns the fields of a record that decoding with this detail gives, as text for
/// comparisons.
fn detail_text(record: RecordRef<'_>, detail: Detail) -> String {
    let mate = (record.next_ref_id(), record.next_pos());
    let place = (record.ref_id(), record.pos(), record.stored_cigar().0, mate);
    let place = (detail == Detail::Places).then_some(place);
    format!("{:?}", (record.flags().0, record.mapq(), place))
}

pub fn put_itf8(out: &mut Vec<u8>, number: u32) {
    let bytes = number.to_be_bytes();
    match number {
        0..0x80 => out.push(bytes[3]),
        0x80..0x4000 => out.extend([bytes[2] | 0x80, bytes[3]]),
        0x4000..0x20_0000 => out.extend([bytes[1] | 0xc0, bytes[2], bytes[3]]),
        0x20_0000..0x1000_0000 => out.extend([bytes[0] | 0xe0, bytes[1], bytes[2], bytes[3]]),
        _ => out.extend([
            0xf0 | bytes[0] >> 4,
            bytes[0] << 4 | bytes[1] >> 4,
            bytes[1] << 4 | bytes[2] >> 4,
            bytes[2] << 4 | bytes[3] >> 4,
            bytes[3] & 0xf,
        ]),
    }
}

fn take_itf8(bytes: &mut &[u8]) -> u32 {
    let more = (bytes[0].leading_ones() as usize).min(4);
    let (own, rest) = bytes.split_at(1 + more);
    *bytes = rest;
    let high = u32::from(own[0] & if more == 4 { 0xf } else { 0x7f >> more });
    let number = own[1..].iter().fold(u64::from(high), |n, &byte| n << 8 | u64::from(byte));
    if more == 4 { (number >> 8 << 4) as u32 | (number & 0xf) as u32 } else { number as u32 }
}

fn append_checksum(out: &mut Vec<u8>, from: usize, version: Version) {
    if version.major >= 3 {
        let sum = crc32fast::hash(&out[from..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }
}

/// Appends the block that a part of an input describes. Its uncompressed size is limited to
/// `max_bytes` bytes. Returns false if the part is too short.
fn append_block(piece: &[u8], max_bytes: u32, version: Version, out: &mut Vec<u8>) -> bool {
    let Some((&[method, kind, a, b, c, low, high], data)) = piece.split_first_chunk::<PART_HEAD_BYTES>()
    else {
        return false;
    };
    let raw = u32::from(u16::from_le_bytes([low, high])) % (max_bytes + 1);
    let from = out.len();
    out.extend([method, kind]);
    put_itf8(out, u32::from_be_bytes([0, a, b, c]));
    put_itf8(out, data.len() as u32);
    put_itf8(out, if method == 0 { data.len() as u32 } else { raw });
    out.extend_from_slice(data);
    append_checksum(out, from, version);
    true
}

/// Appends a container with these blocks. `fields` are the bytes between its length and its
/// number of blocks.
fn append_container(
    fields: &[u8],
    landmarks: &[u32],
    count: u32,
    blocks: &[u8],
    version: Version,
    out: &mut Vec<u8>,
) {
    let from = out.len();
    out.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
    out.extend_from_slice(fields);
    put_itf8(out, count);
    put_itf8(out, landmarks.len() as u32);
    landmarks.iter().for_each(|&landmark| put_itf8(out, landmark));
    append_checksum(out, from, version);
    out.extend_from_slice(blocks);
}

fn file_definition(version: Version) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([version.major, version.minor]);
    out.extend_from_slice(&[0; 20]);
    out
}

/// Header fields of a container without records: contig, start, span, records, record
/// counter, bases.
const NO_RECORDS: [u8; 6] = [0; 6];

fn append_header_container(header: &Header, version: Version, out: &mut Vec<u8>) {
    let text = header.to_text();
    let mut piece = vec![0; PART_HEAD_BYTES];
    piece.extend_from_slice(&(text.len() as u32).to_le_bytes());
    piece.extend_from_slice(&text);
    let mut blocks = Vec::new();
    append_block(&piece, 0, version, &mut blocks);
    append_container(&NO_RECORDS, &[0], 1, &blocks, version, out);
}

fn container_to_parts(container: &Container) -> Vec<u8> {
    let header = &container.header;
    let mut fields = vec![0];
    for number in
        [header.contig.cast_unsigned(), header.start as u32, header.span as u32, header.records as u32]
    {
        put_itf8(&mut fields, number);
    }
    put_itf8(&mut fields, 0);
    put_itf8(&mut fields, header.bases as u32);
    let mut parts = vec![fields];
    let mut rest = container.blocks();
    while let Some((&[method, kind], mut more)) = rest.split_first_chunk::<2>() {
        let (id, size, raw) = (take_itf8(&mut more), take_itf8(&mut more), take_itf8(&mut more));
        let mut piece = vec![method, kind];
        piece.extend_from_slice(&id.to_be_bytes()[1..]);
        piece.extend_from_slice(&(raw as u16).to_le_bytes());
        piece.extend_from_slice(&more[..size as usize]);
        parts.push(piece);
        rest = &more[size as usize + 4..];
    }
    pieces::join_parts(&parts.iter().map(|part| &part[..]).collect::<Vec<_>>())
}

/// Returns batches of simulated records: some pairs, one read, and reads without a
/// position.
fn simulated_batches() -> Vec<Batch> {
    let seeds::Simulated { records, .. } = seeds::simulated_sample();
    let batch = |records: &[Vec<u8>]| {
        let mut batch = Batch::default();
        records.iter().for_each(|raw| batch.push(raw, Stamp::default()).expect("a short record"));
        batch
    };
    vec![batch(&records[..6]), batch(&records[..1]), batch(&records[records.len() - 2..])]
}

/// Seeds of [`check_container`]: the version with the header fields of a container, then one part
/// per block.
pub fn container_seeds() -> Vec<Vec<u8>> {
    STATE.with_borrow_mut(|state| {
        let pieces = |batch: &Batch| {
            let file = state.encode(batch, 0).unwrap_or_else(|e| panic!("a seed is refused: {e}"));
            let mut reader =
                Reader::open(Box::new(Cursor::new(file)), false, ITEM_LIMIT, &memory_ledger()).ok();
            let container = reader.as_mut().and_then(|reader| reader.claim(Vec::new()).ok().flatten());
            container_to_parts(&container.unwrap_or_else(|| panic!("a seed is not read")))
        };
        simulated_batches().iter().map(pieces).collect()
    })
}

pub fn check_container(bytes: &[u8]) {
    let mut parts = pieces::split_parts(bytes);
    let Some((&choice, fields)) = parts.next().and_then(<[u8]>::split_first) else { return };
    let choice = choice % VERSIONS.len() as u8;
    let version = VERSIONS[usize::from(choice)];
    let (mut blocks, mut landmarks, mut count) = (Vec::new(), Vec::new(), 0);
    for piece in parts {
        let at = blocks.len() as u32;
        if append_block(piece, 1 << 12, version, &mut blocks) {
            landmarks.extend((piece[1] == SLICE_HEADER).then_some(at));
            count += 1;
        }
    }
    STATE.with_borrow_mut(|state| {
        let mut file = file_definition(version);
        append_header_container(&state.header, version, &mut file);
        append_container(fields, &landmarks, count, &blocks, version, &mut file);
        let (batch, fault) = state.decode(file, choice);
        if let Some(fault) = fault {
            expect_refusal(&fault);
        }
        let mut text = Vec::new();
        for (_, record) in batch.records() {
            crate::accessors::check_accessors(record);
            sam::write_record(&state.header, record, &mut text);
        }
    });
}

/// Seeds of [`check_codec`]: a compression method, an uncompressed size, and compressed data.
pub fn codec_seeds() -> Vec<Vec<u8>> {
    let text = [&(seeds::HEADER.len() as u32).to_le_bytes(), seeds::HEADER.as_bytes()].concat();
    let mut gzip = flate2::read::GzEncoder::new(&text[..], flate2::Compression::fast());
    let mut packed = Vec::new();
    _ = std::io::Read::read_to_end(&mut gzip, &mut packed);
    let input =
        |method: u8, data: &[u8]| [&[method], &(text.len() as u16).to_le_bytes()[..], data].concat();
    let mut all = vec![input(0, &text), input(1, &packed)];
    // Blocks of an encoded file use some of the other methods.
    for container in container_seeds() {
        for piece in pieces::split_parts(&container).skip(1) {
            all.extend(
                (piece.len() > PART_HEAD_BYTES && piece[0] > 1)
                    .then(|| [&piece[..1], &piece[5..]].concat()),
            );
        }
    }
    let any: Vec<u8> = (0..60).map(|i| (i * 37 % 256) as u8).collect();
    all.extend((2..9).map(|method| input(method, &any)));
    all
}

/// Decompresses a block. It is put in place of the SAM header, which any method may
/// compress.
pub fn check_codec(bytes: &[u8]) {
    let Some((&[method, low, high], data)) = bytes.split_first_chunk::<3>() else { return };
    let version = VERSIONS[2];
    let piece = [&[method, FILE_HEADER, 0, 0, 0, low, high], data].concat();
    let (mut file, mut blocks) = (file_definition(version), Vec::new());
    append_block(&piece, 1 << 12, version, &mut blocks);
    append_container(&NO_RECORDS, &[0], 1, &blocks, version, &mut file);
    if let Err(error) = Reader::open(Box::new(Cursor::new(file)), true, ITEM_LIMIT, &memory_ledger()) {
        expect_refusal(&error);
    }
}

pub fn file_seeds() -> Vec<Vec<u8>> {
    let encode = |batch: &Batch| STATE.with_borrow_mut(|state| state.encode(batch, 0));
    let file = |batch: &Batch| encode(batch).unwrap_or_else(|e| panic!("a seed is refused: {e}"));
    simulated_batches()[1..].iter().map(file).collect()
}

/// Reads a whole file. Its checksums are corrected as far as it can be parsed, but sizes
/// may have any value.
pub fn check_file(bytes: &[u8]) {
    let mut file = bytes.to_vec();
    correct_checksums(&mut file);
    match Reader::open(Box::new(Cursor::new(file.clone())), false, ITEM_LIMIT, &memory_ledger()) {
        Ok(reader) if reader.version() == Version::DEFAULT => {}
        Ok(_) => return,
        Err(error) => return expect_refusal(&error),
    }
    STATE.with_borrow_mut(|state| {
        if let (_, Some(fault)) = state.decode(file, 0) {
            expect_refusal(&fault);
        }
    });
}

/// Corrects all checksums of a file of version 3, and stops at the first part that cannot
/// be parsed.
fn correct_checksums(file: &mut [u8]) {
    let number = |file: &[u8], at: &mut usize| {
        let more = file.get(*at).map_or(0, |byte| byte.leading_ones() as usize);
        let own = file.get(*at..*at + 1 + more.min(4)).map(<[u8]>::to_vec).unwrap_or(vec![0]);
        *at += if more < 8 { 1 + more } else { 9 }; // the length of an LTF8 number is right as well
        if more > 4 { 0 } else { take_itf8(&mut &own[..]) as usize }
    };
    let correct = |file: &mut [u8], from: usize, to: usize| {
        if let Some(sum) = file.get(from..to).map(crc32fast::hash)
            && let Some(place) = file.get_mut(to..to + 4)
        {
            place.copy_from_slice(&sum.to_le_bytes());
        }
    };
    let mut at = 26;
    while let Some(length) = file.get(at..at + 4) {
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let from = at;
        at += 4;
        (0..7).for_each(|_| _ = number(file, &mut at));
        let landmarks = number(file, &mut at);
        (0..landmarks.min(64)).for_each(|_| _ = number(file, &mut at));
        correct(file, from, at);
        at += 4;
        let end = at.saturating_add(length).min(file.len());
        while at + 4 < end {
            let from = at;
            at += 2;
            let (_, size, _) = (number(file, &mut at), number(file, &mut at), number(file, &mut at));
            at = at.saturating_add(size);
            correct(file, from, at);
            at = at.saturating_add(4);
        }
        at = end;
    }
}

pub fn record_seeds() -> Vec<Vec<u8>> {
    let join = |batch: &Batch| {
        let bodies: Vec<&[u8]> = batch.records().map(|(_, record)| &record.raw()[4..]).collect();
        pieces::join_parts(&bodies)
    };
    let mut all: Vec<Vec<u8>> = simulated_batches().iter().map(join).collect();
    let zoo = seeds::seed_records();
    all.extend(zoo.iter().map(|raw| raw[4..].to_vec()));
    all
}

/// Encodes records in CRAM 3.0 and in a profile of 3.1. After one round trip, further round
/// trips must not change them.
pub fn check_records(bytes: &[u8]) {
    STATE.with_borrow_mut(|state| {
        let (mut batch, mut raw) = (Batch::default(), Vec::new());
        for body in pieces::split_parts(bytes).take(8) {
            raw.clear();
            raw.extend_from_slice(&(body.len() as u32).to_le_bytes());
            raw.extend_from_slice(body);
            if RecordRef::check(&raw, state.header.n_ref()).is_ok() {
                batch.push(&raw, Stamp::default()).expect("a short record");
            }
        }
        // Version 3.0, and one profile of 3.1.
        for by in [0, 1 + bytes.len() % Profile::ALL.len()] {
            check_second_round_trip(state, &batch, by);
        }
    });
}

/// Checks that a second round trip gives the same records as the first one.
fn check_second_round_trip(state: &mut CramState, batch: &Batch, by: usize) {
    let Some(once) = encode_and_decode(state, batch, by) else { return };
    let Some(twice) = encode_and_decode(state, &once, by) else {
        panic!("records that came of CRAM are refused")
    };
    let texts = [&once, &twice].map(|batch| {
        let mut text = Vec::new();
        batch.records().for_each(|(_, record)| sam::write_record(&state.header, record, &mut text));
        text
    });
    assert!(texts[0] == texts[1], "{}\nis not\n{}", texts[0].escape_ascii(), texts[1].escape_ascii());
}

/// Encodes and decodes records. Returns `None` if they are refused, since not every BAM
/// record can be stored in CRAM.
fn encode_and_decode(state: &mut CramState, batch: &Batch, by: usize) -> Option<Batch> {
    let file = match state.encode(batch, by) {
        Ok(file) => file,
        Err(error) => {
            expect_refusal(&error);
            return None;
        }
    };
    let (back, fault) = state.decode(file, if by == 0 { 0 } else { 2 });
    assert!(fault.is_none(), "what was encoded is refused: {fault:?}");
    assert_eq!(back.len(), batch.len(), "records are lost");
    Some(back)
}
