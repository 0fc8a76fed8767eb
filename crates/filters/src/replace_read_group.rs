//! Replaces all read groups by one.

use std::sync::Arc;

use readmill_record::header::HeaderLine;
use readmill_record::{Batch, Changes, Error, Header, Result, Step, edit, tag};

use crate::flag::{Flag, Value, quoted, with_value};
use crate::spec::{Filter, FilterFacts, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "read-group",
        Value::Text,
        "RG",
        "Put all reads into this read group: 'ID:g1 LB:l1 SM:s1 …' or '@RG\\tID:g1\\tLB:l1…'",
    )
    .aliases(&["replace-read-group"])],
    parse: |given, filters| {
        filters.extend(given.parsed("read-group")?.map(|group| ReplaceReadGroupRequest { group }));
        Ok(())
    },
};

#[derive(Debug)]
struct ReplaceReadGroupRequest {
    group: String,
}

impl Filter for ReplaceReadGroupRequest {
    fn words(&self) -> Vec<String> {
        let line = canonical(&self.group).unwrap_or_else(|_| self.group.clone());
        with_value("--read-group", quoted(&line.replace('\t', "\\t")))
    }

    fn make(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        Ok(Box::new(ReplaceReadGroup::new(&self.group, context.header)?))
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts { sets_read_group: true, other_header: true, ..FilterFacts::default() }
    }
}

/// Puts every read into one read group (elPrep's `--replace-read-group`, Picard's
/// AddOrReplaceReadGroups): all `@RG` lines become this one, and `RG:Z` of every read names it.
#[derive(Clone)]
pub struct ReplaceReadGroup {
    id: Arc<[u8]>,
}

impl ReplaceReadGroup {
    /// Parses the group from `ID:g1 LB:l1 …` or from a header line with real or written tabs
    /// (`@RG\tID:g1\tLB:l1`), and sets it in the header.
    pub fn new(group: &str, header: &mut Header) -> Result<Self> {
        let line = HeaderLine::new(canonical(group)?);
        let id = line.get(b"ID").unwrap_or_default().into();
        header.replace(b"RG", vec![line], &[b"PG", b"CO"])?;
        Ok(ReplaceReadGroup { id })
    }
}

/// Returns the `@RG` line of a user's description.
pub fn canonical(group: &str) -> Result<String> {
    let group = group.replace("\\t", "\t");
    let fields: Vec<&str> = match group.strip_prefix("@RG") {
        Some(line) => line.split('\t').filter(|field| !field.is_empty()).collect(),
        None => group.split_whitespace().collect(),
    };
    let mut seen: Vec<&str> = Vec::new();
    for field in &fields {
        let (tag, value) = field.split_once(':').unwrap_or((field, ""));
        let letters = tag.len() == 2 && tag.bytes().all(|b| b.is_ascii_alphanumeric());
        if !letters || value.is_empty() || !value.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            return Err(Error::usage(format!("{field:?} is not a TAG:VALUE of a read group")).hint(
                "write it as 'ID:g1 LB:lib1 SM:s1 PL:ILLUMINA PU:unit1' or '@RG\\tID:g1\\tLB:lib1'",
            ));
        }
        if seen.contains(&tag) {
            return Err(Error::usage(format!("the read group gives {tag} twice")));
        }
        seen.push(tag);
    }
    if !seen.contains(&"ID") {
        return Err(Error::usage("the read group has no ID").hint("add ID:name"));
    }
    Ok(format!("@RG\t{}", fields.join("\t")))
}

impl Step for ReplaceReadGroup {
    fn name(&self) -> &'static str {
        "read-group"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn growth(&self) -> usize {
        self.id.len() + 4
    }

    fn changes(&self) -> Changes {
        Changes::tags(&[tag::RG])
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        batch.rewrite(|_, record, out| {
            edit::copy_with_text(record, tag::RG, &self.id, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_mean_the_same_line() {
        for given in ["ID:g LB:l", "@RG\tID:g\tLB:l", "@RG\\tID:g\\tLB:l"] {
            assert_eq!(canonical(given).unwrap(), "@RG\tID:g\tLB:l");
        }
        assert_eq!(canonical("@RG\tID:g\tDS:two words").unwrap(), "@RG\tID:g\tDS:two words");
        for bad in ["LB:l", "ID:", "ID:a ID:b", "I:d", "garbage", "", "ID:a\u{1}"] {
            assert!(canonical(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_header_keeps_one_group() {
        let mut header = Header::parse(b"@RG\tID:a\n@RG\tID:b\n@PG\tID:p\n").unwrap();
        ReplaceReadGroup::new("ID:n", &mut header).unwrap();
        assert_eq!(header.to_text(), b"@RG\tID:n\n@PG\tID:p\n");
    }
}
