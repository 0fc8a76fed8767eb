//! `readmill dict`: writes the sequence dictionary of a FASTA file, as `samtools dict` or Picard
//! does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use readmill_format::text;
use readmill_record::{Charge, Error, Ledger, Result};

use crate::FileOutput;

#[derive(Default)]
pub struct DictOptions {
    pub assembly: Option<String>,
    pub species: Option<String>,
    /// The value of UR; `None` uses the path of the FASTA file.
    pub uri: Option<String>,
    pub no_header: bool,
    /// Write alternative names of each contig to AN: with and without `chr`, and those of the
    /// mitochondrion.
    pub aliases: bool,
    /// Write `@HD` and the default UR as Picard CreateSequenceDictionary does, and refuse two contigs
    /// of the same name.
    pub as_picard: bool,
}

const FASTA_READ_BYTES: usize = 256 << 10;

const MAX_NAME_LINE: usize = 1 << 20;

struct DictContig {
    name: Vec<u8>,
    length: u64,
    md5: Md5,
}

/// The names of the contigs so far. Picard refuses a name that appears twice, and samtools writes it
/// twice.
struct UniqueNames {
    names: BTreeSet<Vec<u8>>,
    charge: Charge,
}

/// Memory for a name in the set, without its letters.
const BYTES_PER_NAME: u64 = 96;

impl UniqueNames {
    fn insert(&mut self, name: &[u8]) -> Result<()> {
        self.charge.grow(name.len() as u64 + BYTES_PER_NAME)?;
        if self.names.insert(name.to_vec()) {
            return Ok(());
        }
        let what = format!("the contig {} appears more than once", String::from_utf8_lossy(name));
        Err(Error::input(what).hint("remove or rename one of them"))
    }
}

/// Writes the sequence dictionary of the FASTA file at `path`, as `samtools dict` does. `-` is
/// standard input.
///
/// # Errors
/// Fails if the file cannot be read or is not FASTA, if the options refuse two contigs of the same
/// name, or if the output cannot be written.
pub fn write_sequence_dictionary(
    path: &Path,
    options: &DictOptions,
    mut out: FileOutput,
    ledger: &Ledger,
) -> Result<()> {
    let is_stdin = path.as_os_str() == "-";
    let source = if is_stdin { PathBuf::from("/dev/stdin") } else { path.to_path_buf() };
    let mut input = text::open_inflated(&source, ledger)?;
    let own_uri = || match (is_stdin, options.as_picard) {
        (true, _) => None,
        (false, true) => std::env::current_dir().ok().map(|here| java_file_uri(&here.join(path))),
        (false, false) => path.canonicalize().ok().map(|whole| format!("file://{}", whole.display())),
    };
    let uri = options.uri.clone().or_else(own_uri);
    if !options.no_header {
        let line: &[u8] =
            if options.as_picard { b"@HD\tVN:1.6\n" } else { b"@HD\tVN:1.0\tSO:unsorted\n" };
        out.write_buffered(line)?;
    }
    let mut bytes = vec![0; FASTA_READ_BYTES];
    let (mut contig, mut name): (Option<DictContig>, Option<Vec<u8>>) = (None, None);
    let mut begins = true;
    let charge = ledger.empty_charge("names of contigs");
    let mut unique = options.as_picard.then(|| UniqueNames { names: BTreeSet::new(), charge });
    let mut begin_contig = |line: &[u8]| -> Result<DictContig> {
        let contig = DictContig::new(line);
        unique.as_mut().map_or(Ok(()), |names| names.insert(&contig.name)).map_err(|e| e.file(path))?;
        Ok(contig)
    };
    let wrong = |what: &str| Error::input(what.to_string()).file(path);
    loop {
        let n = input.fill_buffer(&mut bytes).map_err(|e| text::read_error(&e, path))?;
        let mut rest = &mut bytes[..n];
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let (line, later) = rest.split_at_mut(end.map_or(rest.len(), |at| at + 1));
            rest = later;
            if begins && line.first() == Some(&b'>') {
                write_contig_line(contig.take(), options, uri.as_deref(), &mut out)?;
                name = Some(Vec::new());
            }
            begins = end.is_some();
            match (&mut name, &mut contig) {
                (Some(name), _) => {
                    name.extend_from_slice(line);
                    if name.len() > MAX_NAME_LINE {
                        return Err(wrong("the line with the name of a contig is longer than 1 MiB"));
                    }
                }
                (None, Some(contig)) => contig.add_bases(line),
                (None, None) if line.trim_ascii().is_empty() => {}
                (None, None) => return Err(wrong("this is not a FASTA file: it does not begin with >")),
            }
            if begins && let Some(line) = name.take() {
                contig = Some(begin_contig(&line)?);
            }
        }
        if n < bytes.len() {
            break;
        }
    }
    let last = name.map(|line| begin_contig(&line)).transpose()?;
    write_contig_line(contig.take().or(last), options, uri.as_deref(), &mut out)?;
    out.finish()
}

