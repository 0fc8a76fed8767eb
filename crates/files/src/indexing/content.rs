//! Detects the kind of a file from its first bytes, to choose its index.

use std::io::Read;
use std::path::Path;

use readmill_cram::MAGIC as CRAM;
use readmill_format::bgzf::{BlockReader, InflateReader};
use readmill_format::tabix::TextPreset;
use readmill_format::text::is_bgzf;
use readmill_process::atomic_file::with_suffix;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, Result, input_file};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexableContent {
    Bam,
    Cram,
    Sam,
    Bcf,
    Text(TextPreset),
    Fasta,
}

const EXAMINED_BYTES: u64 = 1 << 16;

/// Returns the kind of the file at `path`. `preset` is the text format given by the user, which is
/// used if the file is compressed text.
///
/// # Errors
/// Fails if the file cannot be read, or if files of its kind cannot be indexed.
pub fn detect_content(path: &Path, preset: Option<TextPreset>) -> Result<IndexableContent> {
    if path.as_os_str() == "-" {
        return Err(Error::usage("standard input cannot be indexed").hint("give a file name"));
    }
    detect_file_content(path, preset).map_err(|e| e.file(path))
}

fn detect_file_content(path: &Path, preset: Option<TextPreset>) -> Result<IndexableContent> {
    let unread = |e: &std::io::Error| Error::io("cannot be opened", e);
    let is_pipe = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if is_pipe {
        return Ok(IndexableContent::Fasta); // only the aligner's index can be made from a pipe, since it reads once
    }
    let mut file = input_file::open_input(path).map_err(|e| unread(&e))?;
    let mut start = Vec::new();
    (&mut file).take(EXAMINED_BYTES).read_to_end(&mut start).map_err(|e| unread(&e))?;
    if start.is_empty() {
        return Err(Error::input("the file is empty").hint("a valid file has at least a header"));
    }
    if start.starts_with(CRAM) {
        return Ok(IndexableContent::Cram);
    }
    if start.trim_ascii_start().starts_with(b">") {
        return Ok(IndexableContent::Fasta);
    }
    if start.starts_with(&[0x1f, 0x8b]) && !is_bgzf(&start) {
        let packed = inflate_start(&start);
        if packed.starts_with(b">") {
            return Ok(IndexableContent::Fasta); // the aligner can read it, though faidx cannot
        }
        if ReadsFormat::recognize(&packed) == Some(ReadsFormat::Fastq) {
            return Err(fastq_error());
        }
        return Err(Error::input(
            "this file is compressed with gzip, but only files compressed with bgzip can be indexed",
        )
        .hint("compress the file again: gunzip -c FILE | bgzip > NEW"));
    }
    if !is_bgzf(&start) {
        return Err(not_compressed_error(&start, path));
    }
    let mut text = Vec::new();
    let mut inflated = InflateReader::new(BlockReader::new(&start[..], true)).take(EXAMINED_BYTES);
    let read = inflated.read_to_end(&mut text); // fails if `start` ends inside a block
    if text.is_empty() && read.is_err() {
        let file = input_file::open_input(path).map_err(|e| unread(&e))?;
        let mut whole = InflateReader::new(BlockReader::new(file, true)).take(EXAMINED_BYTES);
        let failed = |e: std::io::Error| match e.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => unread(&error),
        };
        whole.read_to_end(&mut text).map_err(failed)?;
    }
    detect_text_content(&text, path, preset)
}

fn inflate_start(start: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok((from, _)) = readmill_format::text::inflating_reader(start) {
        let _ = from.take(EXAMINED_BYTES).read_to_end(&mut text);
    }
    text
}

/// Returns the kind of file to which inflated bytes belong. Text without a typical first line is
/// recognised by the file name, and then by the columns of its first line.
fn detect_text_content(
    text: &[u8],
    path: &Path,
    preset: Option<TextPreset>,
) -> Result<IndexableContent> {
    if text.starts_with(b"BAM\x01") {
        return Ok(IndexableContent::Bam);
    }
    if text.starts_with(b"BCF") {
        return Ok(IndexableContent::Bcf);
    }
    if text.starts_with(b">") {
        return Ok(IndexableContent::Fasta);
    }
    if let Some(preset) = preset {
        return Ok(IndexableContent::Text(preset));
    }
    if text.starts_with(b"##fileformat=VCF") {
        return Ok(IndexableContent::Text(TextPreset::Vcf));
    }
    if text.starts_with(b"##gff-version") {
        return Ok(IndexableContent::Text(TextPreset::Gff));
    }
    if is_sam(text) {
        return Ok(IndexableContent::Sam);
    }
    let line =
        text.split(|&byte| byte == b'\n').find(|line| !line.starts_with(b"#") && !line.is_empty());
    let line = line.unwrap_or_default();
    let by_name = preset_of_name(path);
    match by_name {
        Some(preset) if line.is_empty() || preset.is_line_of_kind(line) => {
            return Ok(IndexableContent::Text(preset));
        }
        _ => {}
    }
    match [TextPreset::Gff, TextPreset::Bed].into_iter().find(|preset| preset.is_line_of_kind(line)) {
        Some(preset) => Ok(IndexableContent::Text(preset)),
        None => {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            let what = format!(
                "this is not a BAM, CRAM, SAM, BCF, VCF, BED, GFF or FASTA file: the first line is {shown:?}"
            );
            Err(Error::input(what).hint("if the file is VCF, BED or GFF, set the format with --preset"))
        }
    }
}

fn is_sam(text: &[u8]) -> bool {
    ReadsFormat::recognize(text) == Some(ReadsFormat::Sam)
}

/// Returns the text format that a file name extension indicates.
fn preset_of_name(path: &Path) -> Option<TextPreset> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let ends = [
        (".vcf.gz", TextPreset::Vcf),
        (".vcf.bgz", TextPreset::Vcf),
        (".bed.gz", TextPreset::Bed),
        (".bed.bgz", TextPreset::Bed),
        (".gff.gz", TextPreset::Gff),
        (".gff3.gz", TextPreset::Gff),
        (".gtf.gz", TextPreset::Gff),
    ];
    ends.iter().find(|(end, _)| name.ends_with(end)).map(|(_, preset)| *preset)
}

fn fastq_error() -> Error {
    Error::input("FASTQ files cannot be indexed").hint("give the FASTA file of the reference")
}

/// Returns the error for an uncompressed file. Its message and hint depend on what the file seems
/// to be.
fn not_compressed_error(start: &[u8], path: &Path) -> Error {
    if is_sam(start) {
        return Error::input(
            "this SAM file is not compressed, and only compressed files can be indexed",
        )
        .hint("convert the file to BAM, which also writes the index: readmill sort FILE -o SORTED.bam");
    }
    if ReadsFormat::recognize(start) == Some(ReadsFormat::Fastq) {
        return fastq_error();
    }
    let is_text = start.starts_with(b"##fileformat=VCF")
        || start.starts_with(b"##gff-version")
        || preset_of_name(&with_suffix(path, ".gz")).is_some();
    if is_text {
        return Error::input(
            "this file is not compressed, and only files compressed with bgzip can be indexed",
        )
        .hint("compress the file: bgzip FILE");
    }
    Error::input("this is not a BAM, CRAM, SAM, BCF, VCF, BED, GFF or FASTA file")
        .hint("give a file in one of these formats; compress SAM, VCF, BED and GFF with bgzip")
}
