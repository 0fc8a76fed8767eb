//! The options of minibwa, in the notation of minibwa.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use readmill_align::minibwa::{DifferenceField, MinibwaInsertSize, MinibwaOptions, Preset};
use readmill_record::{Error, Result};

use super::shared::SharedFlags;

#[derive(Args)]
#[command(next_help_heading = "Alignment")]
pub struct MinibwaFlags {
    /// Pass these options to minibwa map, such as '-k 17 -b MD'
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    minibwa: Option<String>,
}

impl MinibwaFlags {
    #[cfg(feature = "bwa")]
    pub fn is_given(&self) -> bool {
        self.minibwa.is_some()
    }

    /// Returns the aligner options, and the same options as words for `CL` of the `@PG` line. The
    /// words always include `-K`, because the alignments depend on it.
    pub fn to_options(&self, shared: &SharedFlags) -> Result<(MinibwaOptions, Vec<String>)> {
        let given = self.minibwa.iter().flat_map(|text| text.split_whitespace());
        let mut words: Vec<String> = given.map(str::to_string).collect();
        words.extend(shared.soft_clip_supplementary.then(|| "-Y".to_string()));
        if let Some(bases) = shared.cohort_bases {
            words.extend(["-K".to_string(), bases.to_string()]);
        }
        let mut options = MinibwaOptions::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if word.starts_with("--") {
                parse_long_option(&mut options, word)?;
            } else {
                parse_option(&mut options, word, &mut rest)?;
            }
        }
        if options.cohort_bases.is_none() {
            words.extend(["-K".to_string(), MinibwaOptions::COHORT_BASES.to_string()]);
        }
        Ok((options, words))
    }
}

/// Parses the option `word`, such as `-k` or `-k17`. If its value is not in the same word, takes it
/// from `rest`. Numbers are limited to values that the C code supports.
fn parse_option<'a>(
    to: &mut MinibwaOptions,
    word: &'a str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<()> {
    let Some(letters) = word.strip_prefix('-').filter(|letters| letters.is_ascii()) else {
        return Err(option_error(word, "not an option"));
    };
    let (letter, joined) = letters.split_at(letters.len().min(1));
    if let "P" | "Y" | "5" = letter {
        for letter in letters.chars() {
            *switch_field(to, letter).ok_or_else(|| {
                option_error(word, "an option with a value must be a separate argument")
            })? = true;
        }
        return Ok(());
    }
    let value = if joined.is_empty() { rest.next().unwrap_or_default() } else { joined };
    match letter {
        "l" => to.max_short_read_bases = Some(parse_within(0..=1_000_000, word, value)?),
        "k" => to.min_seed_length = Some(parse_within(10..=1000, word, value)?),
        "c" => to.max_occurrences = Some(parse_within(1..=1_000_000, word, value)?),
        "g" => to.max_gap = Some(parse_within(1..=100_000, word, value)?),
        "w" => to.band_width = Some(parse_within(1..=10_000, word, value)?),
        "W" => to.long_band_width = Some(parse_within(1..=100_000, word, value)?),
        "m" => to.min_chain_score = Some(parse_within(0..=1_000_000, word, value)?),
        "p" => to.min_secondary_ratio = Some(parse_within(0.0..=1.0, word, value)?),
        "N" => to.max_secondary = Some(parse_within(0..=1_000_000, word, value)?),
        "A" => to.match_score = Some(parse_within(1..=20, word, value)?),
        "B" => to.mismatch_penalty = Some(parse_within(1..=60, word, value)?),
        "O" => to.gap_open = Some(parse_pair_within(0..=60, word, value)?),
        "E" => to.gap_extend = Some(parse_pair_within(1..=30, word, value)?),
        "s" => to.min_score = Some(parse_within(0..=1_000_000, word, value)?),
        "U" => to.unpaired = Some(parse_within(0..=10_000, word, value)?),
        "I" => to.insert = Some(parse_insert_size(word, value)?),
        "K" => to.cohort_bases = Some(parse_within(1..=i64::MAX as u64, word, value)?),
        "x" => {
            to.preset = match value {
                "adap" => Preset::Adaptive,
                "sr" => Preset::Short,
                "lr" => Preset::Long,
                _ => return Err(option_error(word, "must be adap, sr or lr")),
            }
        }
        "b" => {
            to.differences = Some(match value {
                "cs" => DifferenceField::Cs,
                "ds" => DifferenceField::Ds,
                "MD" | "md" => DifferenceField::Md,
                _ => return Err(option_error(word, "must be MD, cs or ds")),
            });
        }
        "t" => return Err(option_error(word, "use readmill's -@")),
        "R" => return Err(option_error(word, "use readmill's -R")),
        "o" => return Err(option_error(word, "use readmill's -o")),
        "u" => return Err(option_error(word, "use readmill's --drop-unmapped")),
        _ => return Err(option_error(word, "not supported")),
    }
    Ok(())
}

