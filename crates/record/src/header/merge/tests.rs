//! Expected results for given headers, and a property of all headers: under the merged header, a record
//! means the same as before.

use std::collections::HashSet;

use readmill_simulate::Rng;

use super::*;

fn merge(texts: &[&str]) -> Result<MergedHeader> {
    let headers: Result<Vec<Header>> = texts.iter().map(|text| Header::parse(text.as_bytes())).collect();
    Header::merge(&headers.unwrap())
}

fn merged(texts: &[&str]) -> MergedHeader {
    merge(texts).unwrap()
}

fn text(merged: &MergedHeader) -> String {
    String::from_utf8(merged.header.to_text()).unwrap()
}

fn ref_ids(merged: &MergedHeader) -> Vec<Option<Vec<i32>>> {
    merged.renames.iter().map(|renames| renames.ref_ids.clone()).collect()
}

/// Returns `old>new` for every ID that changes, for each input.
fn changed(names: impl Fn(&Renames) -> &IdRenames, merged: &MergedHeader) -> Vec<String> {
    let show = |renames| {
        let each = names(renames).changed_ids();
        let each = each.map(|(a, b)| [a, b">", b].concat()).map(|s| String::from_utf8(s).unwrap());
        each.collect::<Vec<_>>().join(" ")
    };
    merged.renames.iter().map(show).collect()
}

/// Returns a header with sequences of these names, all of the same length.
fn dictionary(names: &str) -> String {
    names.split_whitespace().map(|name| format!("@SQ\tSN:{name}\tLN:9\n")).collect()
}

