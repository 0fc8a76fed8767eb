//! Reads only some regions of an indexed file. The claims hold the records of the regions, so no
//! later stage needs to know about regions.
//!
//! | file | contents |
//! |---|---|
//! | `request` | the regions, and the indexed file |
//! | `bgzf` | BAM, and SAM in BGZF, by BAI or CSI |
//! | `record` | the length and place of records and lines |
//! | `cram` | CRAM, by CRAI |

mod bgzf;
mod cram;
mod record;
mod request;

use readmill_format::bgzf::Chunk;
use readmill_record::{Limit, Result};

use crate::claim::Claim;
pub use bgzf::BgzfRegions;
pub use cram::CramRegions;
pub use request::{IndexedInput, Regions};

/// Claims the records of regions, for each kind of index.
pub enum RegionReader {
    /// BAM, and SAM in BGZF.
    Bgzf(Box<BgzfRegions>),
    Cram(Box<CramRegions>),
}

impl RegionReader {
    /// Returns the next records; `None` after the last region.
    pub fn claim(&mut self, reuse: Chunk) -> Result<Option<Claim>> {
        match self {
            RegionReader::Bgzf(reader) => reader.claim(reuse),
            RegionReader::Cram(reader) => reader.claim(reuse.compressed),
        }
    }

    /// Returns about how many bytes of the file are read.
    pub fn bytes(&self) -> u64 {
        match self {
            RegionReader::Bgzf(reader) => reader.expected_bytes(),
            RegionReader::Cram(reader) => reader.expected_bytes(),
        }
    }

    /// Refuses later CRAM containers that take more than `most`.
    pub fn limit_containers(&mut self, most: Limit) {
        if let RegionReader::Cram(reader) = self {
            reader.limit(most);
        }
    }
}
