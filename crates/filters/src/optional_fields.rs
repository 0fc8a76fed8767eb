//! The flags `--remove-optional-fields` and `--keep-optional-fields`.

use readmill_record::tag::{self, Fields, Tag, TagSet};
use readmill_record::{Batch, ChangedTags, Changes, Error, RecordRef, Result, Step, edit};

use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::spec::{Filter, FilterSpec, FilterStage, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "remove-optional-fields",
            FlagValue::Text,
            "TAGS",
            "Remove these optional fields (in the last step): NM,MD…, or all. ^NM,MD… keeps only these",
        )
        .repeatable()
        .with_samtools_names(&["x", "remove-tag"]),
        Flag::with_value(
            "keep-optional-fields",
            FlagValue::Text,
            "TAGS",
            "Keep only these optional fields, such as RG,NM, or none. Other fields are removed in the last step",
        )
        .repeatable()
        .with_samtools_names(&["keep-tag"])
        .conflicts_with("remove-optional-fields"),
    ],
    parse: |given, filters| {
        let removed: Vec<String> = given.parse_values("remove-optional-fields")?;
        if removed.iter().any(|list| list == "all") {
            if let Some(kept) = removed.iter().find(|list| list.starts_with('^')) {
                return Err(Error::usage(format!("all optional fields are removed, but {kept} keeps some"))
                    .hint(format!("to keep only these fields, leave out all: -x {kept}")));
            }
            filters.add_filter(OptionalFieldsRequest { named: Vec::new(), keep: true });
            return Ok(());
        }
        let mut request: Option<OptionalFieldsRequest> = None;
        for (flag, keep) in [("remove-optional-fields", false), ("keep-optional-fields", true)] {
            for list in given.parse_values::<String>(flag)? {
                let (keep, named) = match list.strip_prefix('^') {
                    None if keep && list == "none" => (true, Vec::new()),
                    Some(list) => (!keep, parse_tags(list)?),
                    None => (keep, parse_tags(&list)?),
                };
                let request =
                    request.get_or_insert_with(|| OptionalFieldsRequest { named: Vec::new(), keep });
                if request.keep != keep {
                    let what = "both optional fields to keep and optional fields to remove are given";
                    return Err(Error::usage(what)
                        .hint("give only the fields to keep, or only the fields to remove"));
                }
                request.named.extend(named);
                request.named.sort_unstable();
                request.named.dedup();
            }
        }
        filters.extend(request);
        Ok(())
    },
};

#[derive(Debug)]
struct OptionalFieldsRequest {
    named: Vec<Tag>,
    keep: bool,
}

impl Filter for OptionalFieldsRequest {
    fn command_words(&self) -> Vec<String> {
        let tags: Vec<_> = self.named.iter().map(|tag| String::from_utf8_lossy(tag)).collect();
        let tags = if tags.is_empty() { "none".to_string() } else { tags.join(",") };
        flag_with_value(
            if self.keep { "--keep-optional-fields" } else { "--remove-optional-fields" },
            tags,
        )
    }

    fn make_step(&self, _: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let named = self.named.clone();
        let step =
            if self.keep { OptionalFields::keeping(named) } else { OptionalFields::removing(named) };
        Ok(Box::new(step))
    }

    fn stage(&self) -> FilterStage {
        FilterStage::Last
    }
}

/// Removes optional fields: the named ones, or all others (elPrep's `--remove-optional-fields` and
/// `--keep-optional-fields`). RG is removed like any other field, and so is CG, unless it holds the
/// real CIGAR of a record with more than 65,535 operators (SAM specification, section 4.2.2).
#[derive(Clone)]
pub struct OptionalFields {
    named: Vec<Tag>,
    keep: bool,
    removed_tags: TagSet,
    removed: u64,
}

