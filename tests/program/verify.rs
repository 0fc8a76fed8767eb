//! `--verify` with faults that a step injects without announcing them: a read dropped, doubled, exchanged or altered
//! in any of its parts, before or after the sort, in runs that store reads and in runs that do not.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use readmill::plan::{DuplicateMode, Duplicates, Plan, Verbosity};
use readmill::{Additions, RunSummary};
use readmill_process::console::Console;
use readmill_record::{Batch, Changes, Error, ErrorKind, RecordRef, Step, edit};
use readmill_sort::Order;

use crate::support::{TestDir, arg, bgzip, readmill, records, resources};

/// The fault of one read.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Nothing,
    Dropped,
    Doubled,
    /// The read occurs twice, and the one before it is missing: the number is right.
    Exchanged,
    Flag,
    Position,
    MappingQuality,
    Cigar,
    Mate,
    Base,
    Quality,
    Name,
    TagValue,
    TagGone,
}

const FAULTS: [(Fault, &str); 13] = [
    (Fault::Dropped, "records, names"),
    (Fault::Doubled, "records, names"),
    (Fault::Exchanged, "in: names"),
    (Fault::Flag, "in: flags;"),
    (Fault::Position, "in: alignment;"),
    (Fault::MappingQuality, "in: alignment;"),
    (Fault::Cigar, "in: alignment;"),
    (Fault::Mate, "in: alignment;"),
    (Fault::Base, "in: bases;"),
    (Fault::Quality, "in: qualities;"),
    (Fault::Name, "in: names"),
    (Fault::TagValue, "in: tags;"),
    (Fault::TagGone, "in: tags;"),
];

/// The number of the faulty read in the input.
const HIT: u64 = 777;

/// Injects the fault, and announces no change.
#[derive(Clone)]
struct FaultyStep(Fault);

impl Step for FaultyStep {
    fn name(&self) -> &'static str {
        "break"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes::nothing()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let Some(at) = batch.spans.iter().position(|span| span.stamp.ordinal() == HIT) else {
            return Ok(());
        };
        let span = batch.spans[at];
        let neighbour = if at > 0 { at - 1 } else { at + 1 };
        match self.0 {
            Fault::Nothing => {}
            Fault::Dropped => drop(batch.spans.remove(at)),
            Fault::Doubled => batch.spans.insert(at, span),
            Fault::Exchanged => batch.spans[neighbour] = span,
            fault => batch.rewrite_records(|stamp, record, out| {
                out.extend_from_slice(record.raw());
                if stamp.ordinal() == HIT {
                    alter(fault, record, out);
                }
                Ok(())
            })?,
        }
        Ok(())
    }
}

/// Alters the record at the end of `out`.
fn alter(fault: Fault, record: RecordRef<'_>, out: &mut Vec<u8>) {
    let start = out.len() - record.raw().len();
    let fields = start + record.fields_start();
    let qual = fields - record.l_seq();
    match fault {
        Fault::Flag => edit::set_flags(&mut out[start..], record.flags().0 ^ 0x200),
        Fault::Position => out[start + 8] ^= 1,
        Fault::MappingQuality => out[start + 13] ^= 1,
        Fault::Cigar => out[start + 36 + record.qname().len() + 1] ^= 0x10,
        Fault::Mate => edit::set_tlen(&mut out[start..], record.tlen() + 1),
        Fault::Base => out[qual - record.l_seq().div_ceil(2)] ^= 0x30,
        Fault::Quality => out[qual] ^= 1,
        Fault::Name => out[start + 36] ^= 1,
        Fault::TagValue => *out.last_mut().unwrap() ^= 1,
        _ => {
            let tag = record.fields().next().unwrap().tag;
            edit::remove_fields(out, start, tag);
        }
    }
}

fn plan(input: &Path, output: &Path, holds: bool) -> Plan {
    let mut plan = Plan::new([input], output);
    plan.reports.verify = true;
    plan.resources.threads = 2;
    plan.resources.verbosity = Verbosity::Quiet;
    if holds {
        plan.resources.memory = 64 << 20;
        plan.steps.sort = Some(Order::Coordinate);
        plan.steps.duplicates = Some(Duplicates::with_mode(DuplicateMode::Auto));
    }
    plan
}

fn run(plan: &Plan, fault: Fault, late: bool) -> Result<RunSummary, Error> {
    let make = move |_: &mut _| Ok(Box::new(FaultyStep(fault)) as Box<dyn Step>);
    let none = Additions::default();
    let additions = if late { none.late_step(make) } else { none.step(make) };
    readmill::run_with(plan, additions, &Console::new(Verbosity::Quiet))
}

