//! The header of a VCF file.

use std::io::Write as _;

/// What a VCF file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcfMode {
    /// Variants only (`-ERC NONE`).
    Variants,
    /// Variants, and blocks of sites that are like the reference (`-ERC GVCF`).
    Blocks,
    /// Variants, and all other sites (`-ERC BP_RESOLUTION`).
    Sites,
}

/// A contig as the header of a VCF file describes it.
#[derive(Clone, Copy, Debug)]
pub struct HeaderContig<'a> {
    /// Name, as in the header of the reads.
    pub name: &'a [u8],
    /// Number of bases.
    pub length: u32,
    /// Name of the assembly, from the field `AS` of the reads' header.
    pub assembly: Option<&'a [u8]>,
}

/// The header of a VCF file, as HaplotypeCaller 4.6.2.0 writes it, without its command line.
///
/// ```
/// use readmill_genotypes::vcf::{HeaderContig, VcfHeader, VcfMode};
///
/// let contigs = [HeaderContig { name: b"chr1", length: 1000, assembly: None }];
/// let header = VcfHeader {
///     mode: VcfMode::Variants,
///     has_phases: false,
///     bands: &[],
///     contigs: &contigs,
///     samples: &[b"NA1"],
///     lines: &["readmillVersion=0.2.0"],
/// };
/// let mut text = Vec::new();
/// header.append_text(&mut text);
/// let text = String::from_utf8(text)?;
/// assert!(text.starts_with("##fileformat=VCFv4.2\n##FILTER=<ID=LowQual,"));
/// assert!(text.contains("\n##contig=<ID=chr1,length=1000>\n##readmillVersion=0.2.0\n##source="));
/// assert!(text.ends_with("\tFORMAT\tNA1\n"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct VcfHeader<'a> {
    /// What the file holds.
    pub mode: VcfMode,
    /// Whether near calls are phased: in all modes but [`VcfMode::Variants`], unless the ploidy is not 2.
    pub has_phases: bool,
    /// Bounds of the bands of GQ that blocks do not cross, as `GvcfBlocks` takes them.
    pub bands: &'a [i32],
    /// Contigs, in order.
    pub contigs: &'a [HeaderContig<'a>],
    /// Names of samples, in order.
    pub samples: &'a [&'a [u8]],
    /// Further lines, without `##`.
    pub lines: &'a [&'a str],
}

impl VcfHeader<'_> {
    /// Appends all lines of the header. They are ordered by their text, except that contigs keep their
    /// order.
    pub fn append_text(&self, text: &mut Vec<u8>) {
        let mut lines = self.lines_but_contigs();
        lines.sort_unstable();
        let contigs = lines.partition_point(|line| line.as_str() < "contig");
        text.extend_from_slice(b"##fileformat=VCFv4.2\n");
        append_lines(text, &lines[..contigs]);
        for contig in self.contigs {
            text.extend_from_slice(b"##contig=<ID=");
            text.extend_from_slice(contig.name);
            // Writing to a vector cannot fail.
            let _ = write!(text, ",length={}", contig.length);
            if let Some(assembly) = contig.assembly {
                text.extend_from_slice(b",assembly=");
                text.extend_from_slice(assembly);
            }
            text.extend_from_slice(b">\n");
        }
        append_lines(text, &lines[contigs..]);
        text.extend_from_slice(b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT");
        for sample in self.samples {
            text.push(b'\t');
            text.extend_from_slice(sample);
        }
        text.push(b'\n');
    }

    fn lines_but_contigs(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.iter().map(|&line| line.to_owned()).collect();
        lines.push("source=HaplotypeCaller".to_owned());
        let mut add = |fields: &[&str]| lines.extend(fields.iter().map(|&line| line.to_owned()));
        add(&COMMON);
        if self.has_phases {
            add(&PHASES);
        }
        match self.mode {
            VcfMode::Variants => add(&VARIANTS),
            VcfMode::Sites => add(&REFERENCE_CONFIDENCE),
            VcfMode::Blocks => {
                add(&REFERENCE_CONFIDENCE);
                add(&BLOCKS);
                let band = |bounds: &[i32]| {
                    let (min, max) = (bounds[0], bounds[1]);
                    format!("GVCFBlock{min}-{max}=minGQ={min}(inclusive),maxGQ={max}(exclusive)")
                };
                lines.extend(self.bands.windows(2).map(band));
            }
        }
        lines
    }
}

