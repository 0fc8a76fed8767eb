//! Options of applying a report.

/// Options of GATK's ApplyBQSR. Defaults are those of GATK 4.6.2.0.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyOptions {
    /// `--preserve-qscores-less-than`: qualities below it stay as they are.
    pub preserve_below: u8,
    /// `--quantize-quals`: the number of different qualities; 0 for all, and the report's own map if
    /// negative.
    pub quantize: i32,
    /// `--static-quantized-quals`: the qualities to which those from 6 on are rounded; none if empty.
    pub static_quantized: Vec<u8>,
    /// `--round-down-quantized`: round to the next lower one of them, not to the nearest.
    pub round_down: bool,
    /// `--global-qscore-prior`: the expected quality of every read group (Phred), if above 0.
    pub global_prior: Option<f64>,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        ApplyOptions {
            preserve_below: 6,
            quantize: 0,
            static_quantized: Vec::new(),
            round_down: false,
            global_prior: None,
        }
    }
}
