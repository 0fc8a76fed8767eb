//! Inputs that cannot be recalibrated or counted: reads (the message names the record and the read), references that are
//! none or another one, known sites that are missing or damaged; and qualities that were recalibrated before.

use readmill_format::{bam, sam};
use readmill_record::Header;

use crate::faults::fixtures::{self, TestFolders, bgzf, gzip};
use crate::faults::recalibration::{
    AGAINST, CONTIGS, SITES, fasta, folders, folders_with, header, is_not_applied, is_not_counted, read,
    reads, refused, run, vcf,
};

/// Where the read stands that is spoilt.
const HUNDREDTH: &str = "in/x.sam: record 100 (read bad): ";

#[test]
fn a_read_group_that_the_header_lacks() {
    let folders = folders_with(&read("bad", "chr1", 20, "\tRG:Z:zz"));
    let words = [HUNDREDTH, "read group zz", "@RG line", "--read-group"];
    is_not_counted(&folders, AGAINST, 2, &words);
    is_not_applied(&folders, "", 2, &[HUNDREDTH, "the header has no read group zz"]);
    let allowed = "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam --allow-missing-read-group";
    run(&folders, allowed).succeeds();
    assert!(folders.lines(&folders.out("x.bam"))[99].contains(&"I".repeat(20)), "it stays as it is");
}

#[test]
fn a_read_group_that_the_table_lacks() {
    let folders = folders_with(&read("bad", "chr1", 20, "\tRG:Z:g2"));
    let words = [HUNDREDTH, "has no read group g2", "u2", "--allow-missing-read-group"];
    is_not_applied(&folders, "", 2, &words);
    let allowed = "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam --allow-missing-read-group";
    run(&folders, allowed).succeeds();
    assert!(folders.lines(&folders.out("x.bam"))[99].contains(&"I".repeat(20)), "it stays as it is");
}

#[test]
fn a_header_without_read_groups() {
    let folders = folders_with("");
    folders.input("x.sam", header().replace("@RG", "@CO") + &reads());
    let words = ["in/x.sam: ", "the header has no read group", "--read-group"];
    is_not_counted(&folders, AGAINST, 2, &words);
    is_not_applied(&folders, "", 2, &words);
}

/// Guards against a former defect: a file without reads was refused for want of read groups. GATK's ApplyBQSR makes an
/// empty file of it.
#[test]
fn a_header_without_read_groups_is_enough_for_no_reads() {
    let folders = folders_with("");
    folders.input("x.sam", header().replace("@RG", "@CO"));
    for way in [
        "bqsr apply in/x.sam --bqsr-table in/table -o out/x.sam",
        "prep in/x.sam --bqsr-apply in/table --sort coordinate -o out/x.sam",
        "gatk ApplyBQSR -I in/x.sam -bqsr in/table -O out/x.sam",
    ] {
        run(&folders, way).succeeds();
        assert_eq!(folders.lines(&folders.out("x.sam")), [""; 0], "{way}");
    }
    run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o out/table")).succeeds();
}

#[test]
fn a_read_without_read_group_is_left_alone() {
    let folders = folders_with(&read("bad", "chr1", 20, ""));
    let all = format!("prep in/x.sam --bqsr {AGAINST} --bqsr-table out/table -o out/x.bam");
    run(&folders, &all).succeeds();
    assert!(folders.lines(&folders.out("x.bam"))[99].contains(&"I".repeat(20)));
    let tables =
        ["out/table", "in/table"].map(|name| std::fs::read(folders.out("..").join(name)).unwrap());
    assert!(tables[0] == tables[1], "it is not counted");
    run(&folders, &(all + " --gatk-drop-malformed")).succeeds();
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 99);
}

#[test]
fn a_read_of_more_cycles_than_are_counted() {
    let folders = folders_with(&read("bad", "chr1", 60, "\tRG:Z:g1"));
    let words = [HUNDREDTH, "60 cycles", "50", "--maximum-cycle-value"];
    is_not_counted(&folders, &format!("{AGAINST} --maximum-cycle-value 50"), 2, &words);
    let table = std::fs::read_to_string(folders.out("../in/table")).unwrap();
    folders.input(
        "table",
        table.replace("maximum_cycle_value         500", "maximum_cycle_value         50 "),
    );
    is_not_applied(&folders, "", 2, &words);
}

