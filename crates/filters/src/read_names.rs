//! The flag `--qname-file`: keep or drop reads by a list of read names.
//!
//! Lists may have millions of names, so a list is stored as the text of its file, with the bounds
//! of each word and a hash table of 32-bit word indexes. Names have no allocations of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashTable;
use readmill_format::text;
use readmill_record::{Charge, Detail, Error, RecordRef, Result, Step, make_room, table_slots};
use xxhash_rust::xxh3::xxh3_64;

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, ListFiles};
use crate::in_read_groups::split_words;
use crate::spec::{Filter, FilterSpec, MakeContext};

const MEMORY_NAME: &str = "names of reads";

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "qname-file",
        FlagValue::File,
        "FILE",
        "Keep only reads named in FILE (^FILE drops these reads). May be repeated",
    )
    .repeatable()
    .with_samtools_names(&["N"])],
    parse: |given, filters| {
        filters.extend(given.list_files("qname-file")?.map(|lists| ReadNamesRequest { lists }));
        Ok(())
    },
};

#[derive(Debug)]
struct ReadNamesRequest {
    lists: ListFiles,
}

impl Filter for ReadNamesRequest {
    fn command_words(&self) -> Vec<String> {
        self.lists.command_words("--qname-file")
    }

    fn input_files(&self) -> Vec<PathBuf> {
        self.lists.paths.clone()
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let lists = self.lists.paths.iter().map(|path| WordSet::open(path, context));
        let lists = lists.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(ReadNames { lists, keep: self.lists.keep }.into_step()))
    }
}

/// The words of a file, as for `--qname-file` and `--with-tag-in`. The set's memory is charged to
/// the ledger. Clones share one table.
#[derive(Clone)]
pub struct WordSet(Arc<WordTable>);

struct WordTable {
    text: Vec<u8>,
    /// Start and end (exclusive) of each word in `text`.
    places: Vec<(usize, usize)>,
    table: HashTable<u32>,
    _charge: Charge,
}

impl WordSet {
    /// Reads the words of a file, separated by white space as in samtools.
    ///
    /// # Errors
    /// The file cannot be read, or does not fit into the memory of the ledger.
    pub fn open(path: &Path, context: &MakeContext<'_>) -> Result<Self> {
        let mut charge = context.ledger.empty_charge(MEMORY_NAME);
        let text = text::read_all(path, &mut charge)?;
        WordSet::from_text(text, charge).map_err(|e| e.file(path))
    }

    /// Builds the set from `text`, whose memory is already charged to `charge`.
    ///
    /// # Errors
    /// There are 2^32 words or more, or the table does not fit into the memory of the ledger.
    fn from_text(text: Vec<u8>, mut charge: Charge) -> Result<Self> {
        let mut places = Vec::new();
        // Counted first, so that the list is as long as it must be and never grows.
        make_room(&mut places, split_words(&text).count(), &mut charge)?;
        for word in split_words(&text) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            places.push((start, start + word.len()));
        }
        if u32::try_from(places.len()).is_err() {
            return Err(Error::input("the list has more than 4,294,967,295 words"));
        }
        charge.grow(table_slots(places.len()) as u64 * (size_of::<u32>() as u64 + 1))?;
        let mut table = HashTable::with_capacity(places.len());
        let at = |number: u32| {
            let (from, to) = places[number as usize];
            &text[from..to]
        };
        for number in 0..places.len() as u32 {
            let hash = xxh3_64(at(number));
            if table.find(hash, |&other| at(other) == at(number)).is_none() {
                table.insert_unique(hash, number, |&other| xxh3_64(at(other)));
            }
        }
        Ok(WordSet(Arc::new(WordTable { text, places, table, _charge: charge })))
    }

    pub fn contains(&self, word: &[u8]) -> bool {
        let WordTable { text, places, table, .. } = &*self.0;
        let is_it = |&number: &u32| {
            let (from, to) = places[number as usize];
            &text[from..to] == word
        };
        table.find(xxh3_64(word), is_it).is_some()
    }
}

