//! Coordinate order is a stable sort by (reference sequence, none last; POS; strand), and nothing else.

mod support;

use readmill::plan::Steps;
use readmill_steps::sort::Order;
use support::Desk;
use support::random::Random;

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:b\tLN:1000\n@SQ\tSN:a\tLN:2147483647\n@SQ\tSN:c\tLN:5\n";

fn by_coordinate() -> Steps {
    Steps { sort: Some(Order::Coordinate), ..Steps::default() }
}

/// Reads at few places: mapped, placed but unmapped, unplaced, on either strand; with POS but no
/// RNAME, and with RNAME but POS 0.
fn reads(random: &mut Random) -> String {
    let mut text = HEADER.to_string();
    for i in 0..random.below(60) {
        let (rname, cigar) =
            random.pick(&[("a", "3M"), ("b", "3M"), ("c", "1S2M"), ("b", "*"), ("*", "*")]);
        let unmapped = 4 * u32::from(cigar == "*");
        let other = random.pick(&[0, 0x1 + 0x40, 0x1 + 0x80, 0x100, 0x400, 0x800]);
        let flag = unmapped + other + random.pick(&[0, 0x10]);
        let pos = random.pick(&[0, 1, 2, 2, 3, 700, 536_870_913, 2_147_483_647]);
        text += &format!("r{i}\t{flag}\t{rname}\t{pos}\t9\t{cigar}\t*\t0\t0\tACG\tIII\tXI:i:{i}\n");
    }
    text
}

#[test]
fn random_reads_are_sorted_as_the_standard_library_sorts_them() {
    let desk = Desk::new();
    for seed in 0..1000 {
        let text = reads(&mut Random::new(seed));
        let sorted = desk.run(&support::bam(&text), by_coordinate(), 1 + seed as usize % 3);
        let expected = support::coordinate_sorted(&text);
        let (sorted, expected) =
            (sorted.expect("a sorted file"), support::records(&expected).join("\n"));
        assert_eq!(support::records(&sorted).join("\n"), expected, "seed {seed}, from BAM");
        assert!(sorted.starts_with("@HD\tVN:1.6\tSO:coordinate\n"));
    }
}

/// A place at POS 0 is none for the reader of text, as it is for htslib's, which settles the order.
#[test]
fn from_text_reads_at_position_zero_are_unplaced() {
    let desk = Desk::new();
    for seed in 0..300 {
        let text = reads(&mut Random::new(seed));
        let unplaced = |line: &str| {
            let mut columns: Vec<&str> = line.split('\t').collect();
            if columns[3] == "0" {
                columns[2] = "*";
            }
            columns.join("\t")
        };
        let seen: Vec<String> = support::records(&text).into_iter().map(unplaced).collect();
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        let expected = support::coordinate_sorted(&support::with_header(HEADER, &seen));
        let sorted = desk.run(text.as_bytes(), by_coordinate(), 2).expect("a sorted file");
        let names = |text: &str| {
            let name = |line: &str| support::column(line, 0).to_string();
            support::records(text).into_iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names(&sorted), names(&expected), "seed {seed}");
    }
}

#[test]
fn unplaced_reads_come_last_by_position_and_strand() {
    let read = |name: &str, flag: u16, rname: &str, pos: u32| {
        format!("{name}\t{flag}\t{rname}\t{pos}\t0\t*\t*\t0\t0\t*\t*\n")
    };
    let given = [
        ("unplaced, reverse", 20, "*", 0),
        ("unplaced", 4, "*", 0),
        ("position alone", 4, "*", 7),
        ("position alone, reverse", 20, "*", 6),
        ("placed, reverse", 20, "a", 7),
        ("placed", 4, "a", 7),
        ("another contig", 4, "b", 900),
        ("placed again", 4, "a", 7),
    ];
    let text: String =
        given.iter().map(|&(name, flag, rname, pos)| read(name, flag, rname, pos)).collect();
    let sorted = Desk::new().run((HEADER.to_string() + &text).as_bytes(), by_coordinate(), 2);
    let sorted = sorted.expect("a sorted file");
    let names: Vec<&str> =
        support::records(&sorted).iter().map(|line| support::column(line, 0)).collect();
    let expected = [
        "another contig",
        "placed",
        "placed again",
        "placed, reverse",
        "unplaced",
        "unplaced, reverse",
        "position alone, reverse",
        "position alone",
    ];
    assert_eq!(names, expected);
}
