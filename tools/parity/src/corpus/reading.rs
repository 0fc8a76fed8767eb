//! The comparisons of reading and writing a file, and the text around their tables.

use crate::corpus::report::ReportLayout;

pub const READING: ReportLayout = ReportLayout {
    comparisons: &[
        "read",
        "our CRAM by samtools",
        "samtools' CRAM by readmill",
        "our CRAM by htsjdk",
        "htsjdk's CRAM by readmill",
    ],
    introduction: "\
# Test files of others

This page reports, for each test file of htslib, samtools and hts-specs, whether readmill reads and writes it as samtools does.

```
for name in htslib samtools hts-specs; do git clone --depth 1 https://github.com/samtools/$name corpus/$name; done
./dev parity --corpus corpus --report report.md --tables docs/data/corpus
```

",
    legend: "\
| verdict | meaning |
|---|---|
| ok | the records are the same |
| refused | readmill correctly refuses the file: samtools refuses it, too, or the specification's tests require it |
| row N | an accepted difference, [by its number](parity.md#accepted-differences) |
| as samtools' | htsjdk gives the same result for samtools' CRAM of the file |
| – | there was nothing to compare |

[How the files are compared](parity.md#test-files-of-others).

",
    heading: "##",
    data_prefix: "",
    by_format: true,
};

/// readmill reads the file like samtools.
pub const READ: usize = 0;
/// readmill writes the file as CRAM; samtools and readmill read the same from it.
pub const OURS: usize = 1;
/// samtools writes the file as CRAM, in its own version; readmill reads it like samtools.
pub const THEIRS: usize = 2;
/// htsjdk reads readmill's CRAM.
pub const OURS_BY_HTSJDK: usize = 3;
/// readmill reads htsjdk's CRAM like samtools.
pub const HTSJDKS: usize = 4;
