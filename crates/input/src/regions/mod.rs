//! Reads only some regions of an indexed file. The claims hold just the records of the regions, so
//! later stages need not know about regions.
//!
//! | file | contents |
//! |---|---|
//! | `request` | the regions, and the indexed file |
//! | `bgzf` | BAM, and SAM in BGZF, by BAI or CSI |
//! | `record` | the length and position of records and lines |
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
pub use request::{IndexedInput, RequestedRegions};

pub enum RegionReader {
    Bgzf(Box<BgzfRegions>),
    Cram(Box<CramRegions>),
}

impl RegionReader {
    pub fn claim(&mut self, reuse: Chunk) -> Result<Option<Claim>> {
        match self {
            RegionReader::Bgzf(reader) => reader.claim(reuse),
            RegionReader::Cram(reader) => reader.claim(reuse.compressed),
        }
    }

    pub fn expected_bytes(&self) -> u64 {
        match self {
            RegionReader::Bgzf(reader) => reader.expected_bytes(),
            RegionReader::Cram(reader) => reader.expected_bytes(),
        }
    }

    pub fn limit_containers(&mut self, max_container: Limit) {
        if let RegionReader::Cram(reader) = self {
            reader.limit_containers(max_container);
        }
    }
}
