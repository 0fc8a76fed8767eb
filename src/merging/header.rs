//! The header of a merge, and checks that the input files fit together.

use std::io::Read;
use std::path::Path;

use readmill_record::header::HeaderLine;
use readmill_record::{Error, Header, Result, input_file};

use super::ORDER_HINT;
use crate::aligning::Unaligned;
use crate::plan;

pub enum AlignerProgram {
    /// The ID of its `@PG` line, for the PG field of records.
    Named(Vec<u8>),
    /// Unknown, because no alignment file has exactly one `@PG` line.
    Unknown,
}

/// Returns whether a header declares that reads are sorted by name, byte by byte, as in Picard.
pub fn is_lexicographic(header: &Header) -> bool {
    let line = header.lines_of_kind(b"HD").next();
    line.is_some_and(|line| {
        let natural = line.get(b"SS").is_some_and(|ss| ss.ends_with(b":natural"));
        line.get(b"SO") == Some(b"queryname") && !natural
    })
}

/// Returns the header of the output: the sequences of the alignments with the fields of the
/// reference dictionary, the read groups of the reads, and the aligner.
///
/// # Errors
/// Fails if the files were aligned to different sequences or are sorted by coordinate, or if the
/// aligner's ID is already used.
pub fn merge_headers(
    wanted: &plan::Merging,
    files: &[Unaligned],
    reference: Option<&Path>,
) -> Result<(Header, AlignerProgram)> {
    let [reads, aligned @ ..] = files else { return Err(Error::bug("a merge has no files")) };
    let Some(first) = aligned.first() else {
        return Err(Error::usage("no file with alignments is given"));
    };
    let by_coordinate = |file: &&Unaligned| file.header().declares_coordinate_order();
    let sorted = "the reads are sorted by coordinate, but merge-alignment needs reads sorted by name";
    if by_coordinate(&reads) {
        return Err(Error::input(sorted)
            .hint("sort the reads by name: readmill sort --sort queryname UNALIGNED -o sorted.bam")
            .file(reads.path()));
    }
    if let Some(file) = aligned.iter().find(by_coordinate) {
        return Err(Error::input(sorted).hint(ORDER_HINT).file(file.path()));
    }
    let same = |one: &Header, other: &Header| one.references() == other.references();
    if let Some(other) = aligned.iter().find(|file| !same(file.header(), first.header())) {
        return Err(Error::input(
            "the reference sequences differ from those of the first file with alignments",
        )
        .file(other.path()));
    }
    let mut lines = vec![HeaderLine::new(&b"@HD\tVN:1.6\tSO:unsorted\tGO:query"[..])];
    let dictionary = reference.map(read_reference_dictionary).transpose()?.flatten();
    let own = first.header().lines_of_kind(b"SQ").cloned().collect();
    lines.extend(match &dictionary {
        Some((dictionary, path)) => {
            add_dictionary_fields(own, dictionary, &wanted.matching).map_err(|error| error.file(path))?
        }
        None => own,
    });
    lines.extend(reads.header().lines_of_kind(b"RG").cloned());
    let program = wanted.program.clone().or_else(|| find_program(wanted, aligned));
    let id = program.as_ref().and_then(|line| line.get(b"ID")).map(<[u8]>::to_vec);
    if let Some(id) = &id
        && reads.header().lines_of_kind(b"PG").any(|line| line.get(b"ID") == Some(id))
    {
        let id = String::from_utf8_lossy(id);
        return Err(Error::usage(format!(
            "the header of the unaligned reads already has a @PG line with the ID of the aligner, {id}"
        ))
        .hint("set a different ID with --program-id")
        .file(reads.path()));
    }
    lines.extend(program);
    let text: Vec<u8> = lines.iter().flat_map(|line| [line.text(), b"\n"].concat()).collect();
    Ok((Header::parse(&text)?, id.map_or(AlignerProgram::Unknown, AlignerProgram::Named)))
}

/// Returns the `@PG` line of the first file that has exactly one. If each file contains one read of
/// each pair, all files together must have exactly one.
fn find_program(wanted: &plan::Merging, aligned: &[Unaligned]) -> Option<HeaderLine> {
    let alone = |mut lines: Vec<&HeaderLine>| {
        lines.dedup();
        if let [line] = lines[..] { Some(line.clone()) } else { None }
    };
    let of_file = |file: &Unaligned| alone(file.header().lines_of_kind(b"PG").collect());
    if wanted.aligned.iter().all(|file| file.end.is_none()) {
        return aligned.iter().find_map(of_file);
    }
    alone(aligned.iter().flat_map(|file| file.header().lines_of_kind(b"PG")).collect())
}

/// Reads the sequence dictionary of a reference, whose extension is .dict instead of that of the
/// FASTA file. Returns it with its path, or `None` if there is none.
fn read_reference_dictionary(reference: &Path) -> Result<Option<(Header, std::path::PathBuf)>> {
    let plain = if reference.extension().is_some_and(|it| it == "gz") {
        reference.with_extension("")
    } else {
        reference.to_path_buf()
    };
    let path = plain.with_extension("dict");
    let read = input_file::open_input(&path).and_then(|mut file| {
        let mut text = Vec::new();
        file.read_to_end(&mut text).map(|_| text)
    });
    let text = match read {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(format!("{} cannot be read", path.display()), &error)),
    };
    let header = Header::parse(&text).map_err(|error| error.file(&path))?;
    Ok(Some((header, path)))
}

/// Adds the fields of a sequence dictionary to the `@SQ` lines of the alignments. The fields in
/// `matching` must be equal.
///
/// # Errors
/// Fails if the dictionary has different sequences or a different order, or if such a field
/// differs.
fn add_dictionary_fields(
    mut own: Vec<HeaderLine>,
    dictionary: &Header,
    matching: &[[u8; 2]],
) -> Result<Vec<HeaderLine>> {
    let theirs = || dictionary.lines_of_kind(b"SQ");
    let is_same = own.len() == theirs().count()
        && own.iter().zip(theirs()).all(|(own, its)| own.get(b"SN") == its.get(b"SN"));
    if !is_same {
        return Err(Error::input(
            "the reference dictionary and the header of the alignments have different sequences, or a different order",
        )
        .hint("give the reference that the reads were aligned to"));
    }
    for (own, its) in own.iter_mut().zip(theirs()) {
        for field in its.text().split(|&byte| byte == b'\t').skip(1) {
            let Some((tag, [b':', value @ ..])) = field.split_first_chunk::<2>() else { continue };
            match own.get(tag) {
                None => own.set_field(tag, value),
                Some(ours) if ours != value && (matching.contains(tag) || tag == b"LN") => {
                    let [name, tag, ours, value] =
                        [own.get(b"SN").unwrap_or_default(), tag, ours, value]
                            .map(String::from_utf8_lossy);
                    let what = format!(
                        "{tag} of {name} is {ours} in the alignments, but {value} in the reference dictionary"
                    );
                    return Err(
                        Error::input(what).hint("give the reference that the reads were aligned to")
                    );
                }
                Some(_) => {}
            }
        }
    }
    Ok(own)
}
