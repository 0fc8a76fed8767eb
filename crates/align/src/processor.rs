//! The instructions that kernels are made of, and processors that lack them.

use readmill_record::{Error, Result};

/// Refuses a processor that bwa mem, or else minibwa, does not run on.
///
/// bwa-mem3 is compiled for AVX2 (x86 processors since 2013), minibwa for SSE4.2 (since 2008); both choose faster code
/// where there is more. On processors of other kinds they run as they are.
pub fn check_processor(is_bwa: bool) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        const OTHERS: &str =
            "align on another machine: x86 processors have it since 2013; all other commands run here";
        const OTHERS_SSE: &str =
            "align on another machine: x86 processors have it since 2008; all other commands run here";
        if is_bwa && !is_x86_feature_detected!("avx2") {
            return Err(Error::usage("this processor has no AVX2, which bwa mem needs").hint(OTHERS));
        }
        if !is_x86_feature_detected!("sse4.2") || !is_x86_feature_detected!("popcnt") {
            return Err(
                Error::usage("this processor has no SSE4.2, which minibwa needs").hint(OTHERS_SSE)
            );
        }
    }
    let _ = is_bwa;
    Ok(())
}
