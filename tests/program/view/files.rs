//! Sorted files with an index, whose blocks end where a test wants it.

use std::path::PathBuf;

use readmill_format::bam::index::{FragmentBuilder, IndexBuilder, IndexScheme};
use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use readmill_format::{bam, sam};
use readmill_record::{Header, RecordRef};

use crate::support::{TestDir, arg, readmill, records, split_header};

/// A kind of file and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    BamBai,
    BamCsi,
    SamBai,
    SamCsi,
    Cram,
}

pub const KINDS: [Kind; 5] = [Kind::BamBai, Kind::BamCsi, Kind::SamBai, Kind::SamCsi, Kind::Cram];

/// Writes SAM text in coordinate order as a file of this kind; its blocks hold `payload` bytes, whatever is in them.
pub fn file(dir: &TestDir, kind: Kind, name: &str, text: &str, payload: usize) -> PathBuf {
    let header = Header::parse(split_header(text).0.as_bytes()).expect("a header");
    match kind {
        Kind::Cram => {
            let input = dir.file(&format!("{name}.sam"), text);
            let output = dir.path(&format!("{name}.cram"));
            let flags = ["sort", "--quiet", "--no-PG", "-O", "cram,no-ref", "-o"].map(String::from);
            let done = readmill(flags.into_iter().chain([arg(&output), arg(&input)]));
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            output
        }
        Kind::BamBai | Kind::BamCsi => {
            let mut bytes = Vec::new();
            bam::header::write_header(&header, &mut bytes).expect("a header");
            write(dir, kind, &format!("{name}.bam"), &header, bytes, text, payload)
        }
        Kind::SamBai | Kind::SamCsi => {
            let bytes = split_header(text).0.as_bytes().to_vec();
            write(dir, kind, &format!("{name}.sam.gz"), &header, bytes, text, payload)
        }
    }
}

fn write(
    dir: &TestDir,
    kind: Kind,
    name: &str,
    header: &Header,
    mut bytes: Vec<u8>,
    text: &str,
    payload: usize,
) -> PathBuf {
    let is_bam = matches!(kind, Kind::BamBai | Kind::BamCsi);
    let mut parser = sam::LineParser::new(header);
    let mut raws = Vec::new();
    let mut starts = vec![bytes.len()];
    for line in records(text) {
        let mut raw = Vec::new();
        parser.parse(line.as_bytes(), &mut raw).unwrap_or_else(|error| panic!("{line}: {error}"));
        if is_bam {
            bytes.extend_from_slice(&raw);
        } else {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        starts.push(bytes.len());
        raws.push(raw);
    }
    let (mut packed, mut blocks) = (Vec::new(), Vec::new());
    let mut deflater = Deflater::new(Codec::default(), 1);
    for piece in bytes.chunks(payload) {
        blocks.push(packed.len() as u64);
        deflater.deflate_block(piece, &mut packed);
    }
    blocks.push(packed.len() as u64);
    packed.extend_from_slice(&EOF_BLOCK);
    let offset = |at: usize| blocks[at / payload] << 16 | (at % payload) as u64;
    let csi = matches!(kind, Kind::BamCsi | Kind::SamCsi);
    let scheme =
        if csi { IndexScheme::csi(header) } else { IndexScheme::bai(header).expect("short contigs") };
    let (mut fragments, mut index) = (FragmentBuilder::new(scheme), IndexBuilder::new(scheme, header));
    for (raw, at) in raws.iter().zip(starts.windows(2)) {
        fragments.add_record(RecordRef::new(raw), offset(at[0]), offset(at[1]));
    }
    index.add_fragment(fragments.finish_partition(), 0);
    let path = dir.file(name, packed);
    let mut bytes = Vec::new();
    index.write_to(&mut bytes).expect("an index");
    dir.file(&format!("{name}.{}", if csi { "csi" } else { "bai" }), bytes);
    path
}
