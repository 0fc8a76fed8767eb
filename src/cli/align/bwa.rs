//! The options of bwa mem, as readmill flags and in the notation of bwa mem.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use readmill_align::bwa::{BwaOptions, InsertSize};
use readmill_record::{Error, Result};

use super::shared::SharedFlags;

#[derive(Args)]
#[command(next_help_heading = "Alignment")]
pub struct BwaFlags {
    /// Mark shorter parts of split reads as secondary instead of supplementary (bwa mem -M)
    #[arg(short = 'M', long)]
    mark_split_secondary: bool,
    /// Pass these options to bwa mem, such as '-k 17 -T 20'
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    bwa: Option<String>,
}

impl BwaFlags {
    #[cfg(feature = "minibwa")]
    pub fn is_given(&self) -> bool {
        self.mark_split_secondary || self.bwa.is_some()
    }

    /// Returns the aligner options, and the same options as words for `CL` of the `@PG` line. The
    /// words always include `-K`, because the alignments depend on it.
    pub fn to_options(&self, shared: &SharedFlags) -> Result<(BwaOptions, Vec<String>)> {
        let mut words: Vec<String> =
            self.bwa.iter().flat_map(|text| text.split_whitespace()).map(str::to_string).collect();
        let mut more = |asked: bool, word: &str| words.extend(asked.then(|| word.to_string()));
        more(shared.soft_clip_supplementary, "-Y");
        more(self.mark_split_secondary, "-M");
        if let Some(bases) = shared.cohort_bases {
            words.extend(["-K".to_string(), bases.to_string()]);
        }
        let mut options = BwaOptions::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            parse_option(&mut options, word, &mut rest)?;
        }
        if options.cohort_bases.is_none() {
            words.extend(["-K".to_string(), BwaOptions::COHORT_BASES.to_string()]);
        }
        Ok((options, words))
    }
}

/// Parses the option `word`, such as `-k`, `-k17` or `-YM`. If its value is not in the same word,
/// takes it from `rest`.
fn parse_option<'a>(
    to: &mut BwaOptions,
    word: &'a str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<()> {
    let Some(letters) = word.strip_prefix('-').filter(|letters| letters.is_ascii()) else {
        return Err(option_error(word, "not an option"));
    };
    let (letter, joined) = letters.split_at(letters.len().min(1));
    if let Some(asked) = switch_field(to, letter) {
        *asked = true;
        for letter in joined.chars().map(String::from) {
            let asked = switch_field(to, &letter);
            *asked.ok_or_else(|| {
                option_error(word, "an option with a value must be a separate argument")
            })? = true;
        }
        return Ok(());
    }
    let value = if joined.is_empty() { rest.next().unwrap_or_default() } else { joined };
    match letter {
        "k" => to.min_seed_length = Some(require_within(1..=1000, word, parse_number(word, value)?)?),
        "w" => to.band_width = Some(require_within(1..=100_000, word, parse_number(word, value)?)?),
        "d" => to.z_dropoff = Some(require_within(0..=1_000_000, word, parse_number(word, value)?)?),
        "r" => to.reseed_factor = Some(require_within(0.0..=1e6, word, parse_number(word, value)?)?),
        "y" => to.third_round_occurrences = Some(parse_number(word, value)?),
        "c" => {
            to.max_occurrences = Some(require_within(1..=i32::MAX, word, parse_number(word, value)?)?)
        }
        "D" => to.chain_drop_ratio = Some(require_within(0.0..=1.0, word, parse_number(word, value)?)?),
        "W" => {
            to.min_chain_bases = Some(require_within(0..=i32::MAX, word, parse_number(word, value)?)?)
        }
        "m" => {
            to.max_mate_rescues = Some(require_within(0..=i32::MAX, word, parse_number(word, value)?)?)
        }
        "A" => to.match_score = Some(require_within(1..=20, word, parse_number(word, value)?)?),
        "B" => to.mismatch_penalty = Some(require_within(0..=100, word, parse_number(word, value)?)?),
        "O" => to.gap_open = Some(require_both_within(0..=1000, word, parse_pair(word, value)?)?),
        "E" => to.gap_extend = Some(require_both_within(1..=1000, word, parse_pair(word, value)?)?),
        "L" => to.clip = Some(require_both_within(0..=1000, word, parse_pair(word, value)?)?),
        "U" => to.unpaired = Some(require_within(0..=10_000, word, parse_number(word, value)?)?),
        "T" => to.min_score = Some(require_within(0..=1_000_000, word, parse_number(word, value)?)?),
        "h" => {
            to.max_xa_hits =
                Some(require_both_within(0..=100_000, word, parse_pair_or(word, value, 200)?)?)
        }
        "I" => to.insert = Some(parse_insert_size(word, value)?),
        "K" => to.cohort_bases = Some(require_within(1..=u64::MAX, word, parse_number(word, value)?)?),
        "t" => return Err(option_error(word, "use readmill's -@")),
        "R" => return Err(option_error(word, "use readmill's -R")),
        "p" => return Err(option_error(word, "use readmill's --interleaved")),
        "C" => return Err(option_error(word, "use the readmill flag of the same name")),
        "o" => return Err(option_error(word, "use readmill's -o")),
        _ => return Err(option_error(word, "not supported")),
    }
    Ok(())
}