fn order(dictionaries: &[&str]) -> String {
    let texts: Vec<String> = dictionaries.iter().map(|names| dictionary(names)).collect();
    let merged = merged(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let names = merged.header.references().iter().map(|r| String::from_utf8_lossy(&r.name).into_owned());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn one_header_stays_as_it_is() {
    let given =
        "@CO\tx\n@HD\tVN:1.5\tSO:coordinate\n@XY\tq\n@PG\tID:p\tPP:gone\n@RG\tID:g\n@RG\tID:g\tSM:s\n";
    let one = merged(&[given]);
    assert_eq!(text(&one), given);
    assert!(one.renames[0].is_identity());
}

#[test]
fn empty_headers_add_nothing() {
    assert_eq!(merged(&[]), MergedHeader::default());
    let given = "@SQ\tSN:a\tLN:9\n@RG\tID:g\n@PG\tID:p\n";
    for texts in [[given, ""], ["", given]] {
        let both = merged(&texts);
        assert_eq!(text(&both), given);
        assert_eq!(ref_ids(&both), [None, None]);
    }
    let none = merged(&["", ""]);
    assert_eq!(text(&none), "");
    assert!(none.renames.iter().all(Renames::is_identity));
}

#[test]
fn equal_headers_are_one_but_for_comments() {
    let given = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:a\tLN:9\n@RG\tID:g\tSM:s\n@PG\tID:p\n@PG\tID:q\tPP:p\n\
                 @XY\tz\n@CO\tc\n";
    let three = merged(&[given, given, given]);
    assert_eq!(text(&three), format!("{given}@CO\tc\n@CO\tc\n"));
    assert!(three.renames.iter().all(Renames::is_identity));
}

#[test]
fn lines_are_grouped_and_unknown_ones_kept_once() {
    let both = merged(&[
        "@CO\t1\n@XY\ta\n@PG\tID:p\n@SQ\tSN:a\tLN:9\n@RG\tSM:no ID\n",
        "@HD\tVN:1.4\n@XY\tb\n@XY\ta\n@RG\tID:g\n@RG\tSM:no ID\n@CO\t0\n@CO\t1\n",
    ]);
    assert_eq!(
        text(&both),
        "@HD\tVN:1.4\n@SQ\tSN:a\tLN:9\n@RG\tID:g\n@PG\tID:p\n@XY\ta\n@RG\tSM:no ID\n@XY\tb\n\
         @CO\t1\n@CO\t0\n@CO\t1\n"
    );
}

#[test]
fn the_first_hd_is_kept_without_its_promise_of_order() {
    for (first, then) in [
        ("@HD\tVN:1.5\tSO:coordinate\n", "@HD\tVN:1.5\tSO:unsorted\n"),
        ("@HD\tVN:1.6\tGO:query\n", "@HD\tVN:1.6\tSO:unsorted\n"),
        ("@HD\tVN:1.6\tSO:unsorted\tSS:unsorted:x\tzz:1\n", "@HD\tVN:1.6\tSO:unsorted\tzz:1\n"),
        ("@HD\tVN:1.6\tSO:unknown\n", "@HD\tVN:1.6\tSO:unknown\n"),
        ("@HD\tVN:1.6\n", "@HD\tVN:1.6\n"),
        ("", "@HD\tVN:1.3\tSO:unsorted\n"),
    ] {
        assert_eq!(text(&merged(&[first, "@HD\tVN:1.3\tSO:queryname\n"])), then, "{first}");
    }
}

#[test]
fn every_input_keeps_its_order_of_sequences_where_that_is_possible() {
    for (dictionaries, answer) in [
        (&["1 2 3", "1 2 3"][..], "1 2 3"),
        (&["1 3", "1 2 3"], "1 2 3"),
        (&["3", "1 2 3"], "1 2 3"),
        (&["1 2", "2 3 X", "X Y"], "1 2 3 X Y"),
        (&["a b", "c d"], "a b c d"),
        (&["1 4", "1 2", "1 3 4"], "1 2 3 4"),
        (&["chr1", "chr3", "chr2", "chr1 chr2 chr3"], "chr1 chr2 chr3"), // Picard refuses this
        (&["a b", "b a"], "a b"),                                        // the second is ignored
        (&["a b", "b a x", "x b"], "a x b"),                             // but the third is not
        (&["d", "a b d", "b a"], "a b d"), // the second is kept, the third not
        (&["", "b a", "a"], "b a"),
    ] {
        assert_eq!(order(dictionaries), answer, "{dictionaries:?}");
    }
}

#[test]
fn reference_indexes_follow_the_sequences() {
    let three =
        merged(&[&dictionary("chr1 chr3"), &dictionary("chr3 chr2 chr1"), &dictionary("chr1 chr2")]);
    assert_eq!(text(&three), dictionary("chr1 chr3 chr2"));
    assert_eq!(ref_ids(&three), [None, Some(vec![1, 2, 0]), Some(vec![0, 2])]);
}

#[test]
fn a_sequence_is_that_of_the_first_input_that_has_it() {
    let both = merged(&[
        "@SQ\tSN:a\tLN:9\tUR:x\n",
        "@SQ\tLN:9\tSN:a\tM5:0aF\tUR:y\n@SQ\tLN:7\tSN:b\tAN:a\n",
        "@SQ\tSN:a\tLN:9\tM5:0Af\n",
    ]);
    assert_eq!(text(&both), "@SQ\tSN:a\tLN:9\tUR:x\n@SQ\tLN:7\tSN:b\tAN:a\n");
}

#[test]
fn sequences_that_only_share_a_name_are_refused() {
    let error = merge(&["@SQ\tSN:b\tLN:8\n", "@SQ\tSN:a\tLN:9\n", "@SQ\tSN:a\tLN:10\n"]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "reference sequence a has 9 bases in input 2 and 10 in input 3; \
         all inputs must be aligned to the same reference"
    );
    let error = merge(&["@SQ\tSN:a\tLN:9\n", "@SQ\tSN:a\tLN:9\tM5:aa\n", "@SQ\tSN:a\tLN:9\tM5:ab\n"]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "reference sequence a has the MD5 sum aa in input 2 and ab in input 3; \
         all inputs must be aligned to the same reference"
    );
}

#[test]
fn read_groups_that_say_the_same_are_one_and_others_are_renamed() {
    let four = merged(&[
        "@RG\tID:g\tSM:s\tLB:l\n@RG\tID:h\n",
        "@RG\tID:g\tSM:t\n@RG\tID:h\n",
        "@RG\tID:g\tLB:l\tSM:s\n@RG\tID:new\n",
        "@RG\tSM:t\tID:g\n@RG\tID:h\tDS:another\n",
    ]);
    assert_eq!(
        text(&four),
        "@RG\tID:g\tSM:s\tLB:l\n@RG\tID:h\n@RG\tID:g.1\tSM:t\n@RG\tID:new\n@RG\tID:h.1\tDS:another\n"
    );
    assert_eq!(changed(|r| &r.read_groups, &four), ["", "g>g.1", "", "g>g.1 h>h.1"]);
}

#[test]
fn no_group_is_renamed_to_an_id_that_an_input_uses() {
    let three = merged(&[
        "@RG\tID:g\tSM:1\n",
        "@RG\tID:g\tSM:2\n@RG\tID:g.2\tSM:3\n",
        "@RG\tID:g\tSM:4\n@RG\tID:g.1\tSM:5\n@RG\tID:g.2\tSM:6\n",
    ]);
    assert_eq!(
        text(&three),
        "@RG\tID:g\tSM:1\n@RG\tID:g.3\tSM:2\n@RG\tID:g.2\tSM:3\n\
         @RG\tID:g.4\tSM:4\n@RG\tID:g.1\tSM:5\n@RG\tID:g.2.1\tSM:6\n"
    );
    assert_eq!(changed(|r| &r.read_groups, &three), ["", "g>g.3", "g>g.4 g.2>g.2.1"]);
}

#[test]
fn an_id_that_only_another_input_defines_means_nothing_here() {
    let both = merged(&["@RG\tID:g\tSM:1\n", "@RG\tID:g\tSM:2\n@RG\tID:h\n"]);
    let fates = |input: usize| {
        ["g", "g.1", "h", "nobody's"].map(|id| both.renames[input].read_groups.change_for(id.as_bytes()))
    };
    assert_eq!(fates(0), [IdChange::Keep, IdChange::Remove, IdChange::Remove, IdChange::Keep]);
    assert_eq!(fates(1), [IdChange::Become(b"g.1"), IdChange::Remove, IdChange::Keep, IdChange::Keep]);
    assert!(!both.renames[0].is_identity());
    assert_eq!(both.renames[0].read_groups.max_growth_bytes(), 0);
    assert_eq!(both.renames[1].read_groups.max_growth_bytes(), 2);
}

#[test]
fn lines_of_one_header_that_share_an_id_stay_together() {
    let both = merged(&["@RG\tID:g\tSM:1\n@RG\tID:g\tSM:2\n", "@RG\tID:g\tSM:1\n@RG\tID:g\tSM:3\n"]);
    assert_eq!(text(&both), "@RG\tID:g\tSM:1\n@RG\tID:g\tSM:2\n@RG\tID:g.1\tSM:1\n@RG\tID:g.1\tSM:3\n");
}

#[test]
fn equal_chains_of_programs_are_one_and_others_part() {
    let one = "@PG\tID:a\tCL:1\n@PG\tID:b\tPP:a\n@PG\tID:c\tPP:b\n";
    let other = "@PG\tID:c\tPP:b\n@PG\tID:b\tPP:a\n@PG\tID:a\tCL:2\n@PG\tID:lone\n";
    let three = merged(&[one, other, one]);
    assert_eq!(
        text(&three),
        format!("{one}@PG\tID:c.1\tPP:b.1\n@PG\tID:b.1\tPP:a.1\n@PG\tID:a.1\tCL:2\n@PG\tID:lone\n")
    );
    assert_eq!(changed(|r| &r.programs, &three), ["", "a>a.1 b>b.1 c>c.1", ""]);
    let again = merged(&[one, other, other]);
    assert_eq!(text(&again), text(&three), "a chain that was renamed is found again");
    assert_eq!(changed(|r| &r.programs, &again)[2], "a>a.1 b>b.1 c>c.1");
    // Chains that separate later have the same beginning.
    let branch = merged(&[one, "@PG\tID:a\tCL:1\n@PG\tID:b\tPP:a\n@PG\tID:c\tPP:a\n"]);
    assert_eq!(text(&branch), format!("{one}@PG\tID:c.1\tPP:a\n"));
}

#[test]
fn links_to_programs_follow_their_new_ids() {
    let both = merged(&[
        "@RG\tID:g\tPG:p\n@PG\tID:p\tCL:1\n@PG\tID:last\tPP:p\n",
        "@RG\tID:g\tPG:p\n@RG\tID:h\tPG:p\tSM:s\n@RG\tID:i\tPG:gone\n@PG\tID:p\tCL:2\n",
    ]);
    // `g` is equal in both headers, so it is one group, with the program of the first header.
    assert_eq!(
        text(&both),
        "@RG\tID:g\tPG:p\n@RG\tID:h\tPG:p.1\tSM:s\n@RG\tID:i\tPG:gone\n\
         @PG\tID:p\tCL:1\n@PG\tID:last\tPP:p\n@PG\tID:p.1\tCL:2\n"
    );
}

#[test]
fn a_link_into_nothing_never_comes_to_name_a_program() {
    let both = merged(&["@RG\tID:g\tPG:x\n@PG\tID:a\tPP:x\n", "@PG\tID:x\n@PG\tID:a\tPP:x\n"]);
    assert_eq!(text(&both), "@RG\tID:g\n@PG\tID:a\n@PG\tID:x\n@PG\tID:a.1\tPP:x\n");
    let both = merged(&["@PG\tID:a\tPP:x\n", "@PG\tID:a\tPP:x\n"]);
    assert_eq!(text(&both), "@PG\tID:a\tPP:x\n");
}

#[test]
fn a_chain_without_a_beginning_is_no_endless_loop() {
    let ring = "@PG\tID:a\tPP:b\n@PG\tID:b\tPP:a\n@PG\tID:self\tPP:self\n";
    let other = "@PG\tID:a\tPP:b\tCL:x\n@PG\tID:b\tPP:a\n@PG\tID:self\tPP:self\n";
    assert_eq!(text(&merged(&[ring, ring])), ring);
    let both = merged(&[ring, other]);
    assert_eq!(text(&both), format!("{ring}@PG\tID:a.1\tPP:b\tCL:x\n"));
}

/// Returns a random selection of the words, each at most once, in random order.
fn some<'a>(random: &mut Rng, of: &[&'a str]) -> Vec<&'a str> {
    let mut left = of.to_vec();
    let n = random.index(left.len() + 1);
    (0..n).map(|_| left.swap_remove(random.index(left.len()))).collect()
}