/// Parses the name of an optional field: a letter, then a letter or digit (SAM specification,
/// section 1.5).
///
/// # Errors
/// The text is not such a name.
pub fn parse_tag(name: &str) -> Result<Tag> {
    match *name.as_bytes() {
        [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => Ok([a, b]),
        _ => Err(Error::usage(format!("{name:?} is not the name of an optional field"))
            .hint("give one name of a letter and a letter or digit, such as NM")),
    }
}

/// Parses a comma-separated list of tags such as `NM,MD`, with or without spaces. Returns them
/// sorted and without repetitions.
///
/// ```
/// use readmill_filters::optional_fields::parse_tags;
///
/// # fn main() -> readmill_record::Result<()> {
/// assert_eq!(parse_tags("NM, MD,NM")?, [*b"MD", *b"NM"]);
/// assert!(parse_tags("NMM").is_err());
/// # Ok(())
/// # }
/// ```
pub fn parse_tags(list: &str) -> Result<Vec<Tag>> {
    let parse = |text: &str| {
        parse_tag(text.trim())
            .map_err(|e| e.hint("give names of two characters, separated by commas, such as NM,MD"))
    };
    let mut tags = list.split(',').map(parse).collect::<Result<Vec<Tag>>>()?;
    tags.sort_unstable();
    tags.dedup();
    Ok(tags)
}

impl OptionalFields {
    pub fn removing(named: Vec<Tag>) -> Self {
        OptionalFields { removed_tags: TagSet::from_tags(&named), named, keep: false, removed: 0 }
    }

    pub fn keeping(named: Vec<Tag>) -> Self {
        OptionalFields { removed_tags: TagSet::all_but(&named), named, keep: true, removed: 0 }
    }

    /// Removes optional fields in place, without gaps. Returns the new length of the record in
    /// bytes, and the number of removed fields.
    fn strip_fields(&self, raw: &mut [u8]) -> (usize, u64) {
        let record = RecordRef::new(raw);
        if !self.removed_tags.contains_any(record.field_bytes()) {
            return (raw.len(), 0);
        }
        let (first, holds_cigar) = (record.fields_start(), record.long_cigar().is_some());
        let (mut from, mut to, mut removed) = (first, first, 0);
        loop {
            let mut fields = Fields::new(&raw[from..]);
            let Some(field) = fields.next() else { break };
            let stays = !self.removed_tags.contains(field.tag) || holds_cigar && field.tag == tag::CG;
            let end = raw.len() - fields.rest().len();
            if stays {
                raw.copy_within(from..end, to);
                to += end - from;
            } else {
                removed += 1;
            }
            from = end;
        }
        edit::set_block_size(&mut raw[..to], 0);
        (to, removed)
    }
}

impl Step for OptionalFields {
    fn name(&self) -> &'static str {
        if self.keep { "keep-optional-fields" } else { "remove-optional-fields" }
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        let tags = if self.keep { ChangedTags::All } else { ChangedTags::Some(self.named.clone()) };
        Changes { tags, ..Changes::default() }
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let Batch { bytes, spans, .. } = batch;
        for span in spans {
            let (length, removed) =
                self.strip_fields(&mut bytes[span.start as usize..][..span.len as usize]);
            span.len = length as u32;
            self.removed += removed;
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("optional fields removed", self.removed)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{applied, header};
    use super::*;

    const FIELDS: &str = "XA:A:c NM:i:3 RG:Z:g MD:Z:4 NM:i:4 XB:B:s,1,-2 XF:f:0.5";

    fn left(mut step: OptionalFields) -> (String, u64) {
        let header = header("@SQ SN:c LN:100");
        let line = format!("r 0 c 5 60 4M * 0 0 ACGT IIII {FIELDS}");
        let after = applied(&mut step, &header, &header, &[&line]).remove(0);
        (after.split(' ').skip(11).collect::<Vec<_>>().join(" "), step.removed)
    }

    #[test]
    fn all_fields_cannot_go_while_some_stay() {
        let flag = "--remove-optional-fields";
        let parse = |list| crate::Filters::from_words([flag, "all", flag, list]);
        assert!(parse("NM").is_ok());
        let error = parse("^NM").err().unwrap().to_string();
        assert!(error.contains("but ^NM keeps some"), "{error}");
    }

    #[test]
    fn the_named_go_or_stay_in_their_order() {
        let tags = |list| parse_tags(list).unwrap();
        let removing = |list| left(OptionalFields::removing(tags(list)));
        let keeping = |list| left(OptionalFields::keeping(tags(list)));
        assert_eq!(removing("NM,MD"), ("XA:A:c RG:Z:g XB:B:s,1,-2 XF:f:0.5".into(), 3));
        assert_eq!(removing("XX"), (FIELDS.into(), 0));
        assert_eq!(removing("XA , XF"), ("NM:i:3 RG:Z:g MD:Z:4 NM:i:4 XB:B:s,1,-2".into(), 2));
        assert_eq!(keeping("RG,NM"), ("NM:i:3 RG:Z:g NM:i:4".into(), 4));
        assert_eq!(left(OptionalFields::keeping(Vec::new())), (String::new(), 7));
        for bad in ["", "NM,", "N", "NMM", "1N", "NM;MD", "é"] {
            assert!(parse_tags(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cigar_in_a_field_is_not_removed() {
        let header = header("@SQ SN:c LN:99999999");
        let line = format!("r 0 c 5 60 {} * 0 0 {} * NM:i:1", "1M".repeat(70_000), "A".repeat(70_000));
        let after =
            applied(&mut OptionalFields::keeping(Vec::new()), &header, &header, &[&line]).remove(0);
        assert_eq!(after, line.replace(" NM:i:1", ""));
    }
}
