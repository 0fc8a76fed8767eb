//! Fuzzes the processing of unusual records: filters and edits, sort keys, tallies, indexes
//! and FASTQ.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use readmill_filters::checksum::Checksum;
use readmill_filters::expression::Expression;
use readmill_filters::{
    CleanSam, Criterion, DropUnmapped, ExactMapping, FixMates, FlagRules, InReadGroups, MinMapq, NmMdUq,
    OptionalFields, RenameContigs, ReplaceReadGroup, Select, Subsample, fix_mates,
};
use readmill_format::bam::BamEncoder;
use readmill_format::bam::index::{IndexBuilder, IndexScheme};
use readmill_format::bgzf::Codec;
use readmill_format::fastq::{self, FastqStyle};
use readmill_format::reference::{Reference, ReferenceFiles};
use readmill_format::report::DescribedReport;
use readmill_record::{Batch, ChangedTags, Header, Ledger, RecordRef, Result, Step, Tally};
use readmill_sort::key::Within;
use readmill_sort::{Keyer, Order};
use readmill_stats::{AdapterBases, Flagstat, Idxstats, SequencingChecksum, Stats};

use crate::reference::file_in_memory;
use crate::{expect_refusal, pieces, seeds};

const ORDERS: [Order; 9] = [
    Order::Input,
    Order::Coordinate,
    Order::Natural,
    Order::Lexicographic,
    Order::Queryname,
    Order::Tag { tag: *b"XX", within: Within::Coordinate },
    Order::Tag { tag: *b"RX", within: Within::Natural },
    Order::TemplateCoordinate,
    Order::Minhash,
];

const MIN_RECORD_BYTES: usize = 37;

/// The step that runs on records when they are written. No memory is reserved for its
/// growth at that time.
const STEP_AT_OUTPUT: &str = "nm-md-uq";

struct PreparedSteps {
    header: Header,
    steps: Vec<Box<dyn Step>>,
}

thread_local! {
    static MADE: OnceCell<PreparedSteps> = const { OnceCell::new() };
}

fn prepare_steps() -> Result<PreparedSteps> {
    let mut header = seeds::seed_header();
    let contig: Vec<u8> = seeds::simulated_sample().contig.clone();
    let fasta = file_in_memory(&[b">c1\n", &contig[..], b"\n"].concat());
    let reference = Reference::from_files(
        Path::new("ref.fa"),
        ReferenceFiles { fasta, fai: None, gzi: None },
        &Ledger::unlimited(),
    )?;
    let flags = FlagRules { required: 1, excluded: 0x400, any_of: 0xc0, excluded_together: 0xc };
    let names = HashMap::from([(b"c1".to_vec(), b"chromosome1".to_vec())]);
    let expression = Expression::parse("avg(qual) > 10 || [XX] != 3 && cigar =~ \"M$\"", &header)?;
    let steps: Vec<Box<dyn Step>> = vec![
        Box::new(DropUnmapped { strict: false }.into_step()),
        Box::new(DropUnmapped { strict: true }.into_step()),
        Box::new(MinMapq { min_mapq: 20 }.into_step()),
        Box::new(ExactMapping { strict: false }.into_step()),
        Box::new(ExactMapping { strict: true }.into_step()),
        Box::new(flags.into_step()),
        Box::new(Select { expression, keep: true }.into_step()),
        Box::new(Subsample::new(0.5, Some(7), &header)?.into_step()),
        Box::new(CleanSam::new(&header)),
        Box::new(FixMates::new(fix_mates::MateRules::Picard, &header)),
        Box::new(FixMates::new(fix_mates::MateRules::Samtools, &header)),
        Box::new(NmMdUq::new(reference, &header)?),
        Box::new(OptionalFields::removing(vec![*b"XX", *b"RG", *b"MD"])),
        Box::new(OptionalFields::keeping(vec![*b"RG"])),
        Box::new(InReadGroups::new(vec![b"g1".to_vec()], true, &mut header.clone())?.into_step()),
        Box::new(ReplaceReadGroup::new("@RG\\tID:new\\tSM:s", &mut header.clone())?),
        Box::new(RenameContigs::new(names, &mut header.clone())?),
    ];
    header.set_order(b"unsorted", None, None);
    Ok(PreparedSteps { header, steps })
}

/// Seeds of [`check_batch`]: a byte that selects what is tested, then records without
/// `block_size`.
pub fn batch_seeds() -> Vec<Vec<u8>> {
    let zoo = seeds::seed_records();
    let some = |which: u8, records: &[usize]| {
        let which = [which];
        let bodies = records.iter().map(|&number| &zoo[number][4..]);
        let parts: Vec<&[u8]> = std::iter::once(&which[..]).chain(bodies).collect();
        pieces::join_parts(&parts)
    };
    let pairs = (0..32).map(|which| some(which, &[0, 1]));
    pairs.chain((0..32).map(|which| some(which, &[usize::from(which) % 8 + 2, 3]))).collect()
}

