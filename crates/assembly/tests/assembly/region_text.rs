//! Reads the regions that `tests/oracles/java/Assembly.java` prints, and prints our results for them in
//! the same way.

use std::fmt::{self, Display, Write};

use readmill_assembly::{
    Assembler, AssemblyError, AssemblyRead, EventMap, GraphOutcome, Haplotype, RegionReference,
    TrimmedSpans, collect_events, trim_haplotypes,
};
use readmill_pairwise::{ContigSpan, HaplotypeEvent};

/// Why no result is printed after those so far.
enum Stop {
    Assembly(AssemblyError),
    Text(fmt::Error),
}

impl From<AssemblyError> for Stop {
    fn from(error: AssemblyError) -> Self {
        Stop::Assembly(error)
    }
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Self {
        Stop::Text(error)
    }
}

/// A region and its reads.
struct RegionText<'a> {
    span: ContigSpan,
    reference: RegionReference<'a>,
    reads: Vec<AssemblyRead<'a>>,
}

/// Returns the first line of a region in the text that GATK's result and ours differ in: the region,
/// the expected line and ours. Regions are added to `compared`.
pub fn find_difference(
    text: &str,
    assembler: &mut Assembler,
    compared: &mut u64,
) -> Option<(String, String, String)> {
    for block in text.split_inclusive("\nend\n") {
        let (input, expected): (Vec<&str>, Vec<&str>) = block.lines().partition(|line| is_input(line));
        let name = input.first()?.split(' ').nth(1)?.to_owned();
        let prints_graphs = expected.iter().any(|line| line.starts_with("graph"));
        let ours = print_results(&input, assembler, prints_graphs)?;
        let mut ours = ours.lines();
        for line in expected {
            let own = ours.next().unwrap_or("nothing");
            let is_error = |line: &str| line.starts_with("error ");
            if line != own && !(is_error(line) && is_error(own)) {
                return Some((name, line.to_owned(), own.to_owned()));
            }
        }
        *compared += 1;
    }
    None
}

/// Returns whether a line describes a region or its reads, and not a result.
pub fn is_input(line: &str) -> bool {
    line.starts_with("region ") || line.starts_with("read ")
}

/// Returns our results for a region in the form of GATK's. `input` is the line of the region and those
/// of its reads.
pub fn print_results(input: &[&str], assembler: &mut Assembler, prints_graphs: bool) -> Option<String> {
    let mut samples = Vec::new();
    let qualities: Vec<Vec<u8>> = input[1..].iter().filter_map(|line| read_qualities(line)).collect();
    let region = read_region(input, &qualities, &mut samples)?;
    let mut text = String::new();
    let graphs = if prints_graphs { print_graphs(&region, assembler, &mut text) } else { Ok(()) };
    match graphs.and_then(|()| print_haplotypes(&region, assembler, &mut text)) {
        Err(Stop::Assembly(error)) => writeln!(text, "error {error}").ok()?,
        Err(Stop::Text(_)) => return None,
        Ok(()) => {}
    }
    text.push_str("end\n");
    Some(text)
}

/// Returns the qualities of a read, which are one letter if all are equal.
fn read_qualities(line: &str) -> Option<Vec<u8>> {
    let mut words = line.split(' ').skip(2);
    let (bases, letters) = (words.next()?, words.next()?);
    let qualities = letters.bytes().map(|letter| letter - b'!');
    Some(qualities.cycle().take(bases.len()).collect())
}

fn read_region<'a>(
    input: &[&'a str],
    qualities: &'a [Vec<u8>],
    samples: &mut Vec<&'a str>,
) -> Option<RegionText<'a>> {
    let words: Vec<&str> = input[0].split(' ').collect();
    let number = |index: usize| words.get(index)?.parse::<i32>().ok();
    let padded_span = ContigSpan { start: number(5)?, end: number(6)? };
    let reference = RegionReference { bases: words.get(7)?.as_bytes(), start: number(2)?, padded_span };
    let mut reads = Vec::new();
    for (line, qualities) in input[1..].iter().zip(qualities) {
        let words: Vec<&str> = line.split(' ').collect();
        let sample = samples.iter().position(|&sample| sample == words[1]).unwrap_or_else(|| {
            samples.push(words[1]);
            samples.len() - 1
        });
        let read = AssemblyRead { bases: words[2].as_bytes(), qualities, sample: sample as u32 };
        let count: usize = words.last()?.parse().ok()?;
        reads.extend(std::iter::repeat_n(read, count));
    }
    Some(RegionText { span: ContigSpan { start: number(3)?, end: number(4)? }, reference, reads })
}

