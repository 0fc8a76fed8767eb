//! `quickcheck`, `head`, `cat`, `reheader`, `collate`, and commands that are left out.

use super::{raw_bam, reads, refused, stored};
use crate::support::{ProgramRun, TestDir, arg, bam, readmill, records, split_header};

/// The SAM text of a file, without @PG lines.
fn text(path: &str) -> String {
    let done = readmill(["filter", path, "-O", "sam", "--no-PG", "--quiet"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = String::from_utf8(done.stdout).unwrap();
    text.split_inclusive('\n').filter(|line| !line.starts_with("@PG")).collect()
}

#[test]
fn quickcheck_looks_at_both_ends() {
    let dir = TestDir::new();
    let whole = bam(&reads(100, &[3_000], 0));
    let good = arg(&dir.file("good.bam", &whole));
    let sam = arg(&dir.file("good.sam", reads(3, &[3_000], 0)));
    let cut = arg(&dir.file("cut.bam", &whole[..whole.len() - 40]));
    let eof = arg(&dir.file("eof.bam", &whole[..whole.len() - 28]));
    let bare = arg(&dir.file("bare.bam", bam(&reads(0, &[], 3))));
    let other = arg(&dir.file("other.bam", "hello\n"));
    let missing = arg(&dir.path("missing.bam"));
    let done = readmill(["quickcheck", "-v", &good, &sam]);
    assert_eq!((done.code, &done.stderr[..], &done.stdout[..]), (Some(0), "", &b""[..]));
    for (file, code, word) in [
        (&cut, 2, "truncated"),
        (&eof, 2, "truncated"),
        (&bare, 2, "no reference sequences"),
        (&other, 2, "none of BAM, SAM and CRAM"),
        (&missing, 3, "cannot be opened"),
    ] {
        let done = readmill(["quickcheck", "-v", &good, file]);
        assert_eq!(done.code, Some(code), "{file}: {}", done.stderr);
        assert!(done.stderr.contains(word), "{file}: {}", done.stderr);
        assert_eq!(String::from_utf8(done.stdout).unwrap(), format!("{file}\n"));
    }
    assert_eq!(readmill(["quickcheck", "-u", &bare]).code, Some(0));
    let ProgramRun { code, stderr, stdout } = readmill(["quickcheck", "-q", &cut]);
    assert_eq!((code, &stderr[..], &stdout[..]), (Some(2), "", &b""[..]));
}

#[test]
fn head_prints_the_first_lines() {
    let dir = TestDir::new();
    let all = reads(3_000, &[3_000_000, 9_000], 0);
    let file = arg(&dir.file("in.bam", stored(&raw_bam(&all), 1_000)));
    let head = |flags: &[&str]| {
        let done = readmill(["head"].iter().chain(flags).copied().chain([&file[..]]));
        assert_eq!((done.code, &done.stderr[..]), (Some(0), ""), "{flags:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let (header, _) = split_header(&all);
    assert_eq!(head(&[]), header);
    assert_eq!(head(&["-h", "1"]), "@HD\tVN:1.6\tSO:coordinate\n");
    let lines = records(&all);
    assert_eq!(head(&["-h", "0", "-n", "2"]), format!("{}\n{}\n", lines[0], lines[1]));
    assert!(head(&["-n", "9999"]) == all);
}

#[test]
fn cat_joins_files_block_by_block() {
    let dir = TestDir::new();
    let (a, b) = (reads(3_000, &[3_000_000], 0), reads(50, &[3_000_000], 3));
    for block in [40, 1_000, 0xff00] {
        let one = arg(&dir.file("a.bam", stored(&raw_bam(&a), block)));
        let two = arg(&dir.file("b.bam", stored(&raw_bam(&b), block)));
        let out = arg(&dir.path("out.bam"));
        let done = readmill(["cat", &one, &two, "-o", &out, "-q"]);
        assert_eq!((done.code, &done.stderr[..]), (Some(0), ""));
        assert!(text(&out) == format!("{a}{}", split_header(&b).1), "blocks of {block}");
        let done = readmill(["cat", "-h", &two, "--no-PG", &one, &one]);
        let twice = dir.file("twice.bam", done.stdout);
        assert_eq!(records(&text(&arg(&twice))).len(), 6_000);
    }
    let [one, two] = ["a.bam", "b.bam"].map(|name| arg(&dir.path(name)));
    let list = arg(&dir.file("list", format!("{one}\n{two}\n")));
    let done = readmill(["cat", "-b", &list, "-q"]);
    assert_eq!(records(&text(&arg(&dir.file("listed.bam", done.stdout)))).len(), 3_053);
    let other = arg(&dir.file("other.bam", bam(&reads(5, &[5_000], 0))));
    let out = arg(&dir.path("refused.bam"));
    refused(&dir, &["cat", &one, &other, "-o", &out], 2, &["other.bam", "contig 1", "readmill merge"]);
    let cut = stored(&raw_bam(&a), 1_000);
    let cut = arg(&dir.file("cut.bam", &cut[..cut.len() - 100]));
    refused(&dir, &["cat", &one, &cut, "-o", &out], 2, &["cut.bam", "truncated"]);
    let sam = arg(&dir.file("in.sam", &a));
    refused(&dir, &["cat", &sam, "-o", &out], 2, &["in.sam"]);
}

#[test]
fn reheader_changes_the_header_alone() {
    let dir = TestDir::new();
    let all = reads(3_000, &[3_000_000, 9_000], 5);
    let rename = |text: &str| {
        let text = text.replace("SN:c", "SN:chr");
        text.replace("\tc0\t", "\tchr0\t").replace("\tc1\t", "\tchr1\t")
    };
    let renamed = rename(&all);
    let header = arg(&dir.file("new.sam", split_header(&renamed).0));
    for name in ["a.bam", "a.cram"] {
        let input = dir.path(name);
        let sam = arg(&dir.file("in.sam", &all));
        let format = if name.ends_with("cram") { "cram,no-ref" } else { "bam" };
        let made =
            readmill(["sort", &sam, "-o", &arg(&input), "-O", format, "--no-index", "--no-PG", "-q"]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let done = readmill(["reheader", &header, &arg(&input)]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let out = arg(&dir.file(&format!("out.{name}"), &done.stdout));
        assert!(text(&out) == rename(&text(&arg(&input))), "{name}");
        let done = readmill(["head", &out]);
        assert!(String::from_utf8(done.stdout).unwrap().contains("CL:readmill reheader"));
        let fewer = arg(&dir.file("fewer.sam", "@HD\tVN:1.6\n@SQ\tSN:chr0\tLN:3000000\n"));
        let out = arg(&dir.path("refused"));
        refused(&dir, &["reheader", &fewer, &arg(&input), "-o", &out], 2, &["1 contigs"]);
        let cut = std::fs::read(&input).unwrap();
        let cut = arg(&dir.file("cut", &cut[..cut.len() - 20]));
        refused(&dir, &["reheader", &header, &cut, "-o", &out], 2, &["cut"]);
        std::fs::remove_file(cut).unwrap();
    }
    refused(
        &dir,
        &["reheader", "-c", "sed s/a/b/", "x.bam"],
        1,
        &["reheader has no -c", "readmill head"],
    );
    refused(&dir, &["reheader", "-i", "h", "x.cram"], 1, &["no -i"]);
}

#[test]
fn collate_puts_reads_of_a_name_together() {
    let dir = TestDir::new();
    let all = reads(500, &[3_000_000], 0).replace("r1", "r").replace("r2", "r");
    let file = arg(&dir.file("in.bam", bam(&all)));
    let done = readmill(["collate", &file, "-O", "sam", "-q"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = String::from_utf8(done.stdout).unwrap();
    let names: Vec<&str> = records(&text).iter().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names.len(), 500);
    assert!(names.is_sorted());
}

#[test]
fn what_is_left_out_is_named_with_the_way_to_do_it() {
    let dir = TestDir::new();
    refused(&dir, &["addreplacerg", "-r", "ID:x", "in.bam"], 1, &["no addreplacerg", "--read-group"]);
    refused(&dir, &["depth", "-a", "in.bam"], 1, &["no depth", "samtools depth"]);
    refused(&dir, &["coverage"], 1, &["no coverage"]);
    refused(&dir, &["bedcov", "a.bed", "in.bam"], 1, &["no bedcov"]);
}
