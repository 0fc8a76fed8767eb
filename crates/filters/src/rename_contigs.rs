//! The flag `--rename-contigs`: rename reference sequences with a table of old and new names.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::text::LineReader;
use readmill_record::header::HeaderLine;
use readmill_record::tag::{Field, Fields, Tag, TagSet};
use readmill_record::{
    Batch, Changes, Charge, Error, Header, Ledger, Prepaid, RecordRef, Result, Step, edit,
};

use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "rename-contigs",
        FlagValue::File,
        "FILE",
        "Rename reference sequences, also in SA, OA, XA, XB and CC. FILE is a table of old and new names",
    )],
    parse: |given, filters| {
        filters.extend(given.path_value("rename-contigs").map(|path| RenameContigsRequest { path }));
        Ok(())
    },
};

#[derive(Debug)]
struct RenameContigsRequest {
    path: PathBuf,
}

impl Filter for RenameContigsRequest {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--rename-contigs", self.path.display())
    }

    fn input_files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(RenameContigs::open(&self.path, context.header, context.ledger)?))
    }
}

/// Renames reference sequences (such as `1` to `chr1`): SN in `@SQ`, and names in the optional
/// fields SA, OA, XA and XB (lists of `name,…;`) and CC. RNAME and RNEXT are indexes in BAM and
/// follow the header.
///
/// Nothing else changes. The order of sequences stays the same, so a sorted file remains sorted.
/// M5, UR and AN are kept, except that a new name is removed from AN of its own line, because all
/// names must be different (SAM specification, section 1.3). elPrep's hidden `rename-chromosomes`
/// prefixes every name with `chr`, but only in RNAME and RNEXT.
#[derive(Clone)]
pub struct RenameContigs {
    names: Arc<HashMap<Vec<u8>, Vec<u8>>>,
    fields: TagSet,
    /// Maximum number of bytes that a new name adds to the old one, for `Step::max_growth_bytes`.
    max_growth: usize,
    _charge: Option<Arc<Charge>>,
}

/// Memory of a table entry in bytes, excluding the names: two byte vectors, in a table that may be
/// half full and exists twice while it grows.
const ENTRY_BYTES: usize = 3 * 2 * size_of::<Vec<u8>>();

const LIST_TAGS: [Tag; 4] = [*b"SA", *b"OA", *b"XA", *b"XB"];

const CC: Tag = *b"CC";

/// Minimum number of commas in an entry that starts with a name: `name,pos,CIGAR,NM` has three.
const MIN_COMMAS: usize = 3;

impl RenameContigs {
    /// Reads a table of old and new names, and renames the sequences of `header`. Each line has one
    /// pair, separated by a tab or spaces. Lines about sequences that are not in the header are
    /// ignored. The table's memory is charged to `ledger`.
    ///
    /// # Errors
    /// A line is malformed, no old name is in the header, or two sequences would have the same
    /// name.
    pub fn open(path: &Path, header: &mut Header, ledger: &Ledger) -> Result<Self> {
        let (mut lines, mut table) = (LineReader::open(path, ledger)?, HashMap::new());
        let mut prepaid = Prepaid::new(ledger.empty_charge("new names of contigs"));
        while lines.advance_line()? {
            let words: Vec<&[u8]> = split_words(lines.line()).take(3).collect();
            match words[..] {
                [] => {}
                [comment, ..] if comment.starts_with(b"#") => {}
                [old, new] if is_reference_name(new) => {
                    let paid =
                        prepaid.pay_block(old.len()).and(prepaid.pay_block(new.len() + ENTRY_BYTES));
                    paid.map_err(|e| e.file(path))?;
                    if table.insert(old.to_vec(), new.to_vec()).is_some_and(|before| before != new) {
                        let old = String::from_utf8_lossy(old);
                        return Err(lines.line_error(format!("{old} has two new names")));
                    }
                }
                _ => {
                    return Err(
                        lines.line_error("a line must have an old and a new name, separated by a tab")
                    );
                }
            }
        }
        let step = Self::new(table, header).map_err(|error| error.file(path))?;
        Ok(RenameContigs { _charge: Some(Arc::new(prepaid.into_charge())), ..step })
    }

