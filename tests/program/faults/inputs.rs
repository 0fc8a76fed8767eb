//! Files that are damaged, cut short, or something else altogether; and invalid records, which the message gives by their number
//! and the name of the read.

use std::ffi::OsStr;

use readmill_format::bgzf::EOF_BLOCK;

use crate::faults::fixtures::{
    self, HEADER, TestFolders, bam, bam_header, bgzf, block, blocks, gzip, many, raw_record, record,
};

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
        let words: &[&str] = if cut < 18 { &[] } else { &["truncated", "download or create it again"] };
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
    refused("cut.bam", &inside_header, &["ends inside its header", "download or create the file again"]);
}

/// The end of each input is looked at first: what is wrong with the reads of another is not yet known then.
#[test]
fn a_file_without_its_end_is_told_before_anything_is_read() {
    let folders = TestFolders::new();
    let damaged = folders.input(
        "damaged.sam",
        format!("{HEADER}r\t0\tchr1\tx\t60\t4M\t*\t0\t0\tACGT\tIIII\n").as_bytes(),
    );
    let mut cram = b"CRAM\x03\x00".to_vec();
    cram.resize(500, 0);
    let bam = long_file();
    for (name, bytes, word) in [
        ("x.bam", &bam[..bam.len() - 28], "EOF block"),
        ("x.bam", &bam[..bam.len() / 2], "EOF block"),
        ("x.sam.gz", &bgzf(fixtures::sam().as_bytes())[..100], "EOF block"),
        ("x.cram", &cram, "EOF container of CRAM"),
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
                &[
                    name,
                    word,
                    "is missing",
                    "truncated",
                    "download or create it again",
                    "--allow-missing-eof",
                ],
            );
            assert!(!ended.stderr.contains("temporary files in"), "nothing was begun");
        }
        let ended = folders.readmill(["compare".as_ref(), damaged.as_os_str(), cut.as_os_str()]);
        ended.fails(2, &[name, word]);
    }
    assert_eq!(folders.left(), [""; 0]);
}

/// bcl2fastq and others write no EOF block, and all other programs read such files.
#[test]
fn fastq_without_its_eof_block_is_read_with_a_warning() {
    let folders = TestFolders::new();
    let fastq = bgzf(b"@r\nACGT\n+\nIIII\n");
    folders.input("x.fq.gz", &fastq[..fastq.len() - 28]);
    for (script, warns) in [
        ("\"$0\" import in/x.fq.gz -O sam", true),
        ("cat in/x.fq.gz | \"$0\" import - -O sam", true),
        ("\"$0\" import in/x.fq.gz -O sam --allow-missing-eof", false),
    ] {
        let ended = folders.run(&mut folders.shell(script));
        assert_eq!(ended.status.code(), Some(0), "{script}: {}", ended.stderr);
        assert!(ended.stdout.ends_with(b"r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"), "{script}");
        assert_eq!(ended.stderr.contains("has no BGZF EOF block"), warns, "{script}: {}", ended.stderr);
    }
    assert_eq!(folders.left(), [""; 0]);
}

/// Files that were joined with cat, in any order, and NUL bytes behind them.
#[test]
fn text_in_bgzf_and_gzip_together_is_read() {
    let folders = TestFolders::new();
    let sam = fixtures::sam();
    let (head, tail) = sam.split_at(sam.len() / 2);
    let parts =
        [[bgzf(head.as_bytes()), gzip(tail.as_bytes())], [gzip(head.as_bytes()), bgzf(tail.as_bytes())]];
    for joined in parts.map(|parts| parts.concat()) {
        for nuls in [0, 1, 70_000] {
            folders.input("x.sam.gz", [&joined[..], &vec![0; nuls]].concat());
            let ended = folders.readmill(["view", "-h", "--no-PG", "in/x.sam.gz"]);
            ended.succeeds();
            assert_eq!(String::from_utf8(ended.stdout).unwrap(), sam, "{nuls}");
        }
        folders.input("x.sam.gz", &joined[..joined.len() - 5]);
        assert_eq!(folders.readmill(["view", "in/x.sam.gz"]).status.code(), Some(2));
    }
    folders.input("x.sam", &sam);
    let (one, two) = (bgzf(b"chr1\t0\t5\n"), gzip(b"chr1\t7\t900\n"));
    folders.input("r.bed", [&one[..], &two, &[0; 100]].concat());
    folders.input("all.bed", "chr1\t0\t5\nchr1\t7\t900\n");
    let count = |bed: &str| {
        let ended = folders.readmill(["view", "-c", "-L", bed, "in/x.sam"]);
        ended.succeeds();
        ended.stdout
    };
    assert_eq!(count("in/r.bed"), count("in/all.bed"));
}