#[test]
fn original_qualities_of_another_length() {
    let folders = folders_with(&read("bad", "chr1", 20, "\tRG:Z:g1\tOQ:Z:II"));
    let words = [HUNDREDTH, "OQ has 2 qualities for 20 bases", "--use-original-qualities"];
    is_not_counted(&folders, &format!("{AGAINST} --use-original-qualities"), 2, &words);
    is_not_applied(&folders, "--use-original-qualities", 2, &words);
    run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam").succeeds();
}

#[test]
fn qualities_of_insertions_and_deletions_of_another_length() {
    for tag in ["BI", "BD"] {
        let folders = folders_with(&read("bad", "chr1", 20, &format!("\tRG:Z:g1\t{tag}:Z:II")));
        let flags = format!("{AGAINST} --compute-indel-bqsr-tables");
        is_not_counted(&folders, &flags, 2, &[HUNDREDTH, tag, "remove or correct the field"]);
        run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam").succeeds();
    }
}

#[test]
fn qualities_beyond_93() {
    for quality in [94, 200, 254] {
        let folders = folders_with("");
        let header = Header::parse(header().as_bytes()).unwrap();
        let mut bytes = Vec::new();
        bam::header::write_header(&header, &mut bytes).expect("a small header");
        let mut parser = sam::LineParser::new(&header);
        let text = reads() + &read("bad", "chr1", 20, "\tRG:Z:g1");
        text.lines().for_each(|line| parser.parse(line.as_bytes(), &mut bytes).unwrap());
        let at = bytes.len() - "RGZg1\0".len() - 7;
        assert_eq!(bytes[at], 40);
        bytes[at] = quality;
        folders.input("x.sam", fixtures::bgzf(&bytes));
        let shown = format!("quality {quality}");
        let words = [HUNDREDTH, &shown, "the maximum is 93", "a different offset"];
        is_not_counted(&folders, AGAINST, 2, &words);
        is_not_applied(&folders, "", 2, &words);
    }
}

#[test]
fn of_two_bad_reads_the_first_is_reported() {
    let bad = ["bad", "worse"].map(|name| read(name, "chr1", 20, "\tRG:Z:zz")).concat();
    let folders = folders_with(&bad);
    is_not_counted(&folders, AGAINST, 2, &[HUNDREDTH]);
    is_not_applied(&folders, "", 2, &[HUNDREDTH]);
}

/// Asserts that counting refuses this reference (and its index, if any), with these words in the message.
#[track_caller]
fn reference_is_refused(reference: impl AsRef<[u8]>, index: Option<&str>, words: &[&str]) {
    let folders = folders();
    folders.input("ref.fa", reference);
    index.map(|index| folders.input("ref.fa.fai", index));
    is_not_counted(&folders, AGAINST, 2, words);
}

#[test]
fn a_reference_that_is_not_there() {
    let folders = folders();
    std::fs::remove_file(folders.out("../in/ref.fa")).unwrap();
    is_not_counted(&folders, AGAINST, 3, &["in/ref.fa", "No such file"]);
    std::fs::create_dir(folders.out("../in/ref.fa")).unwrap();
    is_not_counted(&folders, AGAINST, 3, &["in/ref.fa", "directory"]);
}

#[test]
fn a_reference_that_is_none() {
    for text in ["", "no FASTA\n", "ACGT\nACGT\n"] {
        reference_is_refused(text, None, &["in/ref.fa", "FASTA"]);
    }
    reference_is_refused(
        ">chr1\nACGT\nACG\nACGT\n",
        None,
        &["in/ref.fa", "line 4: contig chr1", "the same length"],
    );
    reference_is_refused(">\nACGT\n", None, &["in/ref.fa", "line 1: a contig has no name"]);
    reference_is_refused(
        gzip(fasta(&CONTIGS).as_bytes()),
        None,
        &["in/ref.fa", "compressed with gzip", "bgzip"],
    );
    let whole = bgzf(fasta(&CONTIGS).as_bytes());
    for missing in [3, 28, 40, whole.len() / 2] {
        reference_is_refused(&whole[..whole.len() - missing], None, &["in/ref.fa", "download"]);
    }
}

