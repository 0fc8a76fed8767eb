//! The sequences that a header has.

/// Names and lengths of the sequences that a header has.
pub fn sequences(header: &str) -> Vec<(&str, u64)> {
    let lines = header.lines().filter(|line| line.starts_with("@SQ\t"));
    let parse = |line| Some((field(line, "SN:")?, field(line, "LN:")?.parse().ok()?));
    lines.filter_map(parse).collect()
}

fn field<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    line.split('\t').find_map(|field| field.strip_prefix(tag))
}
