//! Damages command lines: extreme values, values of the wrong type, missing or repeated words.

use readmill_simulate::Rng;

use super::numbers::draw_number;

/// Values that some option accepts. None of them names a file outside the working directory, so
/// that no case writes there.
const VALUES: [&str; 26] = [
    "", "0", "-1", "1", "2", "0.0", "1.0", "1e308", "nan", "inf", "1,2,3", ",", "a", "RG", "NM:i:5",
    "chr1", "chr1:5-1", "chr9", "none", "all", "null", "true", "\u{e4}", "in/none", "in", "x\ty",
];

/// Damages one or two words of a command line. The command and the input paths are not changed, but
/// may be repeated.
pub fn damage_words(words: &[String], rng: &mut Rng) -> Vec<String> {
    let mut damaged = words.to_vec();
    for _ in 0..=rng.index(2) {
        let at = 1 + rng.index(damaged.len().max(2) - 1);
        let Some(word) = damaged.get(at).cloned() else { continue };
        let has_place = word.contains("in/") || word.contains('/');
        match rng.index(8) {
            0 if !has_place => drop(damaged.remove(at)),
            1 => damaged.insert(at, word),
            2 if !has_place && !word.starts_with('-') => damaged[at] = rng.pick(&VALUES).to_owned(),
            _ if !has_place => damaged[at] = replace_number(&word, rng),
            _ => {}
        }
    }
    damaged
}

fn replace_number(word: &str, rng: &mut Rng) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut was_digit = None;
    for c in word.chars() {
        match parts.last_mut() {
            Some(part) if was_digit == Some(c.is_ascii_digit()) => part.push(c),
            _ => parts.push(c.to_string()),
        }
        was_digit = Some(c.is_ascii_digit());
    }
    let is_number = |part: &String| part.starts_with(|c: char| c.is_ascii_digit());
    let numbers: Vec<usize> = (0..parts.len()).filter(|&at| is_number(&parts[at])).collect();
    if !numbers.is_empty() {
        let at = rng.pick(&numbers);
        parts[at] = draw_number(parts[at].parse().unwrap_or_default(), rng).to_string();
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_the_command_stay() {
        let words = ["depth", "-q", "20", "in/a.bam"].map(str::to_owned);
        let mut changed = 0;
        for seed in 0..200 {
            let damaged = damage_words(&words, &mut Rng::new(seed));
            assert!(damaged[0] == "depth" && damaged.contains(&"in/a.bam".to_owned()), "{damaged:?}");
            changed += usize::from(damaged != words);
        }
        assert!(changed > 100, "{changed}");
        let numbers: Vec<_> =
            (0..50).map(|seed| replace_number("1,40,a3", &mut Rng::new(seed))).collect();
        assert!(numbers.iter().all(|word| word.contains(",a") || word.contains("a")), "{numbers:?}");
        assert!(numbers.iter().any(|word| word.ends_with("a4294967295")), "{numbers:?}");
    }
}
