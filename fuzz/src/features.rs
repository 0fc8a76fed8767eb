//! Fuzzes files of genome positions (VCF, BCF, BED, interval lists), and regions from a
//! command line.

use std::cell::OnceCell;
use std::io::Cursor;
use std::path::Path;

use readmill_format::features::FeatureReader;
use readmill_format::intervals::Intervals;
use readmill_format::text::TextInput;
use readmill_record::Header;

use crate::{expect_refusal, memory_ledger, seeds};

thread_local! {
    static HEADER: OnceCell<Header> = const { OnceCell::new() };
}

const NAMES: [&str; 5] = ["x", "x.vcf", "x.bcf", "x.bed", "x.interval_list"];

const VCF: &str = "##fileformat=VCFv4.2\n##contig=<ID=c1,length=4000,note=\"a,b\">\n##contig=<ID=chr2,length=2000000000>\n\
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nc1\t10\t.\tACG\tA\t.\tPASS\tAC=1;END=20\nchr2\t5\trs1\tA\tC,<DEL>\t9\t.\t.\n";

const BED: &str =
    "track name=x\n#chr\nc1\t0\t10\tname\t0\t+\nc1 5 9\nchr2\t70\nbrowser x\n\nchr2\t1\t1\r\n";

const REGIONS: [&str; 9] =
    ["c1", "chr2", "c1:5", "c1:5-10", "chr2:1,000-2,000", "c1:7+", "unmapped", "c1:0", "c1:4000-4001"];

pub fn place_seeds() -> Vec<Vec<u8>> {
    let list = [seeds::HEADER, "c1\t1\t10\t+\tone\nchr2\t5\t4\t-\ttwo\n"].concat();
    let file = |name: u8, text: &[u8]| [&[name], text].concat();
    vec![
        file(1, VCF.as_bytes()),
        file(2, &bcf_file()),
        file(3, BED.as_bytes()),
        file(4, list.as_bytes()),
    ]
}

/// Returns an uncompressed BCF file with two records, whose header numbers the contigs by
/// IDX.
fn bcf_file() -> Vec<u8> {
    let text = "##fileformat=VCFv4.2\n##contig=<ID=chr2,IDX=1>\n##contig=<ID=c1,length=4000,IDX=0>\n#CHROM\tPOS\n\0";
    let mut file = b"BCF\x02\x02".to_vec();
    file.extend_from_slice(&(text.len() as u32).to_le_bytes());
    file.extend_from_slice(text.as_bytes());
    for (contig, start, length) in [(0, 9u32, 3u32), (1, u32::MAX, 1)] {
        for number in [24u32, 2, contig, start, length, 0, 0x1_0000] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(b"\0\0");
        file.extend_from_slice(b"\0\0");
    }
    file
}

/// Reads all places of a file. Each must have start and end in order, and lie in the range
/// of positions.
pub fn check_places(bytes: &[u8]) {
    let Some((&name, bytes)) = bytes.split_first() else { return };
    let path = Path::new(NAMES[usize::from(name) % NAMES.len()]);
    let mut features = match FeatureReader::read_input(
        path,
        TextInput::from_plain(Cursor::new(bytes.to_vec()), &memory_ledger()),
    ) {
        Ok(features) => features,
        Err(error) => return expect_refusal(&error),
    };
    with_header(|header| {
        if let Err(error) = features.dictionary().check_header(header, path) {
            expect_refusal(&error);
        }
    });
    loop {
        match features.next_place() {
            Ok(Some(place)) => assert!(place.start <= place.end && place.end <= i32::MAX as u32),
            Ok(None) => return,
            Err(error) => return expect_refusal(&error),
        }
    }
}

fn with_header(work: impl FnOnce(&Header)) {
    HEADER.with(|header| work(header.get_or_init(seeds::seed_header)));
}

pub fn region_seeds() -> Vec<Vec<u8>> {
    let join = |regions: &[&str]| regions.join("\u{2}").into_bytes();
    vec![join(&REGIONS[4..5]), join(&REGIONS[..7]), join(&REGIONS[5..]), b"HLA:1:5-6".to_vec()]
}

/// Parses regions of a command line. If they are accepted, they must contain bases and
/// overlap a contig.
pub fn check_regions(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // U+0002 separates regions. Slashes are removed, since an argument that is not a region
    // is opened as a file.
    let regions: Vec<String> = text.split('\u{2}').take(8).map(|it| it.replace('/', "")).collect();
    if regions.iter().any(|region| Path::new(region).exists()) {
        return;
    }
    with_header(|header| match Intervals::parse_union(&regions, header, &memory_ledger()) {
        Ok(intervals) => {
            assert!(intervals.base_count() > 0);
            let whole = (0..2).filter(|&contig| intervals.overlaps(contig, 0, i32::MAX as u32)).count();
            assert!(whole > 0, "intervals of {} bases overlap nothing", intervals.base_count());
        }
        Err(error) => expect_refusal(&error),
    });
}
