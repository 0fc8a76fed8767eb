//! The sources of reference bases: a FASTA file, or files named by the MD5 of their bases.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::reference::{Reference, ReferenceWindow};
use readmill_record::{Charge, Error, Header, Ledger, Prepaid, Result, make_room};

/// Returns the MD5 of the bases of a contig, formatted as in the M5 field of an @SQ line.
pub fn contig_md5(reference: &Reference, contig: u32) -> Result<String> {
    reference.contig_md5(contig)
}

/// Path patterns of cached reference files. Each file holds the bases of one contig, and its name is
/// their MD5. The patterns are htslib's REF_CACHE and REF_PATH. URLs are ignored: nothing is
/// downloaded.
#[derive(Clone, Debug, Default)]
pub struct Cache(Vec<String>);

impl Cache {
    pub fn from_environment() -> Self {
        let text = |name: &str| std::env::var(name).unwrap_or_default();
        Self::from_patterns(&text("REF_CACHE"), &text("REF_PATH"))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Builds the list from `cache`, a single pattern, and `path`, a colon-separated list.
    pub fn from_patterns(cache: &str, path: &str) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        patterns.extend((!cache.is_empty()).then(|| cache.to_string()));
        // A colon does not separate patterns if it is part of a URL or is doubled.
        let is_scheme =
            |part: &str| matches!(part.trim_end_matches('\\'), "http" | "https" | "ftp" | "s3");
        let is_url = |part: &str| part.contains("//") || is_scheme(part);
        patterns
            .extend(path.split(':').filter(|part| !part.is_empty() && !is_url(part)).map(String::from));
        Cache(patterns)
    }

    fn find_file(&self, md5: &str) -> Option<PathBuf> {
        self.0.iter().map(|pattern| fill_md5_pattern(pattern, md5)).find(|path| path.is_file())
    }
}

/// Returns the path of the cached file for `md5`. As in htslib, `%s` is replaced by the whole MD5
/// and `%ns` by its next n characters; what remains of the MD5 is appended as the file name.
fn fill_md5_pattern(pattern: &str, md5: &str) -> PathBuf {
    let (mut out, mut rest, mut left) = (String::new(), pattern, md5);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + 1 + digits;
        if rest[end..].starts_with('s') {
            let n = rest[at + 1..end].parse().unwrap_or(left.len()).min(left.len());
            out.push_str(&left[..n]);
            left = &left[n..];
            rest = &rest[end + 1..];
        } else {
            out.push('%');
            rest = &rest[at + 1..];
        }
    }
    out.push_str(rest);
    if left.is_empty() { PathBuf::from(out) } else { Path::new(&out).join(left) }
}

#[derive(Clone, Debug)]
struct ReferenceContig {
    name: Vec<u8>,
    length: u32,
    number: Option<u32>,
    md5: Option<String>,
    /// The UR field of its @SQ line, if it is a path.
    file: Option<PathBuf>,
}

/// The sources of reference bases for all contigs of a header. Clones share them, so each thread
/// can have its own.
///
/// A FASTA file, if given, serves all contigs. Otherwise each contig is looked up by its MD5 in the
/// [`Cache`], then in the indexed FASTA file that the UR field of its @SQ line names. A missing
/// contig is an error only when its bases are needed.
#[derive(Clone, Debug)]
pub struct References(Arc<SharedReferences>);

#[derive(Debug)]
struct SharedReferences {
    fasta: Option<Reference>,
    /// Why the FASTA file does not match the header. Returned as an error when a contig is needed
    /// that the file lacks.
    unfit: Option<Error>,
    cache: Cache,
    contigs: Vec<ReferenceContig>,
    charge: Charge,
}

const CONTIGS_LEDGER_NAME: &str = "contigs of CRAM";

