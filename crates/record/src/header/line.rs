//! One line of a header.

/// The name of the memory of headers in the ledger.
pub(super) const HEADERS: &str = "headers";

/// One header line, without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLine(Box<[u8]>);

impl HeaderLine {
    /// A line as in a file, such as `@RG\tID:1`.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        HeaderLine(text.into().into_boxed_slice())
    }

    /// The line as in a file.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// The two letters after the `@`.
    pub fn kind(&self) -> &[u8] {
        self.0.get(1..3).unwrap_or_default()
    }

    /// The value of a tag.
    pub fn get(&self, tag: &[u8; 2]) -> Option<&[u8]> {
        self.fields().find(|field| field.starts_with(tag) && field[2] == b':').map(|f| &f[3..])
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let fields = self.0.split(|&b| b == b'\t').skip(1);
        fields.filter(|field| field.len() >= 3)
    }

    /// The line with its fields sorted: equal for lines with the same fields in another order.
    pub(super) fn sorted(&self) -> Vec<u8> {
        let mut parts: Vec<&[u8]> = self.0.split(|&b| b == b'\t').collect();
        parts[1..].sort_unstable();
        parts.join(&b'\t')
    }

    /// Sets a tag in place, or appends it.
    pub fn set(&mut self, tag: &[u8; 2], value: &[u8]) {
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

    /// Removes a tag.
    pub fn remove(&mut self, tag: &[u8; 2]) {
        let parts = self.0.split(|&b| b == b'\t').enumerate();
        let kept: Vec<&[u8]> = parts
            .filter(|&(i, part)| i == 0 || !(part.starts_with(tag) && part.get(2) == Some(&b':')))
            .map(|(_, part)| part)
            .collect();
        self.0 = kept.join(&b'\t').into();
    }
}
