//! The flag `--subsample`: keep a fraction of the templates.

use readmill_record::header::HeaderLine;
use readmill_record::{Detail, Error, Header, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, FilterStage, MakeContext, PlanFacts};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "subsample",
            FlagValue::F64,
            "FRACTION",
            "Keep this fraction of the templates, such as 0.1 (the same templates as samtools view --subsample)",
        ),
        Flag::with_value(
            "subsample-seed",
            FlagValue::U32,
            "N",
            "Seed for choosing templates [default: derived from the header]",
        )
        .requires_flag("subsample"),
        Flag::switch(
            "subsample-after-duplicates",
            "Choose templates after duplicate marking, so that duplicates are found among all reads",
        )
        .requires_flag("subsample"),
    ],
    parse: |given, filters| {
        let seed = given.parse_value("subsample-seed")?;
        let after_duplicates = given.is_given("subsample-after-duplicates");
        if let Some(fraction) = given.parse_value("subsample")? {
            filters.add_filter(SubsampleRequest { fraction, seed, after_duplicates });
        }
        Ok(())
    },
};

#[derive(Debug)]
struct SubsampleRequest {
    fraction: f64,
    seed: Option<u32>,
    /// Whether templates are chosen after duplicates are marked, so that marking sees all reads.
    after_duplicates: bool,
}

impl Filter for SubsampleRequest {
    fn command_words(&self) -> Vec<String> {
        let mut words = flag_with_value("--subsample", self.fraction);
        words.extend(self.seed.into_iter().flat_map(|seed| flag_with_value("--subsample-seed", seed)));
        words.extend(self.after_duplicates.then(|| "--subsample-after-duplicates".to_string()));
        words
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let sample = Subsample::new(self.fraction, self.seed, context.header)?;
        let (fraction, seed) = (self.fraction, sample.seed());
        context
            .host
            .print_info(&format!("readmill: keeping {fraction} of the templates, with seed {seed}"));
        if let Some(earlier) = find_earlier_fraction(context.header, seed) {
            let effect = if earlier <= fraction {
                "this step keeps all of them".to_string()
            } else {
                format!("this step keeps {:.3} of them", fraction / earlier)
            };
            context.host.print_warning(&format!(
                "the reads were already subsampled to {earlier} with seed {seed}, so {effect}; use another --subsample-seed"
            ));
        }
        sample.add_comment(context.header)?;
        Ok(Box::new(sample.into_step()))
    }

    fn stage(&self) -> FilterStage {
        if self.after_duplicates { FilterStage::Last } else { FilterStage::BeforeSort }
    }

    fn check_plan(&self, plan: PlanFacts) -> Result<()> {
        if self.after_duplicates && !plan.marks_duplicates {
            return Err(Error::usage("--subsample-after-duplicates needs a run that marks duplicates")
                .hint("mark duplicates in the same run (readmill prep --mark-duplicates), or omit the flag"));
        }
        Ok(())
    }
}

/// Keeps a fraction of the read names, and all reads with these names: the same as `samtools view
/// --subsample` (1.24) with the same seed. The hash of the name decides, so with the same seed, a
/// smaller sample is a subset of a larger one.
#[derive(Clone)]
pub struct Subsample {
    fraction: f64,
    seed: u32,
    /// The value that samtools mixes into the hash of a name: the first value of glibc's `rand` for
    /// the seed, or 0 for seed 0.
    hash_mask: u32,
}

impl Subsample {
    /// Creates the criterion for `fraction` of the names (above 0, at most 1).
    ///
    /// The same seed keeps the same names. Without a seed, one is derived from the header, as in
    /// samtools, so a file and a sample of it have different seeds.
    ///
    /// # Errors
    /// The fraction is out of range.
    pub fn new(fraction: f64, seed: Option<u32>, header: &Header) -> Result<Self> {
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(Error::usage(format!("{fraction} is not a valid fraction"))
                .hint("use a number greater than 0 and at most 1"));
        }
        let seed = seed.unwrap_or_else(|| hash_fnv1a(&header.to_text()));
        let mask = if seed == 0 { 0 } else { first_glibc_rand(seed) };
        Ok(Subsample { fraction, seed, hash_mask: mask })
    }

    pub fn seed(&self) -> u32 {
        self.seed
    }

    /// Adds the same comment line as samtools to the header. The line records fraction and seed,
    /// and changes the seed of a later sample that derives it from the header.
    pub fn add_comment(&self, header: &mut Header) -> Result<()> {
        let mut lines: Vec<HeaderLine> = header.lines_of_kind(b"CO").cloned().collect();
        let (fraction, seed) = (self.fraction, self.seed);
        lines.push(HeaderLine::new(format!("@CO\tSub-sampled fraction={fraction} seed={seed}")));
        header.replace_lines(b"CO", lines, &[])
    }
}

