//! Writes the files of HaplotypeCaller again, from the values that they hold.

use readmill_genotypes::blocks::{DEFAULT_BANDS, GvcfBlocks};
use readmill_genotypes::vcf::{HeaderContig, InfoValue, SampleFields, VcfHeader, VcfMode, VcfRecord};
use readmill_genotypes::{Allele, Phase, PhaseSide};

/// Keys of INFO whose numbers are rounded when they are written.
const NUMBERS: [&str; 2] = ["AF", "MLEAF"];

/// Keys of INFO.
const KEYS: [&str; 18] = [
    "AC",
    "AF",
    "AN",
    "BaseQRankSum",
    "DP",
    "END",
    "ExcessHet",
    "FS",
    "InbreedingCoeff",
    "MLEAC",
    "MLEAF",
    "MQ",
    "MQRankSum",
    "QD",
    "RAW_MQandDP",
    "ReadPosRankSum",
    "SOR",
    "DB",
];

/// Returns the number of lines that agree of the files that `Files.java` prints, or a text about the
/// first that differs. Blocks are made of the file with all sites, too.
pub fn compare_files(text: &str) -> Result<usize, String> {
    let mode = |name: &str| {
        let (_, text) = text.split_once(&format!("mode {name}\n")).ok_or("a mode is missing")?;
        Ok::<_, String>(text.split_once("mode ").map_or(text, |(text, _)| text))
    };
    let (variants, sites, blocks) = (mode("NONE")?, mode("BP_RESOLUTION")?, mode("GVCF")?);
    Ok(compare_text(VcfMode::Variants, variants)?
        + compare_text(VcfMode::Sites, sites)?
        + compare_text(VcfMode::Blocks, blocks)?
        + compare_blocks(sites, blocks)?)
}

/// Writes the header and all lines of a file again.
fn compare_text(mode: VcfMode, text: &str) -> Result<usize, String> {
    let contigs = parse_contigs(text);
    let mut ours = Vec::new();
    write_header(mode, text, &mut ours)?;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let record = parse_record(&contigs, line).ok_or_else(|| format!("unreadable: {line}"))?;
        record.append_line(contigs[record.contig].0.as_bytes(), &mut ours);
    }
    compare_lines(&String::from_utf8_lossy(&ours), text)
}

/// Makes the blocks of a GVCF file from a file with all sites.
fn compare_blocks(sites: &str, blocks: &str) -> Result<usize, String> {
    let contigs = parse_contigs(sites);
    let mut ours = Vec::new();
    write_header(VcfMode::Blocks, blocks, &mut ours)?;
    let mut combiner = GvcfBlocks::new(&DEFAULT_BANDS).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    let mut write = |records: &mut Vec<VcfRecord>| {
        for record in records.drain(..) {
            record.append_line(contigs[record.contig].0.as_bytes(), &mut ours);
        }
    };
    for line in sites.lines().filter(|line| !line.starts_with('#')) {
        let record = parse_record(&contigs, line).ok_or_else(|| format!("unreadable: {line}"))?;
        combiner.add_record(record, &mut records).map_err(|error| error.to_string())?;
        write(&mut records);
    }
    combiner.finish(&mut records);
    write(&mut records);
    compare_lines(&String::from_utf8_lossy(&ours), blocks)
}

fn compare_lines(ours: &str, expected: &str) -> Result<usize, String> {
    let mut ours = ours.lines();
    let mut count = 0;
    for expected in expected.lines() {
        let ours = ours.next().unwrap_or("no line");
        if ours != expected {
            return Err(format!("line {count}: {ours}\nnot {expected}"));
        }
        count += 1;
    }
    match ours.next() {
        Some(line) => Err(format!("one line more: {line}")),
        None => Ok(count),
    }
}

/// Returns names and lengths.
fn parse_contigs(text: &str) -> Vec<(&str, u32)> {
    let fields = text.lines().filter_map(|line| line.strip_prefix("##contig=<ID="));
    fields
        .filter_map(|line| line.strip_suffix('>')?.split_once(",length="))
        .filter_map(|(name, length)| Some((name, length.parse().ok()?)))
        .collect()
}