/// Sends valid records through one step, sort order, tally, index or FASTQ writer. A step
/// must leave valid records that grow no more than it promises.
pub fn check_batch(bytes: &[u8]) {
    let mut parts = pieces::split_parts(bytes);
    let Some(&which) = parts.next().and_then(<[u8]>::first) else { return };
    MADE.with(|made| {
        let PreparedSteps { header, steps } =
            made.get_or_init(|| prepare_steps().unwrap_or_else(|e| panic!("no steps: {e}")));
        let (mut batch, mut raw) = (Batch::default(), Vec::new());
        for body in parts.take(6) {
            raw.clear();
            raw.extend_from_slice(&(body.len() as u32).to_le_bytes());
            raw.extend_from_slice(body);
            if RecordRef::check(&raw, header.n_ref()).is_ok() {
                batch.push(&raw, Default::default()).expect("a short record");
            }
        }
        batch.stamp_templates(0);
        let which = usize::from(which);
        let (number, rest) = (which % 32, which / 32);
        match number.checked_sub(steps.len()) {
            None => check_step(&mut *steps[number].fork_for_thread(), batch, header),
            Some(0) => check_tally(rest, &batch, header),
            Some(1) => check_index(batch, header),
            Some(2) => write_fastq(&batch),
            Some(more) => check_order(ORDERS[more % ORDERS.len()], &batch, header),
        }
    });
}

fn check_step(step: &mut dyn Step, mut batch: Batch, header: &Header) {
    // Memory is reserved as if all records had the minimum size and each of them grew.
    let room = |record: RecordRef<'_>| {
        record.raw().len() + step.max_growth_bytes() * record.raw().len().div_ceil(MIN_RECORD_BYTES)
    };
    let max_bytes: usize = batch.records().map(|(_, record)| room(record)).sum();
    let records = batch.len();
    if let Err(error) = step.apply(&mut batch) {
        return expect_refusal(&error);
    }
    assert!(batch.len() <= records, "{} makes records", step.name());
    for (_, record) in batch.records() {
        assert_eq!(RecordRef::check(record.raw(), header.n_ref()), Ok(()), "after {}", step.name());
        crate::accessors::check_accessors(record);
    }
    let grows = batch.record_bytes() as usize > max_bytes;
    assert!(
        !grows || step.name() == STEP_AT_OUTPUT,
        "{} makes records grow by more than it says",
        step.name()
    );
    assert!(!step.counts().iter().any(|(name, _)| name.is_empty()));
}

fn check_order(order: Order, batch: &Batch, header: &Header) {
    let keyer = Keyer::new(order, header);
    if let Some((_, first)) = batch.records().next() {
        keyer.set_anchor(first.qname());
    }
    let mut tail = Vec::new();
    for (_, record) in batch.records() {
        match keyer.key(record) {
            Ok(key) => {
                assert!(keyer.key(record).is_ok_and(|again| again == key), "a record has two keys");
                keyer.write_tail(record, &mut tail);
            }
            Err(error) => expect_refusal(&error),
        }
    }
}

fn check_tally(which: usize, batch: &Batch, header: &Header) {
    fn run<T: Tally>(tally: &T, batch: &Batch) -> Option<T::Total> {
        let (mut partial, mut other) = (T::Partial::default(), T::Partial::default());
        for partial in [&mut partial, &mut other] {
            if let Err(error) = tally.observe(partial, batch) {
                expect_refusal(&error);
                return None;
            }
        }
        tally.merge(&mut partial, other);
        tally.finish(partial).inspect_err(expect_refusal).ok()
    }
    match which {
        0 => _ = run(&Flagstat, batch).map(|it| it.to_text()),
        1 => _ = run(&Idxstats::new(header), batch).map(|it| it.format_text()),
        2 | 3 => _ = run(&Stats::new(which == 2), batch).map(|it| it.to_text()),
        4 => _ = run(&Checksum::new(header, ChangedTags::default()), batch).map(|it| it.to_text()),
        5 => _ = run(&SequencingChecksum::new(&Ledger::with_capacity(8 << 20)), batch),
        _ => _ = run(&AdapterBases::new(&Ledger::with_capacity(8 << 20)), batch),
    }
}

fn check_index(mut batch: Batch, header: &Header) {
    let bytes = std::mem::take(&mut batch.bytes);
    batch.spans.sort_by_key(|span| {
        let record = RecordRef::new(&bytes[span.start as usize..][..span.len as usize]);
        (record.ref_id().cast_unsigned(), record.pos())
    });
    batch.bytes = bytes;
    let scheme = IndexScheme::for_header(header);
    let (mut encoder, mut out) = (BamEncoder::new(Codec::default(), 1, Some(scheme)), Vec::new());
    let Some(fragment) = encoder.encode_partition(&batch, &mut out) else { return };
    let mut builder = IndexBuilder::new(scheme, header);
    builder.add_fragment(fragment, 0);
    if builder.is_sorted()
        && let Err(error) = builder.write_to(&mut out)
    {
        expect_refusal(&error);
    }
}

fn write_fastq(batch: &Batch) {
    let (mut out, mut bases, mut qualities) = (Vec::new(), Vec::new(), Vec::new());
    for (_, record) in batch.records() {
        let _ = fastq::segment_number(record);
        fastq::write_record(&FastqStyle::default(), record, &mut out);
        fastq::push_read_in_read_order(record, &mut bases, &mut qualities);
        assert!(bases.len() == qualities.len());
    }
}
