//! Recognises the kind of a file by its first bytes, to choose its index.

use std::io::Read;
use std::path::Path;

use readmill_cram::MAGIC as CRAM;
use readmill_format::bgzf::{BlockReader, InflateReader};
use readmill_format::tabix::Preset;
use readmill_format::text::is_bgzf;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, Result, input_file};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Bam,
    Cram,
    Sam,
    Bcf,
    Text(Preset),
    Fasta,
}

const START: u64 = 1 << 16;

/// Returns the kind of the file at `path`. `preset` is the kind of text that the user gave, which
/// is used if the file is compressed text.
///
/// # Errors
/// The file cannot be read, or its kind cannot be indexed.
pub fn content(path: &Path, preset: Option<Preset>) -> Result<Content> {
    if path.as_os_str() == "-" {
        return Err(Error::usage("standard input cannot be indexed: an index belongs to a file")
            .hint("give the name of a file"));
    }
    told(path, preset).map_err(|e| e.file(path))
}

fn told(path: &Path, preset: Option<Preset>) -> Result<Content> {
    let unread = |e: &std::io::Error| Error::io("it cannot be opened", e);
    let is_pipe = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if is_pipe {
        return Ok(Content::Fasta); // only the aligner's index can be made from a pipe, since it reads once
    }
    let mut file = input_file::open(path).map_err(|e| unread(&e))?;
    let mut start = Vec::new();
    (&mut file).take(START).read_to_end(&mut start).map_err(|e| unread(&e))?;
    if start.is_empty() {
        return Err(Error::input("the file is empty").hint("even a file without reads has a header"));
    }
    if start.starts_with(CRAM) {
        return Ok(Content::Cram);
    }
    if start.trim_ascii_start().starts_with(b">") {
        return Ok(Content::Fasta);
    }
    if start.starts_with(&[0x1f, 0x8b]) && !is_bgzf(&start) {
        let packed = flate2_start(&start);
        if packed.starts_with(b">") {
            return Ok(Content::Fasta); // the aligner can read it, though faidx cannot
        }
        if ReadsFormat::of(&packed) == Some(ReadsFormat::Fastq) {
            return Err(fastq());
        }
        return Err(Error::input(
            "it is compressed by gzip, and only files compressed by bgzip can be indexed",
        )
        .hint("compress it again: gunzip -c FILE | bgzip > NEW"));
    }
    if !is_bgzf(&start) {
        return Err(not_compressed(&start, path));
    }
    let mut text = Vec::new();
    let mut inflated = InflateReader::new(BlockReader::new(&start[..], true)).take(START);
    let read = inflated.read_to_end(&mut text); // fails if `start` ends inside a block
    if text.is_empty() && read.is_err() {
        let file = input_file::open(path).map_err(|e| unread(&e))?;
        let mut whole = InflateReader::new(BlockReader::new(file, true)).take(START);
        let failed = |e: std::io::Error| match e.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => unread(&error),
        };
        whole.read_to_end(&mut text).map_err(failed)?;
    }
    of_text(&text, path, preset)
}

fn flate2_start(start: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok((from, _)) = readmill_format::text::inflated(start) {
        let _ = from.take(START).read_to_end(&mut text);
    }
    text
}

/// Returns the kind of file that inflated bytes belong to. Text without a typical first line is
/// recognised by the file name, and then by the columns of its first line.
fn of_text(text: &[u8], path: &Path, preset: Option<Preset>) -> Result<Content> {
    if text.starts_with(b"BAM\x01") {
        return Ok(Content::Bam);
    }
    if text.starts_with(b"BCF") {
        return Ok(Content::Bcf);
    }
    if text.starts_with(b">") {
        return Ok(Content::Fasta);
    }
    if let Some(preset) = preset {
        return Ok(Content::Text(preset));
    }
    if text.starts_with(b"##fileformat=VCF") {
        return Ok(Content::Text(Preset::Vcf));
    }
    if text.starts_with(b"##gff-version") {
        return Ok(Content::Text(Preset::Gff));
    }
    if is_sam(text) {
        return Ok(Content::Sam);
    }
    let line =
        text.split(|&byte| byte == b'\n').find(|line| !line.starts_with(b"#") && !line.is_empty());
    let line = line.unwrap_or_default();
    let by_name = named(path);
    match by_name {
        Some(preset) if line.is_empty() || preset.fits(line) => return Ok(Content::Text(preset)),
        _ => {}
    }
    match [Preset::Gff, Preset::Bed].into_iter().find(|preset| preset.fits(line)) {
        Some(preset) => Ok(Content::Text(preset)),
        None => {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            let what = format!(
                "it is none of BAM, CRAM, SAM, BCF, VCF, BED, GFF and FASTA: its first line is {shown:?}"
            );
            Err(Error::input(what).hint("say what it is by --preset vcf, bed or gff"))
        }
    }
}

fn is_sam(text: &[u8]) -> bool {
    ReadsFormat::of(text) == Some(ReadsFormat::Sam)
}

/// Returns the kind of text that the ending of a file name indicates.
fn named(path: &Path) -> Option<Preset> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let ends = [
        (".vcf.gz", Preset::Vcf),
        (".vcf.bgz", Preset::Vcf),
        (".bed.gz", Preset::Bed),
        (".bed.bgz", Preset::Bed),
        (".gff.gz", Preset::Gff),
        (".gff3.gz", Preset::Gff),
        (".gtf.gz", Preset::Gff),
    ];
    ends.iter().find(|(end, _)| name.ends_with(end)).map(|(_, preset)| *preset)
}

fn fastq() -> Error {
    Error::input("this is FASTQ, which has no index").hint("give the FASTA of the reference")
}

/// Returns the error for a file that is not compressed. Its hint depends on what the file seems to
/// be.
fn not_compressed(start: &[u8], path: &Path) -> Error {
    if is_sam(start) {
        return Error::input(
            "this is SAM that is not compressed, and only compressed files can be indexed",
        )
        .hint("write BAM instead: readmill sort FILE -o SORTED.bam, which also writes the index");
    }
    if ReadsFormat::of(start) == Some(ReadsFormat::Fastq) {
        return fastq();
    }
    let is_text = start.starts_with(b"##fileformat=VCF")
        || start.starts_with(b"##gff-version")
        || named(&super::with_suffix(path, ".gz")).is_some();
    if is_text {
        return Error::input(
            "this file is not compressed, and only files compressed by bgzip can be indexed",
        )
        .hint("compress it: bgzip FILE");
    }
    Error::input("it is none of BAM, CRAM, SAM, BCF, VCF, BED, GFF and FASTA")
        .hint("give one of these; the texts among them must be compressed by bgzip")
}
