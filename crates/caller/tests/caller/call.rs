//! The VCF file that the crate makes of a reference and records.

use readmill_caller::{CallRun, CallerOptions, Contig, RunTables};
use readmill_genotypes::vcf::{HeaderContig, VcfHeader, VcfMode, VcfRecord};
use readmill_record::{RecordRef, Result};
use readmill_regions::{Intervals, normalize_reference};

use super::sam::parse_sam;

/// Names of the values of `-ERC`, and the modes.
pub const MODES: [(&str, VcfMode); 3] =
    [("GVCF", VcfMode::Blocks), ("BP_RESOLUTION", VcfMode::Sites), ("NONE", VcfMode::Variants)];

/// Returns the text of the VCF file of a FASTA file and a sorted SAM file.
pub fn call_text(fasta: &str, sam: &str, options: &CallerOptions) -> Result<String> {
    let file = parse_sam(sam);
    let tables = RunTables::new(options);
    let mut run = CallRun::new(options, &tables, &file.header)?;
    let mut text = header_text(&file.header, options.mode, run.bands());
    let mut all = Vec::new();
    let mut records = file.records.iter().peekable();
    for (index, contig) in file.header.references().iter().enumerate() {
        let bases = parse_contig(fasta, &contig.name)?;
        let intervals = Intervals::of_contig(bases.len() as i32);
        run.start_contig(Contig::new(index, &contig.name, bases), &intervals)?;
        while let Some((_, record)) = records.next_if(|(contig, _)| *contig == index as i32) {
            run.add_record(RecordRef::new(record), &mut all)?;
        }
        run.finish_contig(&mut all)?;
    }
    run.finish(&mut all);
    for record in &all {
        append_record(record, &file.header, &mut text);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn append_record(record: &VcfRecord, header: &readmill_record::Header, text: &mut Vec<u8>) {
    record.append_line(&header.references()[record.contig].name, text);
}

fn header_text(header: &readmill_record::Header, mode: VcfMode, bands: &[i32]) -> Vec<u8> {
    let contigs = Vec::from_iter(header.references().iter().map(|contig| HeaderContig {
        name: &contig.name,
        length: contig.length,
        assembly: None,
    }));
    let sample = header.lines_of_kind(b"RG").find_map(|group| group.get(b"SM")).unwrap_or_default();
    let mut text = Vec::new();
    VcfHeader {
        mode,
        bands,
        contigs: &contigs,
        samples: &[sample],
        has_phases: mode != VcfMode::Variants,
        lines: &[],
    }
    .append_text(&mut text);
    text
}

/// Returns the bases of a contig as GATK reads them.
fn parse_contig(fasta: &str, name: &[u8]) -> Result<Vec<u8>> {
    let is_named = |contig: &&str| {
        contig.split_ascii_whitespace().next().is_some_and(|word| word.as_bytes() == name)
    };
    let contig = fasta.split('>').find(is_named).unwrap();
    let (_, bases) = contig.split_once('\n').unwrap();
    let mut bases = Vec::from_iter(bases.bytes().filter(|base| !base.is_ascii_whitespace()));
    normalize_reference(&mut bases)?;
    Ok(bases)
}

/// Describes the first line that differs, but for GATK's command line.
pub fn find_difference(ours: &str, gatk: &str) -> Option<String> {
    let is_compared = |line: &&str| !line.starts_with("##GATKCommandLine");
    let mut pairs = (ours.lines(), gatk.lines().filter(is_compared));
    loop {
        match (pairs.0.next(), pairs.1.next()) {
            (None, None) => return None,
            (ours, gatk) if ours == gatk => (),
            (ours, gatk) => return Some(format!("ours {ours:?}\nGATK {gatk:?}")),
        }
    }
}