#[test]
fn every_fault_is_caught_and_nothing_is_written() {
    let dir = TestDir::new();
    let input = dir.file("in.bam", bgzip(&resources::sample(2000)));
    let output = dir.path("out.bam");
    for holds in [true, false] {
        let plan = plan(&input, &output, holds);
        for late in [true, false] {
            for (fault, told) in FAULTS {
                let error = run(&plan, fault, late).unwrap_err();
                let case = format!("{fault:?}, late: {late}, held: {holds}: {error}");
                assert_eq!(error.kind, ErrorKind::Different, "{case}");
                assert!(error.to_string().contains(told), "{case}");
                assert_eq!(dir.names(), ["in.bam"], "{case}");
            }
        }
    }
    for late in [true, false] {
        run(&plan(&input, &output, true), Fault::Nothing, late).unwrap();
    }
    assert_eq!(dir.names(), ["in.bam", "out.bam", "out.bam.bai"]);
}

/// Steps change only what they announce: a run without a fault gives no message.
#[test]
fn runs_in_which_all_is_well_are_verified() {
    let dir = TestDir::new();
    let input = dir.file("in.bam", bgzip(&resources::sample(1500)));
    let sorted = dir.path("sorted.bam");
    let names = readmill(["idxstats", "-q", &arg(&input)]).stdout;
    let names = String::from_utf8(names).unwrap();
    let first = names.split('\t').next().unwrap();
    let table = dir.file("table", format!("{first}\tanother\n"));
    for steps in [
        "--sort coordinate",
        "--sort coordinate -m 59M --spill-codec none",
        "--sort minhash",
        "--sort natural --mark-duplicates --TAGGING_POLICY All --TAG_DUPLICATE_SET_MEMBERS true",
        "--remove-duplicates --sort coordinate",
        "--drop-unmapped",
        "--drop-unmapped --read-group ID:new --mark-duplicates",
        "--read-group ID:new",
        "--rename-contigs TABLE --sort coordinate",
        "--clean-sam --min-mapq 20",
        "--fix-mates picard",
        "--fix-mates samtools --sort coordinate",
        "--include mapq>10 --exclude flag.secondary --subsample 0.5",
        "--remove-optional-fields NM,MD",
        "--keep-optional-fields none --sort coordinate --mark-duplicates",
        "--exact-mapping --copy-to COPY=unmapped --move-to MOVED=discordant",
    ] {
        let steps = &steps.replace("TABLE", &arg(&table)).replace("COPY", &arg(&dir.path("copy.sam")));
        let steps = &steps.replace("MOVED", &arg(&dir.path("moved.bam")));
        let words = format!("prep {} -o {} --verify {steps}", arg(&input), arg(&sorted));
        let done = readmill(words.split_whitespace());
        assert_eq!(done.code, Some(0), "{steps}: {}", done.stderr);
        assert!(done.stderr.contains("verified"), "{steps}: {}", done.stderr);
    }
}

#[test]
fn files_of_other_orders_and_formats_have_the_same_checksums() {
    let dir = TestDir::new();
    let input = dir.file("in.bam", bgzip(&resources::sample(1500)));
    let sums = |path: &Path| {
        let done = readmill(["checksum", "-q", &arg(path)]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        String::from_utf8(done.stdout).unwrap()
    };
    let before = sums(&input);
    assert_eq!(before.lines().count(), 7);
    let output = dir.path("marked.sam");
    let beside = dir.path("sums");
    let words = format!(
        "prep {} -o {} --sort coordinate --mark-duplicates --checksum {}",
        arg(&input),
        arg(&output),
        arg(&beside)
    );
    assert_eq!(readmill(words.split_whitespace()).code, Some(0));
    assert_eq!(sums(&output), before);
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), before);
    let text = std::fs::read_to_string(&output).unwrap();
    let line = records(&text)[5];
    let altered = dir.file("altered.sam", text.replacen(line, &line.replacen("\t60\t", "\t59\t", 1), 1));
    let differing: Vec<_> = before.lines().zip(sums(&altered).lines().map(str::to_string)).collect();
    let differing = differing.iter().filter(|(a, b)| a != b);
    assert!(differing.map(|(a, _)| a.split('\t').next()).eq([Some("alignment")]));
}