/// Returns the smallest fraction of an earlier sample with the same seed, according to comments and
/// programs in the header; `None` without such a sample. A second sample with this seed would keep
/// the same names.
fn find_earlier_fraction(header: &Header, seed: u32) -> Option<f64> {
    let comments = header.lines_of_kind(b"CO").filter_map(|line| {
        let text = std::str::from_utf8(line.text()).ok()?;
        let (fraction, seed) = text.strip_prefix("@CO\tSub-sampled fraction=")?.split_once(" seed=")?;
        Some((fraction.parse().ok()?, seed.parse().ok()?))
    });
    let programs = header.lines_of_kind(b"PG").filter_map(|line| {
        let words: Vec<&str> = std::str::from_utf8(line.get(b"CL")?).ok()?.split(' ').collect();
        parse_samtools_sample(&words)
    });
    let fractions = comments.chain(programs).filter(|(_, other)| *other == seed);
    fractions.map(|(fraction, _)| fraction).reduce(f64::min)
}

/// Parses the fraction and the seed of a samtools command line: `samtools view -s SEED.FRACTION`,
/// or `--subsample` and `--subsample-seed`.
fn parse_samtools_sample(words: &[&str]) -> Option<(f64, u32)> {
    let value = |flag: &str| {
        let at = words.iter().position(|word| {
            word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })?;
        words[at].split_once('=').map(|(_, value)| value).or_else(|| words.get(at + 1).copied())
    };
    if let (Some(fraction), Some(seed)) = (value("--subsample"), value("--subsample-seed")) {
        return Some((fraction.parse().ok()?, seed.parse().ok()?));
    }
    words.iter().find(|word| **word == "view")?;
    let short = words.iter().find_map(|word| word.strip_prefix("-s").filter(|rest| rest.contains('.')));
    let (seed, digits) = value("-s").or(short)?.split_once('.')?;
    Some((format!("0.{digits}").parse().ok()?, seed.parse().ok()?))
}

/// Returns klib's hash of a name, with signed bytes as on x86 (`__ac_X31_hash_string` in khash.h).
fn hash_x31(text: &[u8]) -> u32 {
    text.iter().fold(0, |hash: u32, &byte| {
        hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed()).cast_unsigned())
    })
}

/// Returns Thomas Wang's 32-bit mix of a number (`__ac_Wang_hash` in klib's khash.h).
fn mix_wang(mut key: u32) -> u32 {
    key = key.wrapping_add(!(key << 15));
    key ^= key >> 10;
    key = key.wrapping_add(key << 3);
    key ^= key >> 6;
    key = key.wrapping_add(!(key << 11));
    key ^ key >> 16
}

