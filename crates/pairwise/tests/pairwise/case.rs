//! One case that `tests/oracles/java/Pairwise.java` prints: the name of a function, what it is given, and
//! GATK's result.

use std::fmt::Display;
use std::str::FromStr;

use readmill_pairwise::{
    AlignmentError, AlignmentScores, BuiltCigar, Cigar, CigarBuilder, CigarError, CigarOperator,
    HaplotypeError, Overhang, SmithWaterman, align_haplotype, append_clips, clip_cigar, compose_cigars,
    count_clipped_start, find_read_index, find_reference_offset, is_good_cigar, left_align_indels,
    normalize_alleles, revert_soft_clips, trim_cigar_by_read, trim_cigar_by_reference,
};

/// Why a case has no result.
enum Failure {
    /// The function returned an error, for which GATK prints "error".
    Refused,
    /// The line is not a case.
    NoCase(String),
}

type Outcome<T> = Result<T, Failure>;

impl From<CigarError> for Failure {
    fn from(_: CigarError) -> Self {
        Failure::Refused
    }
}

impl From<AlignmentError> for Failure {
    fn from(_: AlignmentError) -> Self {
        Failure::Refused
    }
}

impl From<HaplotypeError> for Failure {
    fn from(_: HaplotypeError) -> Self {
        Failure::Refused
    }
}

/// Computes the case of `line` and returns the result as GATK's is printed, and GATK's. An error of the
/// function is printed as "error". If the line is not a case, the result is a message, which differs
/// from everything that GATK prints.
pub fn compare_case<'a>(aligner: &mut SmithWaterman, line: &'a str) -> (String, &'a str) {
    let parts = Vec::from_iter(line.split('\t'));
    let [name, given @ .., expected] = &parts[..] else { return (String::new(), line) };
    let result = match *name {
        "sw" => align(aligner, given),
        "haplotype" => align_one_haplotype(aligner, given),
        "left_align" | "normalize" => left_align(name, given),
        _ => change_cigar(name, given),
    };
    let result = result.unwrap_or_else(|failure| match failure {
        Failure::Refused => "error".to_owned(),
        Failure::NoCase(why) => format!("no case: {why}"),
    });
    (result, *expected)
}

fn no_case<T>(why: impl Display) -> Outcome<T> {
    Err(Failure::NoCase(why.to_string()))
}

/// Parses what the function is given at `index`.
fn parse<T: FromStr<Err: Display>>(given: &[&str], index: usize) -> Outcome<T> {
    let Some(text) = given.get(index) else { return no_case("too few columns") };
    text.parse().or_else(|error| no_case(format!("{text}: {error}")))
}

fn bases<'a>(given: &[&'a str], index: usize) -> Outcome<&'a [u8]> {
    given.get(index).map_or_else(|| no_case("too few columns"), |text| Ok(text.as_bytes()))
}

fn numbers<T: FromStr<Err: Display>>(given: &[&str], index: usize, separator: char) -> Outcome<Vec<T>> {
    let text: String = parse(given, index)?;
    text.split(separator).map(|number| parse(&[number], 0)).collect()
}

fn scores(given: &[&str], index: usize) -> Outcome<AlignmentScores> {
    let [match_score, mismatch, gap_open, gap_extend] = numbers(given, index, ',')?[..] else {
        return no_case("not four scores");
    };
    Ok(AlignmentScores { match_score, mismatch, gap_open, gap_extend })
}

fn overhang(given: &[&str], index: usize) -> Outcome<Overhang> {
    Ok(match &*parse::<String>(given, index)? {
        "SOFTCLIP" => Overhang::SoftClip,
        "INDEL" => Overhang::Indel,
        "LEADING_INDEL" => Overhang::LeadingIndel,
        "IGNORE" => Overhang::Ignore,
        other => return no_case(format!("{other} is not an overhang")),
    })
}

fn align(aligner: &mut SmithWaterman, given: &[&str]) -> Outcome<String> {
    let (reference, sequence) = (bases(given, 0)?, bases(given, 1)?);
    let alignment = aligner.align(reference, sequence, scores(given, 2)?, overhang(given, 3)?)?;
    Ok(format!("{} {}", alignment.offset, alignment.cigar))
}

fn align_one_haplotype(aligner: &mut SmithWaterman, given: &[&str]) -> Outcome<String> {
    let (reference, haplotype) = (bases(given, 0)?, bases(given, 1)?);
    let (scores, overhang) = (scores(given, 2)?, overhang(given, 3)?);
    let cigar = align_haplotype(aligner, reference, haplotype, scores, overhang)?;
    Ok(cigar.map_or("null".to_owned(), |cigar| cigar.to_string()))
}

fn left_align(name: &str, given: &[&str]) -> Outcome<String> {
    if name == "left_align" {
        let (reference, read) = (bases(given, 1)?, bases(given, 2)?);
        return Ok(built(left_align_indels(&parse(given, 0)?, reference, read, parse(given, 3)?)?));
    }
    let [a, b, c, d] = numbers(given, 2, ' ')?[..] else {
        return no_case("not two ranges");
    };
    let mut alleles = [a..b, c..d];
    let sequences = [bases(given, 0)?, bases(given, 1)?];
    let shift = normalize_alleles(&sequences, &mut alleles, parse(given, 3)?)?;
    let [first, second] = alleles;
    Ok(format!(
        "{} {} {} {} {} {}",
        shift.start, shift.end, first.start, first.end, second.start, second.end
    ))
}

fn built(built: BuiltCigar) -> String {
    format!("{} {} {}", built.cigar, built.leading_deletion, built.trailing_deletion)
}

fn build(mut builder: CigarBuilder, cigar: &Cigar) -> Outcome<String> {
    builder.add_all(cigar)?;
    Ok(built(builder.make()?))
}

fn change_cigar(name: &str, given: &[&str]) -> Outcome<String> {
    let cigar: Cigar = parse(given, 0)?;
    let number = |index: usize| parse::<usize>(given, index);
    Ok(match name {
        "is_good" => is_good_cigar(&cigar).to_string(),
        "build" => build(CigarBuilder::new(), &cigar)?,
        "build_keeping" => build(CigarBuilder::keeping_deletions_at_ends(), &cigar)?,
        "clip" => {
            let clip = bases(given, 3)?.first().copied().and_then(CigarOperator::from_letter);
            let Some(clip) = clip else { return no_case("not an operator") };
            clip_cigar(&cigar, number(1)?..number(2)?, clip)?.to_string()
        }
        "start_shift" => count_clipped_start(&cigar, number(1)?).to_string(),
        "revert" => revert_soft_clips(&cigar)?.to_string(),
        "append" => append_clips(&cigar, &parse(given, 1)?).to_string(),
        "trim_reference" => built(trim_cigar_by_reference(&cigar, number(1)?..=number(2)?)?),
        "trim_read" => built(trim_cigar_by_read(&cigar, number(1)?..=number(2)?)?),
        "compose" => compose_cigars(&cigar, &parse(given, 1)?)?.to_string(),
        "offset" => find_reference_offset(&cigar, number(1)?)?.to_string(),
        "lookup" => match find_read_index(parse(given, 1)?, &cigar, parse(given, 2)?) {
            Some((index, operator)) => format!("{index} {operator}"),
            None => "none".to_owned(),
        },
        _ => return no_case("unknown function"),
    })
}