#[test]
fn a_reference_of_another_genome() {
    let short = fasta(&[("chr1", 390), CONTIGS[1]]);
    reference_is_refused(
        short,
        None,
        &["in/ref.fa", "chr1 has 390 bases here, but 400", "were aligned"],
    );
    let renamed = fasta(&CONTIGS).replace(">chr", ">");
    reference_is_refused(
        renamed,
        None,
        &["in/ref.fa", "no contig in common", "1 here, chr1 in the reads"],
    );
}

/// Guards against a former defect: such reads were counted without a word. Picard stops.
#[test]
fn a_reference_with_other_bases_than_the_header_states() {
    let folders = folders();
    let other = "0123456789abcdef0123456789abcdef";
    let stated = header().replacen("LN:400", &format!("LN:400\tM5:{other}"), 1);
    folders.input("x.sam", stated + &reads());
    let words = ["in/ref.fa", "chr1 has different bases here (M5 ", other, "were aligned"];
    is_not_counted(&folders, AGAINST, 2, &words);
    for way in [
        "filter in/x.sam -o out/x.bam --nm-md-uq --reference in/ref.fa",
        "qc in/x.sam -o out/q --reference in/ref.fa --metrics CollectAlignmentSummaryMetrics",
    ] {
        for threads in [1, 2] {
            refused(&folders, &format!("{way} -@ {threads}"), 2, &words);
        }
    }
    // A read that does not ask for the reference does not mind.
    folders.input("x.sam", header().replacen("LN:400", &format!("LN:400\tM5:{other}"), 1));
    run(&folders, "filter in/x.sam -o out/x.bam --nm-md-uq --reference in/ref.fa").succeeds();
}

#[test]
fn a_contig_that_the_reference_lacks_matters_where_reads_lie_on_it() {
    let folders = folders_with(&read("bad", "chr2", 20, "\tRG:Z:g1"));
    folders.input("ref.fa", fasta(&CONTIGS[..1]));
    let words =
        ["in/ref.fa", "record 100 (read bad)", "chr2", "is not in the reference", "were aligned"];
    is_not_counted(&folders, AGAINST, 2, &words);
    folders.input("x.sam", header() + &reads());
    let all = format!("prep in/x.sam --bqsr --bqsr-table out/table {AGAINST} -o out/x.bam");
    run(&folders, &all).succeeds();
    // A read that is not counted does not ask for the reference.
    folders.input(
        "x.sam",
        header() + &reads() + &read("low", "chr2", 20, "\tRG:Z:g1").replace("\t60\t", "\t0\t"),
    );
    run(&folders, &all).succeeds();
}

#[test]
fn an_index_of_another_file() {
    let fasta = fasta(&CONTIGS);
    let first = "chr1\t400\t6\t50\t51\n";
    for index in [
        "chr1\t400\t7\t50\t51\nchr2\t200\t420\t50\t51\n",
        "chr1\t400\t6\t60\t61\nchr2\t200\t420\t50\t51\n",
        "chr3\t400\t6\t50\t51\nchr2\t200\t420\t50\t51\n",
    ] {
        let folders = folders();
        folders.input("ref.fa.fai", index);
        let ended = run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o out/table"));
        ended.succeeds();
        assert!(ended.stderr.contains("in/ref.fa.fai does not match"), "{}", ended.stderr);
        let tables =
            ["out/table", "in/table"].map(|it| std::fs::read(folders.out("..").join(it)).unwrap());
        assert!(tables[0] == tables[1], "{index}");
    }
    let beyond = format!("{first}chr2\t20000\t420\t50\t51\n");
    reference_is_refused(
        &fasta,
        Some(&beyond),
        &["in/ref.fa", "in/ref.fa.fai", "ends before the end of contig chr2", "delete the index"],
    );
    reference_is_refused(
        &fasta,
        Some("nonsense\n"),
        &["in/ref.fa.fai", "not a .fai index", "readmill faidx"],
    );
    reference_is_refused(&fasta, Some("chr1\t400\t6\t50\t0\n"), &["in/ref.fa.fai", "readmill faidx"]);
}

