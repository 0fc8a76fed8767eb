//! Numbers of variants of each kind.

use readmill_genotypes::Allele;
use readmill_genotypes::vcf::VcfRecord;
use readmill_regions::intake::{IntakeCounts, Rejection};
use serde_json::{Value, json};

/// Numbers of records and alleles of a VCF file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VariantCounts {
    /// Lines of the file.
    records: u64,
    /// Records whose genotype has an alternate allele.
    variants: u64,
    heterozygous: u64,
    homozygous: u64,
    transitions: u64,
    transversions: u64,
    insertions: u64,
    deletions: u64,
    /// Alternate alleles of the length of the reference, with more than one base.
    multi_base: u64,
}

impl VariantCounts {
    /// Counts a record and the alternate alleles of its genotype.
    pub(super) fn add(&mut self, record: &VcfRecord) {
        self.records += 1;
        let genotype = record.samples.first().map(|sample| &sample.genotype.alleles[..]);
        let mut called = Vec::from_iter(genotype.unwrap_or_default().iter().flatten().copied());
        if called.iter().all(|&allele| allele == 0) {
            return;
        }
        self.variants += 1;
        called.sort_unstable();
        match called.first() == called.last() {
            true => self.homozygous += 1,
            false => self.heterozygous += 1,
        }
        called.dedup();
        let reference = match record.alleles.first() {
            Some(Allele::Reference(bases)) => &bases[..],
            _ => &[],
        };
        for allele in called {
            if let Some(Allele::Alternate(bases)) = record.alleles.get(allele) {
                self.add_allele(reference, bases);
            }
        }
    }

    fn add_allele(&mut self, reference: &[u8], bases: &[u8]) {
        let different = || reference.iter().zip(bases).filter(|(one, other)| one != other);
        match (bases.len().cmp(&reference.len()), different().count()) {
            (std::cmp::Ordering::Less, _) => self.deletions += 1,
            (std::cmp::Ordering::Greater, _) => self.insertions += 1,
            (std::cmp::Ordering::Equal, 1) => {
                let is_transition = different().all(|pair| {
                    matches!(pair, (b'A', b'G') | (b'G', b'A') | (b'C', b'T') | (b'T', b'C'))
                });
                match is_transition {
                    true => self.transitions += 1,
                    false => self.transversions += 1,
                }
            }
            (std::cmp::Ordering::Equal, _) => self.multi_base += 1,
        }
    }

    /// Returns the numbers for the description of the run, with those of the reads: which were used, and
    /// how many failed each of GATK's filters.
    pub(super) fn to_value(self, reads: &IntakeCounts) -> Value {
        let is_rejected = |rejection: &Rejection| reads.rejected(*rejection) > 0;
        let rejected = Rejection::ALL.into_iter().filter(is_rejected);
        let rejected = rejected
            .map(|rejection| (rejection.filter_name().to_owned(), reads.rejected(rejection).into()));
        json!({
            "reads": reads.passed(),
            "filtered_reads": Value::Object(rejected.collect()),
            "records": self.records,
            "variants": self.variants,
            "heterozygous": self.heterozygous,
            "homozygous": self.homozygous,
            "snps": self.transitions + self.transversions,
            "transitions": self.transitions,
            "transversions": self.transversions,
            "insertions": self.insertions,
            "deletions": self.deletions,
            "multi_base_substitutions": self.multi_base,
        })
    }
}

#[cfg(test)]
mod tests {
    use readmill_genotypes::SampleGenotype;
    use readmill_genotypes::vcf::SampleFields;

    use super::*;

    #[test]
    fn alleles_of_genotypes_count_by_kind() {
        let mut counts = VariantCounts::default();
        let alternate = |bases: &str| Allele::Alternate(bases.as_bytes().to_vec());
        for (reference, alternates, genotype) in [
            ("A", vec!["G"], [0, 1]),
            ("C", vec!["A", "T"], [1, 2]),
            ("CT", vec!["C"], [1, 1]),
            ("C", vec!["CTT"], [0, 1]),
            ("CT", vec!["GG"], [0, 1]),
            ("G", vec!["T"], [0, 0]),
        ] {
            let alleles = std::iter::once(Allele::Reference(reference.as_bytes().to_vec()));
            let genotype =
                SampleGenotype { alleles: genotype.map(Some).to_vec(), ..SampleGenotype::default() };
            counts.add(&VcfRecord {
                alleles: alleles.chain(alternates.into_iter().map(alternate)).collect(),
                samples: vec![SampleFields { genotype, ..SampleFields::default() }],
                ..VcfRecord::default()
            });
        }
        let expected = json!({
            "reads": 0, "filtered_reads": {}, "records": 6, "variants": 5, "heterozygous": 4, "homozygous": 1, "snps": 3, "transitions": 2,
            "transversions": 1, "insertions": 1, "deletions": 1, "multi_base_substitutions": 1,
        });
        assert_eq!(counts.to_value(&IntakeCounts::default()), expected);
    }
}
