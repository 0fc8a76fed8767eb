//! The flags `--in-read-group` and `--in-read-groups`: keep or drop reads by read group.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::text;
use readmill_record::header::HeaderLine;
use readmill_record::{Charge, Error, Header, Prepaid, RecordRef, Result, Step, make_room};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, ListFiles, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "in-read-group",
            FlagValue::Text,
            "ID",
            "Keep only reads of this read group, and reads without a read group. May be repeated",
        )
        .repeatable()
        .with_samtools_names(&["r"]),
        Flag::with_value(
            "in-read-groups",
            FlagValue::File,
            "FILE",
            "Keep only reads of the read groups listed in FILE (^FILE drops these reads). May be repeated",
        )
        .repeatable()
        .with_samtools_names(&["R"]),
    ],
    parse: |given, filters| {
        let request = InReadGroupsRequest {
            ids: given.parse_values("in-read-group")?,
            lists: given.list_files("in-read-groups")?,
        };
        if !request.ids.is_empty() || request.lists.is_some() {
            filters.add_filter(request);
        }
        Ok(())
    },
};

#[derive(Debug)]
struct InReadGroupsRequest {
    ids: Vec<String>,
    lists: Option<ListFiles>,
}

impl Filter for InReadGroupsRequest {
    fn command_words(&self) -> Vec<String> {
        let lists = self.lists.iter().flat_map(|lists| lists.command_words("--in-read-groups"));
        self.ids
            .iter()
            .flat_map(|id| flag_with_value("--in-read-group", shell_quote(id)))
            .chain(lists)
            .collect()
    }

    fn input_files(&self) -> Vec<PathBuf> {
        self.lists.iter().flat_map(|lists| lists.paths.clone()).collect()
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let mut ids: Vec<Vec<u8>> = self.ids.iter().map(|id| id.clone().into()).collect();
        let mut prepaid = Prepaid::new(context.ledger.empty_charge("read groups"));
        let keep = self.lists.as_ref().is_none_or(|lists| lists.keep);
        if !keep && !ids.is_empty() {
            return Err(Error::usage("both read groups to keep and read groups to drop are given")
                .hint("use --in-read-group or ^FILE, not both"));
        }
        for path in self.lists.iter().flat_map(|lists| &lists.paths) {
            let mut reading = context.ledger.empty_charge("read groups");
            let text = text::read_all(path, &mut reading)?;
            read_listed_ids(&text, &mut ids, &mut prepaid).map_err(|e| e.file(path))?;
        }
        let mut seen = HashSet::new();
        let undefined = find_undefined_ids(&ids, context.header).filter(|id| seen.insert(id.clone()));
        let undefined: Vec<String> = undefined.take(MAX_LISTED_GROUPS + 1).collect();
        match &undefined[..] {
            [] => {}
            [id] => context.host.print_warning(&format!("the header has no read group {id}")),
            ids => {
                let (named, more) = (ids.len().min(MAX_LISTED_GROUPS), ids.len() > MAX_LISTED_GROUPS);
                let (named, more) = (ids[..named].join(", "), if more { ", ..." } else { "" });
                context
                    .host
                    .print_warning(&format!("the header has none of these read groups: {named}{more}"));
            }
        }
        let groups = InReadGroups::new(ids, keep, context.header)?;
        Ok(Box::new(groups.hold_charge(prepaid.into_charge()).into_step()))
    }
}

/// Keeps the reads of the named read groups (`--in-read-group`, samtools view `-r` and `-R`), or of
/// all others. As in samtools, reads without RG are kept, unless they are excluded (samtools
/// `--exclude-no-read-group`).
///
/// The header keeps the `@RG` lines of the groups whose reads are kept, and lines without an ID.
/// (samtools 1.24 does the same for `-r` and `-R FILE`; for `-R ^FILE`, it removes the lines of the
/// groups whose reads it keeps.)
#[derive(Clone)]
pub struct InReadGroups {
    /// Sorted for binary search, which is faster than hashing for a few groups.
    ids: Arc<[Vec<u8>]>,
    keep: bool,
    keep_ungrouped: bool,
    _charge: Option<Arc<Charge>>,
}

impl InReadGroups {
    /// Creates the criterion for the groups of `ids`, which are kept if `keep` is true and dropped
    /// otherwise. Removes the `@RG` lines of dropped groups from `header`.
    pub fn new(mut ids: Vec<Vec<u8>>, keep: bool, header: &mut Header) -> Result<Self> {
        ids.sort_unstable();
        let stays = |line: &&HeaderLine| line.get(b"ID").is_none_or(|id| contains_id(&ids, id) == keep);
        let lines: Vec<HeaderLine> = header.lines_of_kind(b"RG").filter(stays).cloned().collect();
        header.replace_lines(b"RG", lines, &[b"PG", b"CO"])?;
        Ok(InReadGroups { ids: ids.into(), keep, keep_ungrouped: true, _charge: None })
    }

    #[must_use]
    pub fn without_ungrouped(self) -> Self {
        InReadGroups { keep_ungrouped: false, ..self }
    }