fn write_header(mode: VcfMode, text: &str, ours: &mut Vec<u8>) -> Result<(), String> {
    let contigs = parse_contigs(text);
    let contigs: Vec<HeaderContig<'_>> = (contigs.iter())
        .map(|&(name, length)| HeaderContig { name: name.as_bytes(), length, assembly: None })
        .collect();
    let columns = text.lines().find(|line| line.starts_with("#CHROM")).ok_or("no header")?;
    let samples: Vec<&[u8]> = columns.split('\t').skip(9).map(str::as_bytes).collect();
    let bands = &DEFAULT_BANDS;
    let has_phases = text.contains("##FORMAT=<ID=PGT,");
    let (contigs, samples) = (&contigs, &samples);
    VcfHeader { mode, has_phases, bands, contigs, samples, lines: &[] }.append_text(ours);
    Ok(())
}

fn parse_record(contigs: &[(&str, u32)], line: &str) -> Option<VcfRecord> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [contig, start, ".", reference, alternates, quality, ".", info, format, ref samples @ ..] =
        columns[..]
    else {
        return None;
    };
    let mut alleles = vec![Allele::Reference(reference.into())];
    alleles.extend(alternates.split(',').filter(|&text| text != ".").map(|text| match text {
        "<NON_REF>" => Allele::NonReference,
        "*" => Allele::SpanningDeletion,
        _ => Allele::Alternate(text.into()),
    }));
    let fields = info.split(';').filter(|&text| text != ".");
    Some(VcfRecord {
        contig: contigs.iter().position(|&(name, _)| name == contig)?,
        start: start.parse().ok()?,
        alleles,
        log10_error: quality.parse().ok().map(|quality: f64| quality / -10.0),
        info: fields.map(parse_info).collect::<Option<_>>()?,
        samples: samples.iter().map(|text| parse_sample(format, text)).collect::<Option<_>>()?,
    })
}

fn parse_info(text: &str) -> Option<(&'static str, InfoValue)> {
    let (key, value) = text.split_once('=')?;
    let key = KEYS.into_iter().find(|&known| known == key)?;
    let numbers = || value.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
    let integers = || value.split(',').map(str::parse).collect::<Result<Vec<i32>, _>>();
    let value = if NUMBERS.contains(&key) {
        InfoValue::Numbers(numbers().ok()?)
    } else if let Ok(values) = integers() {
        InfoValue::Integers(values)
    } else {
        InfoValue::Text(value.to_owned())
    };
    Some((key, value))
}

fn parse_sample(format: &str, text: &str) -> Option<SampleFields> {
    let mut fields = SampleFields::default();
    let mut phase = Phase { group: String::new(), side: PhaseSide::Left, set: 0 };
    for (key, value) in format.split(':').zip(text.split(':')).filter(|&(_, value)| value != ".") {
        let genotype = &mut fields.genotype;
        let integers = || value.split(',').map(str::parse).collect::<Result<Vec<i32>, _>>().ok();
        match key {
            "GT" => {
                genotype.alleles = value.split(['/', '|']).map(|allele| allele.parse().ok()).collect();
                genotype.phase = value.contains('|').then(|| phase.clone());
            }
            "AD" => genotype.allele_depths = Some(integers()?),
            "DP" => genotype.depth = value.parse().ok(),
            "GQ" => genotype.quality = value.parse().ok(),
            "PL" => genotype.pls = integers()?,
            "MIN_DP" => fields.min_depth = value.parse().ok(),
            "SB" => fields.strand_counts = integers()?.try_into().ok(),
            "PGT" => phase.side = if value == "1|0" { PhaseSide::Left } else { PhaseSide::Right },
            "PID" => phase.group = value.to_owned(),
            "PS" => {
                phase.set = value.parse().ok()?;
                genotype.phase = Some(phase.clone());
            }
            _ => return None,
        }
    }
    Some(fields)
}