#[test]
fn bam_that_was_joined_packed_or_added_to_is_told_as_such() {
    let whole = long_file();
    refused("joined.bam", &[&whole[..], &whole].concat(), &["joined with cat", "readmill cat"]);
    let small = bam(&many(3, 100));
    refused("joined.bam", &[&small[..], &small].concat(), &["joined with cat", "readmill cat"]);
    let at = small.len();
    let cut_off = format!("head -c {at} FILE");
    refused(
        "more.bam",
        &[&small[..], b"\nsomething else"].concat(),
        &["15 bytes follow the BGZF EOF block", &cut_off],
    );
    let packed = gzip(&[bam_header(HEADER), many(3, 100)].concat());
    refused("packed.bam", &packed, &["compressed with gzip", "bgzip"]);
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
        refused("cut.bam", &cut, &["record 10", "ends inside a record", "download or create it again"]);
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
    refused("bad.bam", &flip(end - 4), &["does not inflate to its stated length", "at byte"]);
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
        &["not BAM, SAM or CRAM", "give a BAM, SAM or CRAM file"],
    );
    refused("x.bam", &[0x80, 0, 1, 2, 0xfe, 9, 10, 11], &["not BAM, SAM or CRAM"]);
    refused("x.cram", b"CRAM\x02\0 and so on", &["ends inside its header"]);
    refused("x.sam.gz", &gzip(b"\x80\0garbage\xff\n"), &["not BAM, SAM or CRAM"]);
    refused("x.bam", &bgzf(b"BAM\x02 and so on\n"), &["not BAM, SAM or CRAM"]);
    refused("x.bam", &bam_header(HEADER), &["without BGZF compression", "bgzip"]);
    refused("x.sam", HEADER.replace("@SQ", "!SQ").as_bytes(), &["not BAM, SAM or CRAM"]);
}

#[test]
fn sam_text_in_gzip_that_is_cut() {
    let text = fixtures::sam();
    let whole = gzip(text.as_bytes());
    refused("x.sam.gz", &whole[..whole.len() / 2], &["gzip data is damaged or truncated"]);
    refused("x.sam.gz", &whole[..whole.len() - 3], &["gzip data is damaged or truncated"]);
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
            ["record 1 (read r)", "\"chr9\" is not in the header", "add an @SQ line", "unmapped"];
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

/// Asserts that `sort` and `prep` without steps refuse the file with these words, with any number of threads.
#[track_caller]
fn record_is_refused(name: &str, bytes: &[u8], words: &[&str]) {
    let folders = TestFolders::new();
    let input = folders.input(name, bytes);
    let mut said = Vec::new();
    for command in ["sort", "prep", "markdup"] {
        for threads in ["1", "2", "8"] {
            let output = folders.out("x.bam");
            let args =
                [command, input.to_str().unwrap(), "-o", output.to_str().unwrap(), "-q", "-@", threads];
            let ended = folders.readmill(args);
            ended.fails(2, &[&[name], words].concat());
            assert_eq!(folders.left(), [""; 0], "{command}");
            said.push(ended.stderr);
        }
    }
    assert!(said.iter().all(|message| *message == said[0]), "{said:?}");
}

/// A file with one damaged record in the middle.
fn with_bad_record(spoil: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bad = record("the.culprit", 0, 77, b"NMC\x05XXZhello\0");
    spoil(&mut bad);
    bam(&[many(9_999, 300), bad, many(9_999, 300)].concat())
}

#[test]
fn a_bad_record_is_named_by_number_and_read() {
    let named = "record 10000 (read the.culprit)";
    type Damage = fn(&mut Vec<u8>);
    let cases: [(Damage, &str); 9] = [
        (|r| r[4] = 2, "reference sequence is not in the header"),
        (|r| r[4..8].fill(0x80), "reference sequence is not in the header"),
        (|r| r[24] = 9, "reference sequence is not in the header"),
        (|r| r[8..12].fill(0x90), "position is negative"),
        (|r| r[20..24].fill(0xff), "l_seq is negative"),
        (|r| r[20] = 200, "shorter than its name, CIGAR, SEQ and QUAL"),
        (|r| r[17] = 100, "shorter than its name, CIGAR, SEQ and QUAL"),
        (|r| *r.last_mut().unwrap() = b'!', "optional fields are malformed"),
        (
            |r| {
                let at = r.len() - 11;
                r[at + 4] = b'q'
            },
            "optional fields are malformed",
        ),
    ];
    for (spoil, words) in cases {
        record_is_refused("bad.bam", &with_bad_record(spoil), &[named, words]);
    }
}

#[test]
fn view_finds_damaged_optional_fields_where_it_looks_at_them() {
    let folders = TestFolders::new();
    let input = folders.input("bad.bam", with_bad_record(|r| *r.last_mut().unwrap() = b'!'));
    let input = input.to_str().unwrap();
    let output = folders.out("x");
    let output = output.to_str().unwrap();
    for (words, code) in [
        (&["-c"][..], 0),
        (&["-c", "-F", "0x900", "-q", "0"], 0),
        (&["-u", "-F", "0x900", "-o", output], 0),
        (&["-b", "-m", "0", "-o", output], 0),
        (&["-h", "-o", output], 2),
        (&["-O", "sam.gz", "-o", output], 2),
        (&["-c", "-d", "NM"], 2),
        (&["-b", "-x", "NM", "-o", output], 2),
    ] {
        let _ = std::fs::remove_file(output);
        let done = folders.readmill([&["view", "-@", "2", input][..], words].concat());
        if code == 0 {
            done.succeeds();
            let counted = String::from_utf8_lossy(&done.stdout);
            assert!(words[0] != "-c" || counted.trim() == "19999", "{words:?}: {counted}");
        } else {
            done.fails(2, &["record 10000 (read the.culprit)", "optional fields are malformed"]);
            assert_eq!(folders.left(), [""; 0], "{words:?}");
        }
    }
}

#[test]
fn a_record_whose_name_is_damaged_is_named_by_number() {
    for length in [0, 5, 200] {
        let bytes = with_bad_record(|r| r[12] = length);
        record_is_refused("bad.bam", &bytes, &["record 10000", "read name does not end with a NUL"]);
    }
}

#[test]
fn an_absurd_block_size_is_named_by_number() {
    for size in [0u32, 31, 0x8000_0000, u32::MAX] {
        let bytes = with_bad_record(|r| r[..4].copy_from_slice(&size.to_le_bytes()));
        record_is_refused(
            "bad.bam",
            &bytes,
            &["record 10000", &format!("an invalid length of {size} bytes")],
        );
    }
    let bytes =
        bam(&[record("a", 0, 1, b""), 0x7000_0000u32.to_le_bytes().to_vec(), vec![1; 90]].concat());
    record_is_refused("bad.bam", &bytes, &["record 2", "ends inside a record"]);
}

#[test]
fn of_two_bad_records_the_first_is_reported() {
    let bad = |name: &str| record(name, 7, 7, b"");
    let bytes = bam(&[many(20_000, 300), bad("first"), many(5_000, 300), bad("second")].concat());
    record_is_refused("bad.bam", &bytes, &["record 20001 (read first)"]);
    let mut damaged_later = bytes.clone();
    let late = damaged_later.len() - 3_000;
    damaged_later[late] ^= 0xff;
    record_is_refused("bad.bam", &damaged_later, &["record 20001 (read first)"]);
}

#[test]
fn a_bad_line_of_sam_is_named_by_number_and_read() {
    let good = "fine\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let cases = [
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT", "has 10 of the 11 columns"),
        ("r\t0\tchr1\t5\t60\t4Q\t*\t0\t0\tACGT\tIIII", "CIGAR"),
        ("r\t0\tchr1\t5\t60\t3M\t*\t0\t0\tACGT\tIIII", "CIGAR"),
        (
            "r\t0\tchr9\t5\t60\t4M\t*\t0\t0\tACGT\tIIII",
            "reference sequence \"chr9\" is not in the header",
        ),
        ("r\t0\tchr1\tx\t60\t4M\t*\t0\t0\tACGT\tIIII", "POS is \"x\""),
        ("r\t65536\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII", "FLAG is \"65536\""),
        ("r\t0\tchr1\t5\t256\t4M\t*\t0\t0\tACGT\tIIII", "MAPQ is \"256\""),
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIII", "QUAL"),
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:x", "NM"),
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tgarbage", ""),
    ];
    for (line, words) in cases {
        let text = format!("{HEADER}{}{line}\n{good}", good.repeat(30_000));
        record_is_refused("x.sam", text.as_bytes(), &["record 30001 (read r)", words]);
    }
}

