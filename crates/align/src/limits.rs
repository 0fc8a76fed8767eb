//! Limits of alignment: which reads can be aligned, and which instructions the processor must
//! support.

use readmill_record::{Error, ReadBatch, Result};

/// Maximum length of a read name in BAM, in bytes: `l_read_name` is one byte and counts a NUL.
const MAX_NAME_BYTES: usize = 254;

/// Maximum length of a read that is aligned. Up to this length, the number of CIGAR operators of an
/// alignment with a positive score fits in a BAM record.
pub(crate) const MAX_READ_BASES: u32 = 200_000;

/// Returns an error for the first read that would make the C code exit, or that does not fit in a
/// BAM record.
pub(crate) fn check_reads(reads: &ReadBatch) -> Result<()> {
    for (at, read) in reads.iter().enumerate() {
        let what = if read.name.len() > MAX_NAME_BYTES {
            "the read name is longer than 254 bytes, the maximum in BAM"
        } else if read.name.contains(&0) {
            "the read name has a NUL"
        } else if reads.spans()[at].len > MAX_READ_BASES {
            "the read is longer than 200,000 bases, the maximum for alignment"
        } else {
            continue;
        };
        let ordinal = reads.first_template() + (at / reads.segments().max(1)) as u64;
        let shown = &read.name[..read.name.len().min(MAX_NAME_BYTES)];
        return Err(Error::input(what).record(ordinal).qname(shown));
    }
    Ok(())
}

/// Whether the C++ code of bwa-mem3 outside its kernels is compiled for SSE4.2 (like minibwa)
/// instead of AVX2.
#[cfg(target_arch = "x86_64")]
const OLD_PROCESSORS: bool = cfg!(all(feature = "old-processors", target_os = "linux"));

/// Returns an error if bwa mem (or, if `is_bwa` is false, minibwa) cannot run on this processor.
///
/// bwa-mem3 is compiled for AVX2 (x86 processors since 2013), or for SSE4.2 (since 2008) with the
/// feature `old-processors`. minibwa is compiled for SSE4.2. Both use better instructions if the
/// processor has them. Other processor families have no such requirement.
pub fn check_processor(is_bwa: bool) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_bwa && !OLD_PROCESSORS && !is_x86_feature_detected!("avx2") {
            let what = "this processor has no AVX2, which this build of bwa mem needs";
            return Err(Error::usage(what).hint(if cfg!(target_os = "linux") {
                "build readmill with --features old-processors, or align on another machine: x86 processors since 2013 have AVX2; all other commands run here"
            } else {
                "align on another machine: x86 processors since 2013 have AVX2; all other commands run here"
            }));
        }
        if !is_x86_feature_detected!("sse4.2") || !is_x86_feature_detected!("popcnt") {
            let kernel = if is_bwa { "bwa mem" } else { "minibwa" };
            return Err(Error::usage(format!("this processor has no SSE4.2, which {kernel} needs")).hint(
                "align on another machine: x86 processors since 2008 have SSE4.2; all other commands run here",
            ));
        }
    }
    let _ = is_bwa;
    Ok(())
}
