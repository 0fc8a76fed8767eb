//! The language of filter expressions. Expected results are from the manual page of samtools 1.24,
//! from htslib's own tests (`test/test_expr.c`, `test/sam_filter`), or from a run. Differences from
//! samtools are noted.
#![allow(clippy::unwrap_used)]

mod language;
pub mod random;
mod sample;

use readmill_filters::expression::Expression;
use readmill_filters::{Criterion, Select};
use readmill_record::ErrorKind;
use readmill_record::Step;
use sample::{READS, batch, header, of_both};

#[test]
fn every_variable_has_its_value() {
    for (variable, first, second) in [
        ("endpos", "111", "0"), // 101 + 4 M + 2 D + 5 M - 1
        ("flag", "99", "4"),
        ("flag.paired", "1", "0"),
        ("flag.proper_pair", "2", "0"),
        ("flag.unmap", "0", "4"),
        ("flag.munmap", "0", "0"),
        ("flag.reverse", "0", "0"),
        ("flag.mreverse", "32", "0"),
        ("flag.read1", "64", "0"),
        ("flag.read2", "0", "0"),
        ("flag.secondary", "0", "0"),
        ("flag.qcfail", "0", "0"),
        ("flag.dup", "0", "0"),
        ("flag.supplementary", "0", "0"),
        ("hclen", "2", "0"),
        ("mapq", "37", "0"),
        ("mpos", "301", "0"),
        ("mrefid", "0", "-1"),
        ("ncigar", "7", "0"),
        ("pnext", "301", "0"),
        ("pos", "101", "0"),
        ("qlen", "14", "0"),
        ("refid", "0", "-1"),
        ("rlen", "11", "0"),
        ("sclen", "4", "0"),
        ("tlen", "-77", "0"),
        ("cigar", "\"2H3S4M2D1I5M1S\"", "\"*\""),
        ("library", "\"lib one\"", "\"\""),
        ("mrname", "\"chr1\"", "\"*\""),
        ("qname", "\"first\"", "\"second\""),
        ("rname", "\"chr1\"", "\"*\""),
        ("rnext", "\"chr1\"", "\"*\""),
        ("seq", "\"ACGTACGTACGTAC\"", "\"\""),
        ("length(qual)", "14", "0"),
        ("min(qual)", "20", "nan"),
        ("max(qual)", "40", "nan"),
        ("avg(qual) * 14", "540", "0"),
        ("length(seq)", "14", "0"),
        ("max(seq)", "84", "nan"),
    ] {
        let is = |value: &str| {
            if value == "nan" {
                format!("!exists({variable})")
            } else {
                format!("{variable} == {value}")
            }
        };
        assert!(of_both(&is(first)).unwrap()[0], "{variable} of the first");
        assert!(of_both(&is(second)).unwrap()[1], "{variable} of the second");
    }
}

#[test]
fn each_flag_has_its_bit() {
    let names = "paired proper_pair unmap munmap reverse mreverse read1 read2 secondary qcfail dup supplementary";
    let header = header();
    for (bit, name) in names.split(' ').enumerate() {
        let mut expression =
            Expression::parse(&format!("flag.{name} == {}", 1 << bit), &header).unwrap();
        for flag in [1 << bit, 0xFFF] {
            let reads = batch(&header, &format!("r\t{flag}\t*\t0\t0\t*\t*\t0\t0\t*\t*"));
            assert_eq!(expression.matches(reads.record(reads.spans[0])), Ok(true), "{name}");
        }
        let reads = batch(&header, &format!("r\t{}\tchr1\t9\t9\t1M\t*\t0\t0\tA\t*", 0xFFF ^ 1 << bit));
        assert_eq!(expression.matches(reads.record(reads.spans[0])), Ok(false), "{name}");
    }
}

#[test]
fn clips_count_at_the_ends_only() {
    let header = header();
    for (cigar, soft, hard) in [
        ("4M", 0, 0),
        ("1S3M", 1, 0),
        ("3M1S", 1, 0),
        ("4S", 4, 0),
        ("2H1S3M", 1, 2),
        ("2H1S2M1S3H", 2, 5),
        ("2H4M3H", 0, 5),
        ("2H4S", 4, 2),
        ("4S2H", 4, 2),
        ("2H4S3H", 4, 5),
        ("1S2M1S", 2, 0),
    ] {
        let reads = batch(&header, &format!("r\t0\tchr1\t9\t9\t{cigar}\t*\t0\t0\tACGT\t*"));
        let text = format!("sclen == {soft} && hclen == {hard} && cigar == \"{cigar}\"");
        let mut expression = Expression::parse(&text, &header).unwrap();
        assert_eq!(expression.matches(reads.record(reads.spans[0])), Ok(true), "{text}");
    }
}

