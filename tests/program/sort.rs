//! Orders from end to end. That by coordinate is a stable sort by (reference sequence, none last; POS;
//! strand), and nothing else. For the others one example has the results of samtools 1.24 and Picard 3.4.0;
//! `./dev parity` compares with the tools themselves.

use readmill::plan::Steps;
use readmill_sort::Order;

use crate::support::random::TestRandom;
use crate::support::{self, TestDir};

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:b\tLN:1000\n@SQ\tSN:a\tLN:2147483647\n@SQ\tSN:c\tLN:5\n";

fn by_coordinate() -> Steps {
    Steps { sort: Some(Order::Coordinate), ..Steps::default() }
}

/// Reads at few positions: mapped, placed but unmapped, unplaced, on either strand; with POS but no
/// RNAME, and with RNAME but POS 0.
fn reads(random: &mut TestRandom) -> String {
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
    let dir = TestDir::new();
    for seed in 0..1000 {
        let text = reads(&mut TestRandom::new(seed));
        let sorted = dir.run(&support::bam(&text), by_coordinate(), 1 + seed as usize % 3);
        let expected = support::coordinate_sorted(&text);
        let (sorted, expected) =
            (sorted.expect("a sorted file"), support::records(&expected).join("\n"));
        assert_eq!(support::records(&sorted).join("\n"), expected, "seed {seed}, from BAM");
        assert!(sorted.starts_with("@HD\tVN:1.6\tSO:coordinate\n"));
    }
}

/// The reader of text, like htslib's, treats POS 0 as unplaced, and that decides the order.
#[test]
fn from_text_reads_at_position_zero_are_unplaced() {
    let dir = TestDir::new();
    for seed in 0..300 {
        let text = reads(&mut TestRandom::new(seed));
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
        let sorted = dir.run(text.as_bytes(), by_coordinate(), 2).expect("a sorted file");
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
    let sorted = TestDir::new().run((HEADER.to_string() + &text).as_bytes(), by_coordinate(), 2);
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

/// Called A to M below, in this order.
const EXAMPLE: [&str; 13] = [
    "x10\t99\ta\t50\t9\t4M\t=\t90\t0\t*\t*\tRG:Z:g\tMC:Z:4M\tXX:i:3",
    "x10\t147\ta\t90\t9\t4M\t=\t50\t0\t*\t*\tRG:Z:g\tMC:Z:4M\tXX:f:0.5",
    "x9\t83\ta\t50\t9\t4M\t=\t90\t0\t*\t*\tRG:Z:h\tMC:Z:4M\tXX:Z:T",
    "x9\t163\ta\t90\t9\t4M\t=\t50\t0\t*\t*\tRG:Z:h\tMC:Z:4M",
    "x09\t65\ta\t48\t9\t4M\tb\t7\t0\t*\t*\tMC:Z:2S4M\tXX:A:q",
    "x09\t129\tb\t7\t9\t2S4M\ta\t48\t0\t*\t*\tMC:Z:4M\tXX:B:c,1",
    "x9\t2115\tb\t7\t9\t4H4M\ta\t90\t0\t*\t*\tMC:Z:4M\tXX:i:3",
    "x9\t355\ta\t50\t9\t4M\t=\t90\t0\t*\t*\tMC:Z:4M\tXX:Z:S",
    "y\t77\t*\t0\t9\t*\t*\t0\t0\tTCAGTCAGAACACAACTCAGAC\t*\tXX:i:3",
    "y\t141\t*\t0\t9\t*\t*\t0\t0\tCTGAGTTGTGTTCTGACTGA\t*",
    "x:1\t73\tb\t3\t9\t4M\t=\t3\t0\t*\t*\tXX:Z:T",
    "x:1\t133\tb\t3\t9\t*\t=\t3\t0\tCTGAGTTGTGTTCTGACTGA\t*\tMC:Z:4M",
    "x\t16\ta\t50\t9\t4M\t*\t0\t0\t*\t*\tXX:i:3",
];

const EXAMPLE_HEADER: &str = "@SQ\tSN:a\tLN:900\n@SQ\tSN:b\tLN:900\n@RG\tID:g\tLB:z\n@RG\tID:h\tLB:y\n";

#[test]
fn each_order_is_the_one_that_samtools_and_picard_gave() {
    let dir = TestDir::new();
    let text =
        support::with_header(&format!("@HD\tVN:1.5\tSO:unsorted\tGO:query\n{EXAMPLE_HEADER}"), &EXAMPLE);
    for (order, first_line, expected) in [
        ("coordinate", "SO:coordinate", "EAHCMDBKLFGIJ"),
        ("natural", "SO:queryname SS:queryname:natural", "MCEGHDFABKLIJ"),
        ("lexicographic", "SO:queryname SS:queryname:lexicographical", "MEFABCGHDKLIJ"),
        ("queryname", "SO:queryname", "MEFABGHCDKLIJ"),
        ("tag:XX", "SO:unsorted SS:unsorted:XX:coordinate", "DLJEFHCKBAMGI"),
        ("tag:XX:natural", "SO:unsorted SS:unsorted:XX:queryname:natural", "DLJEFHCKBMGAI"),
        (
            "tag:XX:lexicographic",
            "SO:unsorted SS:unsorted:XX:queryname:lexicographical",
            "DLJEFHCKBMAGI",
        ),
        ("template-coordinate", "SO:unsorted GO:query SS:unsorted:template-coordinate", "HABCDEFGMKLIJ"),
        ("minhash", "SO:coordinate SS:coordinate:minhash", "EAHCMDBKLFGJI"),
    ] {
        let sort = Order::parse(order).expect("an order");
        let sorted = dir.run(text.as_bytes(), Steps { sort: Some(sort), ..Steps::default() }, 2);
        let sorted = sorted.unwrap_or_else(|error| panic!("{order}: {error}"));
        let header = format!("@HD\tVN:1.5\t{}\n{EXAMPLE_HEADER}", first_line.replace(' ', "\t"));
        assert_eq!(support::split_header(&sorted).0, header, "{order}");
        let letter = |line: &str| match EXAMPLE.iter().position(|&read| read == line) {
            Some(i) => char::from(b'A' + i as u8),
            None => {
                // Turned to the strand of its smallest k-mer.
                assert_eq!((order, line), ("minhash", EXAMPLE_TURNED));
                'I'
            }
        };
        let found: String = support::records(&sorted).into_iter().map(letter).collect();
        assert_eq!(found, expected, "{order}");
    }
}

/// Read I as `samtools sort -M` writes it.
const EXAMPLE_TURNED: &str = "y\t93\t*\t0\t9\t*\t*\t0\t0\tGTCTGAGTTGTGTTCTGACTGA\t*\tXX:i:3";
