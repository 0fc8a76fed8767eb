//! From records to the reads that HaplotypeCaller uses: filters, decoding, downsampling.

mod downsample;
mod filter;

pub use downsample::{GATK_SEED, PositionalDownsampler};
pub use filter::{IntakeCounts, Rejection};

use std::collections::{BTreeSet, HashMap};

use readmill_pairwise::Cigar;
use readmill_record::bases::PAIRS;
use readmill_record::tag::Tag;
use readmill_record::{Error, Header, RecordRef, Result};

use crate::read::CallerRead;
use crate::reference::Contig;
use filter::{find_rejection_by_alignment, find_rejection_by_fields};

/// Code of `=` in SEQ.
const EQUAL_SIGN: u8 = 0;
/// Letters with N for each code of several bases.
const UNAMBIGUOUS: [u8; 256] = {
    let mut table = [b'N'; 256];
    let bases = *b"ACGT";
    let mut i = 0;
    while i < bases.len() {
        table[bases[i] as usize] = bases[i];
        i += 1;
    }
    table
};

/// A read group of the header.
#[derive(Clone, Copy, Debug)]
struct ReadGroup {
    index: u32,
    /// `None` if the group names no sample.
    sample: Option<u32>,
}

/// Filters the records of a run and decodes those that pass.
///
/// ```
/// use readmill_record::{Header, RecordRef, edit};
/// use readmill_regions::intake::{ReadIntake, Rejection};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n@RG\tID:lane1\tSM:s1\n")?;
/// let mut intake = ReadIntake::new(&header);
/// assert_eq!(intake.samples(), [b"s1"]);
///
/// let mut raw = vec![0; 38]; // 36 bytes of fixed fields, and the name "r" with its NUL
/// (raw[12], raw[13], raw[36]) = (2, 19, b'r'); // a mapping quality of 19
/// edit::set_block_size(&mut raw, 0);
/// assert!(intake.accept_record(RecordRef::new(&raw))?.is_none());
/// assert_eq!(intake.counts().rejected(Rejection::LowMappingQuality), 1);
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadIntake {
    contig_lengths: Vec<i32>,
    groups: HashMap<Vec<u8>, ReadGroup>,
    samples: Vec<Vec<u8>>,
    counts: IntakeCounts,
}

impl ReadIntake {
    /// Creates the intake for records of a file with this header.
    pub fn new(header: &Header) -> Self {
        let lines = || header.lines_of_kind(b"RG");
        let samples = BTreeSet::from_iter(lines().filter_map(|group| group.get(b"SM")));
        let samples = Vec::from_iter(samples.into_iter().map(<[u8]>::to_vec));
        let groups = lines().zip(0..).filter_map(|(group, index)| {
            let sample = group.get(b"SM");
            let sample = sample.and_then(|sample| samples.iter().position(|known| known == sample));
            let group =
                (group.get(b"ID")?.to_vec(), ReadGroup { index, sample: sample.map(|at| at as u32) });
            Some(group)
        });
        ReadIntake {
            contig_lengths: header.references().iter().map(|contig| contig.length as i32).collect(),
            groups: groups.collect(),
            samples,
            counts: IntakeCounts::default(),
        }
    }

    /// Returns the names of the samples, sorted.
    pub fn samples(&self) -> &[Vec<u8>] {
        &self.samples
    }

    /// Returns the numbers of records that passed and failed the filters so far.
    pub fn counts(&self) -> &IntakeCounts {
        &self.counts
    }

