//! Phases of calls whose alternate alleles lie on the same or on different haplotypes.

use crate::alleles::{Allele, CalledVariant, Phase, PhaseSide};
use crate::merge::HaplotypeEvents;

/// A set of haplotypes, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HaplotypeSet(Vec<u64>);

impl HaplotypeSet {
    fn new(haplotypes: usize) -> Self {
        HaplotypeSet(vec![0; haplotypes.div_ceil(64)])
    }

    fn insert(&mut self, haplotype: usize) {
        self.0[haplotype / 64] |= 1 << (haplotype % 64);
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| b & !a == 0)
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & b == 0)
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn retain_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }
}

/// The group of a call, and the side of its alternate allele.
type Member = Option<(usize, PhaseSide)>;

/// Phases the calls of a region, in order of position, like `phaseCalls` of GATK 4.6.2.0.
///
/// `is_called` says for each haplotype whether it carries an allele of any call. Two calls are in
/// phase if the called haplotypes with their alternate alleles are the same, or if one call has all
/// of them; they are in opposite phase if they divide these haplotypes. Calls that contradict each
/// other leave the whole region without phase.
pub fn phase_calls(calls: &mut [CalledVariant], haplotypes: &[HaplotypeEvents<'_>], is_called: &[bool]) {
    let carriers: Vec<HaplotypeSet> =
        calls.iter().map(|call| find_carriers(call, haplotypes, is_called)).collect();
    let Some(members) = find_members(&carriers, haplotypes.len()) else { return };
    for group in 0.. {
        let is_member = |member: &Member| member.is_some_and(|(it, _)| it == group);
        let Some(first) = members.iter().position(is_member) else { break };
        let (name, set) = (name_group(&calls[first]), calls[first].start);
        for (call, member) in calls.iter_mut().zip(&members) {
            if let Some((it, side)) = *member
                && it == group
            {
                set_phase(call, &Phase { group: name.clone(), side, set });
            }
        }
    }
}

/// Returns the called haplotypes with the alternate allele of a call, and none if the call has not
/// exactly one that starts at its position.
fn find_carriers(
    call: &CalledVariant,
    haplotypes: &[HaplotypeEvents<'_>],
    is_called: &[bool],
) -> HaplotypeSet {
    let mut carriers = HaplotypeSet::new(haplotypes.len());
    let mut alternates = call.alleles.iter().filter(|allele| allele.is_site_specific());
    let (Some(Allele::Alternate(alternate)), None) = (alternates.next(), alternates.next()) else {
        return carriers;
    };
    for (index, haplotype) in haplotypes.iter().enumerate().filter(|&(index, _)| is_called[index]) {
        if haplotype.events.iter().any(|it| it.start == call.start && it.alternate == *alternate) {
            carriers.insert(index);
        }
    }
    carriers
}

/// Returns the group of each call, or `None` if calls contradict each other.
fn find_members(carriers: &[HaplotypeSet], haplotypes: usize) -> Option<Vec<Member>> {
    let mut all = HaplotypeSet::new(haplotypes);
    carriers.iter().for_each(|carriers| all.add_all(carriers));
    let total = all.len();
    let mut members: Vec<Member> = vec![None; carriers.len()];
    let mut groups = 0;
    for (i, first) in carriers.iter().enumerate().filter(|(_, first)| !first.is_empty()) {
        let first_has_all = first.len() == total;
        let mut available = first.clone();
        for (j, second) in carriers.iter().enumerate().skip(i + 1).filter(|(_, it)| !it.is_empty()) {
            let is_together = first == second
                || (first_has_all && available.contains_all(second))
                || second.len() == total;
            let is_apart = first.len() + second.len() == total && first.is_disjoint(second);
            if !is_together && !is_apart {
                continue;
            }
            match (members[i], members[j]) {
                (None, Some(_)) => return None,
                (None, None) => {
                    let side = if is_together { PhaseSide::Right } else { PhaseSide::Left };
                    members[i] = Some((groups, PhaseSide::Right));
                    members[j] = Some((groups, side));
                    groups += 1;
                    if is_together {
                        available.retain_all(second);
                    }
                }
                (Some((group, side)), None) => {
                    members[j] = Some((group, if is_together { side } else { opposite(side) }));
                }
                (Some(_), Some(_)) => (),
            }
        }
    }
    Some(members)
}

fn opposite(side: PhaseSide) -> PhaseSide {
    match side {
        PhaseSide::Left => PhaseSide::Right,
        PhaseSide::Right => PhaseSide::Left,
    }
}

/// Returns the position, the reference and the first alternate allele of a call.
fn name_group(call: &CalledVariant) -> String {
    let [reference, alternate] = [0, 1].map(|i| String::from_utf8_lossy(call.alleles[i].text()));
    format!("{}_{reference}_{alternate}", call.start)
}

/// Sets the phase of all genotypes of a call. Chromosomes of a heterozygous one are ordered so that
/// the alternate allele is on its side.
fn set_phase(call: &mut CalledVariant, phase: &Phase) {
    let at = match phase.side {
        PhaseSide::Left => 0,
        PhaseSide::Right => 1,
    };
    for genotype in &mut call.genotypes {
        let is_heterozygous = genotype.alleles.windows(2).any(|pair| pair[0] != pair[1]);
        let is_alternate =
            |allele: Option<usize>| allele.is_some_and(|it| call.alleles[it].is_site_specific());
        if is_heterozygous && !is_alternate(genotype.alleles[at]) {
            genotype.alleles.reverse();
        }
        genotype.phase = Some(phase.clone());
    }
}