/// Returns the field for an option without a value; `None` for any other letter.
fn switch_field(to: &mut MinibwaOptions, letter: char) -> Option<&mut bool> {
    Some(match letter {
        'P' => &mut to.skip_pairing,
        'Y' => &mut to.soft_clip,
        '5' => &mut to.primary_five_prime,
        _ => return None,
    })
}

fn parse_long_option(to: &mut MinibwaOptions, word: &str) -> Result<()> {
    match word.split_once('=').unwrap_or((word, "")) {
        ("--rescue", value) => to.max_mate_rescues = Some(parse_within(0..=1_000_000, word, value)?),
        ("--outn", value) => to.max_secondary_written = Some(parse_within(0..=1_000_000, word, value)?),
        ("--outs" | "--xa-ratio", value) => {
            to.min_written_ratio = Some(parse_within(0.0..=1.0, word, value)?)
        }
        ("--xa", value) => to.max_xa_hits = Some(parse_within(0..=1_000_000, word, value)?),
        ("--eqx", "") => to.eqx = true,
        ("--hic", "") => (to.primary_five_prime, to.skip_pairing) = (true, true),
        _ => return Err(option_error(word, "not supported")),
    }
    Ok(())
}

fn option_error(word: &str, why: &str) -> Error {
    Error::usage(format!("{word:?} in the options of minibwa: {why}")).hint(
        "run minibwa map for a list of its options; readmill supports -x -l -k -c -g -w -W -m -p -N -A -B -O -E -s -U -P -I -b -Y -5 -K \
--rescue= --outn= --outs= --xa= --eqx --hic",
    )
}

fn parse_number<T: FromStr>(word: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| option_error(word, "needs a number"))
}

fn parse_within<T: PartialOrd + Display + FromStr>(
    range: RangeInclusive<T>,
    word: &str,
    value: &str,
) -> Result<T> {
    let number = parse_number(word, value)?;
    if range.contains(&number) {
        return Ok(number);
    }
    Err(option_error(word, &format!("{number} is not between {} and {}", range.start(), range.end())))
}

fn parse_pair_within(range: RangeInclusive<i32>, word: &str, value: &str) -> Result<(i32, i32)> {
    let (one, two) = value.split_once(',').unwrap_or((value, value));
    Ok((parse_within(range.clone(), word, one)?, parse_within(range, word, two)?))
}

/// Parses the insert size: mean, standard deviation, maximum and minimum. The last three default to
/// those of minibwa 0.6.
fn parse_insert_size(word: &str, value: &str) -> Result<MinibwaInsertSize> {
    let mut numbers = value.split(',').map(|text| parse_within(0.0..=1e6, word, text));
    let mut next = || numbers.next().transpose();
    let rounded = |number: f64| (number + 0.499) as i32;
    let mean = rounded(next()?.ok_or_else(|| option_error(word, "needs a number"))?);
    let deviation = next()?.map_or_else(|| rounded(f64::from(mean) * 0.1), rounded);
    let longest = next()?.map_or(mean + 4 * deviation, |it: f64| it as i32);
    let shortest = next()?.map_or(mean - 4 * deviation, |it: f64| it as i32).max(1);
    Ok(MinibwaInsertSize { mean, deviation, max: longest, min: shortest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<(MinibwaOptions, Vec<String>)> {
        MinibwaFlags { minibwa: Some(text.to_string()) }.to_options(&SharedFlags::default())
    }

    #[test]
    fn letters_of_minibwa_are_understood() {
        let text = "-k 17 -s20 -5Y -O 6,7 -E 2 --xa=3 --outs=0.5 -I 300,30 -b MD -x sr -K 1000";
        let (options, words) = options(text).expect("options of minibwa");
        let wanted = MinibwaOptions {
            min_seed_length: Some(17),
            min_score: Some(20),
            soft_clip: true,
            primary_five_prime: true,
            gap_open: Some((6, 7)),
            gap_extend: Some((2, 2)),
            max_xa_hits: Some(3),
            min_written_ratio: Some(0.5),
            insert: Some(MinibwaInsertSize { mean: 300, deviation: 30, max: 420, min: 180 }),
            differences: Some(DifferenceField::Md),
            preset: Preset::Short,
            cohort_bases: Some(1000),
            ..MinibwaOptions::default()
        };
        assert_eq!(options, wanted);
        assert_eq!(words.join(" "), text);
    }

    #[test]
    fn what_is_not_to_be_had_is_refused() {
        for text in [
            "-t 4", "-k", "-k x", "k", "-Yk 3", "-f", "-", "-O 1,", "-R x", "-é", "-k 0", "-A 0",
            "-w -1", "-c 0", "-E 1,0", "-K 0", "-I nan", "-p nan", "-B 300", "--xa", "--xa=-1",
            "--meth", "-b x", "--eqx=1", "-x map", "-u",
        ] {
            assert!(options(text).is_err(), "{text}");
        }
        assert_eq!(options("").expect("no options").1.join(" "), "-K 100000000");
    }
}
