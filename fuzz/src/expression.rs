//! Fuzzes filter expressions, which are evaluated on records with all kinds of fields.

use std::cell::OnceCell;

use readmill_filters::expression::Expression;
use readmill_record::{Header, RecordRef};

use crate::{expect_refusal, seeds};

thread_local! {
    static READS: OnceCell<(Header, Vec<Vec<u8>>)> = const { OnceCell::new() };
}

const TEXTS: [&str; 16] = [
    "mapq >= 30 && flag.proper_pair",
    "[NM] <= 2 || !exists([MD])",
    "rname == \"c1\" && pos > 100 && endpos < 0x200",
    "qname =~ \"^r[0-9]+:(1|2):\\\\w*$\"",
    "avg(qual) > 20 && min(qual) >= 2 && max(qual) < 41",
    "length(seq) * 2 - qlen / 3 % 5 == 1e1",
    "(flag & 0x10) != 0 ^ 1 | ~flag",
    "[RG] == \"g1\" && library != \"l2\" || mrname == \"*\"",
    "cigar =~ \"[0-9]+S\" && sclen > 0 && hclen == 0 && ncigar < 100",
    "sqrt([AS]) > log(10) + exp(1.5) - pow(2, 3)",
    "default([XX], 5) < 6 && tlen != -5 && ![XA]",
    "seq =~ \"(AC|GT){2,}[^N]\" && qual !~ \"#+$\"",
    "refid == mrefid && pnext == mpos && rnext == \"=\"",
    "[XH] == \"1AE3\" || [XD] < 0 || [XZ] > 1.25",
    "a < b < c",
    "((((1))))",
];

pub fn expression_seeds() -> Vec<Vec<u8>> {
    TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Parses an expression and evaluates it on all records, forwards and backwards. The result
/// for a record must not depend on the records before it.
pub fn check_expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    READS.with(|reads| {
        let (header, records) = reads.get_or_init(|| (seeds::seed_header(), seeds::seed_records()));
        let mut expression = match Expression::parse(text, header) {
            Ok(expression) => expression,
            Err(error) => return expect_refusal(&error),
        };
        assert_eq!(expression.text(), text);
        let fresh = expression.clone();
        let mut answer = |record: &Vec<u8>| match expression.matches(RecordRef::new(record)) {
            Ok(holds) => Some(holds),
            Err(error) => {
                expect_refusal(&error);
                None
            }
        };
        let first: Vec<_> = records.iter().map(&mut answer).collect();
        let last = records.len() - 1;
        assert_eq!(fresh.clone().matches(RecordRef::new(&records[last])).ok(), first[last]);
        let back: Vec<_> = records.iter().rev().map(answer).collect();
        assert!(first.iter().eq(back.iter().rev()), "an answer depends on what was asked before");
    });
}