const IDS: [&str; 6] = ["g", "h", "g.1", "g.2", "h.1", "g.1.1"];

/// Returns a header whose names are likely to collide with those of another one.
fn any_header(random: &mut Rng) -> Header {
    let mut text = String::new();
    for name in some(random, &["1", "2", "3", "4", "5"]) {
        text += &format!("@SQ\tSN:{name}\tLN:{name}\n");
    }
    for id in some(random, &IDS) {
        let fields = [
            format!("ID:{id}"),
            format!("SM:{}", random.below64(2)),
            format!("PG:{}", random.pick(&IDS)),
        ];
        let [a, b, c] = if random.below64(2) == 0 { [0, 1, 2] } else { [2, 0, 1] };
        text += &format!("@RG\t{}\t{}\t{}\n", fields[a], fields[b], fields[c]);
    }
    let some = some(random, &IDS);
    for (i, id) in some.iter().enumerate() {
        let before = random.pick(&IDS);
        // Chains without cycles; they may name a program that the header lacks.
        let follows = some[..i].contains(&before) || !some.contains(&before);
        let link = if follows { format!("\tPP:{before}") } else { String::new() };
        text += &format!("@PG\tID:{id}\tCL:{}{link}\n", random.below64(2));
    }
    Header::parse(text.as_bytes()).unwrap()
}