    #[must_use]
    pub fn hold_charge(self, charge: Charge) -> Self {
        InReadGroups { _charge: Some(Arc::new(charge)), ..self }
    }
}

fn contains_id(ids: &[Vec<u8>], id: &[u8]) -> bool {
    ids.binary_search_by(|other| other.as_slice().cmp(id)).is_ok()
}

/// Appends the IDs in `text`, the contents of a list file, to `ids`. IDs are separated by white
/// space, as in samtools. Their memory is charged to `prepaid`.
///
/// # Errors
/// The IDs do not fit into the memory of the ledger.
pub fn read_listed_ids(text: &[u8], ids: &mut Vec<Vec<u8>>, prepaid: &mut Prepaid) -> Result<()> {
    for word in split_words(text) {
        make_room(ids, 1, prepaid.charge_mut())?;
        prepaid.pay_block(word.len())?;
        ids.push(word.to_vec());
    }
    Ok(())
}

pub fn split_words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| byte.is_ascii_whitespace() || *byte == 0x0B);
    words.filter(|word| !word.is_empty())
}

const MAX_LISTED_GROUPS: usize = 10;

pub fn find_undefined_ids(ids: &[Vec<u8>], header: &Header) -> impl Iterator<Item = String> {
    let defined: HashSet<&[u8]> =
        header.lines_of_kind(b"RG").filter_map(|line| line.get(b"ID")).collect();
    let unknown = ids.iter().filter(move |id| !defined.contains(id.as_slice()));
    unknown.map(|id| String::from_utf8_lossy(id).into_owned())
}

impl Criterion for InReadGroups {
    fn name(&self) -> &'static str {
        "in-read-groups"
    }

    fn dropped_label(&self) -> &'static str {
        "reads of other read groups dropped"
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let group = record.read_group();
        Ok(group.map_or(self.keep_ungrouped, |id| contains_id(&self.ids, id) == self.keep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::{Batch, Ledger, Stamp, edit};

    const HEADER: &str = "@RG\tID:a\n@RG\tID:b\n@RG\tSM:x\n@CO\tend\n";

    /// Returns which of three reads (in group `a`, in `b`, in no group) are kept, and the header
    /// after the step.
    fn left(ids: &[&str], keep: bool, ungrouped: bool) -> (String, String) {
        let mut batch = Batch::default();
        for (name, fields) in [(b'a', &b"RGZa\0"[..]), (b'b', b"NMC\x01RGZb\0"), (b'-', b"RGAa")] {
            let mut raw = vec![0u8; 36];
            raw[12] = 2;
            raw.extend([name, 0]);
            raw.extend(fields);
            edit::set_block_size(&mut raw, 0);
            batch.push(&raw, Stamp::default()).unwrap();
        }
        let mut header = Header::parse(HEADER.as_bytes()).unwrap();
        let ids = ids.iter().map(|id| id.as_bytes().to_vec()).collect();
        let groups = InReadGroups::new(ids, keep, &mut header).unwrap();
        let mut step = if ungrouped { groups } else { groups.without_ungrouped() }.into_step();
        step.apply(&mut batch).unwrap();
        assert_eq!(step.counts()[0].1, 3 - batch.len() as u64);
        let names = batch.records().map(|(_, record)| char::from(record.qname()[0])).collect();
        (names, String::from_utf8(header.to_text()).unwrap())
    }

    #[test]
    fn groups_stay_or_go_with_their_lines_and_the_ungrouped_have_their_own_option() {
        let (of_a, of_b) = ("@RG\tID:a\n@RG\tSM:x\n@CO\tend\n", "@RG\tID:b\n@RG\tSM:x\n@CO\tend\n");
        for (ids, keep, ungrouped, names, header) in [
            (&["a"][..], true, true, "a-", of_a),
            (&["a"], true, false, "a", of_a),
            (&["a"], false, true, "b-", of_b),
            (&["a"], false, false, "b", of_b),
            (&["a", "b", "other"], true, true, "ab-", HEADER),
            (&["other"], true, true, "-", "@RG\tSM:x\n@CO\tend\n"),
            (&[], false, true, "ab-", HEADER),
        ] {
            let answer = (names.to_string(), header.to_string());
            assert_eq!(left(ids, keep, ungrouped), answer, "{ids:?}");
        }
    }

    #[test]
    fn lists_are_words_and_unknown_ones_are_named() {
        let (ledger, mut ids) = (Ledger::with_capacity(1 << 20), Vec::new());
        let mut prepaid = Prepaid::new(ledger.empty_charge("read groups"));
        read_listed_ids(b" a\nb c\r\n\n\td", &mut ids, &mut prepaid).unwrap();
        assert_eq!(ids, [b"a", b"b", b"c", b"d"]);
        let header = Header::parse(HEADER.as_bytes()).unwrap();
        assert_eq!(find_undefined_ids(&ids, &header).collect::<Vec<_>>(), ["c", "d"]);
        let error = read_listed_ids(&b"ab ".repeat(100_000), &mut ids, &mut prepaid).unwrap_err();
        assert!(error.what.starts_with("read groups"), "{error}");
    }
}
