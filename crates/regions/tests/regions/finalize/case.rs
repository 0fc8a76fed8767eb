//! Regions and their reads that `tests/oracles/java/Finalize.java` prints.

use std::error::Error;
use std::sync::Arc;

use readmill_record::Flags;
use readmill_regions::{
    AssemblyRegion, CallerRead, ContigSpan, FinalizeOptions, finalize_region, is_read_for_genotypes,
    trim_reads,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What was compared.
#[derive(Debug, Default)]
pub struct Comparison {
    pub regions: usize,
    pub reads: usize,
    /// Both results of the regions that differ.
    pub different: Vec<String>,
}

/// Finalizes the regions in `text` and compares the reads with GATK's.
pub fn compare_regions(text: &str) -> Outcome<Comparison> {
    let mut comparison = Comparison::default();
    let lines = Vec::from_iter(text.lines().filter(|line| !line.starts_with('#')));
    for lines in lines.chunk_by(|_, next| !next.starts_with("region\t")) {
        let given =
            lines.iter().position(|line| !line.starts_with("in\t") && !line.starts_with("region\t"));
        let (given, expected) = lines.split_at(given.unwrap_or(lines.len()));
        let trim = expected.iter().find(|line| line.starts_with("trim\t"));
        let result = finalize(given, trim.copied())?;
        comparison.regions += 1;
        comparison.reads += given.len() - 1;
        if result != expected {
            let (given, expected) = (given.join("\n"), expected.join("\n"));
            comparison
                .different
                .push(format!("{given}\nGATK:\n{expected}\nreadmill:\n{}", result.join("\n")));
        }
    }
    Ok(comparison)
}

fn finalize(given: &[&str], trim: Option<&str>) -> Outcome<Vec<String>> {
    let head = Vec::from_iter(given[0].split('\t'));
    let span = ContigSpan { start: head[1].parse()?, end: head[2].parse()? };
    let options =
        FinalizeOptions { removes_soft_clips: head[3] == "true", ..FinalizeOptions::default() };
    let reads = given[1..].iter().map(|line| Ok(Arc::new(parse_read(line)?)));
    let reads = reads.collect::<Outcome<_>>()?;
    let region =
        AssemblyRegion { span, padded_span: span, is_active: true, ready_locus: i32::MAX, reads };
    let Ok(reads) = finalize_region(&region, options) else { return Ok(vec!["error".to_owned()]) };
    let mut lines = Vec::from_iter(reads.iter().map(|read| print_read(read)));
    if let Some(trim) = trim {
        let numbers = Vec::from_iter(trim.split('\t'));
        lines.push(trim.to_owned());
        let span = ContigSpan { start: numbers[1].parse()?, end: numbers[2].parse()? };
        match trim_reads(&reads, span) {
            Ok(reads) => lines.extend(reads.iter().map(|read| print_read(read))),
            Err(_) => lines.push("error".to_owned()),
        }
    }
    Ok(lines)
}

fn qualities(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| byte - b'!').collect()
}

fn parse_read(line: &str) -> Outcome<CallerRead> {
    let parts = Vec::from_iter(line.split('\t'));
    let optional = |text: &str| (text != "*").then(|| qualities(text));
    Ok(CallerRead {
        name: parts[1].as_bytes().into(),
        flags: Flags(parts[2].parse()?),
        mapping_quality: parts[3].parse()?,
        contig: parts[4].parse()?,
        start: parts[5].parse()?,
        cigar: parts[6].parse()?,
        mate_contig: u32::try_from(parts[7].parse::<i32>()?).ok(),
        mate_start: parts[8].parse()?,
        template_length: parts[9].parse()?,
        read_group: 0,
        // The names of samples differ in their first letters.
        sample: u32::from(parts[10].as_bytes()[0]),
        bases: parts[11].as_bytes().to_vec(),
        qualities: qualities(parts[12]),
        insertion_qualities: optional(parts[13]),
        deletion_qualities: optional(parts[14]),
    })
}

fn print_read(read: &CallerRead) -> String {
    let text = |qualities: &[u8]| {
        qualities.iter().map(|quality| char::from(quality + b'!')).collect::<String>()
    };
    let optional = |qualities: &Option<Vec<u8>>| qualities.as_deref().map_or("*".to_owned(), text);
    let sample = char::from_u32(read.sample).unwrap_or('*');
    format!(
        "out\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{sample}\t{}\t{}\t{}\t{}\t{}",
        String::from_utf8_lossy(&read.name),
        read.flags.0,
        read.mapping_quality,
        read.contig,
        read.start,
        read.cigar,
        read.mate_contig.map_or(-1, i64::from),
        read.mate_start,
        read.template_length,
        String::from_utf8_lossy(&read.bases),
        text(&read.qualities),
        optional(&read.insertion_qualities),
        optional(&read.deletion_qualities),
        is_read_for_genotypes(read, 20),
    )
}