#[test]
fn reference_sequences_must_be_in_the_header_once() {
    let read = "r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let words = ["record 1 (read r)", "\"chr1\" is not in the header"];
    record_is_refused("x.sam", format!("@HD\tVN:1.6\n{read}").as_bytes(), &words);
    record_is_refused("x.sam", read.as_bytes(), &words);
    let twice = format!("{HEADER}@SQ\tSN:chr1\tLN:7\n{read}");
    record_is_refused("x.sam", twice.as_bytes(), &["two @SQ lines have the same name", "chr1"]);
}

/// Guards against a former defect: the name was read before the record was checked.
#[test]
fn a_record_with_an_empty_name_or_one_longer_than_the_record() {
    let with_name_length = |length: u8| {
        let mut raw = raw_record("abc", (0, 4), &[], (&[], &[]), &[]);
        raw[12] = length;
        raw
    };
    let before = many(3_000, 200);
    for (damaged, before, number) in
        [(0, &before[..0], "record 1"), (254, &before[..0], "record 1"), (0, &before, "record 3001")]
    {
        let folders = TestFolders::new();
        let records = [before, &with_name_length(damaged), &record("last", 0, 9, b"")].concat();
        let input = folders.input("x.bam", bam(&records));
        let commands = [("fastq", "x.fq"), ("flagstat", "x.txt")];
        let sorting = ["sort", "markdup", "collate", "merge", "prep"].map(|command| (command, "x.bam"));
        for (command, output) in sorting.into_iter().chain(commands) {
            let output = folders.out(output);
            for threads in ["1", "2"] {
                let mut args =
                    vec![OsStr::new(command), input.as_os_str(), "-@".as_ref(), threads.as_ref()];
                args.extend(["-o".as_ref(), output.as_os_str()]);
                folders
                    .readmill(args)
                    .fails(2, &["x.bam", number, "the read name does not end with a NUL"]);
                assert_eq!(folders.left(), [""; 0], "{command}");
            }
        }
    }
}