impl SharedReferences {
    fn read_contigs(
        header: &Header,
        numbers: Vec<Option<u32>>,
        ledger: &Ledger,
    ) -> Result<(Vec<ReferenceContig>, Charge)> {
        let (mut contigs, mut prepaid) =
            (Vec::new(), Prepaid::new(ledger.empty_charge(CONTIGS_LEDGER_NAME)));
        make_room(&mut contigs, header.references().len(), prepaid.charge_mut())?;
        let mut numbers = numbers.into_iter();
        for (contig, line) in header.references().iter().zip(header.lines_of_kind(b"SQ")) {
            let text = |key: &[u8; 2]| Some(String::from_utf8_lossy(line.get(key)?).into_owned());
            let file = text(b"UR").and_then(|uri| {
                let path = uri.strip_prefix("file://").or(uri.strip_prefix("file:")).unwrap_or(&uri);
                (!path.contains("://")).then(|| PathBuf::from(path))
            });
            let (name, length) = (contig.name.clone(), contig.length);
            let md5 = text(b"M5").map(|md5| md5.to_ascii_lowercase());
            let md5 = md5.filter(|md5| md5.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let others =
                [md5.as_ref().map(String::len), file.as_ref().map(|file| file.as_os_str().len())];
            [Some(name.len())]
                .into_iter()
                .chain(others)
                .flatten()
                .try_for_each(|n| prepaid.pay_block(n))?;
            contigs.push(ReferenceContig { name, length, number: numbers.next().flatten(), md5, file });
        }
        Ok((contigs, prepaid.into_charge()))
    }
}

impl References {
    /// Returns the sources for the contigs of `header`. As in htslib, a contig may have a different
    /// length in `fasta`: CRAM verifies the bases of each slice, and missing bases are an error
    /// only when they are needed.
    ///
    /// # Errors
    /// The contigs do not fit in the memory of `ledger`.
    pub fn new(
        header: &Header,
        fasta: Option<&Reference>,
        cache: &Cache,
        ledger: &Ledger,
    ) -> Result<Self> {
        let n = header.references().len() * size_of::<Option<u32>>();
        let _numbers = ledger.charge(CONTIGS_LEDGER_NAME, n as u64)?;
        let (numbers, unfit) = match fasta.map(|fasta| fasta.resolve_contigs(header)) {
            Some(Ok(numbers)) => (numbers, None),
            Some(Err(error)) => (Vec::new(), Some(error)),
            None => (Vec::new(), None),
        };
        let (contigs, charge) = SharedReferences::read_contigs(header, numbers, ledger)?;
        let (fasta, cache) = (fasta.cloned(), cache.clone());
        Ok(References(Arc::new(SharedReferences { fasta, unfit, cache, contigs, charge })))
    }

    pub fn ledger(&self) -> &Ledger {
        self.0.charge.ledger()
    }

    pub fn has_fasta(&self) -> bool {
        self.0.fasta.is_some()
    }

    /// Returns true if the bases of at least one contig can be found, or if the header has no
    /// contigs. Otherwise the writer refuses CRAM output before it reads any record.
    pub fn has_any_bases(&self) -> bool {
        let mut contigs = self.0.contigs.iter();
        self.has_fasta()
            || contigs.len() == 0
            || contigs.any(|contig| self.open_other_source(contig).is_ok())
    }

    pub fn contig_count(&self) -> usize {
        self.0.contigs.len()
    }

    /// Returns the length of a contig according to the header, in bases; 0 if there is no such
    /// contig.
    pub fn contig_length(&self, contig: i32) -> i64 {
        self.0.contigs.get(contig as usize).map_or(0, |contig| i64::from(contig.length))
    }

    /// Returns the number of available bases of a contig: its length in the header or in the FASTA
    /// file, whichever is shorter.
    pub fn available_length(&self, contig: i32) -> i64 {
        let length = self.contig_length(contig);
        let number = self.0.contigs.get(contig as usize).and_then(|contig| contig.number);
        let known = self.0.fasta.as_ref().zip(number).map(|(fasta, number)| fasta.contig_length(number));
        known.map_or(length, |known| length.min(i64::from(known)))
    }

    /// Describes the first contig whose length differs between the FASTA file and the header, and
    /// counts the others. Returns `None` if all lengths agree.
    pub fn describe_unequal_lengths(&self) -> Option<String> {
        let fasta = self.0.fasta.as_ref()?;
        let length = |contig: &ReferenceContig| contig.number.map(|number| fasta.contig_length(number));
        let differs = |contig: &&ReferenceContig| length(contig).is_some_and(|n| n != contig.length);
        let mut unequal = self.0.contigs.iter().filter(differs);
        let first = unequal.next()?;
        let (file, name) = (fasta.path().display(), String::from_utf8_lossy(&first.name));
        let (known, told) = (length(first).unwrap_or(0), first.length);
        let others = match unequal.count() {
            0 => String::new(),
            n => format!(", and {n} more contigs differ"),
        };
        Some(format!("{file}: contig {name} has {known} bases here, but {told} in the header{others}"))
    }

    /// Returns the name of a contig for error messages; `?` if there is no such contig.
    pub fn contig_name(&self, contig: i32) -> String {
        let name =
            self.0.contigs.get(contig as usize).map(|contig| String::from_utf8_lossy(&contig.name));
        name.map_or_else(|| "?".into(), |name| name.into_owned())
    }