/// Asserts that counting refuses these sites, with these words in the message.
#[track_caller]
fn sites_are_refused(name: &str, sites: impl AsRef<[u8]>, words: &[&str]) {
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

/// GATK takes such a list, too. Two files between commas are none.
#[test]
fn sites_in_a_list_of_files() {
    let folders = folders();
    folders.input("more.bed", "chr1\t60\t90\n");
    let base = folders.out("../in").display().to_string();
    folders.input("x.list", format!("{base}/known.vcf\n{base}/more.bed\n"));
    let count = |flags: &str| {
        run(&folders, &format!("bqsr table in/x.sam --reference in/ref.fa {flags} -o out/table"))
            .succeeds();
        std::fs::read(folders.out("table")).unwrap()
    };
    let both = count("--known-sites in/known.vcf --known-sites in/more.bed");
    assert!(both != count("--known-sites in/known.vcf"));
    assert!(both == count("--known-sites in/x.list"));
    std::fs::remove_file(folders.out("table")).unwrap();
    let commas = "--reference in/ref.fa --known-sites in/known.vcf,in/more.bed";
    is_not_counted(&folders, commas, 3, &["in/known.vcf,in/more.bed", "repeat the flag"]);
    sites_are_refused("x.vcf", ">chr1\nACGT\n", &["this is FASTA", "--reference"]);
    sites_are_refused("x.bam", "BAM\x01", &["this is BAM"]);
}

#[test]
fn sites_of_another_genome() {
    let longer = vcf(SITES).replace("length=400", "length=401");
    sites_are_refused("x.vcf", longer, &["chr1 has 401 bases here, but 400", "another build"]);
    let renamed = vcf(SITES).replace("ID=chr", "ID=").replace("\nchr", "\n");
    sites_are_refused("x.vcf", renamed, &["no contig in common", "names with chr"]);
    sites_are_refused("x.bed", "1\t29\t30\n2\t5\t6\n", &["no contig in common", "names with chr"]);
    sites_are_refused(
        "x.vcf",
        vcf("chr1\t402\t.\tA\tC\t.\t.\t.\n"),
        &["line 5", "chr1", "400", "another build"],
    );
    sites_are_refused(
        "x.bed",
        "chr1\t3\t4\nchr1\t401\t402\n",
        &["line 2", "chr1", "400", "another build"],
    );
}

#[test]
fn sites_that_are_damaged() {
    let many = vcf(&SITES.repeat(4_000));
    for whole in [gzip(many.as_bytes()), bgzf(many.as_bytes())] {
        for cut in [40, whole.len() / 2, whole.len() - 30] {
            sites_are_refused("x.vcf.gz", &whole[..cut], &["truncated", "download or create", "again"]);
        }
    }
    sites_are_refused("x.vcf", SITES, &["not VCF", "##fileformat=VCF"]);
    sites_are_refused("x.vcf", "", &["not VCF"]);
    sites_are_refused("x.bcf", SITES, &["not BCF"]);
}

#[test]
fn files_without_any_site() {
    let folders = folders();
    folders.input("none.vcf", vcf(""));
    folders.input("none.bed", "# of no place\n");
    let flags = "--reference in/ref.fa --known-sites in/none.vcf";
    let words = ["in/none.vcf: ", "contains no known sites", "--allow-empty"];
    is_not_counted(&folders, flags, 2, &words);
    let both = format!("{flags} --known-sites in/none.bed");
    is_not_counted(&folders, &both, 2, &[&words[..], &["neither do the other files"]].concat());
    let run = |flags: &str| {
        let ended = run(&folders, &format!("bqsr table in/x.sam {flags} -o out/table"));
        ended.succeeds();
        (std::fs::read(folders.out("table")).unwrap(), ended.stderr)
    };
    // Counted as by GATK, which takes no notice.
    let (with, _) = run(AGAINST);
    let (without, said) = run(&format!("{both} --allow-empty"));
    assert!(with != without && said.contains("warning: in/none.bed: contains no known sites"), "{said}");
    // A file without sites next to one with some gives a warning.
    let (table, said) = run(&format!("{AGAINST} --known-sites in/none.bed"));
    assert!(table == with && said.contains("warning: in/none.bed: contains no known sites"), "{said}");
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
        sites_are_refused("x.vcf", after(line), &["line 7", words]);
        sites_are_refused("x.vcf.gz", bgzf(after(line).as_bytes()), &["line 7", words]);
    }
    for (line, words) in [
        ("chr1\tx\t2", "\"x\""),
        ("chr1\t2\ty", "\"y\""),
        ("chr1\t5\t2", "ends (2) before it starts (5)"),
        ("chr1\t-1\t2", "\"-1\""),
    ] {
        sites_are_refused("x.bed", format!("chr1\t29\t30\n{line}\n"), &["line 2", words]);
    }
}

