//! Maps the contigs of the reads to a reference, and checks that they are the same: by name, length and,
//! if the header states it, the MD5 of the bases.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use md5::{Digest, Md5};
use readmill_record::{Charge, Error, Header, Ledger, Result, input_file};

use super::Reference;
use super::bytes::FastaReader;

type Md5Sum = [u8; 16];

const PIECE: usize = 1 << 16;

/// The contigs of a header with their indexes in a reference. Clones share the results of the
/// checks.
///
/// A contig whose M5 in the header differs from the MD5 of its bases is refused when a read first needs
/// it. Otherwise, a different sequence with the same name and length would silently make all counts
/// wrong. Picard stops as well; it compares the header with the dictionary next to the reference
/// (`ref.dict`). This dictionary is also used here, if it is not older than the FASTA, because computing
/// the MD5 of 250 million bases takes half a second.
#[derive(Clone)]
pub struct Matched {
    reference: Reference,
    header: Header,
    numbers: Arc<Numbers>,
}

struct Numbers {
    list: Vec<Option<u32>>,
    /// The M5 of each contig in the header, if it has one.
    stated: Vec<Option<Md5Sum>>,
    /// Whether the bases of a contig are known to match the header. Always true if the header states no
    /// M5.
    are_same: Vec<AtomicBool>,
    /// Held while the MD5 of a contig is computed, so that only one thread computes it.
    summing: Mutex<()>,
    _charge: Charge,
}

impl Matched {
    /// Matches the contigs of `header` with those of `reference`, by the rules of
    /// [`Reference::match_contigs`].
    ///
    /// # Errors
    /// Fails if the contigs do not match, or the memory for their indexes is not available.
    pub fn new(reference: &Reference, header: &Header) -> Result<Self> {
        let contigs = header.references().len();
        let each = size_of::<Option<u32>>() + size_of::<Option<Md5Sum>>() + size_of::<AtomicBool>();
        let bytes = contigs * each;
        let _charge = reference.0.ledger().charge("contigs of the reference", bytes as u64)?;
        let list = reference.match_contigs(header)?;
        let mut stated = vec![None; contigs];
        for line in header.lines_of_kind(b"SQ") {
            let id = line.get(b"SN").and_then(|name| header.reference_id(name));
            if let Some(id) = id.and_then(|id| usize::try_from(id).ok()) {
                stated[id] = line.get(b"M5").and_then(parse_md5);
            }
        }
        let are_same = stated.iter().map(|stated| AtomicBool::new(stated.is_none())).collect();
        let mut numbers = Numbers { list, stated, are_same, summing: Mutex::new(()), _charge };
        if numbers.stated.iter().any(Option::is_some) {
            numbers.compare_with_dictionary(reference, header);
        }
        let numbers = Arc::new(numbers);
        Ok(Matched { reference: reference.clone(), header: header.clone(), numbers })
    }

    /// Returns the index of contig `contig` in the reference, and its length there; `None` if the header
    /// has no such contig. The first call for a contig may have to compute its MD5.
    ///
    /// # Errors
    /// Fails if the reference does not have the contig, or has different bases under its name.
    #[inline]
    pub fn locate_contig(&self, contig: i32) -> Result<Option<(u32, u32)>> {
        let Ok(contig) = usize::try_from(contig) else { return Ok(None) };
        match self.numbers.list.get(contig) {
            Some(Some(number)) => {
                if !self.numbers.are_same[contig].load(Ordering::Relaxed) {
                    self.compare_bases(contig, *number)?;
                }
                Ok(Some((*number, self.reference.contig_length(*number))))
            }
            Some(None) => {
                Err(self.reference.missing_contig_error(&self.header.references()[contig].name))
            }
            None => Ok(None),
        }
    }

    #[cold]
    fn compare_bases(&self, contig: usize, number: u32) -> Result<()> {
        let _summing = self.numbers.summing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = &self.numbers.are_same[contig];
        if is_same.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(stated) = &self.numbers.stated[contig] {
            let found = self.reference.sum_bases(number)?;
            if *stated != found {
                let name = &self.header.references()[contig].name;
                return Err(self.reference.different_bases_error(name, stated, &found));
            }
        }
        is_same.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Parses an MD5. Returns `None` if the text is not an MD5, which then cannot be checked.
fn parse_md5(text: &[u8]) -> Option<Md5Sum> {
    let digit = |at: usize| char::from(text[at]).to_digit(16);
    let mut sum = Md5Sum::default();
    if text.len() != 2 * sum.len() {
        return None;
    }
    for (i, byte) in sum.iter_mut().enumerate() {
        *byte = (16 * digit(2 * i)? + digit(2 * i + 1)?) as u8;
    }
    Some(sum)
}

fn format_md5(sum: &Md5Sum) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Numbers {
    /// Finds contigs whose M5 agrees with the dictionary next to the reference, so that their bases need
    /// not be read. All other contigs are checked by their bases, because the dictionary may belong to
    /// another file.
    fn compare_with_dictionary(&mut self, reference: &Reference, header: &Header) {
        let Some((text, _charge)) = read_dictionary(reference.path(), reference.0.ledger()) else {
            return;
        };
        for line in text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b"@SQ\t")) {
            let field =
                |key: &[u8]| line.split(|&byte| byte == b'\t').find_map(|field| field.strip_prefix(key));
            let id = field(b"SN:").and_then(|name| header.reference_id(name));
            let Some(id) = id.and_then(|id| usize::try_from(id).ok()) else { continue };
            let length = self.list[id].map(|number| reference.contig_length(number).to_string());
            let is_of_it = length.is_some_and(|length| field(b"LN:") == Some(length.as_bytes()));
            let sum = field(b"M5:").map(<[u8]>::trim_ascii).and_then(parse_md5);
            if is_of_it && sum.is_some() && sum == self.stated[id] {
                *self.are_same[id].get_mut() = true;
            }
        }
    }
}

