//! Compares `readmill view` with samtools view: its flags, and region queries on all kinds of
//! indexed files.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::random::SeededRandom;
use crate::samples;

/// Indexed files of the same reads, and the samtools command that creates each from `sorted.bam`.
const FILES: [(&str, &str); 5] = [
    ("bai.bam", "view --no-PG -b -o bai.bam sorted.bam"),
    ("csi.bam", "view --no-PG -b -o csi.bam sorted.bam"),
    ("bai.sam.gz", "view --no-PG -h -O sam.gz -o bai.sam.gz sorted.bam"),
    ("csi.sam.gz", "view --no-PG -h -O sam.gz -o csi.sam.gz sorted.bam"),
    ("in.cram", "view --no-PG -O cram,no_ref,seqs_per_slice=500 -o in.cram sorted.bam"),
];

const FLAGS: [&str; 27] = [
    "",
    "-h --no-PG",
    "-H --no-PG",
    "-c",
    "-c -F UNMAP,DUP",
    "-q 20 -f 1",
    "-F 0x904 -G 3",
    "--rf 0x90",
    "-r a",
    "-n",
    "-R groups",
    "-R ^groups",
    "-l l",
    "-m 50",
    "-N names",
    "-N ^names",
    "-d RG",
    "-d RG:a -d RG:c",
    "-d NM:0",
    "-D RG:groups",
    "-s 42.25",
    "-s 7.5 -q 1",
    "-x NM -x RG,XZ",
    "-x ^NM,RG",
    "--keep-tag NM,RG",
    "--add-flags 0x400 --remove-flags PROPER_PAIR",
    "-L regions.bed -e [NM]<3",
];

/// Compares `view` with samtools on a simulated sample with all kinds of templates, with `regions`
/// random regions per file.
pub fn compare_view(dir: &SampleDir<'_>, pairs: u64, regions: usize, ledger: &mut Ledger) -> Result<()> {
    ledger.print_heading("view", "regions and flags, compared with samtools view");
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    dir.run_samtools_1_24("sort --no-PG -o sorted.bam in.bam")?;
    fs::write(dir.path("groups"), "a\nc\n")?;
    let names = ProgramLines::start_samtools_1_24(dir, "view sorted.bam")?.read_text()?;
    let names = names.lines().step_by(7).filter_map(|line| line.split('\t').next());
    fs::write(dir.path("names"), names.collect::<Vec<_>>().join("\n"))?;
    let header = ProgramLines::start_samtools_1_24(dir, "view -H --no-PG sorted.bam")?.read_text()?;
    let mut random = SeededRandom::new(21);
    let places = random_regions(&header, regions, &mut random);
    fs::write(dir.path("regions.bed"), format_bed(&places))?;
    let places: Vec<String> = places.into_iter().map(|place| place.text).collect();
    for (file, make) in FILES {
        dir.run_samtools_1_24(make)?;
        dir.run_samtools_1_24(&format!(
            "index {} {file}",
            if file.starts_with("csi") { "-c" } else { "" }
        ))?;
        for flags in ["", "-M", "-c", "-M -c -@ 3", "-q 10 -F 1024"] {
            ledger.check(&format!("{file}: view {flags}, {regions} regions"), || {
                compare_lines(dir, &format!("{flags} {file} {}", places.join(" ")))
            });
        }
        ledger.check(&format!("{file}: view, regions one by one"), || {
            let mut lines = 0;
            for place in places.iter().take(regions / 4) {
                lines += compare_output(dir, &format!("{file} {place}"))?;
            }
            Ok(format!("{lines} lines"))
        });
        ledger.check(&format!("view {file} *"), || {
            let words = format!("{file} *");
            // In CRAM, samtools finds unplaced reads only in the last container (row 278).
            let all = format!("-e rname==\"*\" {file}");
            let theirs = if file.ends_with(".cram") { &all } else { &words };
            Ok(format!("{} lines", compare_outputs(dir, &words, theirs)?))
        });
        for words in [format!("{file} ."), format!("-M -L regions.bed {file}")] {
            ledger.check(&format!("view {words}"), || compare_lines(dir, &words));
        }
    }
    for flags in FLAGS {
        ledger.check(&format!("view {flags}"), || compare_lines(dir, &format!("{flags} sorted.bam")));
    }
    Ok(())
}

/// A region: its coordinates (0-based, half-open), and its text for a command line.
struct ViewRegion {
    contig: String,
    start: u64,
    end: u64,
    text: String,
}

fn random_regions(header: &str, regions: usize, random: &mut SeededRandom) -> Vec<ViewRegion> {
    let field = |line: &str, key: &str| {
        line.split('\t').find_map(|field| field.strip_prefix(key)).unwrap_or_default().to_owned()
    };
    let lines = header.lines().filter(|line| line.starts_with("@SQ"));
    let contigs: Vec<(String, u64)> =
        lines.map(|line| (field(line, "SN:"), field(line, "LN:").parse().unwrap_or(1))).collect();
    let place = |_| {
        let (contig, length) = &contigs[random.below(contigs.len() as u64) as usize];
        let start = random.below(*length);
        let end =
            (start + random.pick(&[1, 10, 1000, 1000, 20_000, 1_000_000])).min(*length).max(start + 1);
        let text = match random.below(20) {
            0 => contig.clone(),
            1 => format!("{contig}:{}", start + 1),
            2 => format!("{contig}:-{end}"),
            _ => format!("{contig}:{}-{end}", start + 1),
        };
        ViewRegion { contig: contig.clone(), start, end, text }
    };
    (0..regions).map(place).collect()
}

fn format_bed(places: &[ViewRegion]) -> String {
    places.iter().map(|it| format!("{}\t{}\t{}\n", it.contig, it.start, it.end)).collect()
}

fn compare_lines(dir: &SampleDir<'_>, words: &str) -> Result<String> {
    Ok(format!("{} lines", compare_output(dir, words)?))
}

fn compare_output(dir: &SampleDir<'_>, words: &str) -> Result<usize> {
    compare_outputs(dir, words, words)
}

/// Runs both programs, each with its own arguments, and returns the number of lines, or an error
/// that shows the first difference.
fn compare_outputs(dir: &SampleDir<'_>, words: &str, of_samtools: &str) -> Result<usize> {
    let theirs = ProgramLines::start_samtools_1_24(dir, &format!("view {of_samtools}"))?;
    let ours = ProgramLines::start(dir.readmill_command(&format!("view {words}")))?;
    let (ours, theirs) = (ours.read_bytes()?, theirs.read_bytes()?);
    if ours != theirs {
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
        let (ours, theirs): (Vec<String>, Vec<String>) = (lines(&ours), lines(&theirs));
        let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        ensure!(false, "{} and {} lines; {differs:?}", ours.len(), theirs.len());
    }
    Ok(ours.iter().filter(|&&byte| byte == b'\n').count())
}