    /// Decodes a record, or returns `None` if HaplotypeCaller does not use it.
    ///
    /// # Errors
    /// Those of GATK: a base is `=`, even in a read that is not used; a CIGAR has an unknown operator;
    /// the read group is not in the header or has no sample; a quality in `BI` or `BD` is not a printable
    /// character.
    pub fn accept_record(&mut self, record: RecordRef<'_>) -> Result<Option<CallerRead>> {
        if has_equal_sign(record) {
            let error = Error::input("a base is \"=\", which GATK does not accept");
            return Err(error.qname(record.qname()));
        }
        if let Some(rejection) = find_rejection_by_fields(record) {
            return Ok(self.reject(rejection));
        }
        let cigar = Cigar::from_bam_bytes(record.cigar().0)
            .map_err(|error| Error::input(error.to_string()).qname(record.qname()))?;
        if let Some(rejection) = find_rejection_by_alignment(record, &cigar, &self.contig_lengths) {
            return Ok(self.reject(rejection));
        }
        let group = record.read_group().and_then(|name| self.groups.get(name));
        let Some((read_group, sample)) = group.and_then(|group| Some((group.index, group.sample?)))
        else {
            let error = Error::input("the read group is not in the header, or has no sample (SM) there");
            return Err(error
                .qname(record.qname())
                .hint("add an @RG line with a sample (SM) for it to the header"));
        };
        let read = CallerRead { cigar, read_group, sample, ..decode_record(record)? };
        self.counts.add_passed();
        Ok(Some(read))
    }

    /// Refuses a contig of the reference that is not in the header, or has another length there.
    pub(crate) fn check_contig(&self, contig: &Contig) -> Result<()> {
        let (name, bases) = (contig.name.escape_ascii(), contig.bases.len());
        let what = match self.contig_lengths.get(contig.index) {
            Some(&length) if usize::try_from(length) == Ok(bases) => return Ok(()),
            Some(length) => format!(
                "contig {name} has {bases} bases in the reference, but {length} in the header of the reads"
            ),
            None => format!("contig {name} of the reference is not in the header of the reads"),
        };
        Err(Error::input(what).hint("use the reference that the reads were aligned to"))
    }

    fn reject(&mut self, rejection: Rejection) -> Option<CallerRead> {
        self.counts.add_rejected(rejection);
        None
    }
}

fn has_equal_sign(record: RecordRef<'_>) -> bool {
    let (sequence, is_odd) = (record.seq(), record.l_seq() % 2 == 1);
    let (pairs, last) = sequence.split_at(sequence.len() - usize::from(is_odd));
    pairs.iter().any(|&pair| pair >> 4 == EQUAL_SIGN || pair & 15 == EQUAL_SIGN)
        || last.iter().any(|&last| last >> 4 == EQUAL_SIGN)
}

/// Decodes all but the CIGAR and the read group.
fn decode_record(record: RecordRef<'_>) -> Result<CallerRead> {
    let mut bases = Vec::with_capacity(record.l_seq() + 1);
    bases.extend(record.seq().iter().flat_map(|&pair| PAIRS[usize::from(pair)]));
    bases.truncate(record.l_seq());
    bases.iter_mut().for_each(|base| *base = UNAMBIGUOUS[usize::from(*base)]);
    Ok(CallerRead {
        name: record.qname().into(),
        flags: record.flags(),
        mapping_quality: record.mapq(),
        contig: record.ref_id() as u32,
        start: record.pos() + 1,
        cigar: Cigar::default(),
        bases,
        qualities: record.qual().to_vec(),
        mate_contig: u32::try_from(record.next_ref_id()).ok(),
        mate_start: record.next_pos() + 1,
        template_length: record.tlen(),
        read_group: 0,
        sample: 0,
        insertion_qualities: read_qualities(record, *b"BI")?,
        deletion_qualities: read_qualities(record, *b"BD")?,
    })
}

/// Returns the Phred scores in a text field, which are stored as ASCII characters from `!` on.
fn read_qualities(record: RecordRef<'_>, tag: Tag) -> Result<Option<Vec<u8>>> {
    let Some(field) = record.field(tag).filter(|field| field.kind == b'Z') else {
        return Ok(None);
    };
    if let Some(at) = field.value.iter().position(|byte| !(b'!'..=b'~').contains(byte)) {
        let (tag, bad) = (tag.escape_ascii(), field.value[at].escape_ascii());
        let what = format!("character {} of tag {tag}, \"{bad}\", is not a quality", at + 1);
        let error = Error::input(what).hint("qualities are the characters from \"!\" to \"~\"");
        return Err(error.qname(record.qname()));
    }
    Ok(Some(field.value.iter().map(|byte| byte - b'!').collect()))
}