#[test]
fn fields_are_numbers_or_texts_and_true_when_they_are_there() {
    for text in [
        "[NM]",
        "!![NM]",
        "[NM] == 0",
        "[NM] < 5",
        "exists([NM])",
        "[NM] && 1",
        "-[NM] == 0",
        "[XN] == -3",
        "[XI] == -70000",
        "[XF] == 0.5",
        "[XF]",
        r#"[XA] == "q""#,
        r#"[XH] == "1AE3""#,
        r#"[RG] == "g1""#,
        r#"[RG] =~ "^g[12]$""#,
        "[XE]",
        "length([XE])",
        r#"[XE] == """#,
        r#"library == "lib one""#,
        "[XB]",
        "exists([XB])",
        "!![XB]",
        "pow([NM], 2)", // 0, but true like the field
        "log([XF]) < 0",
        "default([NM], 7) == 0",
        "[NM] + [XF] == .5",
        "[XX] || [NM]",
        "exists([XX]) + exists([RG]) == 1",
        // samtools gives different results for these three, because it reuses values of an earlier
        // operand.
        "1 + [NM] + !0 == 2",
        "exists([XB]) + exists([RG]) + exists([XX]) == 2",
        r#"[XX] =~ "x" || [RG] =~ "g1""#,
    ] {
        assert!(of_both(text).unwrap()[0], "{text}");
    }
    for text in [
        "![NM]",
        "[NM] + 0",
        "+[NM]",
        "-[NM]",
        "[NM] != 0",
        "[RG] == 1",
        "!exists([XB])",
        "![XB]",
        "exists([nm])",
    ] {
        assert!(!of_both(text).unwrap()[0], "{text}");
    }
    assert_eq!(of_both("library"), Ok([true, true]), "a text is true, also an empty one");
}

