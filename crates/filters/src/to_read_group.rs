//! The flags `--to-read-group` and `--orphans-to-read-group`: assign reads to one read group, and
//! keep the other read groups in the header.

use std::sync::Arc;

use readmill_record::header::{GivenReadGroup, HeaderLine};
use readmill_record::{Batch, Changes, Error, Header, Result, Step, edit, tag};

use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterFacts, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "to-read-group",
            FlagValue::Text,
            "ID",
            "Put all reads into this read group of the header. Other @RG lines are kept",
        )
        .conflicts_with("read-group"),
        Flag::with_value(
            "orphans-to-read-group",
            FlagValue::Text,
            "RG",
            "Put reads without a read group into this read group, given as an ID from the header or as a new read group (see --read-group)",
        )
        .conflicts_with("read-group"),
    ],
    parse: |given, filters| {
        let request = |flag: &'static str, of: RegroupedReads| {
            Ok(given.parse_value(flag)?.map(|group| ToReadGroupRequest { flag, group, reads: of }))
        };
        filters.extend(request("to-read-group", RegroupedReads::All)?);
        filters.extend(request("orphans-to-read-group", RegroupedReads::WithoutGroup)?);
        Ok(())
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegroupedReads {
    All,
    WithoutGroup,
}

#[derive(Debug)]
struct ToReadGroupRequest {
    flag: &'static str,
    group: String,
    reads: RegroupedReads,
}

impl Filter for ToReadGroupRequest {
    fn command_words(&self) -> Vec<String> {
        flag_with_value(&format!("--{}", self.flag), shell_quote(&self.group.replace('\t', "\\t")))
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let made = match self.reads {
            RegroupedReads::All => ToReadGroup::for_all_reads(&self.group, context.header),
            RegroupedReads::WithoutGroup => {
                let given = GivenReadGroup::parse_any(&self.group).ok();
                let warning = given.and_then(|given| given.empty_fields_warning());
                warning.iter().for_each(|warning| context.host.print_warning(warning));
                ToReadGroup::for_orphans(&self.group, context.header)
            }
        };
        Ok(Box::new(made?))
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts { sets_read_group: self.reads == RegroupedReads::All, ..FilterFacts::default() }
    }
}

/// Assigns reads to one read group, as `samtools addreplacerg` does: all reads, or only those
/// without a read group. The other `@RG` lines are kept.
#[derive(Clone)]
pub struct ToReadGroup {
    id: Arc<[u8]>,
    reads: RegroupedReads,
}

impl ToReadGroup {
    /// Creates the step that assigns all reads to the read group with this ID.
    ///
    /// # Errors
    /// The header has no such read group.
    pub fn for_all_reads(id: &str, header: &Header) -> Result<Self> {
        match find_read_group(header, id.as_bytes()) {
            Some(_) => Ok(ToReadGroup { id: id.as_bytes().into(), reads: RegroupedReads::All }),
            None => Err(Error::usage(format!("the header has no read group {id}")).hint(
                "use the ID of an @RG line, or put all reads into a new read group with --read-group 'ID:g1 SM:s1'",
            )),
        }
    }

    /// Creates the step that assigns reads without a read group to `group`: the ID of a read group
    /// in the header, or the description of a new one, which is added to the header.
    ///
    /// # Errors
    /// `group` is neither, or the header has a different read group with the ID of the new one.
    pub fn for_orphans(group: &str, header: &mut Header) -> Result<Self> {
        if find_read_group(header, group.as_bytes()).is_some() {
            return Ok(ToReadGroup { id: group.as_bytes().into(), reads: RegroupedReads::WithoutGroup });
        }
        let line = GivenReadGroup::parse_any(group)?.line;
        let id: Arc<[u8]> = line.get(b"ID").unwrap_or_default().into();
        match find_read_group(header, &id) {
            Some(old) if old.text() != line.text() => {
                let id = String::from_utf8_lossy(&id);
                return Err(Error::usage(format!("the header already has a different read group {id}"))
                    .hint(format!(
                        "use a different ID, or the existing read group: --orphans-to-read-group {id}"
                    )));
            }
            Some(_) => {}
            None => {
                let lines = header.lines_of_kind(b"RG").cloned().chain([line]).collect();
                header.replace_lines(b"RG", lines, &[b"PG", b"CO"])?;
            }
        }
        Ok(ToReadGroup { id, reads: RegroupedReads::WithoutGroup })
    }
}

fn find_read_group<'a>(header: &'a Header, id: &[u8]) -> Option<&'a HeaderLine> {
    header.lines_of_kind(b"RG").find(|line| line.get(b"ID") == Some(id))
}

impl Step for ToReadGroup {
    fn name(&self) -> &'static str {
        match self.reads {
            RegroupedReads::All => "to-read-group",
            RegroupedReads::WithoutGroup => "orphans-to-read-group",
        }
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
            if self.reads == RegroupedReads::All || record.field(tag::RG).is_none() {
                edit::copy_with_text(record, tag::RG, &self.id, out);
            } else {
                out.extend_from_slice(record.raw());
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{applied, header};
    use super::*;

    const GROUPS: &str = "@RG ID:a SM:x;@RG ID:b;@PG ID:p";

    fn groups(mut step: ToReadGroup, header: &Header) -> Vec<String> {
        let reads = ["u 4 * 0 0 * * 0 0 A I", "v 4 * 0 0 * * 0 0 A I RG:Z:a NM:i:1"];
        let lines = applied(&mut step, header, header, &reads);
        lines.iter().map(|line| line.rsplit_once(" I ").unwrap().1.to_string()).collect()
    }

    #[test]
    fn all_reads_or_those_without_a_group_get_the_one_of_the_header() {
        let mut header = header(GROUPS);
        let all = ToReadGroup::for_all_reads("b", &header).unwrap();
        assert_eq!(groups(all, &header), ["RG:Z:b", "RG:Z:b NM:i:1"]);
        let orphans = ToReadGroup::for_orphans("b", &mut header).unwrap();
        assert_eq!(groups(orphans, &header), ["RG:Z:b", "RG:Z:a NM:i:1"]);
        assert_eq!(header.lines_of_kind(b"RG").count(), 2);
    }

    #[test]
    fn a_new_group_is_added_to_the_header_behind_the_others() {
        let mut header = header(GROUPS);
        let orphans = ToReadGroup::for_orphans("ID:n SM:y", &mut header).unwrap();
        assert_eq!(groups(orphans, &header), ["RG:Z:n", "RG:Z:a NM:i:1"]);
        assert_eq!(header.to_text(), b"@RG\tID:a\tSM:x\n@RG\tID:b\n@RG\tID:n\tSM:y\n@PG\tID:p\n");
    }

    #[test]
    fn a_group_that_is_missing_or_whose_id_another_has_is_refused() {
        assert!(ToReadGroup::for_all_reads("c", &header(GROUPS)).is_err());
        for bad in ["c", "ID:a SM:other", "SM:x"] {
            assert!(ToReadGroup::for_orphans(bad, &mut header(GROUPS)).is_err(), "{bad}");
        }
        assert!(ToReadGroup::for_orphans("ID:a SM:x", &mut header(GROUPS)).is_ok());
    }
}