/// Keeps reads whose names are in one of the lists (`samtools view -N`), or drops them (`-N ^FILE`).
///
/// ```
/// use readmill_filters::Filters;
///
/// # fn main() -> readmill_record::Result<()> {
/// let filters = Filters::from_words(["--qname-file", "^names.txt"])?; // drops the listed reads
/// assert_eq!(filters.input_files().next().unwrap().to_str(), Some("names.txt"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReadNames {
    lists: Vec<WordSet>,
    keep: bool,
}

impl Criterion for ReadNames {
    fn name(&self) -> &'static str {
        "qname-file"
    }

    fn dropped_label(&self) -> &'static str {
        "reads dropped by their names"
    }

    fn detail(&self) -> Detail {
        Detail::WithoutFields
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(self.lists.iter().any(|names| names.contains(record.qname())) == self.keep)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;
    use crate::Filters;
    use crate::spec::FilterStage;
    use readmill_record::Ledger;

    #[test]
    fn names_stay_or_go() {
        let header = header("@SQ SN:c LN:1000");
        let reads = ["a", "b", "aa"].map(|name| format!("{name} 0 c 7 60 4M * 0 0 ACGT IIII"));
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let text = " a\nx\x0by a\n";
        let words = |text: &str| {
            let charge = Ledger::unlimited().empty_charge(MEMORY_NAME);
            WordSet::from_text(text.as_bytes().to_vec(), charge).unwrap()
        };
        let names = words(text);
        let known = ["a", "x", "y", "", "a\nx"].map(|word| names.contains(word.as_bytes()));
        assert_eq!(known, [true, true, true, false, false]);
        let left = |lists: &[WordSet], keep| {
            kept(&mut ReadNames { lists: lists.to_vec(), keep }.into_step(), &header, &reads)
        };
        let lists = [names, words("aa")];
        let left = [1, 2].map(|count| [true, false].map(|keep| left(&lists[..count], keep)));
        assert_eq!(left, [["a", "b aa"], ["a aa", "b"]]);
    }

    #[test]
    fn files_of_names_add_up_and_files_to_keep_and_to_drop_do_not_mix() {
        let parse = |line: &str| Filters::from_words(line.split(' '));
        for flag in ["--qname-file", "--in-read-groups"] {
            for mark in ["", "^"] {
                let line = format!("{flag} {mark}a {flag} {mark}b");
                let filters = parse(&line).unwrap();
                assert_eq!(filters.input_files().collect::<Vec<_>>(), ["a", "b"].map(PathBuf::from));
                assert_eq!(filters.command_words(FilterStage::BeforeSort).join(" "), line);
            }
            let error = parse(&format!("{flag} a {flag} ^b")).unwrap_err();
            assert!(error.what.starts_with(&format!("{flag} has both")), "{error}");
        }
    }

    #[test]
    fn the_text_of_a_list_is_paid_for_as_long_as_it_is_there() {
        let text = (0..100_000).fold(String::new(), |text, n| text + &format!("name{n}\n")).into_bytes();
        let ledger = Ledger::with_capacity(16 << 20);
        let charge = ledger.charge(MEMORY_NAME, text.capacity() as u64).unwrap();
        let held = text.capacity() + 100_000 * 16 + 131_072 * 5;
        let names = WordSet::from_text(text, charge).unwrap();
        assert!(names.contains(b"name77") && ledger.used() >= held as u64, "{}", ledger.used());
        let text = vec![b'\n'; 1 << 20];
        let charge = Ledger::with_capacity(1 << 20).charge(MEMORY_NAME, 1 << 20).unwrap();
        assert!(WordSet::from_text(text, charge).is_ok(), "a list without words");
        let charge = Ledger::with_capacity(60).charge(MEMORY_NAME, 4).unwrap();
        assert!(WordSet::from_text(b"a b ".to_vec(), charge).is_err());
    }
}
