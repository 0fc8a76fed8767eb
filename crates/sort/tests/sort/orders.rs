//! Keys follow the rules of each order: on many small random inputs, sorting by keys gives the same
//! result as a stable sort with a slow comparison written from the rules alone.
#![allow(clippy::unwrap_used)]

mod reads;
mod rules;

use readmill_record::{Header, RecordRef};
use readmill_sort::key::{Keyer, Order};

use reads::{ReadGenerator, SampleRead, draw_input, draw_name};
use rules::compare_by_rule;

const HEADER: &str = "@SQ\tSN:a\tLN:5000\n@SQ\tSN:b\tLN:70000\n@SQ\tSN:c\tLN:9\n\
    @RG\tID:1\tLB:zoo\n@RG\tID:2\tLB:ant\n@RG\tID:3\n@RG\tID:4\tLB:zoo\n@RG\tID:5\tLB:an\n";

/// Returns the indexes of the reads in key order.
fn sorted_by_keys(order: Order, reads: &[SampleRead], random: &mut ReadGenerator) -> Vec<usize> {
    let keyer = Keyer::new(order, &Header::parse(HEADER.as_bytes()).unwrap());
    match random.below(3) {
        0 => {}
        1 => keyer.set_anchor(&random.of(reads).name),
        _ => keyer.set_anchor(&draw_name(random, &[])),
    }
    let mut keys = Vec::new();
    for read in reads {
        let (record, mut tail) = (RecordRef::new(&read.raw), vec![1, 2, 3]);
        let key = keyer.key(record).unwrap();
        keyer.write_tail(record, &mut tail);
        assert_eq!(key.is_decided(), tail.is_empty(), "{order:?}");
        keys.push((key, tail));
    }
    let mut sorted: Vec<usize> = (0..reads.len()).collect();
    sorted.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    for pair in sorted.windows(2) {
        let expected = compare_by_rule(order, &reads[pair[0]], &reads[pair[1]]);
        let got = keys[pair[0]].cmp(&keys[pair[1]]);
        assert_eq!(got, expected, "{order:?}: {:?} and {:?}", reads[pair[0]], reads[pair[1]]);
    }
    sorted
}

fn hold(order: &str) {
    let (order, mut random) = (Order::parse(order).unwrap(), ReadGenerator::new(order.len() as u64));
    for round in 0..1500 {
        let reads = draw_input(&mut random, 40);
        let mut expected: Vec<usize> = (0..reads.len()).collect();
        expected.sort_by(|&a, &b| compare_by_rule(order, &reads[a], &reads[b]));
        assert_eq!(sorted_by_keys(order, &reads, &mut random), expected, "{order:?}, round {round}");
    }
}

macro_rules! orders_hold {
    ($($test:ident $order:literal;)*) => { $(#[test] fn $test() { hold($order); })* };
}

orders_hold! {
    input_order_is_kept "none";
    coordinate_holds "coordinate";
    natural_holds "natural";
    lexicographic_holds "lexicographic";
    queryname_holds "queryname";
    tag_by_coordinate_holds "tag:XX";
    tag_by_natural_name_holds "tag:XX:natural";
    tag_by_lexicographic_name_holds "tag:XX:lexicographic";
    template_coordinate_holds "template-coordinate";
    minhash_holds "minhash";
}
