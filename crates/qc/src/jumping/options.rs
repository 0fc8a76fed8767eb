//! Options of CollectJumpingLibraryMetrics.

use clap::Args;

use crate::flags::parse_size;

#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct JumpingOptions {
    /// Jumping libraries: end the tail of insert sizes where a size has fewer than 1/N of the mode's pairs [default: 10000]
    #[arg(long, alias = "TAIL_LIMIT", value_name = "N", value_parser = parse_size())]
    pub tail_limit: Option<u32>,
    /// Jumping libraries: minimum of the insert size, in bases, above which pairs are chimeras [default: 100000]
    #[arg(long, alias = "CHIMERA_KB_MIN", value_name = "N", value_parser = parse_size())]
    pub chimera_kb_min: Option<u32>,
}
