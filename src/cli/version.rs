//! The text of `-V`: the version, and the features of this build and this processor. (`--version`
//! prints only the version.)

use readmill_format::bgzf::Codec;

/// Returns the text that `-V` prints after the program's name. The first line is the version.
pub fn version_text() -> String {
    let commit = option_env!("READMILL_COMMIT").unwrap_or("unknown");
    let aligners: &[&str] = &[
        #[cfg(feature = "bwa")]
        "bwa mem 0.7.17 (by bwa-mem2 2.2.1)",
        #[cfg(feature = "minibwa")]
        "minibwa 0.6",
    ];
    let aligners = if aligners.is_empty() { "none".to_string() } else { aligners.join(", ") };
    let codecs: Vec<&str> = Codec::available().iter().map(|codec| codec.name()).collect();
    format!(
        "{}\ncommit     {commit}\naligners   {aligners}\ncodecs     {}\nprocessor  {}",
        env!("CARGO_PKG_VERSION"),
        codecs.join(", "),
        describe_processor(),
    )
}

/// Returns the architecture and the best instruction set that makes this program faster.
fn describe_processor() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let has = [
            ("AVX-512", is_x86_feature_detected!("avx512bw")),
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("SSE4.2", is_x86_feature_detected!("sse4.2")),
        ];
        let best = has.iter().find(|(_, has)| *has).map_or("SSE2", |(name, _)| name);
        format!("x86-64, {best}")
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::env::consts::ARCH.to_string()
}