impl DictContig {
    /// Starts the contig of a FASTA header line. Its name ends at the first white space.
    fn new(line: &[u8]) -> Self {
        let line = line.strip_prefix(b">").unwrap_or(line);
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        DictContig { name: line[..end].to_vec(), length: 0, md5: Md5::new() }
    }

    /// Adds bases to the length and the MD5, converting them to upper case in place and skipping
    /// white space.
    fn add_bases(&mut self, line: &mut [u8]) {
        line.make_ascii_uppercase();
        for bases in line.split(|byte| !byte.is_ascii_graphic()).filter(|bases| !bases.is_empty()) {
            self.length += bases.len() as u64;
            self.md5.update(bases);
        }
    }
}

fn write_contig_line(
    contig: Option<DictContig>,
    options: &DictOptions,
    uri: Option<&str>,
    out: &mut FileOutput,
) -> Result<()> {
    let Some(DictContig { name, length, md5 }) = contig else { return Ok(()) };
    let digest: String = md5.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    out.write_buffered(b"@SQ\tSN:")?;
    out.write_buffered(&name)?;
    out.write_buffered(format!("\tLN:{length}\tM5:{digest}").as_bytes())?;
    if options.aliases {
        let names = contig_aliases(&String::from_utf8_lossy(&name)).join(",");
        out.write_buffered(format!("\tAN:{names}").as_bytes())?;
    }
    let fields = [("UR", uri), ("AS", options.assembly.as_deref()), ("SP", options.species.as_deref())];
    for (key, value) in fields.iter().filter_map(|(key, value)| Some((key, (*value)?))) {
        out.write_buffered(format!("\t{key}:{value}").as_bytes())?;
    }
    out.write_buffered(b"\n")
}

/// Returns the URI of an absolute path as Java writes it: keeps `.` and `..`, and percent-encodes
/// all bytes that are not allowed in a URI.
fn java_file_uri(path: &Path) -> String {
    let letter = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ if b"-_.!~*'():@&=+$,;/".contains(&byte) => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let letters: String = path.as_os_str().as_encoded_bytes().iter().map(letter).collect();
    format!("file://{letters}")
}

/// Returns alternative names of a contig: with or without `chr`, and for the mitochondrion M and
/// MT.
fn contig_aliases(name: &str) -> Vec<String> {
    let other = name.strip_prefix("chr").map_or_else(|| format!("chr{name}"), String::from);
    let more: &[&str] = match name {
        "M" | "chrM" => &["chrMT", "MT"],
        "MT" | "chrMT" => &["chrM", "M"],
        _ => &[],
    };
    std::iter::once(other).chain(more.iter().map(ToString::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picard 3.4.0 reports that a sequence name "appears more than once in reference file".
    #[test]
    fn only_as_picard_is_a_repeated_name_refused() {
        let dir = tempfile::tempdir().unwrap();
        let fasta = dir.path().join("a.fa");
        let write = |as_picard, ledger: &Ledger| {
            let options = DictOptions { as_picard, ..DictOptions::default() };
            let path = dir.path().join("a.dict");
            let out = FileOutput::open(Some(&path), &[]).unwrap();
            write_sequence_dictionary(&fasta, &options, out, ledger)?;
            Ok::<_, Error>(std::fs::read_to_string(path).unwrap())
        };
        let ledger = Ledger::unlimited();
        for text in [">c1 one\nAC\n>c2\nAC\n>c1 two\nAC\n", ">c1\nAC\n>c1"] {
            std::fs::write(&fasta, text).unwrap();
            let error = write(true, &ledger).unwrap_err().to_string();
            assert!(error.contains("a.fa: the contig c1 appears more than once"), "{error}");
            assert_eq!(write(false, &ledger).unwrap().matches("SN:c1").count(), 2);
        }
        let many: String = (0..10_000).map(|n| format!(">c{n}\nAC\n")).collect();
        std::fs::write(&fasta, many).unwrap();
        let ledger = Ledger::with_capacity(1_000_000);
        assert!(write(true, &ledger).unwrap_err().to_string().contains("names of contigs"));
        write(false, &ledger).unwrap();
    }

    #[test]
    fn a_uri_encodes_what_java_encodes() {
        assert_eq!(java_file_uri(Path::new("/a/./b/../sp ace+1.fa")), "file:///a/./b/../sp%20ace+1.fa");
        assert_eq!(java_file_uri(Path::new("/ä#[x]")), "file:///%C3%A4%23%5Bx%5D");
    }
}