fn hash_fnv1a(text: &[u8]) -> u32 {
    text.iter().fold(2_166_136_261, |hash: u32, &byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
}

/// Returns the first number of glibc's `rand` after `srand(seed)`: an additive feedback generator
/// with 31 words, which a linear congruential generator seeds. The first 310 numbers of the
/// additive generator are discarded.
fn first_glibc_rand(seed: u32) -> u32 {
    const MODULUS: i64 = 2_147_483_647;
    let mut words = [0u32; 345];
    words[0] = seed;
    for i in 1..31 {
        let before = i64::from(words[i - 1].cast_signed());
        words[i] = (before * 16_807 % MODULUS + MODULUS) as u32 % MODULUS as u32;
    }
    for i in 31..34 {
        words[i] = words[i - 31];
    }
    for i in 34..345 {
        words[i] = words[i - 31].wrapping_add(words[i - 3]);
    }
    words[344] >> 1
}

impl Criterion for Subsample {
    fn name(&self) -> &'static str {
        "subsample"
    }

    fn dropped_label(&self) -> &'static str {
        "reads dropped by subsampling"
    }

    fn detail(&self) -> Detail {
        Detail::WithoutFields
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let hash = mix_wang(hash_x31(record.qname()) ^ self.hash_mask);
        Ok(f64::from(hash & 0xFF_FFFF) / f64::from(1 << 24) < self.fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::{Batch, Stamp, edit};

    #[test]
    fn the_generator_is_that_of_glibc() {
        for (seed, first) in [
            (1, 1804289383),
            (2, 1505335290),
            (42, 71876166),
            (2147483647, 1065668062),
            (2147483648, 1336741213),
            (4294967295, 254925627),
            (123456789, 1965102536),
        ] {
            assert_eq!(first_glibc_rand(seed), first, "{seed}");
        }
    }

    #[test]
    fn hashes_have_their_known_values() {
        assert_eq!(hash_fnv1a(b""), 0x811C_9DC5);
        assert_eq!(hash_fnv1a(b"foobar"), 0xBF9C_F968); // the authors' test vector
        assert_eq!(hash_x31(b"ab"), 97 * 31 + 98);
        assert_eq!(hash_x31(b"\xFF"), u32::MAX);
    }

    #[test]
    fn names_are_kept_whole_as_samtools_keeps_them() {
        let header = Header::default();
        for (fraction, seed, names) in [
            (0.25, 11, &[0, 4, 6, 13, 16, 18][..]), // samtools view -s 11.25
            (0.5, 0, &[0, 2, 3, 5, 6, 7, 9, 10, 12, 14, 18]),
        ] {
            let mut batch = Batch::default();
            for i in 0..40 {
                let name = format!("r{}\0", i / 2);
                let mut raw = vec![0u8; 36];
                raw[12] = name.len() as u8;
                raw.extend(name.bytes());
                edit::set_block_size(&mut raw, 0);
                batch.push(&raw, Stamp::new(i, 0)).unwrap();
            }
            let mut step = Subsample::new(fraction, Some(seed), &header).unwrap().into_step();
            step.apply(&mut batch).unwrap();
            let kept: Vec<u64> = batch.records().map(|(stamp, _)| stamp.ordinal()).collect();
            let both: Vec<u64> = names.iter().flat_map(|name| [2 * name, 2 * name + 1]).collect();
            assert_eq!(kept, both);
            assert_eq!(step.counts()[0].1, 40 - both.len() as u64);
        }
    }

    #[test]
    fn an_earlier_sample_of_the_same_seed_is_found() {
        let earlier = |line: &str, seed| {
            let header = Header::parse(format!("@HD\tVN:1.6\n{line}\n").as_bytes()).unwrap();
            find_earlier_fraction(&header, seed)
        };
        let comment = "@CO\tSub-sampled fraction=0.25 seed=3";
        assert_eq!(earlier(comment, 3), Some(0.25));
        assert_eq!(earlier(comment, 4), None);
        let program = |line: &str| format!("@PG\tID:samtools\tPN:samtools\tCL:samtools {line}");
        assert_eq!(earlier(&program("view -b -s 42.5 in.bam"), 42), Some(0.5));
        assert_eq!(earlier(&program("view -s42.10 in.bam"), 42), Some(0.1));
        assert_eq!(earlier(&program("view --subsample 0.5 --subsample-seed=7 in.bam"), 7), Some(0.5));
        assert_eq!(earlier(&program("sort -s 42.5 in.bam"), 42), None);
        assert_eq!(earlier(&format!("{comment}\n{}", program("view -s 3.1 x")), 3), Some(0.1));
        assert_eq!(earlier("@CO\tSub-sampled fraction=x seed=3", 3), None);
    }

    #[test]
    fn a_fraction_is_above_0_and_at_most_1() {
        let header = Header::default();
        for bad in [0.0, -0.5, 1.1, f64::NAN] {
            assert!(Subsample::new(bad, Some(1), &header).is_err());
        }
        let all = Subsample::new(1.0, None, &header).unwrap();
        assert_eq!(all.seed(), hash_fnv1a(b""));
    }

    #[test]
    fn the_comment_in_the_header_changes_the_next_seed() {
        let mut header = Header::parse(b"@HD\tVN:1.6\n@CO\tfirst\n").unwrap();
        let sample = Subsample::new(0.25, None, &header).unwrap();
        sample.add_comment(&mut header).unwrap();
        let text =
            format!("@HD\tVN:1.6\n@CO\tfirst\n@CO\tSub-sampled fraction=0.25 seed={}\n", sample.seed());
        assert_eq!(String::from_utf8(header.to_text()).unwrap(), text);
        assert_ne!(Subsample::new(0.25, None, &header).unwrap().seed(), sample.seed());
    }
}
