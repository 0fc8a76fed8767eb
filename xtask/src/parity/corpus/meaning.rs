//! Lines of SAM: where they differ, and what CRAM keeps of them.

/// The records of SAM text.
pub fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let is_record = |line: &&str| !is_header(line);
    text.lines().filter(is_record).map(str::to_string).collect()
}

/// Whether a line belongs to the header: two letters after the @, and fewer than eleven columns.
fn is_header(line: &str) -> bool {
    line.starts_with('@') && line.split('\t').next().is_some_and(|word| word.len() == 3)
}

/// The first difference of two files.
pub fn difference(a: &[String], b: &[String]) -> Option<String> {
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    let at = at.or((a.len() != b.len()).then(|| a.len().min(b.len())))?;
    let line = |lines: &[String]| lines.get(at).map_or("nothing".into(), |line| shorten(line));
    Some(format!("line {}: {} and {}", at + 1, line(a), line(b)))
}

fn shorten(line: &str) -> String {
    line.chars().take(400).collect::<String>().replace('\t', " ")
}

/// Returns the parts of a record that CRAM keeps. It does not keep MAPQ and CIGAR of unmapped reads, RNEXT of unpaired
/// reads, the order of fields, and whether aligned bases match.
pub fn of(line: &str) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_string).collect();
    if columns.len() < 11 {
        return line.to_string();
    }
    let flags: u32 = columns[1].parse().unwrap_or(0);
    columns[1] = (flags & 0xfff).to_string();
    if flags & 4 != 0 {
        (columns[4], columns[5]) = ("0".into(), "*".into());
    }
    if flags & 1 == 0 {
        columns[6] = "*".into();
    }
    columns[5] = aligned(&columns[5]);
    columns[11..].sort_unstable();
    columns.join("\t")
}

/// The same without MD and NM, which htsjdk does not restore, and without cF, which it reads as an optional field.
pub fn without_made(line: &str) -> String {
    let made = |field: &&str| ["MD:Z:", "NM:i:", "cF:i:"].iter().any(|made| field.starts_with(made));
    of(&line.split('\t').filter(|field| !made(field)).collect::<Vec<_>>().join("\t"))
}

/// A CIGAR with M for = and X, and without operators of no length.
fn aligned(cigar: &str) -> String {
    let (mut operators, mut n): (Vec<(u64, char)>, u64) = (Vec::new(), 0);
    for c in cigar.chars() {
        if let Some(digit) = c.to_digit(10) {
            n = n * 10 + u64::from(digit);
            continue;
        }
        let c = if matches!(c, '=' | 'X') { 'M' } else { c };
        match operators.last_mut() {
            Some((length, last)) if *last == c && c != '*' => *length += n,
            _ if n == 0 && c != '*' => {}
            _ => operators.push((n, c)),
        }
        n = 0;
    }
    let shown = |&(n, c): &(u64, char)| if c == '*' { "*".to_string() } else { format!("{n}{c}") };
    if operators.is_empty() { "*".into() } else { operators.iter().map(shown).collect() }
}