fn append_lines(text: &mut Vec<u8>, lines: &[String]) {
    for line in lines {
        text.extend_from_slice(b"##");
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
}

/// Lines of every file.
const COMMON: [&str; 14] = [
    r#"FILTER=<ID=LowQual,Description="Low quality">"#,
    r#"FORMAT=<ID=AD,Number=R,Type=Integer,Description="Allelic depths for the ref and alt alleles in the order listed">"#,
    r#"FORMAT=<ID=DP,Number=1,Type=Integer,Description="Approximate read depth (reads with MQ=255 or with bad mates are filtered)">"#,
    r#"FORMAT=<ID=GQ,Number=1,Type=Integer,Description="Genotype Quality">"#,
    r#"FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">"#,
    r#"FORMAT=<ID=PL,Number=G,Type=Integer,Description="Normalized, Phred-scaled likelihoods for genotypes as defined in the VCF specification">"#,
    r#"INFO=<ID=BaseQRankSum,Number=1,Type=Float,Description="Z-score from Wilcoxon rank sum test of Alt Vs. Ref base qualities">"#,
    r#"INFO=<ID=DP,Number=1,Type=Integer,Description="Approximate read depth; some reads may have been filtered">"#,
    r#"INFO=<ID=ExcessHet,Number=1,Type=Float,Description="Phred-scaled p-value for exact test of excess heterozygosity">"#,
    r#"INFO=<ID=InbreedingCoeff,Number=1,Type=Float,Description="Inbreeding coefficient as estimated from the genotype likelihoods per-sample when compared against the Hardy-Weinberg expectation">"#,
    r#"INFO=<ID=MLEAC,Number=A,Type=Integer,Description="Maximum likelihood expectation (MLE) for the allele counts (not necessarily the same as the AC), for each ALT allele, in the same order as listed">"#,
    r#"INFO=<ID=MLEAF,Number=A,Type=Float,Description="Maximum likelihood expectation (MLE) for the allele frequency (not necessarily the same as the AF), for each ALT allele, in the same order as listed">"#,
    r#"INFO=<ID=MQRankSum,Number=1,Type=Float,Description="Z-score From Wilcoxon rank sum test of Alt vs. Ref read mapping qualities">"#,
    r#"INFO=<ID=ReadPosRankSum,Number=1,Type=Float,Description="Z-score from Wilcoxon rank sum test of Alt vs. Ref read position bias">"#,
];

/// Further lines of a file of variants only.
const VARIANTS: [&str; 7] = [
    r#"INFO=<ID=AC,Number=A,Type=Integer,Description="Allele count in genotypes, for each ALT allele, in the same order as listed">"#,
    r#"INFO=<ID=AF,Number=A,Type=Float,Description="Allele Frequency, for each ALT allele, in the same order as listed">"#,
    r#"INFO=<ID=AN,Number=1,Type=Integer,Description="Total number of alleles in called genotypes">"#,
    r#"INFO=<ID=FS,Number=1,Type=Float,Description="Phred-scaled p-value using Fisher's exact test to detect strand bias">"#,
    r#"INFO=<ID=MQ,Number=1,Type=Float,Description="RMS Mapping Quality">"#,
    r#"INFO=<ID=QD,Number=1,Type=Float,Description="Variant Confidence/Quality by Depth">"#,
    r#"INFO=<ID=SOR,Number=1,Type=Float,Description="Symmetric Odds Ratio of 2x2 contingency table to detect strand bias">"#,
];

/// Further lines of a file with all sites.
const REFERENCE_CONFIDENCE: [&str; 3] = [
    r#"ALT=<ID=NON_REF,Description="Represents any possible alternative allele not already represented at this location by REF and ALT">"#,
    r#"FORMAT=<ID=SB,Number=4,Type=Integer,Description="Per-sample component statistics which comprise the Fisher's Exact Test to detect strand bias.">"#,
    r#"INFO=<ID=RAW_MQandDP,Number=2,Type=Integer,Description="Raw data (sum of squared MQ and total depth) for improved RMS Mapping Quality calculation. Incompatible with deprecated RAW_MQ formulation.">"#,
];

/// Further lines of a file of blocks.
const BLOCKS: [&str; 2] = [
    r#"FORMAT=<ID=MIN_DP,Number=1,Type=Integer,Description="Minimum DP observed within the GVCF block">"#,
    r#"INFO=<ID=END,Number=1,Type=Integer,Description="Stop position of the interval">"#,
];

/// Further lines of a file whose calls are phased.
const PHASES: [&str; 3] = [
    r#"FORMAT=<ID=PGT,Number=1,Type=String,Description="Physical phasing haplotype information, describing how the alternate alleles are phased in relation to one another; will always be heterozygous and is not intended to describe called alleles">"#,
    r#"FORMAT=<ID=PID,Number=1,Type=String,Description="Physical phasing ID information, where each unique ID within a given sample (but not across samples) connects records within a phasing group">"#,
    r#"FORMAT=<ID=PS,Number=1,Type=Integer,Description="Phasing set (typically the position of the first variant in the set)">"#,
];
