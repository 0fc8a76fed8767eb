//! The file of our own checksums, which [`Checksum`] computes.

use readmill_filters::checksum::Checksum;
use readmill_record::ChangedTags;

use crate::spec::{TallyReport, TallySpec};

/// The description of this tally, for the flag `--checksum FILE`. The subcommand has flags of its
/// own, so it is not made from this.
pub const SPEC: TallySpec = TallySpec {
    flag_help: Some("Write checksums that do not depend on the order of reads (readmill checksum)"),
    ..TallySpec::new("checksum", |context| {
        TallyReport::new(Checksum::new(context.header, ChangedTags::default()), |sums, _| {
            sums.to_text().into_bytes()
        })
    })
};
