//! The allowed values of the duplicate marking flags that take one of a few words.

use readmill_markdup::umi::Method;
use readmill_markdup::{DuplicateTypes, PairEnds, Strategy};

use super::choice::Choice;

/// Which records of a duplicate template are flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateMode {
    /// `Template` if the input is grouped by name, otherwise `Coordinate`.
    Auto,
    /// Flag all records of a duplicate template, as Picard does for queryname-grouped input.
    Template,
    /// Flag only mapped primary records, as Picard does for coordinate-sorted input.
    Coordinate,
}

/// The tool whose rules decide which reads are duplicates. Picard's rules join mates by name and
/// treat libraries separately; samtools' rules use the MC and ms fields of each read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleSet {
    Picard,
    Samtools,
}

pub(super) const RULE_SETS: &[Choice<RuleSet>] = &[
    Choice {
        value: RuleSet::Picard,
        name: "picard",
        aliases: &[],
        help: "Follow Picard MarkDuplicates: libraries are separate, and mates are matched by name",
    },
    Choice {
        value: RuleSet::Samtools,
        name: "samtools",
        aliases: &[],
        help: "Follow samtools markdup. It matches mates by the MC and ms fields; to add them, use --fix-mates samtools or samtools fixmate -m",
    },
];

pub(super) const PAIR_ENDS: &[Choice<PairEnds>] = &[
    Choice {
        value: PairEnds::Template,
        name: "template",
        aliases: &["t"],
        help: "Compare the outer ends of the template",
    },
    Choice {
        value: PairEnds::Sequence,
        name: "sequence",
        aliases: &["s"],
        help: "Compare the start of each read",
    },
];

pub(super) const DUPLICATE_MODES: &[Choice<DuplicateMode>] = &[
    Choice {
        value: DuplicateMode::Auto,
        name: "auto",
        aliases: &[],
        help: "Use template if the reads are grouped by name, otherwise coordinate. If the reads do not show this, the header decides",
    },
    Choice {
        value: DuplicateMode::Template,
        name: "template",
        aliases: &["queryname"],
        help: "Flag all records of the template, as Picard does for queryname-grouped input",
    },
    Choice {
        value: DuplicateMode::Coordinate,
        name: "coordinate",
        aliases: &[],
        help: "Flag only mapped primary records, as Picard does for coordinate-sorted input",
    },
];

pub(super) const DUPLICATE_TYPES: &[Choice<DuplicateTypes>] = &[
    Choice { value: DuplicateTypes::DontTag, name: "none", aliases: &["DontTag"], help: "" },
    Choice { value: DuplicateTypes::OpticalOnly, name: "optical", aliases: &["OpticalOnly"], help: "" },
    Choice { value: DuplicateTypes::All, name: "all", aliases: &[], help: "" },
];

pub(super) const SCORING_STRATEGIES: &[Choice<Strategy>] = &[
    Choice {
        value: Strategy::SumOfBaseQualities,
        name: "sum-of-base-qualities",
        aliases: &["SUM_OF_BASE_QUALITIES"],
        help: "Choose the highest sum of the base qualities that are 15 or more",
    },
    Choice {
        value: Strategy::TotalMappedReferenceLength,
        name: "total-mapped-reference-length",
        aliases: &["TOTAL_MAPPED_REFERENCE_LENGTH"],
        help: "Choose the highest number of aligned reference bases",
    },
    Choice {
        value: Strategy::Random,
        name: "random",
        aliases: &[],
        help: "Choose at random, by a hash of the read name",
    },
];

pub(super) const UMI_METHODS: &[Choice<Method>] = &[
    Choice { value: Method::Exact, name: "exact", aliases: &[], help: "Group only identical UMIs" },
    Choice {
        value: Method::Directional,
        name: "directional",
        aliases: &[],
        help: "Also group UMIs that may be sequencing errors of a more frequent UMI, as umi_tools does",
    },
    Choice {
        value: Method::Adjacency,
        name: "adjacency",
        aliases: &[],
        help: "Group UMIs with the adjacency method of umi_tools",
    },
    Choice {
        value: Method::Cluster,
        name: "cluster",
        aliases: &[],
        help: "Group all UMIs that are connected by at most --umi-edits differences, as umi_tools does",
    },
    Choice {
        value: Method::Paired,
        name: "paired",
        aliases: &[],
        help: "Group both strands of a duplex molecule by UMIs such as ACGT-TTGA, as fgbio does",
    },
];