#[test]
fn a_field_of_the_wrong_kind_stops_with_the_place() {
    for (text, place) in [
        ("mapq > 1 && [RG] + 1", "at character 18 (+ 1)"),
        ("[XB] == 1", "at character 6 (== 1)"),
        (r#"[NM] =~ "x""#, r#"at character 6 (=~ "x")"#),
        ("length([NM])", "at character 1 (length([NM]))"),
        ("-[RG]", "at character 1 (-[RG])"),
        ("sqrt([XB])", "at character 1 (sqrt([XB]))"),
        ("pow([RG], 2)", "at character 1 (pow([RG], 2))"),
    ] {
        let error = of_both(text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input);
        assert!(error.to_string().contains(place), "{error}");
    }
    assert_eq!(of_both("0 && [RG] + 1"), Ok([false, false]), "what decides nothing is left out");
}

#[test]
fn wrong_expressions_are_refused_with_the_place() {
    for (text, answer) in [
        ("", "at its end: the expression is incomplete"),
        ("mapq >= ", "at its end: the expression is incomplete"),
        (
            "mapq >= 20 && flag.dupp",
            "at character 15 (flag.dupp): unknown variable flag.dupp; after flag., use",
        ),
        ("NM < 5", "at character 1 (NM < 5): unknown variable NM; write optional fields in brackets"),
        ("[N] < 5", "at character 1 ([N] < 5): an optional field"),
        ("mapq = 5", "at character 6 (= 5): = is not an operator; compare with =="),
        ("mapq 5", "at character 6 (5): expected an operator"),
        ("10abc", "at character 3 (abc): expected an operator"),
        ("(1", "at its end: a ) is missing"),
        ("1)", "at character 2 ()): this ) has no matching ("),
        ("rname == 'chr1'", "at character 10 ('chr1'): text must be in double quotes"),
        (r#"rname == "chr1"#, r#"at character 10 ("chr1): the text starting here has no closing quote"#),
        ("qname + 1", "at character 1 (qname + 1): + needs a number, but this is text"),
        ("-qname", "at character 2 (qname): - needs a number"),
        ("length(mapq)", "at character 8 (mapq)): length() needs text, but this is a number"),
        ("sqrt(seq)", "sqrt() needs a number"),
        (r#"mapq =~ "x""#, "matching a pattern needs text"),
        ("qname =~ rname", "at character 10 (rname): a pattern must be text in double quotes"),
        (r#"qname =~ "a(""#, r#"at character 10 ("a("): the pattern is invalid: a ( is not closed"#),
        ("median(qual)", "at character 1 (median(qual)): unknown function median()"),
        ("pow(2)", "pow() takes two operands"),
        ("sqrt(1, 2)", "at character 7 (, 2)): a ) is missing"),
        ("--(3)", "at character 2 (-(3)): a second sign is allowed only before a number"),
        ("-!3", "at character 2 (!3): expected a number"),
        ("é == 1", "at character 1 (é == 1): expected a number"),
        (r#""é" =! 1"#, "at character 5 (=! 1)"),
    ] {
        let error = of_both(text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage, "{text}");
        assert!(error.to_string().contains(answer), "{error}");
        assert!(error.to_string().contains(&format!("expression '{text}'")), "{error}");
    }
}

#[test]
fn long_and_deep_expressions_do_not_exhaust_the_stack() {
    let many = vec!["qname == \"first\""; 20_000].join(" || ");
    assert_eq!(of_both(&many), Ok([true, false]));
    for deep in [
        "(".repeat(100_000),
        "!".repeat(100_000),
        "1+".repeat(100_000),
        "1==".repeat(100_000),
        "exp(".repeat(100_000),
    ] {
        assert!(of_both(&format!("{deep}1")).unwrap_err().to_string().contains("nested"));
    }
    assert_eq!(of_both(&format!("{}1{}", "(".repeat(150), ")".repeat(150))), Ok([true, true]));
    assert_eq!(of_both(&format!("{}1 == 151", "1+".repeat(150))), Ok([true, true]));
}

/// Conditions like those in htslib's `test/sam_filter`, for reads with obvious results.
#[test]
fn samtools_own_filter_tests() {
    let header = header();
    let reads = batch(
        &header,
        "SRR.1.1\t16\tchr2\t2\t1\t27M1D73M\t*\t0\t0\tATATCC\t###5IX\tNM:i:11\tMD:Z:27^A73A9A\tRG:Z:g1
SRR.1\t16\tchr2\t34\t1\t6M\t*\t0\t0\tCCATGG\t555555\tNM:i:1\tMD:Z:3A2\tRG:Z:g2
SRR.2.1\t4\t*\t0\t0\t*\t*\t0\t0\tCCCCCC\t*"
            .replace("27M1D73M", "3M1D3M")
            .as_str(),
    );
    for (text, kept) in [
        (r#"qname =~ "\.1" && cigar =~ "D""#, "0"),
        (r#"rname=="chr2""#, "01"),
        (r#"rname=~"chr""#, "01"),
        (r#"seq =~ "(AT){2}""#, "0"),
        (r#"library=="lib one""#, "0"),
        (r#"library!="lib one""#, "12"),
        ("pos % 23 == 11", "1"),
        ("qlen/(flag*mapq+pos) > .3", "0"),
        (r#"[NM]>=10 || [MD]=~"A.*A.*A""#, "0"),
        ("length(seq) != qlen", "2"),
        ("min(qual) >= 20", "12"),
        ("max(qual) <= 20", "1"),
        ("avg(qual) >= 20 && avg(qual) <= 30", "01"),
        ("sclen>=20", ""),
        ("rlen<7", "12"),
        ("rlen>6", "0"),
        ("hclen>=4", ""),
        ("mapq >= 1 && !flag.dup && [NM] < 5", "1"),
    ] {
        for keep in [true, false] {
            let mut batch = batch_of(&reads);
            let mut step = Select { expression: Expression::parse(text, &header).unwrap(), keep }
                .into_step()
                .fork_for_thread();
            step.apply(&mut batch).unwrap();
            let left: String = batch.records().map(|(stamp, _)| stamp.ordinal().to_string()).collect();
            let others: String = "012".chars().filter(|i| !kept.contains(*i)).collect();
            assert_eq!(left, if keep { kept.to_string() } else { others }, "{text}");
            assert_eq!(step.counts()[0].1, 3 - left.len() as u64);
            assert_eq!(step.name(), if keep { "include" } else { "exclude" });
        }
    }
}

fn batch_of(reads: &readmill_record::Batch) -> readmill_record::Batch {
    let mut batch = readmill_record::Batch::default();
    reads.records().for_each(|(stamp, record)| batch.push(record.raw(), stamp).unwrap());
    batch
}

#[test]
fn a_step_names_the_record_it_failed_on() {
    let header = header();
    let mut step =
        Select { expression: Expression::parse("[RG] + 1", &header).unwrap(), keep: true }.into_step();
    let error = step.apply(&mut batch(&header, READS)).unwrap_err();
    assert!(error.to_string().starts_with("record 1 (read first): expression '[RG] + 1'"), "{error}");
}

#[test]
fn no_text_makes_it_panic() {
    let tokens = "( ) [NM] [ZZ] [XB] \"a\" \" ' 1 -2 0x 1e . inf mapq qname qual flag. flag.dup + - * / % & | ^ ~ ! == != \
                  =~ !~ < <= > >= = && || , exists( default( pow( length( min( log( \"[\" \"*\" é \\ 99999999999999999999";
    let tokens: Vec<&str> = tokens.split(' ').collect();
    let mut random = random::ExpressionGenerator::new(5);
    let (header, mut evaluated) = (header(), 0);
    let reads = batch(&header, READS);
    for _ in 0..100_000 {
        let text: Vec<&str> = (0..1 + random.below(7)).map(|_| random.of(&tokens)).collect();
        if let Ok(mut expression) = Expression::parse(&text.join(" "), &header) {
            evaluated +=
                reads.records().filter(|(_, record)| expression.matches(*record).is_ok()).count();
        }
    }
    assert!(evaluated > 1000, "{evaluated}");
}