fn print_graphs(
    region: &RegionText<'_>,
    assembler: &mut Assembler,
    text: &mut String,
) -> Result<(), Stop> {
    for graph in assembler.assemble_graphs(&region.reference, &region.reads)? {
        let size = graph.kmer_size;
        match graph.outcome {
            GraphOutcome::TooShort => writeln!(text, "graph {size} FAILED")?,
            GraphOutcome::OnlyReference => writeln!(text, "graph {size} JUST_ASSEMBLED_REFERENCE")?,
            GraphOutcome::Paths(paths) => {
                writeln!(text, "graph {size} ASSEMBLED_SOME_VARIATION")?;
                for path in paths {
                    let (length, score) = (path.bases.len(), path.score.to_bits());
                    writeln!(text, "path {length} {:x} {score:x}", hash(&path.bases))?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the FNV-1a hash of the bases.
fn hash(bases: &[u8]) -> u64 {
    bases.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &base| {
        (hash ^ u64::from(base)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn print_haplotypes(
    region: &RegionText<'_>,
    assembler: &mut Assembler,
    text: &mut String,
) -> Result<(), Stop> {
    let haplotypes = assembler.assemble(&region.reference, &region.reads)?;
    print_each("haplotype", &haplotypes, text)?;
    let events = print_events(&find_events(&haplotypes, &region.reference)?, text)?;
    let Some(spans) = TrimmedSpans::find(region.span, &events, &region.reference) else {
        return Ok(writeln!(text, "trimmed none")?);
    };
    let TrimmedSpans { variant, padded } = spans;
    writeln!(text, "trimmed {} {} {} {}", variant.start, variant.end, padded.start, padded.end)?;
    let trimmed = trim_haplotypes(&haplotypes, padded)?;
    print_each("trimmed-haplotype", &trimmed, text)?;
    let has_variation = haplotypes.iter().any(|known| !known.is_reference) && trimmed.len() > 1;
    writeln!(text, "variation {has_variation}")?;
    let maps = find_events(&trimmed, &region.reference)?;
    let events = print_events(&maps, text)?;
    for event in events {
        for position in [event.start, event.end()] {
            let overlapping = maps.iter().map(|map| map.overlapping(position));
            for overlapping in overlapping.filter(|events| !events.is_empty()) {
                write!(text, "overlap {position}")?;
                for event in overlapping {
                    write!(text, " {}", EventText(event, ','))?;
                }
                writeln!(text)?;
            }
        }
    }
    Ok(())
}

fn print_each(word: &str, haplotypes: &[Haplotype], text: &mut String) -> fmt::Result {
    for haplotype in haplotypes {
        let Haplotype { bases, cigar, reference_index, score, kmer_size, is_reference, .. } = haplotype;
        let (bases, score) = (String::from_utf8_lossy(bases), score.to_bits());
        writeln!(text, "{word} {bases} {cigar} {reference_index} {score:x} {kmer_size} {is_reference}")?;
    }
    Ok(())
}

fn find_events(
    haplotypes: &[Haplotype],
    reference: &RegionReference<'_>,
) -> Result<Vec<EventMap>, AssemblyError> {
    haplotypes.iter().map(|haplotype| EventMap::of_haplotype(haplotype, reference)).collect()
}

fn print_events(maps: &[EventMap], text: &mut String) -> Result<Vec<HaplotypeEvent>, fmt::Error> {
    let events = collect_events(maps);
    for event in &events {
        writeln!(text, "event {}", EventText(event, ' '))?;
    }
    Ok(events)
}

/// Prints an event with a separator.
struct EventText<'a>(&'a HaplotypeEvent, char);

impl Display for EventText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventText(event, separator) = self;
        let (reference, alternate) =
            (String::from_utf8_lossy(&event.reference), String::from_utf8_lossy(&event.alternate));
        write!(f, "{}{separator}{reference}{separator}{alternate}", event.start)
    }
}
