//! One case that `tests/oracles/java/Pairwise.java` prints: the name of a function, what it is given, and
//! GATK's result.

use std::error::Error;

use readmill_pairwise::{
    AlignmentScores, BuiltCigar, Cigar, CigarBuilder, CigarOperator, Overhang, SmithWaterman,
    align_haplotype, append_clips, clip_cigar, compose_cigars, count_clipped_start, find_read_index,
    find_reference_offset, is_good_cigar, left_align_indels, normalize_alleles, revert_soft_clips,
    trim_cigar_by_read, trim_cigar_by_reference,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Computes the case of `line` and returns the result as GATK's is printed, and GATK's. An error is
/// printed as "error".
pub fn compare_case<'a>(aligner: &mut SmithWaterman, line: &'a str) -> (String, &'a str) {
    let parts = Vec::from_iter(line.split('\t'));
    let [name, given @ .., expected] = &parts[..] else { return (String::new(), line) };
    let result = match *name {
        "sw" => align(aligner, given),
        "haplotype" => align_one_haplotype(aligner, given),
        "left_align" | "normalize" => left_align(name, given),
        _ => change_cigar(name, given),
    };
    (result.unwrap_or_else(|_| "error".to_owned()), *expected)
}

fn numbers<T: std::str::FromStr<Err: Error + 'static>>(text: &str, separator: char) -> Outcome<Vec<T>> {
    text.split(separator).map(|number| Ok(number.parse()?)).collect()
}

fn scores(text: &str) -> Outcome<AlignmentScores> {
    let [match_score, mismatch, gap_open, gap_extend] = numbers(text, ',')?[..] else {
        return Err("scores".into());
    };
    Ok(AlignmentScores { match_score, mismatch, gap_open, gap_extend })
}

fn overhang(name: &str) -> Outcome<Overhang> {
    Ok(match name {
        "SOFTCLIP" => Overhang::SoftClip,
        "INDEL" => Overhang::Indel,
        "LEADING_INDEL" => Overhang::LeadingIndel,
        "IGNORE" => Overhang::Ignore,
        _ => return Err("overhang".into()),
    })
}

fn align(aligner: &mut SmithWaterman, given: &[&str]) -> Outcome<String> {
    let (reference, sequence) = (given[0].as_bytes(), given[1].as_bytes());
    let alignment = aligner.align(reference, sequence, scores(given[2])?, overhang(given[3])?)?;
    Ok(format!("{} {}", alignment.offset, alignment.cigar))
}

fn align_one_haplotype(aligner: &mut SmithWaterman, given: &[&str]) -> Outcome<String> {
    let (reference, haplotype) = (given[0].as_bytes(), given[1].as_bytes());
    let (scores, overhang) = (scores(given[2])?, overhang(given[3])?);
    let cigar = align_haplotype(aligner, reference, haplotype, scores, overhang)?;
    Ok(cigar.map_or("null".to_owned(), |cigar| cigar.to_string()))
}

fn left_align(name: &str, given: &[&str]) -> Outcome<String> {
    if name == "left_align" {
        let (reference, read) = (given[1].as_bytes(), given[2].as_bytes());
        return Ok(built(left_align_indels(&given[0].parse()?, reference, read, given[3].parse()?)?));
    }
    let [a, b, c, d] = numbers(given[2], ' ')?[..] else { return Err("ranges".into()) };
    let mut alleles = [a..b, c..d];
    let sequences = [given[0].as_bytes(), given[1].as_bytes()];
    let shift = normalize_alleles(&sequences, &mut alleles, given[3].parse()?)?;
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
    let cigar: Cigar = given[0].parse()?;
    let number = |index: usize| given[index].parse::<usize>();
    Ok(match name {
        "is_good" => is_good_cigar(&cigar).to_string(),
        "build" => build(CigarBuilder::new(), &cigar)?,
        "build_keeping" => build(CigarBuilder::keeping_deletions_at_ends(), &cigar)?,
        "clip" => {
            let clip = CigarOperator::from_letter(given[3].as_bytes()[0]).ok_or("operator")?;
            clip_cigar(&cigar, number(1)?..number(2)?, clip)?.to_string()
        }
        "start_shift" => count_clipped_start(&cigar, number(1)?).to_string(),
        "revert" => revert_soft_clips(&cigar)?.to_string(),
        "append" => append_clips(&cigar, &given[1].parse()?).to_string(),
        "trim_reference" => built(trim_cigar_by_reference(&cigar, number(1)?..=number(2)?)?),
        "trim_read" => built(trim_cigar_by_read(&cigar, number(1)?..=number(2)?)?),
        "compose" => compose_cigars(&cigar, &given[1].parse()?)?.to_string(),
        "offset" => find_reference_offset(&cigar, number(1)?)?.to_string(),
        "lookup" => match find_read_index(given[1].parse()?, &cigar, given[2].parse()?) {
            Some((index, operator)) => format!("{index} {operator}"),
            None => "none".to_owned(),
        },
        _ => return Err("unknown function".into()),
    })
}
