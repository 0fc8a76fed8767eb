//! UMIs and barcodes of samples in FASTQ files of their own.

use crate::align::*;

/// The UMI of a template.
fn umi(template: usize) -> String {
    format!("{template:09b}").replace('0', "G").replace('1', "T")
}

/// A file of index reads of the sample's templates, whose records `change` makes of name and UMI.
fn index_file(change: impl Fn(usize, &str, &str) -> String) -> Vec<u8> {
    let text = std::str::from_utf8(&reads()[0]).expect("FASTQ is text");
    let names = text.lines().step_by(4).map(|line| line.split(['/', ' ']).next().unwrap_or_default());
    names.enumerate().map(|(at, name)| change(at, name, &umi(at))).collect::<String>().into_bytes()
}

fn record(name: &str, bases: &str) -> String {
    format!("{name} 2:N:0:1\n{bases}\n+\n{}#\n", "F".repeat(bases.len() - 1))
}

/// The records of `text`, each followed by the fields that its template should have.
fn with(text: &str, fields: impl Fn(usize) -> String) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    let each = records(text).into_iter().map(|line| {
        if names.last() != Some(&column(line, 0)) {
            names.push(column(line, 0));
        }
        format!("{line}{}", fields(names.len() - 1))
    });
    each.collect()
}

#[test]
fn umis_of_a_third_file_are_fields_of_all_records_whatever_the_threads() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let text = index_file(|_, name, umi| record(name, umi));
    let plain = arg(&dir.file("u.fq", &text));
    let packed =
        [gzip(&text), bgzip(&text)].map(|text| arg(&dir.file(&format!("u.{}", text.len()), text)));
    let expected = with(&lines(&[&one, &two]), |template| {
        let umi = umi(template);
        format!("\tRX:Z:{umi}\tQX:Z:{}#", "F".repeat(umi.len() - 1))
    });
    for (file, threads) in [(&plain, "1"), (&plain, "4"), (&packed[0], "3"), (&packed[1], "2")] {
        let found = lines(&[&one, &two, "--umi-fastq", file, "-@", threads]);
        assert!(records(&found) == expected, "{file} {threads}");
    }
    let structures = ["--read-structures", "+T +T 4M2S2B"];
    let found = lines(&[&[&one[..], &two, "--umi-fastq", &plain][..], &structures].concat());
    let fields = |template| {
        let umi = umi(template);
        format!("\tBC:Z:{}\tQT:Z:FF\tRX:Z:{}\tQX:Z:FFFF", &umi[6..8], &umi[..4])
    };
    assert_eq!(records(&found)[7], with(&lines(&[&one, &two]), fields)[7]);
    assert!(found.contains("--read-structures +T,+T,4M2S2B --umi-fastq"), "the line of @PG");
}

#[test]
fn index_reads_join_the_barcodes_of_the_reads_and_are_not_trimmed() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let [i1, i2, u] = ["AC", "TG", ""].map(|more| {
        let text = index_file(|_, name, umi| record(name, &format!("{}{more}", &umi[..5])));
        arg(&dir.file(&format!("i{more}.fq"), text))
    });
    let import = |args: &[&str]| {
        let all = [&["import", &one, &two, "-q", "-O", "sam", "-o", "-"][..], args].concat();
        let done = readmill(all);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        String::from_utf8(done.stdout).expect("SAM is text")
    };
    let first = std::str::from_utf8(&reads()[0]).expect("FASTQ is text").lines().nth(1).expect("bases");
    let text =
        import(&["--i1", &i1, "--i2", &i2, "--umi-fastq", &u, "--read-structures", "3M+T,+T,+B,+B,+M"]);
    let umi = &umi(0)[..5];
    let wanted =
        format!("BC:Z:{umi}AC-{umi}TG\tQT:Z:FFFFFF# FFFFFF#\tRX:Z:{}-{umi}\tQX:Z:", &first[..3]);
    let line = records(&text)[0];
    assert!(line.contains(&wanted), "{wanted}: {line}");
    let text = lines(&[&one, &two, "--trim", "--trim-front1", "9", "--umi-fastq", &u]);
    assert!(records(&text)[0].contains(&format!("RX:Z:{umi}\t")), "{text}");
}

#[test]
fn index_reads_that_do_not_fit_are_refused() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let good = arg(&dir.file("u.fq", index_file(|_, name, umi| record(name, umi))));
    let odd = index_file(|at, name, umi| record(if at == 2000 { "@other" } else { name }, umi));
    let odd = arg(&dir.file("odd.fq", odd));
    let fewer = index_file(|at, name, umi| if at < 2500 { record(name, umi) } else { String::new() });
    let fewer = arg(&dir.file("fewer.fq", fewer));
    let sam = arg(&dir.file("x.sam", "@HD\tVN:1.6\nr\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n"));
    let output = arg(&dir.path("out.bam"));
    let refused = |args: &[&str], code, words: &[&str]| {
        let names = dir.names();
        let done = align(&[args, &["-o", &output]].concat());
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
        for word in words {
            assert!(done.stderr.contains(word), "{word}: {}", done.stderr);
        }
        assert_eq!(dir.names(), names, "{args:?}");
    };
    refused(&[&one, &two, "--umi-fastq", &odd], 2, &["odd.fq: record 2001", "named other", "1.fq"]);
    refused(
        &[&one, &two, "--umi-fastq", &fewer],
        2,
        &["1.fq: record 2501", "no index read", "fewer.fq has fewer records"],
    );
    refused(&[&one, &two, "--umi-fastq", &good, "--umi-from-name"], 1, &["cannot be used with"]);
    refused(
        &[&one, &two, "--umi-fastq", &good, "--umi-fastq", &odd],
        1,
        &["--umi-fastq has 2 files", "1 lanes"],
    );
    refused(
        &[&one, &two, "--umi-fastq", &good, "--read-structures", "+T +T 4M+T"],
        1,
        &["4M+T of --umi-fastq", "not aligned"],
    );
    refused(
        &[&one, &two, "--umi-fastq", &good, "--read-structures", "+T +T 12M"],
        2,
        &["has 9 bases", "12M needs at least 12"],
    );
    refused(&[&one, &two, "--read-structures", "9M,+T"], 1, &["9M has no template bases"]);
    refused(&[&sam, "--umi-fastq", &good], 1, &["--umi-fastq works only with FASTQ input"]);
    refused(&[&one, &two, "--umi-fastq", &one], 1, &["1.fq is given twice"]);
}