/// Reads the dictionary next to a FASTA. Returns `None` if there is none, if it is older than the FASTA,
/// or if there is no memory for it.
fn read_dictionary(fasta: &Path, ledger: &Ledger) -> Option<(Vec<u8>, Charge)> {
    let is_packed = fasta.extension().is_some_and(|ending| ending == "gz");
    let stem = if is_packed { fasta.with_extension("") } else { fasta.to_path_buf() };
    let path = stem.with_extension("dict");
    let modified = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    if modified(&path)? < modified(fasta)? {
        return None;
    }
    let file = input_file::open_input(&path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let charge = ledger.charge("the dictionary of the reference", bytes).ok()?;
    let mut text = Vec::with_capacity(usize::try_from(bytes).ok()?);
    file.take(bytes).read_to_end(&mut text).ok()?;
    Some((text, charge))
}

impl Reference {
    /// Returns the MD5 of a contig as in `@SQ` lines, computed from its letters in upper case. Like
    /// samtools dict and Picard, it treats every visible character as a letter.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn contig_md5(&self, number: u32) -> Result<String> {
        self.sum_bases(number).map(|sum| format_md5(&sum))
    }

    fn sum_bases(&self, number: u32) -> Result<Md5Sum> {
        let (mut md5, mut reader) = (Md5::new(), FastaReader::default());
        let sequence = self.0.sequences.get(number as usize).filter(|it| it.length > 0);
        let mut text = vec![0u8; PIECE];
        let places = sequence.map(|it| (it.base_offset(0), it.base_offset(it.length - 1) + 1));
        let (mut at, end) = places.unwrap_or_default();
        while at < end {
            let wanted = (end - at).min(PIECE as u64) as usize;
            let n = reader.read_text(&self.0.layout, at, &mut text[..wanted])?;
            if n < wanted {
                let what = "the reference became shorter while it was read";
                return Err(Error::input(what).file(self.path()));
            }
            at += n as u64;
            let mut letters = 0;
            for i in 0..n {
                text[letters] = text[i].to_ascii_uppercase();
                letters += usize::from(text[i].is_ascii_graphic());
            }
            md5.update(&text[..letters]);
        }
        Ok(md5.finalize().into())
    }

    fn different_bases_error(&self, name: &[u8], stated: &Md5Sum, found: &Md5Sum) -> Error {
        let (name, [stated, found]) = (String::from_utf8_lossy(name), [stated, found].map(format_md5));
        let what = format!(
            "contig {name} has different bases here (M5 {found}) than in the header of the reads (M5 {stated})"
        );
        Error::input(what).file(self.path()).hint(
            "give the FASTA file that the reads were aligned to; if this is that file, correct the header with readmill reheader",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASES: &str = "ACGTNacgt.-*RY";

    fn matched(sum: &str, dictionary: Option<&str>) -> Result<Option<(u32, u32)>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.fa");
        std::fs::write(
            &path,
            format!(">c x\n{}\n{}\n{}\n>d\nACGT\n", &BASES[..6], &BASES[6..12], &BASES[12..]),
        )
        .unwrap();
        if let Some(text) = dictionary {
            std::fs::write(dir.path().join("r.dict"), text).unwrap();
        }
        let header = format!("@SQ\tSN:d\tLN:4\n@SQ\tSN:c\tLN:14{sum}\n");
        let reference = Reference::open(&path, &Ledger::unlimited()).unwrap();
        let header = Header::parse(header.as_bytes()).unwrap();
        Matched::new(&reference, &header)?.locate_contig(1)
    }

    /// Guards against a former defect: reads were counted against another sequence of the same name
    /// and length.
    #[test]
    fn a_contig_with_another_m5_is_refused() {
        // As samtools 1.24 dict and Picard CreateSequenceDictionary compute it.
        let own = "01b7d589425ef3d333fdcaab07c41637";
        let other = "00000000000000000000000000000000";
        assert_eq!(matched("", None), Ok(Some((0, 14))));
        assert_eq!(matched("\tM5:*", None), Ok(Some((0, 14))));
        assert_eq!(matched(&format!("\tM5:{own}"), None), Ok(Some((0, 14))));
        assert_eq!(matched(&format!("\tM5:{}", own.to_uppercase()), None), Ok(Some((0, 14))));
        let error = matched(&format!("\tM5:{other}"), None).unwrap_err().to_string();
        assert!(error.contains("r.fa") && error.contains(own) && error.contains(other), "{error}");
        let dictionary = format!("@HD\tVN:1.6\n@SQ\tSN:c\tLN:14\tM5:{other}\tUR:x\n");
        assert_eq!(matched(&format!("\tM5:{other}"), Some(&dictionary)), Ok(Some((0, 14))), "as Picard");
        assert_eq!(
            matched(&format!("\tM5:{own}"), Some(&dictionary)),
            Ok(Some((0, 14))),
            "an old dictionary"
        );
        let longer = dictionary.replace("LN:14", "LN:15");
        assert!(matched(&format!("\tM5:{other}"), Some(&longer)).is_err());
    }
}
