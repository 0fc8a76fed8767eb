//! Recalibration in one run with other steps gives the same as in separate runs.

use std::io::Read;

use readmill_format::text;
use readmill_record::Ledger;
use readmill_simulate::Sample;

use crate::invariance_bqsr::BOTH;
use crate::invariance_bqsr::data::{BqsrFiles, TemplateReads, profile};
use crate::support::{column, records};

const AGAINST: &str = "--reference %ref.fa --known-sites %known.vcf";

fn world() -> (BqsrFiles, TemplateReads) {
    let sample = Sample::new(profile());
    let reads = TemplateReads::of(&sample);
    (BqsrFiles::of(&sample, &reads), reads)
}

/// Asserts that two files are equal byte for byte. BAM files are inflated first, because sorting makes other blocks.
fn same(world: &BqsrFiles, one: &str, two: &str) {
    let read = |name: &str| {
        let mut bytes = Vec::new();
        let mut file = text::open_inflated(&world.dir.path(name), &Ledger::unlimited()).expect("a file");
        file.read_to_end(&mut bytes).expect("a file that can be read");
        bytes
    };
    assert!(read(one) == read(two), "{one} and {two} differ");
}

#[test]
fn one_run_is_three() {
    let (world, _) = world();
    let steps = "prep %in.bam --mark-duplicates --sort coordinate --no-PG";
    world.run(&format!("{steps} {BOTH} -o %one.bam"));
    world.run(&format!("{steps} -o %sorted.bam"));
    world.run(&format!("bqsr table %sorted.bam {AGAINST} -o %table"));
    world.run("bqsr apply %sorted.bam --bqsr-table %table -o %three.bam --no-PG");
    world.run(&format!("bqsr table %three.bam {AGAINST} -o %after"));
    same(&world, "out.table", "table");
    same(&world, "one.bam", "three.bam");
    same(&world, "out.after", "after");
    assert!(world.read("one.bam") != world.read("sorted.bam"), "qualities change");
    assert!(world.read("table") != world.read("after"));
}

/// Duplicates that were flagged before are left out like those that are found.
#[test]
fn reads_that_are_marked_and_sorted_are_recalibrated_as_they_come() {
    let (world, _) = world();
    world.run("prep %in.bam --mark-duplicates --sort coordinate --no-PG -o %sorted.bam");
    world.run(&format!("bqsr table %sorted.bam {AGAINST} -o %table"));
    world.run("bqsr apply %sorted.bam --bqsr-table %table -o %apart.bam --no-PG");
    for steps in ["", "--sort coordinate"] {
        world.run(&format!("prep %sorted.bam {steps} --no-PG {BOTH} -o %together.bam"));
        same(&world, "out.table", "table");
        same(&world, "together.bam", "apart.bam");
    }
    world.run(&format!("bqsr table %in.bam {AGAINST} -o %unmarked"));
    assert!(world.read("unmarked") != world.read("table"), "duplicates are not counted");
}

#[test]
fn a_table_alone_leaves_reads_as_they_are() {
    let (world, _) = world();
    for steps in ["--mark-duplicates --sort coordinate", "--sort queryname", ""] {
        world.run(&format!("prep %in.bam {steps} --no-PG -o %plain.bam"));
        let only = format!("--bqsr-table-only --bqsr-table %table {AGAINST}");
        world.run(&format!("prep %in.bam {steps} --no-PG {only} -o %only.bam"));
        world.run(&format!("prep %in.bam {steps} --no-PG {BOTH} -o %both.bam"));
        same(&world, "plain.bam", "only.bam");
        same(&world, "table", "out.table");
    }
}

#[test]
fn a_table_that_is_there_is_applied_in_any_order() {
    let (world, _) = world();
    world.run(&format!("bqsr table %in.bam {AGAINST} -o %table"));
    for steps in ["", "--sort coordinate", "--mark-duplicates --sort coordinate", "--sort queryname"] {
        for flags in
            ["", "--emit-original-quals --static-quantized-quals 10 --static-quantized-quals 30"]
        {
            world.run(&format!("prep %in.bam {steps} --no-PG -o %plain.bam"));
            world.run(&format!(
                "bqsr apply %plain.bam --bqsr-table %table {flags} --no-PG -o %apart.bam"
            ));
            world.run(&format!(
                "prep %in.bam {steps} --bqsr-apply %table {flags} --no-PG -o %together.bam"
            ));
            same(&world, "together.bam", "apart.bam");
        }
    }
}