    /// Creates the step from a table of old and new names, and renames the sequences of `header`.
    ///
    /// # Errors
    /// No old name is in the header, or two sequences would have the same name.
    pub fn new(mut table: HashMap<Vec<u8>, Vec<u8>>, header: &mut Header) -> Result<Self> {
        let known: HashSet<&[u8]> = header.references().iter().map(|it| &it.name[..]).collect();
        let first = table.keys().min().cloned();
        table.retain(|old, _| known.contains(&old[..]));
        if let Some(first) = first.filter(|_| table.is_empty()) {
            let first = String::from_utf8_lossy(&first);
            return Err(Error::input(format!(
                "none of the old names, such as {first}, is in the header"
            ))
            .hint("each line must have the old name first, then the new name"));
        }
        let mut taken = HashSet::new();
        for it in header.references() {
            let name = table.get(&it.name).unwrap_or(&it.name);
            if !taken.insert(name) {
                let name = String::from_utf8_lossy(name);
                return Err(Error::input(format!("two reference sequences would have the name {name}")));
            }
        }
        let renamed = header.lines_of_kind(b"SQ").map(|line| rename_line(line, &table)).collect();
        header.replace_lines(b"SQ", renamed, &[])?;
        let longer = table.iter().map(|(old, new)| new.len().saturating_sub(old.len())).max();
        let fields = TagSet::from_tags(&naming_tags());
        Ok(RenameContigs {
            names: Arc::new(table),
            fields,
            max_growth: longer.unwrap_or(0),
            _charge: None,
        })
    }

    fn write_renamed(&self, record: RecordRef<'_>, out: &mut Vec<u8>) {
        let (start, bytes) = (out.len(), record.field_bytes());
        out.extend_from_slice(&record.raw()[..record.fields_start()]);
        let (mut fields, mut from) = (Fields::new(bytes), 0);
        while let Some(field) = fields.next() {
            let to = bytes.len() - fields.rest().len();
            if !self.write_field(field, out) {
                out.extend_from_slice(&bytes[from..to]);
            }
            from = to;
        }
        edit::set_block_size(out, start);
    }

    /// Appends a field with new names to `out`. Returns `false` and appends nothing if the field
    /// does not contain names of sequences.
    fn write_field(&self, Field { tag, kind, value }: Field<'_>, out: &mut Vec<u8>) -> bool {
        let (one, list) = (tag == CC, LIST_TAGS.contains(&tag));
        if kind != b'Z' || !(one || list) {
            return false;
        }
        out.extend_from_slice(&[tag[0], tag[1], kind]);
        if one {
            out.extend_from_slice(self.names.get(value).map_or(value, |new| &new[..]));
        } else {
            value.split_inclusive(|&byte| byte == b';').for_each(|entry| self.write_entry(entry, out));
        }
        out.push(0);
        true
    }

    fn write_entry(&self, entry: &[u8], out: &mut Vec<u8>) {
        let name = entry.iter().position(|&byte| byte == b',').unwrap_or(0);
        let commas = || entry.iter().filter(|&&byte| byte == b',').count();
        match self.names.get(&entry[..name]).filter(|_| commas() >= MIN_COMMAS) {
            Some(new) => {
                out.extend_from_slice(new);
                out.extend_from_slice(&entry[name..]);
            }
            None => out.extend_from_slice(entry),
        }
    }
}

fn naming_tags() -> Vec<Tag> {
    LIST_TAGS.into_iter().chain([CC]).collect()
}

fn split_words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn is_reference_name(name: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\\,\"'`()[]{}<>".contains(&byte);
    !matches!(name, [] | [b'*' | b'=', ..]) && name.iter().all(|&byte| fits(byte))
}

fn rename_line(line: &HeaderLine, table: &HashMap<Vec<u8>, Vec<u8>>) -> HeaderLine {
    let mut line = line.clone();
    let Some(new) = line.get(b"SN").and_then(|old| table.get(old)) else { return line };
    line.set_field(b"SN", new);
    let others = line.get(b"AN").map(|others| {
        let others = others.split(|&byte| byte == b',').filter(|other| other != new);
        others.collect::<Vec<_>>().join(&b',')
    });
    match others {
        Some(others) if others.is_empty() => line.remove_field(b"AN"),
        Some(others) => line.set_field(b"AN", &others),
        None => {}
    }
    line
}

impl Step for RenameContigs {
    fn name(&self) -> &'static str {
        "rename-contigs"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    /// A renamed list entry has at least five bytes. So a record of 38 bytes, the smallest that
    /// contains one, grows by at most this, including CC. Memory is reserved as if all reads were
    /// that small.
    fn max_growth_bytes(&self) -> usize {
        (38 / 5 + 2) * self.max_growth
    }

