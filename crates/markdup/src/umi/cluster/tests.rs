use std::collections::HashMap;

use readmill_simulate::Rng;

use super::super::testing::{text, umi};
use super::*;

const METHODS: [Method; 5] =
    [Method::Exact, Method::Directional, Method::Adjacency, Method::Cluster, Method::Paired];

/// The clusters of UMIs with these counts, in the order of arrival: each as its root and its members.
fn clusters(counts: &[(&str, u64)], method: Method, edits: u32) -> Vec<String> {
    let seen = |(place, &(text, count)): (usize, &(&str, u64))| UmiCount {
        umi: umi(text),
        count,
        place: place as u64,
    };
    let seen: Vec<UmiCount> = counts.iter().enumerate().map(seen).collect();
    let mut members: HashMap<u32, Vec<&str>> = HashMap::new();
    for (at, root) in cluster(&seen, method, edits).into_iter().enumerate() {
        members.entry(root).or_default().push(counts[at].0);
    }
    let shown = |(root, members): (u32, Vec<&str>)| {
        format!("{}: {}", counts[root as usize].0, members.join(" "))
    };
    let mut shown: Vec<String> = members.into_iter().map(shown).collect();
    shown.sort();
    shown
}

/// The example of Smith, Heger and Sudbery (2017), figure 1.
const PUBLISHED: [(&str, u64); 6] =
    [("ACGT", 456), ("TCGT", 2), ("CCGT", 2), ("ACAT", 72), ("ACAG", 1), ("AAAT", 90)];

#[test]
fn the_published_example() {
    assert_eq!(clusters(&PUBLISHED, Method::Exact, 1).len(), 6);
    assert_eq!(clusters(&PUBLISHED, Method::Cluster, 1), ["ACGT: ACGT TCGT CCGT ACAT ACAG AAAT"]);
    assert_eq!(
        clusters(&PUBLISHED, Method::Adjacency, 1),
        ["AAAT: AAAT", "ACAT: ACAT ACAG", "ACGT: ACGT TCGT CCGT"]
    );
    assert_eq!(
        clusters(&PUBLISHED, Method::Directional, 1),
        ["AAAT: AAAT", "ACGT: ACGT TCGT CCGT ACAT ACAG"]
    );
}

#[test]
fn how_much_rarer_an_error_is() {
    let both = |parent, child, method| clusters(&[("AA", parent), ("AC", child)], method, 1).len() == 1;
    let most = |parent, method| (1..=parent).rev().find(|&child| both(parent, child, method));
    let most = |method| [1, 2, 3, 4, 5, 100].map(|parent| most(parent, method).unwrap_or(0));
    assert_eq!(most(Method::Directional), [1, 1, 2, 2, 3, 50]);
    assert_eq!(most(Method::Paired), [1, 2, 2, 3, 3, 51]);
}

#[test]
fn ties_of_directional_are_settled_by_arrival_and_of_paired_by_text() {
    let between = [("CA", 4), ("AC", 4), ("AA", 1)];
    assert_eq!(clusters(&between, Method::Directional, 1), ["AC: AC", "CA: CA AA"]);
    assert_eq!(clusters(&between, Method::Paired, 1), ["AC: AC AA", "CA: CA"]);
    assert_eq!(clusters(&[("CA", 1), ("AA", 1)], Method::Directional, 1), ["AA: CA AA"]);
}

#[test]
fn only_equal_shapes_are_near() {
    let mixed = [("AAA", 9), ("AA", 1), ("A-A", 1), ("AAN", 1), ("", 1), ("-AA", 1)];
    for method in METHODS.into_iter().filter(|&method| method != Method::Exact) {
        let expected = ["-AA: -AA", ": ", "A-A: A-A", "AA: AA", "AAA: AAA AAN"];
        assert_eq!(clusters(&mixed, method, 3), expected, "{method:?}");
    }
    assert_eq!(clusters(&[], Method::Directional, 1).len(), 0);
}

/// UMIs in the order of arrival, many near others.
fn random_seen(random: &mut Rng, symbols: &[u8], length: u64, most: u64) -> Vec<(String, u64)> {
    let mut seen: Vec<(String, u64)> = Vec::new();
    for _ in 0..1 + random.below64(most) {
        let length = length - u64::from(random.below64(8) == 0);
        let text = text(random, symbols, length);
        if seen.iter().all(|(other, _)| *other != text) {
            seen.push((text, 1 + random.below64(3) * random.below64(4)));
        }
    }
    seen
}