/// The tables of parts of the reads add up to the table of all. Other numbers can
/// differ in their last digit, in GATK too: the mean of the reported qualities is that of rounded ones.
#[test]
fn tables_of_parts_are_gathered() {
    let (world, reads) = world();
    for indels in ["", "--compute-indel-bqsr-tables"] {
        world.run(&format!("bqsr table %in.bam {AGAINST} {indels} -o %whole"));
        for (n, part) in reads.parts(2).iter().enumerate() {
            world.dir.file("part.bam", part.bam());
            world.run(&format!("bqsr table %part.bam {AGAINST} {indels} -o %table{n}"));
        }
        for order in ["%table0 %table1", "%table1 %table0"] {
            world.run(&format!("bqsr gather {order} -o %sum"));
            assert_eq!(counts(&world, "sum"), counts(&world, "whole"));
            for table in ["sum", "whole"] {
                world.run(&format!(
                    "bqsr apply %in.bam --bqsr-table %{table} --no-PG -o %by.{table}.bam"
                ));
            }
            same(&world, "by.sum.bam", "by.whole.bam");
        }
        world.run("bqsr gather %whole -o %sum");
        same(&world, "sum", "whole");
    }
}

/// The rows of a table's read groups, without the computed qualities.
fn counts(world: &BqsrFiles, table: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(world.read(table)).expect("text");
    let tables = text.split("#:GATKTable:RecalTable").skip(1);
    let rows = tables.flat_map(|table| {
        let mut lines = table.lines().skip(1);
        let heading = lines.next().expect("a heading").split_whitespace();
        let kept: Vec<bool> =
            heading.map(|name| !["EmpiricalQuality", "EstimatedQReported"].contains(&name)).collect();
        let rows = lines.take_while(|line| !line.is_empty()).map(move |line| {
            let words = line.split_whitespace().zip(&kept).filter(|it| *it.1);
            words.map(|it| it.0.to_string()).collect::<Vec<_>>()
        });
        rows.collect::<Vec<_>>()
    });
    rows.collect()
}

#[test]
fn reads_may_come_through_a_pipe() {
    let (world, _) = world();
    let steps = "--mark-duplicates --sort coordinate --no-PG";
    world.run(&format!("prep %in.bam {steps} {BOTH} -o %file.bam"));
    let names = ["out.table", "out.after"];
    let expected = names.map(|name| world.read(name));
    world.run_with_input("in.bam", &format!("prep - {steps} {BOTH} -o %pipe.bam"));
    assert!(names.map(|name| world.read(name)) == expected);
    same(&world, "pipe.bam", "file.bam");
    for order in ["in.bam", "file.bam"] {
        world.run(&format!("bqsr table %{order} {AGAINST} -o %table"));
        world.run_with_input(order, &format!("bqsr table - {AGAINST} -o %piped"));
        same(&world, "table", "piped");
    }
    world.run("bqsr apply %in.bam --bqsr-table %table --no-PG -o %file.bam");
    world.run_with_input("in.bam", "bqsr apply - --bqsr-table %table --no-PG -o %pipe.bam");
    same(&world, "pipe.bam", "file.bam");
}

/// Old qualities are kept in OQ. A table made from them, and applied to them, gives the first result again.
#[test]
fn original_qualities_lead_back() {
    let (world, _) = world();
    let steps = "--sort coordinate --no-PG -O sam";
    world.run(&format!("prep %in.bam {steps} {BOTH} -o %first.sam"));
    let before = world.read("out.table");
    world.run(&format!("prep %in.bam {steps} {BOTH} --emit-original-quals -o %kept.sam"));
    let [first, kept] = ["first.sam", "kept.sam"].map(|name| world.read(name));
    let [first, kept] = [first, kept].map(|text| String::from_utf8(text).expect("text"));
    for (one, two) in records(&first).into_iter().zip(records(&kept)) {
        assert_eq!(column(one, 10), column(two, 10));
        assert_eq!(two.split("\tOQ:Z:").next(), Some(one), "nothing else changes");
    }
    world.run(&format!("prep %kept.sam {steps} {BOTH} --use-original-qualities -o %again.sam"));
    assert!(world.read("out.table") == before);
    assert!(world.read("again.sam") == kept.into_bytes(), "recalibrated from the original ones");
}
