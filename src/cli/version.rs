//! What `-V` says: the version, and what this build and this processor have. (`--version` is the version alone.)

use readmill_format::bgzf::Codec;

/// The text of `-V` behind the program's name. Its first line is the version alone.
pub fn text() -> String {
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
        processor(),
    )
}

/// The processor's instructions that matter to the speed of this program.
fn processor() -> String {
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
