//! One line of a VCF file.

use readmill_jmath::JavaRandom;
use readmill_jmath::text::format_fixed;

use crate::alleles::{Allele, CalledVariant, SampleGenotype};
use crate::annotations::{Annotations, StrandCounts, quality_by_depth};
use crate::vcf::info::{InfoValue, append_integer, append_integers};

/// Largest `GQ` that is written.
const MAX_QUALITY: i32 = 99;

/// The genotype of one sample with all that FORMAT can name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleFields {
    /// Alleles, `AD`, `DP`, `GQ`, `PL` and the phase.
    pub genotype: SampleGenotype,
    /// Informative reads by allele and strand (`SB`).
    pub strand_counts: Option<StrandCounts>,
    /// Minimum depth in a block (`MIN_DP`).
    pub min_depth: Option<i32>,
}

/// A line of a VCF file: a variant, a site, or a block of sites that are like the reference.
///
/// ```
/// use readmill_genotypes::vcf::{InfoValue, SampleFields, VcfRecord};
/// use readmill_genotypes::{Allele, SampleGenotype};
///
/// let genotype = SampleGenotype {
///     alleles: vec![Some(0), Some(1)],
///     quality: Some(120),
///     pls: vec![130, 0, 120],
///     ..SampleGenotype::default()
/// };
/// let record = VcfRecord {
///     contig: 0,
///     start: 17,
///     alleles: vec![Allele::Reference(b"A".to_vec()), Allele::Alternate(b"T".to_vec())],
///     log10_error: Some(-12.264),
///     info: vec![("MLEAF", InfoValue::Numbers(vec![0.5])), ("DP", InfoValue::Integers(vec![31]))],
///     samples: vec![SampleFields { genotype, ..SampleFields::default() }],
/// };
/// let mut line = Vec::new();
/// record.append_line(b"chr1", &mut line);
/// let text = "chr1\t17\t.\tA\tT\t122.64\t.\tDP=31;MLEAF=0.500\tGT:GQ:PL\t0/1:99:130,0,120\n";
/// assert_eq!(String::from_utf8(line)?, text);
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcfRecord {
    /// Index of the contig in the header.
    pub contig: usize,
    /// 1-based position of the first base of the reference allele.
    pub start: u32,
    /// The reference, then the alternate alleles.
    pub alleles: Vec<Allele>,
    /// Decimal logarithm of the probability that the call is wrong. QUAL is -10 times this.
    pub log10_error: Option<f64>,
    /// Fields of INFO, in any order.
    pub info: Vec<(&'static str, InfoValue)>,
    /// Genotypes, in the order of the samples of the header.
    pub samples: Vec<SampleFields>,
}

impl VcfRecord {
    /// Makes the record of an annotated call.
    pub fn from_call(call: CalledVariant, annotations: Annotations) -> Self {
        let mut strands = annotations.strand_counts.into_iter();
        let fields = |genotype| SampleFields {
            genotype,
            strand_counts: strands.next().flatten(),
            min_depth: None,
        };
        VcfRecord {
            contig: call.contig,
            start: call.start,
            log10_error: Some(call.log10_confidence),
            info: annotations.info,
            samples: call.genotypes.into_iter().map(fields).collect(),
            alleles: call.alleles,
        }
    }

    /// Adds `QD` to the record of variants only. `reads` is the number of reads of each sample.
    ///
    /// GATK takes a draw of the generator of the whole run if the value is too high, so records must be
    /// passed in the order of the file.
    pub fn add_quality_by_depth(&mut self, reads: &[usize], random: &mut JavaRandom) {
        let genotypes = self.samples.iter().map(|sample| &sample.genotype);
        let log10_error = self.log10_error.unwrap_or_default();
        if let Some(value) = quality_by_depth(log10_error, genotypes, reads, random) {
            self.info.push(("QD", InfoValue::Text(format_fixed(value, 2))));
        }
    }

    /// Returns the 1-based position of the last base of the reference allele.
    pub fn end(&self) -> u32 {
        let length = self.alleles.first().map_or(1, Allele::length);
        self.start + (length as u32).max(1) - 1
    }

    /// Appends the line with its line feed, like `VCFEncoder` of htsjdk 4.2.0.
    pub fn append_line(&self, contig: &[u8], line: &mut Vec<u8>) {
        line.extend_from_slice(contig);
        line.push(b'\t');
        append_integer(line, i64::from(self.start));
        line.extend_from_slice(b"\t.\t");
        self.append_alleles(line);
        line.push(b'\t');
        match self.log10_error {
            Some(log10_error) => append_quality(line, log10_error),
            None => line.push(b'.'),
        }
        line.extend_from_slice(b"\t.\t");
        self.append_info(line);
        self.append_samples(line);
        line.push(b'\n');
    }

    fn append_alleles(&self, line: &mut Vec<u8>) {
        for (index, allele) in self.alleles.iter().enumerate() {
            match index {
                0 => (),
                1 => line.push(b'\t'),
                _ => line.push(b','),
            }
            line.extend_from_slice(allele.text());
        }
        if self.alleles.len() < 2 {
            line.extend_from_slice(b"\t.");
        }
    }

    /// Appends INFO, ordered by key.
    fn append_info(&self, line: &mut Vec<u8>) {
        let mut fields: Vec<&(&str, InfoValue)> = self.info.iter().collect();
        fields.sort_by_key(|(key, _)| *key);
        for (index, (key, value)) in fields.iter().enumerate() {
            if index > 0 {
                line.push(b';');
            }
            line.extend_from_slice(key.as_bytes());
            line.push(b'=');
            value.append_text(line);
        }
        if fields.is_empty() {
            line.push(b'.');
        }
    }

    /// Appends FORMAT and the samples. FORMAT names the fields that some sample has. A sample omits
    /// missing values after its last value.
    fn append_samples(&self, line: &mut Vec<u8>) {
        let is_used = |field: &&FormatField| self.samples.iter().any(|sample| (field.has_value)(sample));
        let used: Vec<&FormatField> = FORMAT_FIELDS.iter().filter(is_used).collect();
        line.extend_from_slice(b"\tGT");
        for field in &used {
            line.push(b':');
            line.extend_from_slice(field.key.as_bytes());
        }
        for sample in &self.samples {
            line.push(b'\t');
            append_genotype(line, &sample.genotype);
            let mut end = line.len();
            for field in &used {
                line.push(b':');
                if (field.has_value)(sample) {
                    (field.append)(sample, line);
                    end = line.len();
                } else {
                    line.push(b'.');
                }
            }
            line.truncate(end);
        }
    }
}

/// A field of FORMAT after `GT`.
struct FormatField {
    key: &'static str,
    has_value: fn(&SampleFields) -> bool,
    append: fn(&SampleFields, &mut Vec<u8>),
}

/// All fields, ordered by key.
const FORMAT_FIELDS: [FormatField; 9] = [
    FormatField {
        key: "AD",
        has_value: |sample| sample.genotype.allele_depths.is_some(),
        append: |sample, line| {
            append_integers(line, sample.genotype.allele_depths.as_deref().unwrap_or_default());
        },
    },
    FormatField {
        key: "DP",
        has_value: |sample| sample.genotype.depth.is_some(),
        append: |sample, line| append_optional(line, sample.genotype.depth),
    },
    FormatField {
        key: "GQ",
        has_value: |sample| sample.genotype.quality.is_some(),
        append: |sample, line| {
            append_optional(line, sample.genotype.quality.map(|quality| quality.min(MAX_QUALITY)));
        },
    },
    FormatField {
        key: "MIN_DP",
        has_value: |sample| sample.min_depth.is_some(),
        append: |sample, line| append_optional(line, sample.min_depth),
    },
    FormatField {
        key: "PGT",
        has_value: |sample| sample.genotype.phase.is_some(),
        append: |sample, line| {
            let text = sample.genotype.phase.as_ref().map_or(".", |phase| phase.side.text());
            line.extend_from_slice(text.as_bytes());
        },
    },
    FormatField {
        key: "PID",
        has_value: |sample| sample.genotype.phase.is_some(),
        append: |sample, line| {
            let text = sample.genotype.phase.as_ref().map_or(".", |phase| phase.group.as_str());
            line.extend_from_slice(text.as_bytes());
        },
    },
    FormatField {
        key: "PL",
        has_value: |sample| !sample.genotype.pls.is_empty(),
        append: |sample, line| append_integers(line, &sample.genotype.pls),
    },
    FormatField {
        key: "PS",
        has_value: |sample| sample.genotype.phase.is_some(),
        append: |sample, line| {
            append_optional(line, sample.genotype.phase.as_ref().map(|phase| phase.set as i32));
        },
    },
    FormatField {
        key: "SB",
        has_value: |sample| sample.strand_counts.is_some(),
        append: |sample, line| append_integers(line, &sample.strand_counts.unwrap_or_default()),
    },
];

fn append_genotype(line: &mut Vec<u8>, genotype: &SampleGenotype) {
    let separator = if genotype.phase.is_some() { b'|' } else { b'/' };
    for (index, allele) in genotype.alleles.iter().enumerate() {
        if index > 0 {
            line.push(separator);
        }
        match allele {
            Some(allele) => append_integer(line, *allele as i64),
            None => line.push(b'.'),
        }
    }
}

/// Appends QUAL: two decimals, unless both are 0.
fn append_quality(line: &mut Vec<u8>, log10_error: f64) {
    // The sum with 0 makes -0.0 positive.
    let text = format_fixed(log10_error * -10.0 + 0.0, 2);
    line.extend_from_slice(text.strip_suffix(".00").unwrap_or(&text).as_bytes());
}

fn append_optional(line: &mut Vec<u8>, value: Option<i32>) {
    match value {
        Some(value) => append_integer(line, i64::from(value)),
        None => line.push(b'.'),
    }
}
