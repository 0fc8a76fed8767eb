//! Files that are damaged, cut short, or something else altogether.

use std::ffi::OsStr;

use readmill_format::bgzf::EOF_BLOCK;

use crate::faults::files::{self, HEADER, bam, bam_header, bgzf, block, blocks, gzip, many, record};
use crate::faults::program::TestFolders;

/// Every way to work on a file refuses `bytes` with these words and leaves nothing behind.
#[track_caller]
fn refused(name: &str, bytes: &[u8], words: &[&str]) {
    let folders = TestFolders::new();
    let (input, output) = (folders.input(name, bytes), folders.out("x.bam"));
    for steps in [&["sort"][..], &["prep"], &["markdup"], &["prep", "--sort", "coordinate"]] {
        for threads in ["1", "3"] {
            let (command, flags) = steps.split_first().unwrap();
            let mut args =
                vec![OsStr::new(command), input.as_os_str(), "-o".as_ref(), output.as_os_str()];
            args.extend(flags.iter().map(OsStr::new));
            args.extend(["-@", threads].map(OsStr::new));
            let ended = folders.readmill(args);
            ended.fails(2, &[&[name], words].concat());
            assert_eq!(folders.left(), [""; 0], "{steps:?}");
        }
    }
}

/// A BAM file of several chunks.
fn long_file() -> Vec<u8> {
    bam(&many(20_000, 200))
}

#[test]
fn a_file_cut_inside_a_block() {
    let bytes = long_file();
    for cut in [1, 10, 17, 25, 100, bytes.len() / 2, bytes.len() - 29, bytes.len() - 1] {
        let words: &[&str] = if cut < 18 { &[] } else { &["truncated", "get it again"] };
        refused("cut.bam", &bytes[..cut], words);
    }
}

#[test]
fn a_file_cut_between_blocks() {
    let payload = [bam_header(HEADER), many(20_000, 200)].concat();
    let mut pieces = blocks(&payload, 0xff00);
    let whole = pieces.concat();
    refused("cut.bam", &whole, &["EOF block is missing", "--allow-missing-eof"]);
    pieces.truncate(pieces.len() / 2);
    refused("cut.bam", &pieces.concat(), &["EOF block is missing", "--allow-missing-eof"]);
    let mut inside_header = block(&payload[..20]);
    inside_header.extend(EOF_BLOCK);
    refused("cut.bam", &inside_header, &["ends inside its header", "get the file again"]);
}

