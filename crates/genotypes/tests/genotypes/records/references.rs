//! Compares the confidence in the reference and blocks with what `References.java` prints.

use readmill_genotypes::blocks::GvcfBlocks;
use readmill_genotypes::confidence::{ConfidenceAt, ConfidenceRead, ReferenceConfidence};
use readmill_genotypes::vcf::{SampleFields, VcfRecord};
use readmill_genotypes::{Allele, SampleGenotype};
use readmill_jmath::{CpuMaker, JavaMath, Log10Sums};
use readmill_pairwise::Cigar;

/// Returns the number of positions and of lines that agree, or a text about the first that differs.
pub fn compare_references(text: &str) -> Result<(usize, usize), String> {
    let math = JavaMath::of_maker(CpuMaker::Intel).map_err(|error| error.to_string())?;
    let sums = Log10Sums::new(math);
    let models: Vec<ReferenceConfidence> =
        (1..=4).map(|ploidy| ReferenceConfidence::new(&sums, ploidy)).collect();
    let mut lines = text.lines().peekable();
    let (mut positions, mut records) = (0, 0);
    while let Some(first) = lines.next() {
        let words: Vec<&str> = first.split(' ').collect();
        let mut case = Vec::new();
        while let Some(line) =
            lines.next_if(|line| !line.starts_with("region ") && !line.starts_with("file "))
        {
            case.push(line);
        }
        match words[..] {
            ["region", ploidy, start, reference] => {
                let ploidy: usize = parse(ploidy)?;
                let model = &models[ploidy - 1];
                positions += compare_region(model, parse(start)?, reference.as_bytes(), &case)
                    .map_err(|error| format!("{first}\n{}\n{error}", case.join("\n")))?;
            }
            ["file", bands] => {
                records += compare_file(&integers(bands), &case)
                    .map_err(|error| format!("{first}\n{}\n{error}", case.join("\n")))?;
            }
            _ => return Err(format!("unreadable: {first}")),
        }
    }
    Ok((positions, records))
}

fn parse<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("unreadable: {text}"))
}

fn integers(text: &str) -> Vec<i32> {
    text.split(',').filter_map(|text| text.parse().ok()).collect()
}

struct ReadCase {
    start: i32,
    cigar: Cigar,
    bases: Vec<u8>,
    qualities: Vec<u8>,
    visible: (i32, i32),
}

impl ReadCase {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["read", start, cigar, bases, qualities, first, last] = words[..] else {
            return Err(format!("unreadable: {line}"));
        };
        Ok(ReadCase {
            start: parse(start)?,
            cigar: parse(cigar)?,
            bases: bases.into(),
            qualities: qualities.bytes().map(|quality| quality - 33).collect(),
            visible: (parse(first)?, parse(last)?),
        })
    }
}

fn compare_region(
    model: &ReferenceConfidence,
    start: i32,
    reference: &[u8],
    case: &[&str],
) -> Result<usize, String> {
    let is_read = |line: &&&str| line.starts_with("read ");
    let reads: Vec<ReadCase> =
        case.iter().filter(is_read).map(|line| ReadCase::parse(line)).collect::<Result<_, _>>()?;
    let reads: Vec<ConfidenceRead<'_>> = (reads.iter())
        .map(|read| ConfidenceRead {
            start: read.start,
            cigar: &read.cigar,
            bases: &read.bases,
            qualities: &read.qualities,
            visible: read.visible,
        })
        .collect();
    let mut region = model.region(&reads, reference, start);
    let mut at = ConfidenceAt::default();
    let expected = &case[reads.len()..];
    for line in expected {
        let position = parse(line.split(' ').nth(1).unwrap_or_default())?;
        region.compute_at(position, &mut at).map_err(|error| error.to_string())?;
        let [reference, variant] = at.allele_depths;
        let pls: Vec<String> = at.pls.iter().map(i32::to_string).collect();
        let (depth, quality, pls) = (at.depth(), at.quality, pls.join(","));
        let ours = format!("at {position} {reference},{variant} {depth} {quality} {pls}");
        if ours != *line {
            return Err(format!("{ours}, not {line}"));
        }
    }
    Ok(expected.len())
}

fn compare_file(bands: &[i32], case: &[&str]) -> Result<usize, String> {
    let mut blocks = GvcfBlocks::new(bands).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    let mut expected = Vec::new();
    for line in case {
        match line.strip_prefix("> ") {
            Some(line) => expected.push(line),
            None => {
                blocks.add_record(parse_site(line)?, &mut records).map_err(|error| error.to_string())?
            }
        }
    }
    blocks.finish(&mut records);
    let write = |record: &VcfRecord| {
        let mut line = Vec::new();
        record.append_line(format!("chr{}", record.contig + 1).as_bytes(), &mut line);
        String::from_utf8_lossy(&line).trim_end().to_owned()
    };
    let ours: Vec<String> = records.iter().map(write).collect();
    if let Some((ours, expected)) = ours.iter().zip(&expected).find(|(ours, expected)| ours != *expected)
    {
        return Err(format!("{ours}, not {expected}"));
    }
    if ours.len() != expected.len() {
        return Err(format!("{} lines, not {}", ours.len(), expected.len()));
    }
    Ok(ours.len())
}

fn parse_site(line: &str) -> Result<VcfRecord, String> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["site", contig, start, alleles, ploidy, called, quality, depth, pls] = words[..] else {
        return Err(format!("unreadable: {line}"));
    };
    let allele = |(index, text): (usize, &str)| match text {
        _ if index == 0 => Allele::Reference(text.into()),
        "<NON_REF>" => Allele::NonReference,
        "*" => Allele::SpanningDeletion,
        _ => Allele::Alternate(text.into()),
    };
    let genotype = SampleGenotype {
        alleles: vec![called.parse().ok(); parse(ploidy)?],
        pls: integers(pls),
        quality: quality.parse().ok(),
        depth: depth.parse().ok(),
        ..SampleGenotype::default()
    };
    Ok(VcfRecord {
        contig: parse(contig)?,
        start: parse(start)?,
        alleles: alleles.split(',').enumerate().map(allele).collect(),
        log10_error: None,
        info: Vec::new(),
        samples: vec![SampleFields { genotype, ..SampleFields::default() }],
    })
}
