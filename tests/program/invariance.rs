//! The output or the error depends only on the input and the plan: not on threads,
//! memory, the number of spills, or the codec of the spill.

use readmill_record::{RecordRef, edit};
use readmill_simulate::{Profile, Sample};

use crate::support::random::TestRandom;
use crate::support::resources::{
    FEW_RESOURCES, query_min_memory, same_bytes, same_bytes_with, sample, words,
};
use crate::support::{self, ProgramRun, TestDir, arg, bgzip, readmill};

#[test]
fn sorting_is_invariant() {
    let input = bgzip(&sample(40_000));
    for format in ["bam", "sam"] {
        let (max_runs, min_runs) = same_bytes(&input, "sort", format);
        assert!(max_runs >= 2 && min_runs == 0, "{max_runs} runs spilled at most, {min_runs} at least");
    }
}

/// The records of a sample in another order. Each has the CIGAR of its mate in MC, if the mate is mapped.
fn shuffled(pairs: u64, unmapped: u32) -> (Vec<u8>, Vec<Vec<u8>>) {
    let profile = Profile { unmapped_per_mille: unmapped, umi_names: true, ..Profile::small() };
    let sample = Sample::new(profile.with_pairs(pairs));
    let (mut header, mut records, mut template) = (Vec::new(), Vec::new(), Vec::new());
    sample.raw_header(&mut header);
    let mut source = sample.records();
    while source.append_next(&mut template) {
        let mut rest = &template[..];
        let mut raw: Vec<Vec<u8>> = Vec::new();
        while let Some(size) = rest.first_chunk::<4>() {
            let (record, after) = rest.split_at(4 + u32::from_le_bytes(*size) as usize);
            raw.push(record.to_vec());
            rest = after;
        }
        let cigar = |last: u16| -> String {
            let is_it = |record: &RecordRef<'_>| record.flags().0 & 0x880 == last;
            let mate = raw.iter().map(|raw| RecordRef::new(raw)).find(is_it);
            let ops = mate.iter().flat_map(|mate| mate.cigar().ops());
            ops.map(|(op, n)| format!("{n}{}", char::from(b"MIDNSHP=X"[op as usize]))).collect()
        };
        let cigars = [cigar(0), cigar(0x80)];
        for mut record in raw {
            let flags = RecordRef::new(&record).flags().0;
            if flags & 0x9 == 0x1 {
                let mate = &cigars[usize::from(flags & 0x80 == 0)];
                edit::append_text(&mut record, 0, *b"MC", mate.as_bytes());
                edit::set_block_size(&mut record, 0);
            }
            records.push(record);
        }
        template.clear();
    }
    TestRandom::new(pairs).shuffle(&mut records);
    (header, records)
}

/// Tests an order with few resources: it spills with the least memory, and does not with much.
#[track_caller]
fn order_is_invariant(flags: &str) {
    let (header, records) = shuffled(36_000, 50);
    let input = bgzip(&[header, records.concat()].concat());
    let (max_runs, min_runs) =
        same_bytes_with(&FEW_RESOURCES, &[input], &format!("sort {flags}"), "bam");
    assert!(
        max_runs >= 2 && min_runs == 0,
        "{flags}: {max_runs} runs spilled at most, {min_runs} at least"
    );
}

#[test]
fn orders_by_name_are_invariant() {
    for flags in ["-n", "-N", "--sort queryname"] {
        order_is_invariant(flags);
    }
}

#[test]
fn orders_by_a_field_are_invariant() {
    for flags in ["-t RX", "-t AS -n", "-t MD -N"] {
        order_is_invariant(flags);
    }
}

#[test]
fn orders_by_both_ends_and_by_minimiser_are_invariant() {
    for flags in ["--template-coordinate", "-M"] {
        order_is_invariant(flags);
    }
}

/// The records of one sample in three files: two of BAM, whose read groups clash with those of the third,
/// of text.
fn several(pairs: u64) -> [Vec<u8>; 3] {
    let (header, records) = shuffled(pairs, 10);
    let third = records.len() / 3;
    let bytes = |records: &[Vec<u8>]| [header.clone(), records.concat()].concat();
    let (one, rest) = records.split_at(third);
    let (other, last) = rest.split_at(third);
    let text = TestDir::new().run(&bgzip(&bytes(last)), readmill::plan::Steps::default(), 2);
    let text = text.expect("SAM text").replace("\tSM:SIM1", "\tSM:another");
    [bgzip(&bytes(one)), text.into_bytes(), bgzip(&bytes(other))]
}

#[test]
fn several_inputs_are_invariant() {
    let inputs = several(36_000);
    for (command, format) in [
        ("sort", "bam"),
        ("sort --template-coordinate", "sam"),
        ("prep --mark-duplicates --sort natural --duplicate-mode coordinate", "bam"),
    ] {
        let (max_runs, min_runs) = same_bytes_with(&FEW_RESOURCES, &inputs, command, format);
        assert!(
            max_runs >= 2 && min_runs == 0,
            "{command}: {max_runs} runs spilled at most, {min_runs} at least"
        );
    }
    let (max_runs, _) = same_bytes_with(&FEW_RESOURCES, &several(8_000), "prep --drop-unmapped", "bam");
    assert_eq!(max_runs, 0);
}

