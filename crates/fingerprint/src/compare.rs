//! Compares two fingerprints, to decide whether they are from one person.

use std::cmp::Ordering;

use crate::table::{Fingerprint, SiteCounts};

/// Minimum number of bases of the two alleles for a genotype, as in somalier 0.2.19.
const MIN_DEPTH: u64 = 7;

/// Maximum share of the rarer allele in a homozygous genotype, and its minimum share in a
/// heterozygous one.
const SHARES: [f64; 2] = [0.1, 0.25];

/// Minimum number of heterozygous sites for a verdict, in the sample that has fewer.
const MIN_HETEROZYGOUS: u64 = 20;

/// A genotype: how many of its two alleles are the second allele of the site.
type Genotype = u8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Sites at which both samples have a genotype.
    pub sites: u64,
    pub same: u64,
    /// Sites at which the samples are homozygous for different alleles.
    pub opposite: u64,
    /// Sites at which the first sample, the second, and both are heterozygous.
    pub heterozygous: [u64; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityVerdict {
    /// One person, or identical twins.
    Same,
    /// Relatives, or one sample is a mixture.
    Related,
    Different,
    /// Too few heterozygous sites for a conclusion.
    Unclear,
}

impl IdentityVerdict {
    pub fn name(self) -> &'static str {
        match self {
            IdentityVerdict::Same => "same",
            IdentityVerdict::Related => "related",
            IdentityVerdict::Different => "different",
            IdentityVerdict::Unclear => "unclear",
        }
    }
}

impl Agreement {
    /// Returns the relatedness as somalier defines it: shared heterozygous sites minus twice the
    /// opposite homozygous ones, divided by the heterozygous sites of the sample that has fewer. It
    /// is 1 for one person, about 0.5 for parents and siblings, and about 0 for unrelated people;
    /// `None` without heterozygous sites.
    pub fn relatedness(&self) -> Option<f64> {
        let [first, second, both] = self.heterozygous;
        let fewer = first.min(second);
        (fewer > 0).then(|| (both as f64 - 2.0 * self.opposite as f64) / fewer as f64)
    }

    /// Returns `Same` from a relatedness of 0.8, `Different` below 0.2, and `Related` between
    /// these. With fewer than 20 heterozygous sites in a sample, it is `Unclear`.
    pub fn verdict(&self) -> IdentityVerdict {
        match self.relatedness() {
            Some(it) if self.heterozygous[0].min(self.heterozygous[1]) >= MIN_HETEROZYGOUS => match it {
                _ if it >= 0.8 => IdentityVerdict::Same,
                _ if it < 0.2 => IdentityVerdict::Different,
                _ => IdentityVerdict::Related,
            },
            _ => IdentityVerdict::Unclear,
        }
    }
}

/// Compares two fingerprints at the sites that both have. Their sites must be sorted, as
/// [`Fingerprint::read`] and [`Fingerprint::parse`] return them.
pub fn compare(one: &Fingerprint, two: &Fingerprint) -> Agreement {
    let (one, two) = (&one.sites, &two.sites);
    let (mut a, mut b) = (0, 0);
    let mut found = Agreement::default();
    while let (Some(left), Some(right)) = (one.get(a), two.get(b)) {
        match left.identity_key().cmp(&right.identity_key()) {
            Ordering::Less => a += 1,
            Ordering::Greater => b += 1,
            Ordering::Equal => {
                if let (Some(left), Some(right)) = (call_genotype(left), call_genotype(right)) {
                    found.add_genotypes(left, right);
                }
                (a, b) = (a + 1, b + 1);
            }
        }
    }
    found
}

impl Agreement {
    fn add_genotypes(&mut self, one: Genotype, two: Genotype) {
        self.sites += 1;
        self.same += u64::from(one == two);
        self.opposite += u64::from(one.abs_diff(two) == 2);
        self.heterozygous[0] += u64::from(one == 1);
        self.heterozygous[1] += u64::from(two == 1);
        self.heterozygous[2] += u64::from(one == 1 && two == 1);
    }
}

/// Returns the genotype of a site; `None` if there are too few bases, too many of another allele,
/// or a share between those of the genotypes.
fn call_genotype(site: &SiteCounts) -> Option<Genotype> {
    let [first, second, other] = site.counts;
    let depth = first + second;
    let share = |n: u64| n as f64 / depth as f64;
    if depth < MIN_DEPTH || share(other) > SHARES[0] {
        return None;
    }
    let rarer = share(first.min(second));
    match (rarer <= SHARES[0], rarer >= SHARES[1]) {
        (true, _) => Some(if second > first { 2 } else { 0 }),
        (_, true) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(counts: &[[u64; 3]]) -> Fingerprint {
        let site = |(n, counts): (usize, &[u64; 3])| SiteCounts {
            contig: "1".into(),
            pos: n as i32 + 1,
            alleles: *b"AC",
            counts: *counts,
        };
        let sites = counts.iter().enumerate().map(site).collect();
        Fingerprint { sites, ..Fingerprint::default() }
    }

    #[test]
    fn genotypes_follow_from_shares() {
        let all = fingerprint(&[
            [7, 0, 0],
            [6, 0, 0],
            [9, 1, 0],
            [5, 5, 0],
            [8, 2, 0],
            [0, 9, 0],
            [9, 0, 2],
            [3, 9, 1],
        ]);
        let found: Vec<_> = all.sites.iter().map(call_genotype).collect();
        assert_eq!(found, [Some(0), None, Some(0), Some(1), None, Some(2), None, Some(1)]);
    }

    #[test]
    fn one_person_is_the_same_and_others_are_not() {
        let person = |seed: u64| {
            let counts =
                (0..900u64).map(|n| match (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed) >> 17 & 3 {
                    0 => [30, 0, 0],
                    1 => [0, 30, 0],
                    _ => [14, 16, 0],
                });
            fingerprint(&Vec::from_iter(counts))
        };
        let (one, other) = (person(1 << 17), person(0x9999_8888_7777 << 2));
        assert_eq!(compare(&one, &one).verdict(), IdentityVerdict::Same);
        assert_eq!(compare(&one, &one).relatedness(), Some(1.0));
        let apart = compare(&one, &other);
        assert!(apart.sites == 900 && apart.same < 600, "{apart:?}");
        let few = fingerprint(&[[15, 15, 0]; 19]);
        assert_eq!(compare(&few, &few).verdict(), IdentityVerdict::Unclear);
        assert_eq!(compare(&few, &one).sites, 19);
    }
}
