//! The flags `--with-tag` and `--with-tag-in`: keep reads with an optional field, or with certain
//! values of it.

use std::path::{Path, PathBuf};

use readmill_record::tag::{Field, Tag};
use readmill_record::{Error, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::optional_fields::parse_tag;
use crate::read_names::WordSet;
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "with-tag",
            FlagValue::Text,
            "TAG[:VALUE]",
            "Keep only reads with this optional field, or with this value of it. May be repeated for more values",
        )
        .repeatable()
        .with_samtools_names(&["d", "tag"]),
        Flag::with_value(
            "with-tag-in",
            FlagValue::Text,
            "TAG:FILE",
            "Keep only reads whose value of this optional field is listed in FILE",
        )
        .repeatable()
        .with_samtools_names(&["D", "tag-file"]),
    ],
    parse: |given, filters| {
        let mut request: Option<WithTagRequest> = None;
        let split = |text: &str| -> Result<(Tag, Option<String>)> {
            let (name, value) = match text.split_once(':') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (text, None),
            };
            Ok((parse_tag(name)?, value))
        };
        for (flag, in_file) in [("with-tag", false), ("with-tag-in", true)] {
            for text in given.parse_values::<String>(flag)? {
                let (tag, value) = split(&text)?;
                let request = request.get_or_insert_with(|| WithTagRequest { tag, ..Default::default() });
                if request.tag != tag {
                    let what = format!("--{flag} {text} has a different optional field than the previous --{flag}");
                    return Err(Error::usage(what).hint("use an expression: --include '[XA] && [XB] == 5'"));
                }
                match value {
                    Some(file) if in_file => request.files.push(file.into()),
                    Some(value) => request.values.push(value),
                    None if in_file => {
                        return Err(Error::usage(format!("--{flag} {text} has no file"))
                            .hint("use the form TAG:FILE"));
                    }
                    None => {}
                }
            }
        }
        filters.extend(request);
        Ok(())
    },
};

#[derive(Debug, Default)]
struct WithTagRequest {
    tag: Tag,
    values: Vec<String>,
    files: Vec<PathBuf>,
}

impl Filter for WithTagRequest {
    fn command_words(&self) -> Vec<String> {
        let tag = String::from_utf8_lossy(&self.tag).into_owned();
        let value =
            |value: &String| flag_with_value("--with-tag", shell_quote(&format!("{tag}:{value}")));
        let file = |file: &PathBuf| {
            flag_with_value("--with-tag-in", shell_quote(&format!("{tag}:{}", file.display())))
        };
        let all = self.values.iter().flat_map(value).chain(self.files.iter().flat_map(file));
        let all = Vec::from_iter(all);
        if all.is_empty() { flag_with_value("--with-tag", &tag) } else { all }
    }

    fn input_files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let lists = self.files.iter().map(|path: &PathBuf| WordSet::open(Path::new(path), context));
        let lists = lists.collect::<Result<Vec<_>>>()?;
        let values = self.values.iter().map(|value| value.clone().into_bytes()).collect();
        let any = self.values.is_empty() && self.files.is_empty();
        Ok(Box::new(WithTag { tag: self.tag, values, lists, any }.into_step()))
    }
}

/// Keeps reads that have an optional field or, if values are given, one of these values in it
/// (samtools view `-d` and `-D`).
///
/// Integers are compared as decimal text, characters and strings byte by byte. Fields of other
/// types (floats and arrays) match only if no value is given.
#[derive(Clone)]
pub struct WithTag {
    tag: Tag,
    values: Vec<Vec<u8>>,
    lists: Vec<WordSet>,
    any: bool,
}

impl WithTag {
    fn is_listed(&self, value: &[u8]) -> bool {
        self.values.iter().any(|listed| listed == value)
            || self.lists.iter().any(|it| it.contains(value))
    }

    fn matches_value(&self, field: &Field<'_>) -> bool {
        match (field.integer(), field.kind) {
            (Some(number), _) => self.is_listed(number.to_string().as_bytes()),
            (None, b'A' | b'Z' | b'H') => self.is_listed(field.value),
            _ => false,
        }
    }
}

impl Criterion for WithTag {
    fn name(&self) -> &'static str {
        "with-tag"
    }

    fn dropped_label(&self) -> &'static str {
        "reads without the optional field or its values dropped"
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let field = record.field(self.tag);
        Ok(field.is_some_and(|field| self.any || self.matches_value(&field)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    #[test]
    fn only_one_field_can_be_given() {
        for wrong in ["NM,MD", "NM,MD:1", "NM,", "N", "1N", ""] {
            for flag in ["--with-tag", "--with-tag-in"] {
                let error = crate::Filters::from_words([flag, wrong]).err().map(|it| it.to_string());
                assert!(error.unwrap().contains("is not the name of an optional field"), "{wrong}");
            }
        }
        assert!(crate::Filters::from_words(["--with-tag", "NM", "--with-tag", "MD"]).is_err());
        assert!(crate::Filters::from_words(["--with-tag", "NM:1", "--with-tag", "NM:2"]).is_ok());
    }

    #[test]
    fn a_field_or_its_values() {
        let header = header("@SQ SN:c LN:1000");
        let fields = ["XI:i:5", "XI:i:-70000", "XI:A:5", "XI:Z:five", "XI:f:5", "XJ:i:5"];
        let reads = fields.map(|field| format!("{field} 0 c 7 60 4M * 0 0 ACGT IIII {field}"));
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let keeps = |values: &[&str]| {
            let values: Vec<Vec<u8>> = values.iter().map(|it| it.as_bytes().to_vec()).collect();
            let any = values.is_empty();
            kept(
                &mut WithTag { tag: *b"XI", values, lists: Vec::new(), any }.into_step(),
                &header,
                &reads,
            )
        };
        assert_eq!(keeps(&[]), "XI:i:5 XI:i:-70000 XI:A:5 XI:Z:five XI:f:5");
        assert_eq!(keeps(&["5"]), "XI:i:5 XI:A:5");
        assert_eq!(keeps(&["-70000", "five"]), "XI:i:-70000 XI:Z:five");
        assert_eq!(keeps(&["05"]), "");
    }
}
