//! `readmill cat`: joins BAM files without decompressing their records.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use readmill_process::console::Console;
use readmill_record::header::HeaderLine;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, Header, Ledger, Result, input_file};

use crate::blocks::{BamBlocks, check_contigs, write_eof_block, write_header};
use crate::{FileOutput, head};

pub struct CatOptions {
    pub inputs: Vec<PathBuf>,
    /// The file that contains the output header; `None` uses the header of the first input.
    pub header: Option<PathBuf>,
    /// The command line for a new `@PG` line; `None` adds no line.
    pub program: Option<String>,
    pub allow_missing_eof: bool,
}

/// Joins BAM files with equal contigs into `out`.
///
/// # Errors
/// Fails if a file is not BAM or has different contigs, or if reading or writing fails.
pub fn join_files(
    options: &CatOptions,
    mut out: FileOutput,
    console: &Console,
    ledger: &Ledger,
) -> Result<()> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |meta| meta.len());
    console.begin_stage("joining", Some(options.inputs.iter().map(size).sum()), true);
    let mut header: Option<Header> =
        options.header.as_ref().map(|path| head::read_reads_header(path, ledger)).transpose()?;
    if let (Some(path), Some(header)) = (&options.header, &header) {
        console.warn_about_header(path, header);
    }
    let given = header.is_some();
    let mut first: Option<&Path> = None;
    for path in &options.inputs {
        let input = BamBlocks::open(path, options.allow_missing_eof, ledger)
            .map_err(|e| add_join_hint(e, path))?;
        console.warn_about_header(path, &input.header);
        let common = header.get_or_insert_with(|| input.header.clone());
        let places = ["this file", if given { "the given header" } else { "the first file" }];
        check_contigs(&input.header, common, !given, places).map_err(|e| {
            e.file(path).hint("to join files with different contigs, use readmill merge")
        })?;
        if !given && input.header.references().len() != common.references().len() {
            return Err(Error::input("the header has fewer contigs than the header of the first file")
                .file(path)
                .hint("to join files with different contigs, use readmill merge"));
        }
        if first.is_none() {
            first = Some(path);
            add_read_groups(common, &options.inputs, &input.header, console, ledger)?;
            write_header(&header_with_program(common, options.program.as_deref())?, &mut out, ledger)?;
        }
        input.copy_records(&mut out, |bytes| console.advance(bytes))?;
    }
    write_eof_block(&mut out)?;
    console.clear_progress();
    out.finish_reads(console)
}

/// Adds the read groups that only later files have, because their reads refer to them (as samtools
/// cat 1.24 does, even with -h). `first` is the header of the first file, which has already been
/// read. Other pipes cannot be read twice: omits their read groups with a warning.
fn add_read_groups(
    header: &mut Header,
    paths: &[PathBuf],
    first: &Header,
    console: &Console,
    ledger: &Ledger,
) -> Result<()> {
    let mut lines: Vec<HeaderLine> = header.lines_of_kind(b"RG").cloned().collect();
    let before = lines.len();
    let mut add = |file: &Header| {
        for line in file.lines_of_kind(b"RG") {
            if !lines.iter().any(|known| known.get(b"ID") == line.get(b"ID")) {
                lines.push(line.clone());
            }
        }
    };
    add(first);
    for path in &paths[1..] {
        if path.exists() && !path.is_file() {
            console.write_warning(&format!(
                "{} is a pipe, so read groups that only this input has are missing from the output header",
                path.display()
            ));
            continue;
        }
        add(&head::read_reads_header(path, ledger)?);
    }
    if lines.len() == before { Ok(()) } else { header.replace_lines(b"RG", lines, &[b"PG", b"CO"]) }
}

/// Bytes from which the format of a file is recognised.
const START_BYTES: u64 = 4096;

/// Replaces the error about a file that is not BAM, but CRAM or SAM, by one that names the command
/// for such files.
fn add_join_hint(error: Error, path: &Path) -> Error {
    let mut start = Vec::new();
    if path.is_file() {
        let opened = input_file::open_input(path);
        let _ = opened.and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    }
    match ReadsFormat::recognize(&start) {
        Some(format @ (ReadsFormat::Cram | ReadsFormat::Sam)) => Error::input(format!(
            "this is {}, but only BAM files can be joined block by block",
            format.name()
        ))
        .file(path)
        .hint("to join CRAM or SAM files, use readmill merge"),
        _ => error,
    }
}

/// Returns a copy of the header with readmill's `@PG` line, or without one if `command_line` is
/// `None`.
///
/// # Errors
/// Fails if there is too little memory for the copy.
pub fn header_with_program(header: &Header, command_line: Option<&str>) -> Result<Header> {
    let mut header = header.try_clone()?;
    if let Some(command_line) = command_line {
        header.add_program("readmill", env!("CARGO_PKG_VERSION"), command_line)?;
    }
    Ok(header)
}
