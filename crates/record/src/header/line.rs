//! One line of a header, and its fields.

pub(super) const HEADERS_USER: &str = "headers";

/// One header line, without its line end. It is kept as text, so unknown fields survive.
///
/// ```
/// use readmill_record::header::HeaderLine;
///
/// let mut line = HeaderLine::new("@RG\tID:lane1\tPL:ILLUMINA");
/// assert_eq!((line.kind(), line.get(b"ID")), (&b"RG"[..], Some(&b"lane1"[..])));
/// line.set_field(b"SM", b"s1");
/// line.remove_field(b"PL");
/// assert_eq!(line.text(), b"@RG\tID:lane1\tSM:s1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLine(Box<[u8]>);

impl HeaderLine {
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        HeaderLine(text.into().into_boxed_slice())
    }

    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// Returns the two letters after the `@`, or an empty slice if the line is shorter.
    pub fn kind(&self) -> &[u8] {
        self.0.get(1..3).unwrap_or_default()
    }

    pub fn get(&self, tag: &[u8; 2]) -> Option<&[u8]> {
        self.fields().find(|field| field.starts_with(tag) && field[2] == b':').map(|f| &f[3..])
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let fields = self.0.split(|&b| b == b'\t').skip(1);
        fields.filter(|field| field.len() >= 3)
    }

    /// Returns the line with sorted fields, for comparing lines regardless of field order.
    pub(super) fn with_sorted_fields(&self) -> Vec<u8> {
        let mut parts: Vec<&[u8]> = self.0.split(|&b| b == b'\t').collect();
        parts[1..].sort_unstable();
        parts.join(&b'\t')
    }

    /// Sets the value of every field `tag`, or appends the field if there is none.
    pub fn set_field(&mut self, tag: &[u8; 2], value: &[u8]) {
        let new = [&tag[..], b":", value].concat();
        let mut found = false;
        let mut parts: Vec<Vec<u8>> = self.0.split(|&b| b == b'\t').map(<[u8]>::to_vec).collect();
        for part in parts.iter_mut().skip(1) {
            if part.starts_with(&new[..3]) {
                part.clone_from(&new);
                found = true;
            }
        }
        if !found {
            parts.push(new);
        }
        self.0 = parts.join(&b'\t').into();
    }

    pub fn remove_field(&mut self, tag: &[u8; 2]) {
        let parts = self.0.split(|&b| b == b'\t').enumerate();
        let kept: Vec<&[u8]> = parts
            .filter(|&(i, part)| i == 0 || !(part.starts_with(tag) && part.get(2) == Some(&b':')))
            .map(|(_, part)| part)
            .collect();
        self.0 = kept.join(&b'\t').into();
    }
}