/// The end of each input is looked at first: what is wrong with the reads of another is not yet known then.
#[test]
fn a_file_without_its_end_is_told_before_anything_is_read() {
    let folders = TestFolders::new();
    let damaged = folders.input(
        "damaged.sam",
        format!("{HEADER}r\t0\tchr1\tx\t60\t4M\t*\t0\t0\tACGT\tIIII\n").as_bytes(),
    );
    let fastq = bgzf(b"@r\nACGT\n+\nIIII\n");
    let reference = folders.input("ref.fa", format!(">chr1\n{}\n", "ACGT".repeat(100)));
    let index = folders.readmill(["index".as_ref(), reference.as_os_str()]);
    index.succeeds();
    let mut cram = b"CRAM\x03\x00".to_vec();
    cram.resize(500, 0);
    let bam = long_file();
    for (name, bytes, word) in [
        ("x.bam", &bam[..bam.len() - 28], "EOF block"),
        ("x.bam", &bam[..bam.len() / 2], "EOF block"),
        ("x.sam.gz", &bgzf(files::sam().as_bytes())[..100], "EOF block"),
        ("x.cram", &cram, "container that ends a CRAM file"),
    ] {
        let cut = folders.input(name, bytes);
        for command in ["sort", "prep", "markdup", "merge", "flagstat"] {
            let mut args = vec![command.as_ref(), damaged.as_os_str(), cut.as_os_str()];
            let output = folders.out("o.bam");
            if command != "flagstat" {
                args.extend(["-o".as_ref(), output.as_os_str()]);
            }
            let ended = folders.readmill(args);
            ended.fails(
                2,
                &[name, word, "is missing", "truncated", "get it again", "--allow-missing-eof"],
            );
            assert!(!ended.stderr.contains("temporary files in"), "nothing was begun");
        }
        let ended = folders.readmill(["compare".as_ref(), damaged.as_os_str(), cut.as_os_str()]);
        ended.fails(2, &[name, word]);
    }
    let cut = folders.input("x.fq.gz", &fastq[..fastq.len() - 28]);
    let args = ["align".as_ref(), reference.as_os_str(), cut.as_os_str()];
    folders.readmill(args).fails(2, &["x.fq.gz", "EOF block is missing", "--allow-missing-eof"]);
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn a_missing_eof_block_can_be_allowed() {
    let folders = TestFolders::new();
    let whole = [bam_header(HEADER), many(10, 100)].concat();
    let (input, output) =
        (folders.input("x.bam", blocks(&whole, 0xff00).concat()), folders.out("x.bam"));
    let args = ["sort".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str()];
    folders.readmill(args.iter().chain([&"--allow-missing-eof".as_ref()])).succeeds();
    assert_eq!(folders.lines(&output).len(), 10);
}

#[test]
fn a_file_that_ends_inside_a_record_though_its_eof_block_is_there() {
    let payload = [bam_header(HEADER), many(9, 100), record("last", 0, 5, b"")].concat();
    for missing in [1, 20, 45] {
        let cut = bgzf(&payload[..payload.len() - missing]);
        refused("cut.bam", &cut, &["record 10", "ends inside a record", "get it again"]);
    }
}

#[test]
fn bytes_that_changed() {
    let bytes = long_file();
    let size = |at: usize| 1 + usize::from(u16::from_le_bytes([bytes[at + 16], bytes[at + 17]]));
    let second = size(0);
    let end = second + size(second);
    let flip = |at: usize| {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        bad
    };
    refused("bad.bam", &flip(end - 8), &["checksum (CRC)", "at byte"]);
    refused("bad.bam", &flip(second + 3000), &["block", "at byte"]);
    refused("bad.bam", &flip(end - 4), &["does not inflate to the length it claims", "at byte"]);
    refused("bad.bam", &flip(end - 1), &["more than 64 KiB", "at byte"]);
    refused("bad.bam", &flip(second), &["not a BGZF block", "at byte"]);
    refused("bad.bam", &flip(second + 12), &["damaged", "at byte"]);
}

#[test]
fn what_is_not_a_file_of_reads() {
    refused("x.bam", b"", &["empty"]);
    refused(
        "x.bam",
        b"Dear diary,\nnothing today.\n",
        &["none of BAM, SAM and CRAM", "give a BAM, SAM or CRAM file"],
    );
    refused("x.bam", &[0x80, 0, 1, 2, 0xfe, 9, 10, 11], &["none of BAM, SAM and CRAM"]);
    refused("x.cram", b"CRAM\x02\0 and so on", &["ends inside its header"]);
    refused("x.sam.gz", &gzip(b"\x80\0garbage\xff\n"), &["none of BAM, SAM and CRAM"]);
    refused("x.bam", &bgzf(b"BAM\x02 and so on\n"), &["none of BAM, SAM and CRAM"]);
    refused("x.bam", &bam_header(HEADER), &["without its BGZF layer", "bgzip"]);
    refused("x.sam", HEADER.replace("@SQ", "!SQ").as_bytes(), &["none of BAM, SAM and CRAM"]);
}

#[test]
fn sam_text_in_gzip_that_is_cut() {
    let text = files::sam();
    let whole = gzip(text.as_bytes());
    refused("x.sam.gz", &whole[..whole.len() / 2], &["gzip data is damaged or cut short"]);
    refused("x.sam.gz", &whole[..whole.len() - 3], &["gzip data is damaged or cut short"]);
    let whole = bgzf(text.as_bytes());
    refused("x.sam.gz", &whole[..whole.len() - 40], &["truncated"]);
    refused("x.sam.gz", &whole[..whole.len() - 28], &["EOF block is missing"]);
}

#[test]
fn an_input_that_cannot_be_opened() {
    let folders = TestFolders::new();
    let output = folders.out("x.bam");
    let sort =
        |input: &OsStr| folders.readmill(["sort".as_ref(), input, "-o".as_ref(), output.as_os_str()]);
    sort("in/none.bam".as_ref()).fails(3, &["in/none.bam", "No such file"]);
    sort("in".as_ref()).fails(1, &["in is a directory"]);
    assert_eq!(folders.left(), [""; 0]);
}

/// samtools makes such a read unmapped, with a warning: here no read is changed silently.
#[test]
fn a_read_on_a_contig_that_the_header_lacks() {
    for columns in ["chr9\t5\t60\t4M\t*\t0", "chr1\t5\t60\t4M\tchr9\t7"] {
        let text = format!("{HEADER}r\t0\t{columns}\t0\tACGT\tIIII\n");
        let words =
            ["record 1 (read r)", "\"chr9\" is not in the header", "samtools reheader", "unmapped"];
        refused("x.sam", text.as_bytes(), &words);
    }
}

#[test]
fn a_header_without_records_is_a_file_like_any_other() {
    for (name, bytes) in
        [("x.bam", bam(b"")), ("x.sam", HEADER.into()), ("x.sam.gz", gzip(HEADER.as_bytes()))]
    {
        let folders = TestFolders::new();
        let (input, output) = (folders.input(name, bytes), folders.out("o.bam"));
        for command in ["sort", "markdup"] {
            folders
                .readmill([command.as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str()])
                .succeeds();
            assert_eq!(folders.lines(&output), [""; 0]);
        }
        assert_eq!(folders.left(), ["o.bam"], "the index of an older file is gone");
    }
}
