//! Properties of merging for any headers: with the merged header, a record means the same as before.

use std::collections::HashSet;

use readmill_simulate::Rng;

use super::*;

/// Random choices.
struct Dice(Rng);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below64(n)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    /// A random choice of the words, each at most once, in random order.
    fn some<'a>(&mut self, of: &[&'a str]) -> Vec<&'a str> {
        let mut left = of.to_vec();
        let n = self.below(left.len() as u64 + 1);
        (0..n).map(|_| left.swap_remove(self.below(left.len() as u64) as usize)).collect()
    }
}

const IDS: [&str; 6] = ["g", "h", "g.1", "g.2", "h.1", "g.1.1"];

/// A header whose names are likely to clash with those of another.
fn any_header(dice: &mut Dice) -> Header {
    let mut text = String::new();
    for name in dice.some(&["1", "2", "3", "4", "5"]) {
        text += &format!("@SQ\tSN:{name}\tLN:{name}\n");
    }
    for id in dice.some(&IDS) {
        let fields =
            [format!("ID:{id}"), format!("SM:{}", dice.below(2)), format!("PG:{}", dice.pick(&IDS))];
        let [a, b, c] = if dice.below(2) == 0 { [0, 1, 2] } else { [2, 0, 1] };
        text += &format!("@RG\t{}\t{}\t{}\n", fields[a], fields[b], fields[c]);
    }
    let some = dice.some(&IDS);
    for (i, id) in some.iter().enumerate() {
        let before = dice.pick(&IDS);
        // Chains without cycles; they may name a program that the header lacks.
        let follows = some[..i].contains(&before) || !some.contains(&before);
        let link = if follows { format!("\tPP:{before}") } else { String::new() };
        text += &format!("@PG\tID:{id}\tCL:{}{link}\n", dice.below(2));
    }
    Header::parse(text.as_bytes()).unwrap()
}

/// The line that an ID names.
fn named<'a>(header: &'a Header, kind: &[u8; 2], id: &[u8]) -> Option<&'a HeaderLine> {
    let mut lines = header.lines_of(kind).filter(|line| line.get(b"ID") == Some(id));
    let found = lines.next();
    assert!(lines.next().is_none(), "an ID is not unique");
    found
}

/// The fields of the line except its name and its link.
fn content(line: &HeaderLine) -> Vec<u8> {
    let mut line = line.clone();
    [b"ID", b"PG", b"PP"].iter().for_each(|tag| line.remove(tag));
    line.sorted()
}

/// The fields of a program and of all programs before it in its chain.
fn chain(header: &Header, id: &[u8]) -> Vec<Vec<u8>> {
    let mut chain = Vec::new();
    let mut next = named(header, b"PG", id);
    while let Some(line) = next {
        chain.push(content(line));
        next = line.get(b"PP").and_then(|id| named(header, b"PG", id));
    }
    chain
}

/// The ID that a record has after renaming.
fn after<'a>(names: &'a IdRenames, id: &'a [u8]) -> Option<&'a [u8]> {
    match names.fate(id) {
        Fate::Keep => Some(id),
        Fate::Become(new) => Some(new),
        Fate::Remove => None,
    }
}

fn new_id(renames: &Renames, old: usize) -> i32 {
    renames.ref_ids.as_ref().map_or(old as i32, |ids| ids[old])
}

fn check(input: &Header, renames: &Renames, merged: &Header) {
    for (old, reference) in input.references().iter().enumerate() {
        assert_eq!(&merged.references()[new_id(renames, old) as usize], reference);
    }
    for (kind, names) in [(b"RG", &renames.read_groups), (b"PG", &renames.programs)] {
        let mut given = HashSet::new();
        for id in IDS.iter().map(|id| id.as_bytes()) {
            let seen = after(names, id).and_then(|id| named(merged, kind, id));
            let meant = named(input, kind, id);
            assert_eq!(seen.map(content), meant.map(content), "what {id:?} names");
            if let Some(line) = seen {
                assert!(given.insert(line.text()), "two groups became one");
            }
        }
    }
    for line in input.lines_of(b"PG") {
        let id = line.get(b"ID").unwrap();
        let new = after(&renames.programs, id).unwrap();
        assert_eq!(chain(merged, new), chain(input, id));
    }
}

/// Whether two sequences are in opposite order in two headers.
fn contradict(a: &Header, b: &Header) -> bool {
    let common: Vec<i32> = a.references().iter().filter_map(|r| b.reference_id(&r.name)).collect();
    !common.is_sorted()
}

#[test]
fn names_seen_through_the_merged_header_are_those_of_the_input() {
    let mut dice = Dice(Rng::new(1));
    let (mut renamed, mut kept) = (0, 0);
    for _ in 0..4000 {
        let n = 2 + dice.below(3);
        let inputs: Vec<Header> = (0..n).map(|_| any_header(&mut dice)).collect();
        let merged = Header::merge(&inputs).unwrap();
        assert_eq!(Header::merge(&inputs).unwrap(), merged);
        for (i, (input, renames)) in inputs.iter().zip(&merged.renames).enumerate() {
            check(input, renames, &merged.header);
            let ids: Vec<i32> = (0..input.references().len()).map(|old| new_id(renames, old)).collect();
            if i == 0 {
                assert!(ids.is_sorted(), "the first input's order is kept");
            } else if i == 1 {
                assert_eq!(ids.is_sorted(), !contradict(&inputs[0], input));
            }
            renamed += renames.programs.changed().count() + renames.read_groups.changed().count();
            kept += usize::from(renames.ref_ids.is_none());
        }
        let twice = Header::merge(&[merged.header.clone(), merged.header.clone()]).unwrap();
        assert_eq!(twice.header, merged.header);
        assert!(twice.renames.iter().all(Renames::is_identity));
    }
    assert!(renamed > 1000 && kept > 1000, "the cases are not too easy: {renamed}, {kept}");
}