    fn changes(&self) -> Changes {
        Changes { alignment: true, ..Changes::of_tags(&naming_tags()) }
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let naming = batch.find_positions(|record| self.fields.contains_any(record.field_bytes()));
        batch.amend_records(&naming, |_, record, out| {
            self.write_renamed(record, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{applied, header};
    use super::*;

    fn table(pairs: &[(&str, &str)]) -> HashMap<Vec<u8>, Vec<u8>> {
        pairs.iter().map(|(old, new)| (old.as_bytes().to_vec(), new.as_bytes().to_vec())).collect()
    }

    #[test]
    fn all_fields_with_names_of_sequences_change() {
        let before = header(
            "@HD VN:1.6 SO:coordinate;@SQ SN:1 LN:100 AN:chr1,one M5:x;@SQ SN:2 LN:100 AN:two;@SQ SN:HLA*01:01 LN:9",
        );
        let mut after = before.clone();
        let names = table(&[("1", "chr1"), ("2", "two"), ("7", "chr7"), ("HLA*01:01", "h")]);
        let mut step = RenameContigs::new(names, &mut after).unwrap();
        let text =
            "@HD VN:1.6 SO:coordinate;@SQ SN:chr1 LN:100 AN:one M5:x;@SQ SN:two LN:100;@SQ SN:h LN:9";
        assert_eq!(after, header(text));
        let given = [
            "a 65 1 5 60 4M 2 9 0 ACGT IIII NM:i:1 SA:Z:1,5,+,4M,0,0;2,7,-,1S3M,9,1; XA:Z:2,+7,4M,0;3,-8,4M,0; MC:Z:4M",
            "b 0 2 5 60 4M * 0 0 ACGT IIII OA:Z:1,5,+,4M,0,; CC:Z:1 XB:Z:1,+7,4M,0,9,60; XA:i:1",
            "c 0 2 5 60 4M * 0 0 ACGT IIII CC:Z:= XA:Z:1;2; SA:A:1 XZ:Z:1,5,+,4M,0,0; SA:Z:HLA*01:01,5,+,4M,0,0",
            "d 4 * 0 0 * * 0 0 * *",
        ];
        let answers = [
            "a 65 chr1 5 60 4M two 9 0 ACGT IIII NM:i:1 SA:Z:chr1,5,+,4M,0,0;two,7,-,1S3M,9,1; XA:Z:two,+7,4M,0;3,-8,4M,0; MC:Z:4M",
            "b 0 two 5 60 4M * 0 0 ACGT IIII OA:Z:chr1,5,+,4M,0,; CC:Z:chr1 XB:Z:chr1,+7,4M,0,9,60; XA:i:1",
            "c 0 two 5 60 4M * 0 0 ACGT IIII CC:Z:= XA:Z:1;2; SA:A:1 XZ:Z:1,5,+,4M,0,0; SA:Z:h,5,+,4M,0,0",
            "d 4 * 0 0 * * 0 0 * *",
        ];
        assert_eq!(applied(&mut step, &before, &after, &given), answers);
    }

    #[test]
    fn names_may_change_places_but_not_meet() {
        let before = header("@SQ SN:a LN:1;@SQ SN:b LN:2");
        let mut after = before.clone();
        RenameContigs::new(table(&[("a", "b"), ("b", "a")]), &mut after).unwrap();
        assert_eq!(after, header("@SQ SN:b LN:1;@SQ SN:a LN:2"));
        let refused = |pairs| RenameContigs::new(table(pairs), &mut before.clone()).err().unwrap().what;
        assert_eq!(refused(&[("a", "b")]), "two reference sequences would have the name b");
        assert_eq!(refused(&[("a", "x"), ("b", "x")]), "two reference sequences would have the name x");
        assert_eq!(refused(&[("x", "a")]), "none of the old names, such as x, is in the header");
    }

    #[test]
    fn tables_are_read_and_checked() {
        let read = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            let mut header = header("@SQ SN:a LN:1;@SQ SN:b LN:2");
            RenameContigs::open(file.path(), &mut header, &Ledger::unlimited()).map(|_| header)
        };
        assert_eq!(
            read("# names\n\na\tchrA\r\nb  chrB\n").unwrap(),
            header("@SQ SN:chrA LN:1;@SQ SN:chrB LN:2")
        );
        for bad in ["a\n", "a b c\n", "a\t*\n", "a\t=x\n", "a\tx,y\n", "a\tx\na\ty\n", "c\td\n"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_table_is_charged() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let names: String = (0..20_000).map(|i| format!("{i}\tchr{i}\n")).collect();
        std::fs::write(file.path(), names).unwrap();
        let open = |bytes| {
            let mut header = Header::parse(b"@SQ\tSN:1\tLN:9\n").unwrap();
            RenameContigs::open(file.path(), &mut header, &Ledger::with_capacity(bytes))
        };
        assert!(open(8 << 20).is_ok());
        let error = open(2 << 20).err().unwrap().to_string();
        assert!(error.contains("new names of contigs: needs"), "{error}");
    }
}