/// GATK needs an index for these files; readmill reads them from start to end.
#[test]
fn sites_need_no_index_and_may_be_compressed_in_any_way() {
    let folders = folders();
    let expected = std::fs::read(folders.out("../in/table")).unwrap();
    let text = vcf(SITES);
    let bed = "chr1\t29\t30\nchr1\t89\t90\n";
    let elsites = "# elsites format version 1.0\nchr1\t30\t30\nchr1\t90\t90\n";
    for (name, bytes) in [
        ("a.vcf", text.clone().into_bytes()),
        ("a.vcf.gz", bgzf(text.as_bytes())),
        ("b.vcf.gz", gzip(text.as_bytes())),
        ("c.vcf", bgzf(text.as_bytes())),
        ("a.bed", bed.into()),
        ("a.bed.gz", bgzf(bed.as_bytes())),
        ("a.elsites", elsites.into()),
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

/// The messages where `in/x.sam` is recalibrated in these ways, which is done all the same.
#[track_caller]
fn warned(folders: &TestFolders, flags: &str) -> Vec<String> {
    let warnings = |args: String| {
        let ended = run(folders, &args);
        ended.succeeds();
        let lines = ended.stderr.lines().filter(|line| line.contains("warning: "));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let said = [
        format!("bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam {flags}"),
        format!("bqsr table in/x.sam {AGAINST} -o out/t {flags}"),
        format!("prep in/x.sam --sort coordinate --bqsr {AGAINST} -o out/x.bam {flags}"),
    ]
    .map(warnings);
    assert!(said.iter().all(|lines| *lines == said[0]), "{said:?}");
    said.into_iter().next().unwrap()
}

#[test]
fn recalibrating_twice_is_told_once_with_the_way_out() {
    let folders = folders();
    assert_eq!(warned(&folders, ""), [""; 0]);
    let program = "@PG\tID:GATK ApplyBQSR\tVN:4.6.2.0\tCL:ApplyBQSR --output x.bam\tPN:GATK ApplyBQSR\n";
    let with_oq = reads().replace("RG:Z:g1\n", &format!("RG:Z:g1\tOQ:Z:{}\n", "5:?DI".repeat(4)));
    let start = "readmill: warning: in/x.sam: base qualities are already recalibrated";
    for (text, words) in [
        (header() + program + &reads(), &["@PG line \"GATK ApplyBQSR\"", "no OQ", "from before"][..]),
        (header() + program + &with_oq, &["@PG line \"GATK ApplyBQSR\"", "--use-original-qualities"]),
        (header() + &with_oq, &["reads have OQ", "--use-original-qualities"]),
    ] {
        folders.input("x.sam", text);
        let said = warned(&folders, "");
        assert!(said.len() == 1 && said[0].starts_with(start), "{said:?}");
        words.iter().for_each(|word| assert!(said[0].contains(word), "{word}: {said:?}"));
        assert_eq!(warned(&folders, "--use-original-qualities"), [""; 0]);
    }
    // What was written here says so itself.
    folders.input("x.sam", header() + &reads());
    run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -O sam -o in/again.sam").succeeds();
    std::fs::rename(folders.out("../in/again.sam"), folders.out("../in/x.sam")).unwrap();
    assert!(warned(&folders, "")[0].contains("@PG line \"readmill\""));
}
