//! Limits of aligning: of reads, and of the processor, which must have certain instructions.

use readmill_record::{Error, ReadBatch, Result};

/// Longest read name that BAM stores, in bytes.
const LONGEST_NAME: usize = 254;

/// Longest read that is aligned, in bases: no alignment with a positive score has more operators in its CIGAR than a record can hold.
pub(crate) const LONGEST_READ: u32 = 200_000;

/// Refuses reads over which C code would end the process, or that no record can hold.
pub(crate) fn check(reads: &ReadBatch) -> Result<()> {
    for (at, read) in reads.iter().enumerate() {
        let what = if read.name.len() > LONGEST_NAME {
            "its name is longer than 254 bytes, which is all that BAM stores"
        } else if read.name.contains(&0) {
            "its name has a NUL"
        } else if reads.spans()[at].len > LONGEST_READ {
            "it is longer than 200,000 bases, which is more than can be aligned here"
        } else {
            continue;
        };
        let ordinal = reads.first() + (at / reads.segments().max(1)) as u64;
        let shown = &read.name[..read.name.len().min(LONGEST_NAME)];
        return Err(Error::input(what).record(ordinal).qname(shown));
    }
    Ok(())
}

/// Whether bwa-mem3's C++ outside its kernels is compiled for SSE4.2, like minibwa, instead of AVX2.
const OLD_PROCESSORS: bool = cfg!(all(feature = "old-processors", target_os = "linux"));

/// Refuses a processor that bwa mem, or else minibwa, does not run on.
///
/// bwa-mem3 is compiled for AVX2 (x86 processors since 2013), with the feature `old-processors` for SSE4.2 (since
/// 2008), as minibwa is; both choose faster code where there is more. On processors of other kinds they run as they are.
pub fn check_processor(is_bwa: bool) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_bwa && !OLD_PROCESSORS && !is_x86_feature_detected!("avx2") {
            let what = "this processor has no AVX2, for which bwa mem is compiled here";
            return Err(Error::usage(what).hint(if cfg!(target_os = "linux") {
                "build readmill with --features old-processors, or align on another machine: x86 processors have AVX2 \
                 since 2013; all other commands run here"
            } else {
                "align on another machine: x86 processors have AVX2 since 2013; all other commands run here"
            }));
        }
        if !is_x86_feature_detected!("sse4.2") || !is_x86_feature_detected!("popcnt") {
            let kernel = if is_bwa { "bwa mem" } else { "minibwa" };
            return Err(Error::usage(format!("this processor has no SSE4.2, which {kernel} needs")).hint(
                "align on another machine: x86 processors have it since 2008; all other commands run here",
            ));
        }
    }
    let _ = is_bwa;
    Ok(())
}