/// Returns the line with this ID.
fn named<'a>(header: &'a Header, kind: &[u8; 2], id: &[u8]) -> Option<&'a HeaderLine> {
    let mut lines = header.lines_of_kind(kind).filter(|line| line.get(b"ID") == Some(id));
    let found = lines.next();
    assert!(lines.next().is_none(), "an ID is not unique");
    found
}

/// Returns the fields of the line except its ID and its link to a program.
fn content(line: &HeaderLine) -> Vec<u8> {
    let mut line = line.clone();
    [b"ID", b"PG", b"PP"].iter().for_each(|tag| line.remove_field(tag));
    line.with_sorted_fields()
}

/// Returns the fields of a program and of all its predecessors.
fn chain(header: &Header, id: &[u8]) -> Vec<Vec<u8>> {
    let mut chain = Vec::new();
    let mut next = named(header, b"PG", id);
    while let Some(line) = next {
        chain.push(content(line));
        next = line.get(b"PP").and_then(|id| named(header, b"PG", id));
    }
    chain
}

/// Returns the ID that a record has after renaming.
fn after<'a>(names: &'a IdRenames, id: &'a [u8]) -> Option<&'a [u8]> {
    match names.change_for(id) {
        IdChange::Keep => Some(id),
        IdChange::Become(new) => Some(new),
        IdChange::Remove => None,
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
    for line in input.lines_of_kind(b"PG") {
        let id = line.get(b"ID").unwrap();
        let new = after(&renames.programs, id).unwrap();
        assert_eq!(chain(merged, new), chain(input, id));
    }
}

/// Returns whether any two sequences are in opposite order in the two headers.
fn contradict(a: &Header, b: &Header) -> bool {
    let common: Vec<i32> = a.references().iter().filter_map(|r| b.reference_id(&r.name)).collect();
    !common.is_sorted()
}

#[test]
fn names_seen_through_the_merged_header_are_those_of_the_input() {
    let mut random = Rng::new(0x9E37_79B9_7F4A_7C15);
    let (mut renamed, mut kept) = (0, 0);
    for _ in 0..4000 {
        let n = 2 + random.below64(3);
        let inputs: Vec<Header> = (0..n).map(|_| any_header(&mut random)).collect();
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
            renamed +=
                renames.programs.changed_ids().count() + renames.read_groups.changed_ids().count();
            kept += usize::from(renames.ref_ids.is_none());
        }
        let twice = Header::merge(&[merged.header.clone(), merged.header.clone()]).unwrap();
        assert_eq!(twice.header, merged.header);
        assert!(twice.renames.iter().all(Renames::is_identity));
    }
    assert!(renamed > 1000 && kept > 1000, "the cases are not too easy: {renamed}, {kept}");
}
