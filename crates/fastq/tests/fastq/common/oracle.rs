//! A simple FASTQ reader. It holds the whole text in memory and reads it line by line.

/// A read: name, comment, bases, qualities.
pub type Owned = (Vec<u8>, Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// The content of a set of files: the reads of whole templates, and the first fault as file and
/// record (1-based).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub reads: Vec<Owned>,
    /// Size of each template in bytes: the text of its lines without `@` or `>` and line ends, and
    /// without the lines that start with `+`.
    pub bytes: Vec<usize>,
    pub fault: Option<(usize, u64)>,
}

impl Truth {
    /// Returns the sizes of batches that have at most `templates` templates and end at `bytes`
    /// bytes, and whether the last one is full.
    pub fn batches(&self, templates: usize, bytes: usize) -> (Vec<usize>, bool) {
        let (mut batches, mut held, mut full) = (Vec::new(), 0, true);
        for more in &self.bytes {
            if full {
                batches.push(0);
                held = 0;
            }
            let last = batches.last_mut().unwrap();
            *last += 1;
            held += more;
            full = *last == templates || held >= bytes;
        }
        (batches, full)
    }
}

struct OracleLines<'a> {
    lines: Vec<&'a [u8]>,
    at: usize,
    records: u64,
    bytes: usize,
}

fn is_start(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'@' | b'>' | b'+'))
}

fn printable(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| (33..=126).contains(b))
}

pub fn short(name: &[u8]) -> &[u8] {
    let n = name.len();
    if n > 2 && name[n - 2] == b'/' && name[n - 1].is_ascii_digit() { &name[..n - 2] } else { name }
}

impl<'a> OracleLines<'a> {
    fn new(text: &'a [u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut lines: Vec<&[u8]> =
            text.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
        // There is no further line after a final newline.
        if text.is_empty() || text.ends_with(b"\n") {
            lines.pop();
        }
        OracleLines { lines, at: 0, records: 0, bytes: 0 }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        self.at += 1;
        self.lines.get(self.at - 1).copied()
    }

    fn peek(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).copied()
    }

    /// Returns the next record, `None` at the end, or a fault.
    fn record(&mut self) -> Result<Option<Owned>, ()> {
        while self.peek().is_some_and(<[u8]>::is_empty) {
            self.at += 1;
        }
        let Some(head) = self.next() else { return Ok(None) };
        if !matches!(head[0], b'@' | b'>') {
            return Err(());
        }
        let line = &head[1..];
        let end = line.iter().position(|b| b" \t".contains(b)).unwrap_or(line.len());
        let name = &line[..end];
        let comment: Vec<u8> = line[end..].iter().skip_while(|b| b" \t".contains(b)).copied().collect();
        let bad = |b: &u8| *b < 32 || *b == 127;
        if name.is_empty() || short(name).len() > 254 || name.iter().any(bad) {
            return Err(());
        }
        let mut bases = Vec::new();
        while let Some(line) = self.peek().filter(|line| !is_start(line)) {
            bases.extend_from_slice(line);
            self.at += 1;
        }
        if !printable(&bases) {
            return Err(());
        }
        let mut qualities = None;
        if self.peek().is_some_and(|line| line[0] == b'+') {
            self.at += 1;
            let mut found = Vec::new();
            while let Some(line) = self.next() {
                found.extend_from_slice(line);
                if found.len() >= bases.len() {
                    break;
                }
            }
            if found.len() != bases.len() || !printable(&found) {
                return Err(());
            }
            qualities = Some(found);
        } else if head[0] == b'@' {
            return Err(());
        }
        self.records += 1;
        self.bytes = line.len() + bases.len() + qualities.as_ref().map_or(0, Vec::len);
        Ok(Some((name.to_vec(), comment, bases, qualities)))
    }
}

/// Reads files with `segments` reads per template.
pub fn read(texts: &[Vec<u8>], segments: usize) -> Truth {
    let mut files: Vec<OracleLines<'_>> = texts.iter().map(|text| OracleLines::new(text)).collect();
    let mut truth = Truth::default();
    loop {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for segment in 0..segments {
            let file = segment % files.len();
            match files[file].record() {
                Ok(Some(read)) => {
                    found.push((file, read));
                    bytes += files[file].bytes;
                }
                Ok(None) => {}
                Err(()) => {
                    truth.fault = Some((file, files[file].records + 1));
                    return truth;
                }
            }
        }
        if found.is_empty() {
            return truth;
        }
        if found.len() < segments {
            truth.fault = Some((found[0].0, files[found[0].0].records));
            return truth;
        }
        if segments == 2 && short(&found[0].1.0) != short(&found[1].1.0) {
            truth.fault = Some((0, files[0].records - u64::from(files.len() == 1)));
            return truth;
        }
        truth.bytes.push(bytes);
        truth.reads.extend(found.into_iter().map(|(_, read)| read));
    }
}
