//! The kinds of header lines that the SAM specification defines, and helpers for mending them.

pub(super) struct KnownKind {
    pub kind: &'static [u8; 2],
    pub fields: &'static [&'static [u8; 2]],
    /// Fields without which samtools or htsjdk cannot read the line.
    pub required: &'static [&'static [u8; 2]],
}

/// The kinds of lines with fields (SAM specification, section 1.3).
pub(super) const KNOWN_KINDS: [KnownKind; 4] = [
    KnownKind { kind: b"HD", fields: &[b"VN", b"SO", b"GO", b"SS"], required: &[b"VN"] },
    KnownKind {
        kind: b"SQ",
        fields: &[b"SN", b"LN", b"AH", b"AN", b"AS", b"DS", b"M5", b"SP", b"TP", b"UR"],
        required: &[b"SN", b"LN"],
    },
    KnownKind {
        kind: b"RG",
        fields: &[
            b"ID", b"BC", b"CN", b"DS", b"DT", b"FO", b"KS", b"LB", b"PG", b"PI", b"PL", b"PM", b"PU",
            b"SM",
        ],
        required: &[b"ID"],
    },
    KnownKind { kind: b"PG", fields: &[b"ID", b"PN", b"CL", b"PP", b"DS", b"VN"], required: &[b"ID"] },
];

pub(super) fn quote_start(text: &[u8]) -> String {
    let end = text.len().min(100);
    format!("{:?}", String::from_utf8_lossy(&text[..end]))
}

/// A result whose error says what is wrong with a line; the caller adds the line number.
pub(super) type LineResult<T> = std::result::Result<T, String>;

pub(super) type NoteSink<'a> = dyn FnMut(String) + 'a;
