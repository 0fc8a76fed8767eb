//! Borders of slices: every block and every byte of a file gets to be one, wherever records, names and blocks start.

use std::iter::repeat_with;

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};

use crate::faults::fixtures::{HEADER, bam_header, block, blocks, record};
use crate::shard::{Scene, samples};
use crate::support::random::TestRandom;

/// Commands for which it matters where slices lie: each record has its number, and adjacent records are templates.
const COMMANDS: [&str; 2] = [
    "markdup in/* -l 1 -o out/x.bam --duplicate-mode template --metrics out/m.txt",
    "sort in/* -l 1 -o out/x.bam",
];

/// Asserts that slices from two to as many as there are bytes give the same. Returns the most slices.
#[track_caller]
fn divides(name: &str, bytes: &[u8], shards: impl IntoIterator<Item = usize>) -> usize {
    let scenes = COMMANDS.map(|command| {
        let scene = Scene::new(&[(name, bytes.to_vec())], command);
        let expected = scene.plain();
        (scene, expected)
    });
    let max_shards = bytes.len().min(4096);
    let same = |shards: usize| {
        let (scene, expected) = &scenes[shards % COMMANDS.len()];
        scene.same(expected, &format!("--shards {shards} --ranges 2"))
    };
    shards.into_iter().chain([max_shards & !1]).map(same).max().unwrap()
}

/// Records of templates of `each` records at places in no order.
fn templates(n: usize, each: usize, fields: &[u8]) -> Vec<Vec<u8>> {
    (0..n).map(|i| record(&format!("r{}", i / each), 0, (i * 7919 % 900) as i32, fields)).collect()
}

/// A BAM file whose header has a block of its own, then these blocks.
fn after_header(rest: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let header = block(&bam_header(HEADER));
    [header, rest.into_iter().collect::<Vec<_>>().concat(), EOF_BLOCK.to_vec()].concat()
}

#[test]
fn each_record_in_a_block_of_its_own() {
    let records = templates(60, 1, b"");
    let max_slices =
        divides("x.bam", &after_header(records.iter().map(|record| block(record))), [2, 3, 17]);
    assert!(max_slices > 50, "only {max_slices} slices");
}

#[test]
fn names_that_change_where_blocks_do() {
    // Mates of files that say so are looked for among adjacent records alone.
    let text = samples::text(90, 30, 6).replace("VN:1.6", "VN:1.6\tGO:query");
    let templates = samples::by_template(&text);
    let file = |payloads: Vec<&[u8]>| {
        let blocks = payloads.into_iter().map(block).collect::<Vec<_>>().concat();
        [block(&samples::header(&text)), blocks, EOF_BLOCK.to_vec()].concat()
    };
    let whole = file(templates.iter().map(Vec::as_slice).collect());
    let max_slices = divides("x.bam", &whole, [2, 5, 29]);
    assert!(max_slices > 60, "only {max_slices} slices");
    // Each block ends with the first record of the next template, or in the middle of it.
    for of in [
        |template: &[u8]| 4 + template[0] as usize + 256 * template[1] as usize,
        |template: &[u8]| template.len() / 2,
    ] {
        let all = templates.concat();
        let (mut from, mut end, mut payloads) = (0, 0, Vec::new());
        for template in &templates {
            let to = end + of(template);
            payloads.push(&all[from..to]);
            (from, end) = (to, end + template.len());
        }
        payloads.push(&all[from..]);
        divides("x.bam", &file(payloads), [2, 7, 41]);
    }
}

#[test]
fn records_that_span_many_blocks() {
    let field = [&b"XXZ"[..], &[b'x'; 700], b"\0"].concat();
    let records = templates(30, 2, &field).concat();
    for size in [50, 333, 800, 2000] {
        let max_slices = divides("x.bam", &after_header(blocks(&records, size)), [2, 4, 13]);
        assert!(max_slices >= 10, "only {max_slices} slices with blocks of {size}");
    }
}

#[test]
fn blocks_of_any_size_with_empty_ones_between_and_the_header_anywhere() {
    for seed in 0..6 {
        let mut random = TestRandom::new(seed);
        let all = [bam_header(HEADER), templates(80, 1 + random.below(4), b"XXAy").concat()].concat();
        let (mut rest, mut file) = (&all[..], Vec::new());
        while !rest.is_empty() {
            let (one, others) = rest.split_at((1 + random.below(400)).min(rest.len()));
            file.extend(block(one));
            if random.once_in(9) {
                file.extend(block(b"")); // not the EOF block of the format, which would end the file
            }
            rest = others;
        }
        file.extend(EOF_BLOCK);
        divides("x.bam", &file, [2 + seed as usize, 31]);
    }
}

#[test]
fn every_byte_of_text_can_be_a_border() {
    let text = samples::text(9, 20, 4);
    assert!(text.len() < 4096, "{} bytes", text.len());
    for text in [&text, text.trim_end(), &text.replace('\n', "\r\n")] {
        let max_slices = divides("x.sam", text.as_bytes(), [2, 3, 5, 8, 13]);
        assert!(max_slices > 5, "only {max_slices} slices");
    }
}

/// Bytes of several whole records, as a field of a record.
fn field_of_records(n: usize, behind: &[u8]) -> Vec<u8> {
    let inner: Vec<u8> =
        (0..n).flat_map(|i| record(&format!("fake{i}"), 1, 7 + i as i32, b"")).collect();
    let inner = [&inner[..], behind].concat();
    [&b"XXBC"[..], &(inner.len() as u32).to_le_bytes(), &inner].concat()
}

#[test]
fn fields_that_look_like_records() {
    // Behind the false records is a byte more, then none: those are adjacent to the next true record.
    for behind in [&b"x"[..], b""] {
        let field = field_of_records(12, behind);
        let records = templates(24, 1, &field).concat();
        for size in [100, 431] {
            let file = after_header(blocks(&records, size));
            divides("x.bam", &file, [2, 3, 5, 11]);
        }
    }
}

#[test]
fn fields_that_look_like_blocks() {
    // The false blocks are there in clear, because the true ones are not compressed.
    let inner: Vec<u8> = repeat_with(|| block(&record("fake", 0, 1, b""))).take(5).flatten().collect();
    let field = [&b"XXBC"[..], &(inner.len() as u32).to_le_bytes(), &inner].concat();
    let records = templates(20, 1, &field).concat();
    let stored = |payload: &[u8]| {
        let mut out = Vec::new();
        Deflater::new(Codec::default(), 0).deflate_block(payload, &mut out);
        out
    };
    divides("x.bam", &after_header(records.chunks(3000).map(stored)), [2, 3, 5]);
}
