//! Known sites that are missing, damaged, or those of another genome.

use super::{AGAINST, SITES, folders, is_not_counted, run, vcf};
use crate::faults::files::{bgzf, gzip};

/// Asserts that counting refuses these sites, with these words in the message.
#[track_caller]
fn refused(name: &str, sites: impl AsRef<[u8]>, words: &[&str]) {
    let (folders, name) = (folders(), format!("in/{name}"));
    folders.input(&name[3..], sites);
    let flags = format!("--reference in/ref.fa --known-sites in/known.vcf --known-sites {name}");
    is_not_counted(&folders, &flags, 2, &[&[&*name], words].concat());
}

#[test]
fn without_known_sites_every_variant_is_an_error() {
    let words = ["variant", "--known-sites", "--bqsr-bootstrap"];
    is_not_counted(&folders(), "--reference in/ref.fa", 1, &words);
}

#[test]
fn sites_that_are_not_there() {
    let folders = folders();
    let flags = "--reference in/ref.fa --known-sites";
    is_not_counted(&folders, &format!("{flags} in/none.vcf"), 3, &["in/none.vcf", "No such file"]);
    is_not_counted(&folders, &format!("{flags} in"), 3, &["in", "directory"]);
}

#[test]
fn sites_of_another_genome() {
    let longer = vcf(SITES).replace("length=400", "length=401");
    refused("x.vcf", longer, &["chr1 has 401 bases here, but 400", "another build"]);
    let renamed = vcf(SITES).replace("ID=chr", "ID=").replace("\nchr", "\n");
    refused("x.vcf", renamed, &["no contig in common", "with and without chr"]);
    refused("x.bed", "1\t29\t30\n2\t5\t6\n", &["no contig in common", "with and without chr"]);
    refused("x.vcf", vcf("chr1\t402\t.\tA\tC\t.\t.\t.\n"), &["line 5", "chr1", "400", "another build"]);
    refused("x.bed", "chr1\t3\t4\nchr1\t401\t402\n", &["line 2", "chr1", "400", "another build"]);
}

#[test]
fn sites_that_are_damaged() {
    let many = vcf(&SITES.repeat(4_000));
    for whole in [gzip(many.as_bytes()), bgzf(many.as_bytes())] {
        for cut in [40, whole.len() / 2, whole.len() - 30] {
            refused("x.vcf.gz", &whole[..cut], &["cut short", "get", "again"]);
        }
    }
    refused("x.vcf", SITES, &["not VCF", "##fileformat=VCF"]);
    refused("x.vcf", "", &["not VCF"]);
    refused("x.bcf", SITES, &["not BCF"]);
}

#[test]
fn files_without_any_site() {
    let folders = folders();
    folders.input("none.vcf", vcf(""));
    folders.input("none.bed", "# of no place\n");
    let flags = "--reference in/ref.fa --known-sites in/none.vcf";
    let words = ["in/none.vcf: ", "no known site in it", "--allow-empty"];
    is_not_counted(&folders, flags, 2, &words);
    let both = format!("{flags} --known-sites in/none.bed");
    is_not_counted(&folders, &both, 2, &[&words[..], &["nor in the other files"]].concat());
    let run = |flags: &str| {
        let ended = run(&folders, &format!("bqsr table in/x.sam {flags} -o out/table"));
        ended.succeeds();
        (std::fs::read(folders.out("table")).unwrap(), ended.stderr)
    };
    // Counted as by GATK, which takes no notice.
    let (with, _) = run(AGAINST);
    let (without, said) = run(&format!("{both} --allow-empty"));
    assert!(
        with != without && said.contains("warning: in/none.bed: there is no known site in it"),
        "{said}"
    );
    // A file without sites next to one with some gives a warning.
    let (table, said) = run(&format!("{AGAINST} --known-sites in/none.bed"));
    assert!(
        table == with && said.contains("warning: in/none.bed: there is no known site in it"),
        "{said}"
    );
}

#[test]
fn lines_that_are_damaged() {
    let after = |line: &str| vcf(&format!("{SITES}{line}\n{SITES}"));
    for (line, words) in [
        ("chr1\tx\t.\tA\tC\t.\t.\t.", "\"x\""),
        ("chr1\t-5\t.\tA\tC\t.\t.\t.", "\"-5\""),
        ("chr1\t99999999999\t.\tA\tC\t.\t.\t.", "\"99999999999\""),
        ("chr1\t33", "8 columns"),
        ("chr1 33 . A C . . .", "8 columns"),
    ] {
        refused("x.vcf", after(line), &["line 7", words]);
        refused("x.vcf.gz", bgzf(after(line).as_bytes()), &["line 7", words]);
    }
    for (line, words) in [
        ("chr1\tx\t2", "\"x\""),
        ("chr1\t2\ty", "\"y\""),
        ("chr1\t5\t2", "ends (2) before it starts (5)"),
        ("chr1\t-1\t2", "\"-1\""),
    ] {
        refused("x.bed", format!("chr1\t29\t30\n{line}\n"), &["line 2", words]);
    }
}

/// GATK needs an index for these files; readmill reads them from start to end.
#[test]
fn sites_need_no_index_and_may_be_compressed_in_any_way() {
    let folders = folders();
    let expected = std::fs::read(folders.out("../in/table")).unwrap();
    let text = vcf(SITES);
    let bed = "chr1\t29\t30\nchr1\t89\t90\n";
    for (name, bytes) in [
        ("a.vcf", text.clone().into_bytes()),
        ("a.vcf.gz", bgzf(text.as_bytes())),
        ("b.vcf.gz", gzip(text.as_bytes())),
        ("c.vcf", bgzf(text.as_bytes())),
        ("a.bed", bed.into()),
        ("a.bed.gz", bgzf(bed.as_bytes())),
    ] {
        folders.input(name, bytes);
        let args =
            format!("bqsr table in/x.sam --reference in/ref.fa --known-sites in/{name} -o out/table");
        run(&folders, &args).succeeds();
        assert!(std::fs::read(folders.out("table")).unwrap() == expected, "{name}");
    }
    assert_eq!(folders.left(), ["table"]);
    assert!(AGAINST.contains("known.vcf"));
}

/// Sites out of order, and the same ones again, are the same sites.
#[test]
fn sites_in_any_order() {
    let folders = folders();
    let expected = std::fs::read(folders.out("../in/table")).unwrap();
    let (first, second) = SITES.split_at(SITES.find('\n').unwrap() + 1);
    folders.input("known.vcf", vcf(&[second, first, second].concat()));
    run(&folders, &format!("bqsr table in/x.sam {AGAINST} --known-sites in/known.vcf -o out/table"))
        .succeeds();
    assert!(std::fs::read(folders.out("table")).unwrap() == expected);
}