    pub fn bases_reader(&self) -> Bases {
        Bases {
            references: self.clone(),
            window: self.0.fasta.as_ref().map(Reference::letter_window),
            other: None,
        }
    }

    fn missing_bases_error(&self, contig: &ReferenceContig) -> Error {
        let name = String::from_utf8_lossy(&contig.name);
        let md5 = contig.md5.as_ref().map_or("no M5".into(), |md5| format!("M5 {md5}"));
        let hint = "give the FASTA file with --reference, or set REF_CACHE to the directory that has the sequence with this MD5";
        match &self.0.fasta {
            Some(fasta) => fasta.missing_contig_error(&contig.name),
            None => {
                let what =
                    format!("CRAM needs the bases of contig {name} ({md5}), but there is no reference");
                // As in the writer's message: either the command line names no reference, or the
                // sources that it names lack the bases.
                let is_unnamed = self.0.cache.is_empty();
                if is_unnamed { Error::usage(what) } else { Error::input(what) }.hint(hint)
            }
        }
    }

    /// Opens the source of a contig when no FASTA file is given: its cached file, or the FASTA file
    /// of its UR field. Returns the source and the index of the contig in it.
    fn open_other_source(&self, contig: &ReferenceContig) -> Result<(ReferenceWindow, u32)> {
        if let Some(file) = contig.md5.as_ref().and_then(|md5| self.0.cache.find_file(md5)) {
            let reference = Reference::open_bases(&file, &contig.name, self.0.charge.ledger())?;
            return Ok((reference.letter_window(), 0));
        }
        if let Some(file) = contig.file.as_ref().filter(|file| has_fasta_index(file)) {
            let reference = Reference::open(file, self.0.charge.ledger())?;
            let number = reference.contigs().position(|(name, _)| name == contig.name);
            if let Some(number) = number {
                return Ok((reference.letter_window(), number as u32));
            }
        }
        Err(self.missing_bases_error(contig))
    }
}

/// Returns whether a FASTA file and its .fai index exist. A FASTA file without an index is not
/// used.
fn has_fasta_index(fasta: &Path) -> bool {
    let mut index = fasta.as_os_str().to_owned();
    index.push(OsStr::new(".fai"));
    fasta.is_file() && Path::new(&index).is_file()
}

pub struct Bases {
    references: References,
    window: Option<ReferenceWindow>,
    /// Used without a FASTA file: the last contig read (header index), the window of its source,
    /// and the contig's index in that source.
    other: Option<(i32, ReferenceWindow, u32)>,
}

impl Bases {
    pub fn references(&self) -> &References {
        &self.references
    }

    /// Returns the bases of `contig` from `start` to `end` (0-based, half-open) as upper-case
    /// letters.
    ///
    /// # Errors
    /// No source has the contig or these bases.
    #[inline]
    pub fn read_bases(&mut self, contig: i32, start: u32, end: u32) -> Result<&[u8]> {
        let known = self.references.0.contigs.get(contig as usize);
        let known =
            known.ok_or_else(|| Error::bug("bases were requested of a contig that does not exist"))?;
        let Some(number) = known.number else { return self.read_other_bases(contig, start, end) };
        let window = self.window.as_mut();
        let window =
            window.ok_or_else(|| Error::bug("a contig has a number in a file that does not exist"))?;
        window.codes(number, start, end)
    }

    fn read_other_bases(&mut self, contig: i32, start: u32, end: u32) -> Result<&[u8]> {
        if let Some(error) = &self.references.0.unfit {
            return Err(error.clone());
        }
        let known = &self.references.0.contigs[contig as usize];
        if self.references.0.fasta.is_some() {
            return Err(self.references.missing_bases_error(known));
        }
        if self.other.as_ref().is_none_or(|(of, ..)| *of != contig) {
            self.other = None;
            let (window, number) = self.references.open_other_source(known)?;
            self.other = Some((contig, window, number));
        }
        match &mut self.other {
            Some((_, window, number)) => window.codes(*number, start, end),
            None => Err(Error::bug("a reference was opened but is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_filled_in_as_htslib_does() {
        let path = |pattern| fill_md5_pattern(pattern, "0123456789abcdef").display().to_string();
        assert_eq!(path("/c/%2s/%2s/%s"), "/c/01/23/456789abcdef");
        assert_eq!(path("/c/%s"), "/c/0123456789abcdef");
        assert_eq!(path("/c"), "/c/0123456789abcdef");
    }

    #[test]
    fn urls_are_left_out() {
        let path = "/a/%s:http://x.org/%s:https\\://y.org/%s:/b";
        assert_eq!(Cache::from_patterns("/c", path).0, ["/c", "/a/%s", "/b"]);
    }
}
