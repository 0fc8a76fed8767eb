//! Fingerprints of samples.

use readmill_fingerprint::Fingerprint;
use serde_json::{Value, json};

/// Returns reads and bases of autosomes, X and Y; the ratios of their depths and the sex these tell; and the numbers of sites,
/// and of bases counted at them.
pub fn fingerprint(text: &str) -> Value {
    let Ok(found) = Fingerprint::parse(text) else { return Value::Null };
    let [autosomes, x, y] = found.reads.map(|on| json!({ "reads": on.reads, "bases": on.bases }));
    let [ratio_x, ratio_y] = found.sex_ratios();
    let counted: u64 = found.sites.iter().flat_map(|site| site.counts).sum();
    json!({
        "autosomes": autosomes,
        "X": x,
        "Y": y,
        "x_ratio": ratio_x,
        "y_ratio": ratio_y,
        "sex": found.sex(),
        "sites": found.sites.len(),
        "bases": counted,
    })
}