#[test]
fn marking_is_invariant() {
    let input = bgzip(&sample(40_000));
    for (mode, format) in [("template", "bam"), ("coordinate", "sam")] {
        let (max_runs, min_runs) =
            same_bytes(&input, &format!("markdup --duplicate-mode {mode}"), format);
        assert!(max_runs >= 2 && min_runs == 0, "{max_runs} runs spilled at most, {min_runs} at least");
        same_bytes(
            &input,
            &format!("prep --mark-duplicates --duplicate-mode {mode} --sort coordinate"),
            format,
        );
    }
}

#[test]
fn all_steps_together_are_invariant() {
    let input = bgzip(&sample(40_000));
    let steps = "prep --drop-unmapped-strict --sequence-dictionary DICT --read-group @RG\\tID:n\\tLB:l \
                 --mark-duplicates --sort coordinate";
    for format in ["bam", "sam"] {
        same_bytes(&input, steps, format);
    }
}

#[test]
fn steps_that_hold_nothing_are_invariant() {
    let input = bgzip(&sample(20_000));
    let steps = "prep --drop-unmapped --sequence-dictionary DICT --read-group @RG\\tID:n\\tLB:l";
    for format in ["bam", "sam"] {
        let (max_runs, _) = same_bytes(&input, steps, format);
        assert_eq!(max_runs, 0);
    }
}

/// Returns the message for a bad file. It must be the same with any number of threads, without output.
fn same_error(inputs: &[&[u8]], command: &str) -> String {
    let dir = TestDir::new();
    let inputs = inputs.iter().enumerate().map(|(i, input)| arg(&dir.file(&format!("in.{i}"), input)));
    let inputs: Vec<String> = inputs.collect();
    let mut said: Option<String> = None;
    for threads in [1, 2, 3, 8] {
        let mut args = words(command);
        args.extend(inputs.iter().cloned().chain(["-o".into(), arg(&dir.path("out.bam"))]));
        args.extend(["-q".into(), "-@".into(), threads.to_string()]);
        args.extend(["-m".into(), query_min_memory(&args)]);
        let ProgramRun { code, stderr, .. } = readmill(&args);
        assert_eq!(code, Some(2), "{threads} threads: {stderr}");
        assert_eq!(dir.names().len(), inputs.len(), "{threads} threads leave something behind");
        let said = said.get_or_insert_with(|| stderr.clone());
        assert_eq!(*said, stderr, "{threads} threads");
    }
    said.unwrap_or_default()
}

/// Where each record of an inflated BAM file starts.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let parsed = readmill_format::bam::header::parse_header(bytes).expect("a header");
    let mut at = parsed.expect("a whole header").1;
    let mut starts = Vec::new();
    while let Some(size) = bytes[at..].first_chunk::<4>() {
        starts.push(at);
        at += 4 + u32::from_le_bytes(*size) as usize;
    }
    starts
}

const COMMANDS: [&str; 3] = ["sort", "markdup --duplicate-mode coordinate", "prep --drop-unmapped"];

#[test]
fn the_first_bad_record_of_bam_is_reported() {
    let good = sample(8_000);
    let starts = starts(&good);
    let last = starts.len() - 1;
    for bad in
        [vec![0], vec![last / 2, last / 2 + 1, last], vec![last / 3, last / 3 + 5_000], vec![last]]
    {
        let mut bytes = good.clone();
        for &i in &bad {
            bytes[starts[i] + 4..][..4].copy_from_slice(&999i32.to_le_bytes()); // the reference sequence
        }
        for command in COMMANDS {
            let (good, damaged) = (bgzip(&good), bgzip(&bytes));
            let said = same_error(&[&damaged], command);
            assert!(said.contains(&format!("record {} ", bad[0] + 1)), "{bad:?}: {said}");
            let said = same_error(&[&good, &damaged, &damaged], command);
            assert!(said.contains(&format!("in.1: record {} ", bad[0] + 1)), "{bad:?}: {said}");
        }
    }
}

#[test]
fn the_first_bad_record_of_text_is_reported() {
    let good = TestDir::new().run(&bgzip(&sample(4_000)), readmill::plan::Steps::default(), 2);
    let good = good.expect("SAM text");
    let (header, lines) = (support::split_header(&good).0, support::records(&good));
    let last = lines.len() - 1;
    for bad in [vec![0], vec![last / 2, last / 2 + 1], vec![last / 3, last / 3 + 2_500], vec![last]] {
        let mut lines = lines.clone();
        for &i in &bad {
            lines[i] = "bad\t0\tchr1\tx\t60\t1M\t*\t0\t0\tA\tI";
        }
        for command in COMMANDS {
            let said = same_error(&[support::with_header(header, &lines).as_bytes()], command);
            assert!(said.contains(&format!("record {} ", bad[0] + 1)), "{bad:?}: {said}");
        }
    }
}
