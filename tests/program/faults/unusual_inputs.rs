//! Unusual but valid files, all of which can be sorted.

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};

use crate::faults::fixtures::{
    HEADER, TestFolders, bam, bam_header, bgzf, block, blocks, many, raw_record, record,
};

/// Sorts the file with several numbers of threads; returns the lines, which must be the same each time.
#[track_caller]
fn sorted(name: &str, bytes: &[u8], memory: &str) -> Vec<String> {
    let folders = TestFolders::new();
    let input = folders.input(name, bytes);
    let mut first: Option<Vec<u8>> = None;
    for threads in ["1", "2", "8"] {
        let output = folders.out("x.bam");
        let args =
            [input.to_str().unwrap(), "-o", output.to_str().unwrap(), "-m", memory, "-@", threads];
        folders.readmill(["sort"].iter().chain(&args)).succeeds();
        let bytes = std::fs::read(&output).unwrap();
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{threads} threads");
    }
    folders.lines(&folders.out("x.bam"))
}

/// Asserts the same bytes for one, two and 64 threads, each with the least memory that the program accepts.
#[track_caller]
fn works_in_the_least_memory(steps: &str) {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(30_000, 1_000)));
    let mut outputs = Vec::new();
    for (threads, memory) in [("1", "2G"), ("1", "50M"), ("2", "60M"), ("64", "434M")] {
        let args = ["in/x.bam", "-o", "out/x.bam", "-@", threads, "-m", memory];
        folders.readmill(steps.split(' ').chain(args)).succeeds();
        outputs.push(std::fs::read(folders.out("x.bam")).unwrap());
    }
    assert!(outputs.iter().all(|bytes| *bytes == outputs[0]));
}

#[test]
fn sorting_works_in_the_least_memory() {
    works_in_the_least_memory("sort");
}

#[test]
fn marking_works_in_the_least_memory() {
    works_in_the_least_memory("markdup");
    works_in_the_least_memory("prep --sort coordinate --mark-duplicates");
}

#[test]
fn a_cigar_of_70_000_operators() {
    let operators = (0..70_000u32).map(|i| if i % 2 == 0 { 1 << 4 } else { 1 << 4 | 2 });
    let cigar: Vec<u8> = operators.clone().flat_map(u32::to_le_bytes).collect();
    let text: String = operators.map(|op| if op & 15 == 0 { "1M" } else { "1D" }).collect();
    let (seq, qual) = ("A".repeat(35_000), "I".repeat(35_000));
    let line = format!("long\t0\tchr1\t5\t60\t{text}\t*\t0\t0\t{seq}\t{qual}\tXX:i:7");
    let other = "other\t0\tchr1\t2\t60\t4M\t*\t0\t0\tACGT\tIIII";

    let fields = [b"XXC\x07CGBI", &70_000u32.to_le_bytes()[..], &cigar].concat();
    let stored = [35_000 << 4 | 4, 70_000 << 4 | 3];
    let sequence = (&[0x11; 17_500][..], &[40; 35_000][..]);
    let long = raw_record("long", (0, 4), &stored, sequence, &fields);
    let file = bam(&[long, record("other", 0, 1, b"")].concat());
    let from_bam = sorted("x.bam", &file, "1G");
    assert_eq!(from_bam[0].split('\t').next(), Some("other"));
    assert!(from_bam[1] == line, "{:.80} … {:?}", from_bam[1], &from_bam[1][from_bam[1].len() - 30..]);

    let from_sam = sorted("x.sam", format!("{HEADER}{line}\n{other}\n").as_bytes(), "1G");
    assert!(from_sam == [other, &line], "{:.80}", from_sam[1]);
}

#[test]
fn fields_of_every_type() {
    let fields = "XA:A:!\tXB:i:-128\tXC:i:255\tXD:i:-32768\tXE:i:65535\tXF:i:-2147483648\t\
                  XG:i:4294967295\tXH:f:-1.5\tXI:Z:any text, even :\tXJ:Z:\tXK:H:1AE301\t\
                  XL:B:c,-128,127\tXM:B:C,0,255\tXN:B:s,-32768\tXO:B:S,65535\tXP:B:i,-2147483648\t\
                  XQ:B:I,4294967295\tXR:B:f,0.5,-3\tXS:B:c";
    let line = format!("r\t0\tchr1\t2\t60\t4M\t*\t0\t0\tACGT\tIIII\t{fields}");
    assert_eq!(sorted("x.sam", format!("{HEADER}{line}\n").as_bytes(), "1G"), [line]);
}

#[test]
fn a_record_of_three_megabytes_among_others() {
    let text = "x".repeat(3_000_000);
    let long = record("long", 1, 3, &[b"XXZ", text.as_bytes(), b"\0"].concat());
    let lines = sorted("x.bam", &bam(&[many(500, 100), long, many(500, 100)].concat()), "1G");
    assert_eq!(lines.len(), 1001);
    assert!(lines[1000] == format!("long\t0\tchr2\t4\t60\t4M\t*\t0\t0\tACGT\t?@AB\tXX:Z:{text}"));
}

#[test]
fn blocks_of_any_size_in_any_place() {
    let records = many(3_000, 150);
    let payload = [bam_header(HEADER), records.clone()].concat();
    let expected = sorted("x.bam", &bgzf(&payload), "1G");
    assert_eq!(expected.len(), 3_000);

    let largest_inflated = [blocks(&payload, 65_536).concat(), EOF_BLOCK.to_vec()].concat();
    assert_eq!(sorted("x.bam", &largest_inflated, "1G"), expected);

    let mut stored = Deflater::new(Codec::default(), 0);
    let mut largest_stored = Vec::new();
    payload.chunks(65_505).for_each(|piece| stored.deflate_block(piece, &mut largest_stored));
    assert_eq!(largest_stored[16..18], [0xff, 0xff], "a block of 65,536 bytes in the file");
    largest_stored.extend(EOF_BLOCK);
    assert_eq!(sorted("x.bam", &largest_stored, "1G"), expected);

    let empty_between: Vec<u8> =
        blocks(&payload, 999).iter().flat_map(|b| [&b[..], &EOF_BLOCK, &block(b"")].concat()).collect();
    assert_eq!(sorted("x.bam", &[empty_between, EOF_BLOCK.to_vec()].concat(), "1G"), expected);

    let tiny = [blocks(&payload, 7).concat(), EOF_BLOCK.to_vec()].concat();
    assert_eq!(sorted("x.bam", &tiny, "1G"), expected);

    let concatenated = [bam(b""), bgzf(&records[..7_777]), bgzf(&records[7_777..])].concat();
    assert_eq!(sorted("x.bam", &concatenated, "1G"), expected);
}
