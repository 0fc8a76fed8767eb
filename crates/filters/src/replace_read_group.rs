//! The flag `--read-group`: replace all read groups by one.

use std::sync::Arc;

use readmill_record::header::GivenReadGroup;
use readmill_record::{Batch, Changes, Header, Result, Step, edit, tag};

use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterFacts, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "read-group",
        FlagValue::Text,
        "RG",
        "Put all reads into this read group, such as 'ID:g1 LB:l1 SM:s1 …' or '@RG\\tID:g1\\tLB:l1…'",
    )
    .with_aliases(&["replace-read-group"])],
    parse: |given, filters| {
        filters.extend(given.parse_value("read-group")?.map(|group| ReplaceReadGroupRequest { group }));
        Ok(())
    },
};

#[derive(Debug)]
struct ReplaceReadGroupRequest {
    group: String,
}

impl Filter for ReplaceReadGroupRequest {
    fn command_words(&self) -> Vec<String> {
        let line = GivenReadGroup::parse_any(&self.group).map_or_else(
            |_| self.group.clone(),
            |given| String::from_utf8_lossy(given.line.text()).into_owned(),
        );
        flag_with_value("--read-group", shell_quote(&line.replace('\t', "\\t")))
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let given = GivenReadGroup::parse_any(&self.group)?;
        given.empty_fields_warning().iter().for_each(|warning| context.host.print_warning(warning));
        Ok(Box::new(ReplaceReadGroup::new(&self.group, context.header)?))
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts { sets_read_group: true, other_header: true, ..FilterFacts::default() }
    }
}

/// Assigns all reads to one read group (elPrep's `--replace-read-group`, Picard's
/// AddOrReplaceReadGroups): its line replaces all `@RG` lines, and `RG:Z` of every read names it.
#[derive(Clone)]
pub struct ReplaceReadGroup {
    id: Arc<[u8]>,
}

impl ReplaceReadGroup {
    /// Parses the group from `ID:g1 LB:l1 …`, or from a header line with tabs or with `\t` instead
    /// of tabs (`@RG\tID:g1\tLB:l1`), and replaces the read groups of the header by it.
    pub fn new(group: &str, header: &mut Header) -> Result<Self> {
        let line = GivenReadGroup::parse_any(group)?.line;
        let id = line.get(b"ID").unwrap_or_default().into();
        header.replace_lines(b"RG", vec![line], &[b"PG", b"CO"])?;
        Ok(ReplaceReadGroup { id })
    }
}

impl Step for ReplaceReadGroup {
    fn name(&self) -> &'static str {
        "read-group"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn max_growth_bytes(&self) -> usize {
        self.id.len() + 4
    }

    fn changes(&self) -> Changes {
        Changes::of_tags(&[tag::RG])
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        batch.rewrite_records(|_, record, out| {
            edit::copy_with_text(record, tag::RG, &self.id, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_keeps_one_group() {
        let mut header = Header::parse(b"@RG\tID:a\n@RG\tID:b\n@PG\tID:p\n").unwrap();
        ReplaceReadGroup::new("ID:n", &mut header).unwrap();
        assert_eq!(header.to_text(), b"@RG\tID:n\n@PG\tID:p\n");
    }
}