/// The rules of the tools as their authors state them, on texts, comparing all with all.
fn slowly(seen: &[(String, u64)], method: Method, edits: u32) -> Vec<u32> {
    let near =
        |a: usize, b: usize| umi(&seen[a].0).distance(umi(&seen[b].0)).is_some_and(|d| d <= edits);
    let links = |a: usize, b: usize| {
        near(a, b)
            && match method {
                Method::Exact => a == b,
                Method::Directional => seen[a].1 >= 2 * seen[b].1 - 1,
                Method::Paired => seen[b].1 < seen[a].1 / 2 + 2,
                Method::Adjacency | Method::Cluster => true,
            }
    };
    let mut seeds: Vec<usize> = (0..seen.len()).collect();
    if method != Method::Directional {
        seeds.sort_by_key(|&at| &seen[at].0);
    }
    seeds.sort_by_key(|&at| Reverse(seen[at].1));
    let mut roots = vec![u32::MAX; seen.len()];
    for &seed in &seeds {
        if roots[seed] != u32::MAX {
            continue;
        }
        let mut group = vec![seed];
        while let Some(next) = (0..seen.len()).find(|at| {
            roots[*at] == u32::MAX && !group.contains(at) && group.iter().any(|&from| links(from, *at))
        }) {
            group.push(next);
        }
        group.sort_by_key(|&at| (Reverse(seen[at].1), &seen[at].0));
        if method != Method::Adjacency {
            group.iter().for_each(|&at| roots[at] = group[0] as u32);
            continue;
        }
        let covers = |leads: &[usize]| {
            group.iter().all(|&at| leads.iter().any(|&template_offset| near(template_offset, at)))
        };
        let leads = (1..=group.len()).map(|n| &group[..n]).find(|leads| covers(leads)).unwrap();
        for &at in &group {
            let template_offset = if leads.contains(&at) {
                at
            } else {
                *leads.iter().find(|&&template_offset| near(template_offset, at)).unwrap()
            };
            roots[at] = template_offset as u32;
        }
    }
    roots
}

#[test]
fn as_comparing_all_with_all() {
    let random = &mut Rng::new(3);
    for round in 0..80 {
        let (symbols, length, most) =
            [(&b"ACGT"[..], 4, 50), (b"ACGTN", 3, 20), (b"ACGT-", 4, 50), (b"AC", 7, 60)][round % 4];
        let counts = random_seen(random, symbols, length, most);
        let seen = |(place, (text, count)): (usize, &(String, u64))| UmiCount {
            umi: umi(text),
            count: *count,
            place: place as u64,
        };
        let seen: Vec<UmiCount> = counts.iter().enumerate().map(seen).collect();
        for method in METHODS {
            for edits in 0..4 {
                let expected = slowly(&counts, method, edits);
                assert_eq!(cluster(&seen, method, edits), expected, "{method:?} {edits} {counts:?}");
            }
        }
    }
}

#[test]
fn the_order_of_the_list_is_of_no_matter() {
    let random = &mut Rng::new(4);
    for method in METHODS {
        let counts = random_seen(random, b"ACGT", 4, 200);
        let mut seen: Vec<UmiCount> = (0..)
            .zip(&counts)
            .map(|(place, (text, count))| UmiCount { umi: umi(text), count: *count, place })
            .collect();
        let umis_of = |seen: &[UmiCount]| {
            let roots = cluster(seen, method, 1);
            let mut pairs: Vec<(Umi, Umi)> =
                seen.iter().zip(roots).map(|(one, root)| (one.umi, seen[root as usize].umi)).collect();
            pairs.sort_unstable();
            pairs
        };
        let expected = umis_of(&seen);
        seen.sort_unstable_by_key(|one| one.umi);
        assert_eq!(umis_of(&seen), expected, "{method:?}");
    }
}

#[test]
fn a_hundred_thousand_at_one_position() {
    let random = &mut Rng::new(5);
    let mut counts: HashMap<String, u64> = HashMap::new();
    while counts.len() < 100_000 {
        counts.insert(text(random, b"ACGT", 12), 1 + random.below64(100));
    }
    let seen: Vec<UmiCount> = counts
        .iter()
        .map(|(text, &count)| UmiCount { umi: umi(text), count, place: umi(text).code() as u64 })
        .collect();
    for method in METHODS {
        let started = std::time::Instant::now();
        let roots = cluster(&seen, method, 1);
        println!("{method:?}: {:?}", started.elapsed());
        assert!(
            (0..).zip(&roots).all(|(at, &root)| roots[root as usize] == root
                && seen[at].count <= seen[root as usize].count)
        );
    }
}
