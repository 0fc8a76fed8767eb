//! Contigs that occur in a file of genomic features but not in the header of the reads.

use std::path::Path;

use readmill_record::Error;

const MAX_NAMED: usize = 5;

const MAX_NAME_BYTES: usize = 60;

/// Counts features on contigs that the header of the reads lacks. Keeps the first names, so that
/// one warning covers all of them.
///
/// ```
/// use readmill_format::unknown_contigs::UnknownContigs;
///
/// let mut unknown = UnknownContigs::default();
/// for contig in ["1", "1", "2"] {
///     unknown.add_place(contig.as_bytes());
/// }
/// let warning = unknown.warning("a.bed".as_ref(), "regions").unwrap();
/// assert_eq!(warning, "a.bed: ignored 3 regions on contigs that are not in the header: 1, 2");
/// ```
#[derive(Clone, Debug, Default)]
pub struct UnknownContigs {
    names: Vec<String>,
    has_more: bool,
    places: u64,
}

impl UnknownContigs {
    pub fn add_place(&mut self, contig: &[u8]) {
        self.places += 1;
        let shown = String::from_utf8_lossy(&contig[..contig.len().min(MAX_NAME_BYTES)]);
        if self.names.iter().any(|known| *known == shown) {
            return;
        }
        if self.names.len() < MAX_NAMED {
            self.names.push(shown.into_owned());
        } else {
            self.has_more = true;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.places == 0
    }

    /// Returns the warning for a file; `None` if all its contigs are known. `things` is the plural
    /// noun for the counted features, such as `regions`.
    pub fn warning(&self, path: &Path, things: &str) -> Option<String> {
        let (path, places) = (path.display(), self.places);
        let names = self.names.join(", ") + if self.has_more { ", and others" } else { "" };
        (places > 0).then(|| {
            format!("{path}: ignored {places} {things} on contigs that are not in the header: {names}")
        })
    }

    /// Returns the error for a file whose contigs are all unknown, so that it belongs to another
    /// genome.
    pub fn other_genome_error(&self, path: &Path) -> Error {
        let first = self.names.first().map_or("", String::as_str);
        let what =
            format!("none of the contigs is in the header of the reads; the first contig is {first}");
        Error::input(what)
            .file(path)
            .hint("check whether only one of the two has contig names with chr, and give the file for the genome of the reads")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_five_contigs_at_most() {
        let mut unknown = UnknownContigs::default();
        assert_eq!(unknown.warning(Path::new("a"), "regions"), None);
        for n in 0..7 {
            unknown.add_place(format!("c{n}").as_bytes());
        }
        let warning = unknown.warning(Path::new("a"), "regions").unwrap();
        assert!(warning.ends_with(": c0, c1, c2, c3, c4, and others"), "{warning}");
        assert!(warning.starts_with("a: ignored 7 regions"), "{warning}");
    }
}
