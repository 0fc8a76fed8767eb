//! Simulated faults have the effect that their names promise; a sample without a fault shows none.

use crate::common;

use common::{Record, templates};
use readmill_simulate::{Fault, Profile, Sample};

/// Returns a sample with a fault, smaller than those of the gallery.
fn planted(fault: Option<Fault>) -> Sample {
    Sample::new(Profile::gallery(fault).with_pairs(20_000))
}

/// Returns the median insert size of proper pairs for which `is_wanted` holds.
fn median_insert(sample: &Sample, is_wanted: impl Fn(&Record) -> bool) -> i32 {
    let all = templates(sample);
    let first = all.iter().map(|template| &template[0]).filter(|read| read.has(2) && is_wanted(read));
    let mut sizes: Vec<i32> = first.map(|read| read.template_length.abs()).collect();
    sizes.sort_unstable();
    sizes[sizes.len() / 2]
}

#[test]
fn short_fragments_have_adapter() {
    assert!((330..370).contains(&median_insert(&planted(None), |_| true)));
    assert!((140..160).contains(&median_insert(&planted(Some(Fault::AdapterReadThrough)), |_| true)));
}

#[test]
fn one_lane_of_four_is_foreign() {
    let sample = planted(Some(Fault::SwappedLane));
    let of_lane = |lane: u32| {
        median_insert(&sample, |read| {
            read.text("RG").is_some_and(|rg| rg.ends_with(&format!(".{lane}")))
        })
    };
    let sizes = [1, 2, 3, 4].map(of_lane);
    assert!(sizes[1] > 450, "{sizes:?}");
    assert!([sizes[0], sizes[2], sizes[3]].iter().all(|size| (330..370).contains(size)), "{sizes:?}");
}

#[test]
fn one_cycle_of_first_reads_fails() {
    let low = |fault| {
        let all = templates(&planted(fault));
        let at = |template: &Vec<Record>| {
            let read = template.iter().find(|read| read.is_primary() && read.has(0x40))?;
            let cycle = if read.has(0x10) { read.qualities.len() - 1 - 75 } else { 75 };
            read.qualities.get(cycle).copied()
        };
        let qualities: Vec<u8> = all.iter().filter_map(at).collect();
        qualities.iter().filter(|quality| **quality == 2).count() * 100 / qualities.len()
    };
    assert!(low(None) < 5);
    assert!((60..80).contains(&low(Some(Fault::FailingCycle))));
}

#[test]
fn a_third_of_the_targets_is_hardly_covered() {
    let sample = planted(Some(Fault::LowTargets));
    let targets = sample.capture_targets();
    assert!(targets.len() > 80, "{}", targets.len());
    let all = templates(&sample);
    let mut starts = vec![0; targets.len()];
    for read in all.iter().flatten().filter(|read| read.is_primary() && !read.has(4)) {
        let hit = targets.iter().position(|&(contig, start, end)| {
            read.contig == contig as i32 && (start as i32..end as i32).contains(&read.position)
        });
        if let Some(target) = hit {
            starts[target] += 1;
        }
    }
    let mean = starts.iter().sum::<u32>() / starts.len() as u32;
    let low = starts.iter().filter(|reads| **reads < mean / 4).count() * 100 / targets.len();
    assert!((25..42).contains(&low), "{low} % of {starts:?}");
}

#[test]
fn fragments_rich_in_g_and_c_are_lost() {
    let rich = |fault| {
        let sample = planted(fault);
        let all = templates(&sample);
        let reads = all.iter().flatten().filter(|read| read.is_primary() && !read.has(4));
        let shares = reads.map(|read| {
            let bases = &read.bases;
            bases.iter().filter(|base| matches!(base, b'G' | b'C')).count() * 100 / bases.len()
        });
        let shares: Vec<usize> = shares.collect();
        shares.iter().filter(|gc| **gc > 55).count() * 100 / shares.len()
    };
    let (clean, biased) = (rich(None), rich(Some(Fault::GcBias)));
    assert!(clean > 20 && biased < clean / 2, "{clean} % and {biased} %");
}