/// Returns the field for an option without a value; `None` for any other letter.
fn switch_field<'a>(to: &'a mut BwaOptions, letter: &str) -> Option<&'a mut bool> {
    Some(match letter {
        "S" => &mut to.skip_mate_rescue,
        "P" => &mut to.skip_pairing,
        "a" => &mut to.all,
        "Y" => &mut to.soft_clip,
        "M" => &mut to.mark_split_secondary,
        "5" => &mut to.primary_five_prime,
        "q" => &mut to.keep_supplementary_mapq,
        _ => return None,
    })
}

fn option_error(word: &str, why: &str) -> Error {
    Error::usage(format!("{word:?} in the options of bwa mem: {why}"))
        .hint("run bwa mem for a list of its options; readmill supports -k -w -d -r -y -c -D -W -m -S -P -A -B -O -E -L -U -T -h -I -K -a -Y -M -5 -q")
}

fn parse_number<T: FromStr>(word: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| option_error(word, "needs a number"))
}

/// Returns `value` if it is in `range`. The C code of bwa-mem3 would end the process for other
/// values.
fn require_within<T: PartialOrd + Display>(range: RangeInclusive<T>, word: &str, value: T) -> Result<T> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(option_error(word, &format!("{value} is not between {} and {}", range.start(), range.end())))
}

fn require_both_within(range: RangeInclusive<i32>, word: &str, pair: (i32, i32)) -> Result<(i32, i32)> {
    Ok((require_within(range.clone(), word, pair.0)?, require_within(range, word, pair.1)?))
}

/// Parses two numbers separated by a comma. A single number applies to both.
fn parse_pair(word: &str, value: &str) -> Result<(i32, i32)> {
    match value.split_once(',') {
        Some((one, two)) => Ok((parse_number(word, one)?, parse_number(word, two)?)),
        None => parse_number(word, value).map(|both| (both, both)),
    }
}

/// Parses two numbers separated by a comma. If there is only one, the second is `default`.
fn parse_pair_or(word: &str, value: &str, default: i32) -> Result<(i32, i32)> {
    if value.contains(',') { parse_pair(word, value) } else { Ok((parse_number(word, value)?, default)) }
}

/// Parses the insert size: mean, standard deviation, maximum and minimum. The last three default to
/// those of bwa mem 0.7.17.
fn parse_insert_size(word: &str, value: &str) -> Result<InsertSize> {
    let mut numbers =
        value.split(',').map(|text| require_within(0.0..=1e9, word, parse_number::<f64>(word, text)?));
    let mut next = || numbers.next().transpose();
    let mean = next()?.ok_or_else(|| option_error(word, "needs a number"))?;
    let deviation = next()?.unwrap_or(mean * 0.1);
    let longest = next()?.unwrap_or(mean + 4.0 * deviation + 0.499);
    let shortest = next()?.unwrap_or((mean - 4.0 * deviation + 0.499).max(1.0));
    Ok(InsertSize { mean, deviation, max: longest as i32, min: shortest as i32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<(BwaOptions, Vec<String>)> {
        let flags = BwaFlags { mark_split_secondary: false, bwa: Some(text.to_string()) };
        flags.to_options(&SharedFlags::default())
    }

    #[test]
    fn letters_of_bwa_mem_are_understood() {
        let (options, words) =
            options("-k 17 -T20 -YM -O 6,7 -E 2 -h 3 -I 300,30 -K 1000").expect("options of bwa mem");
        let wanted = BwaOptions {
            min_seed_length: Some(17),
            min_score: Some(20),
            soft_clip: true,
            mark_split_secondary: true,
            gap_open: Some((6, 7)),
            gap_extend: Some((2, 2)),
            max_xa_hits: Some((3, 200)),
            insert: Some(InsertSize { mean: 300.0, deviation: 30.0, max: 420, min: 180 }),
            cohort_bases: Some(1000),
            ..BwaOptions::default()
        };
        assert_eq!(options, wanted);
        assert_eq!(words.join(" "), "-k 17 -T20 -YM -O 6,7 -E 2 -h 3 -I 300,30 -K 1000");
    }

    #[test]
    fn what_is_not_to_be_had_is_refused() {
        for text in [
            "-t 4", "-k", "-k x", "k", "-Yk 3", "-V", "-", "-O 1,", "-R x", "-é", "-k 0", "-A 0",
            "-w -1", "-c 0", "-E 1,0", "-K 0", "-I nan", "-r nan", "-B 300", "-h -1",
        ] {
            assert!(options(text).is_err(), "{text}");
        }
        assert_eq!(options("").expect("no options").1.join(" "), "-K 100000000");
    }
}
