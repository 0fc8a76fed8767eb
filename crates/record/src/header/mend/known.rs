//! What the specification says of kinds of header lines, and how their parts are mended.

/// A kind of line with rules.
pub(super) struct Known {
    pub kind: &'static [u8; 2],
    /// Fields that the specification defines for it.
    pub fields: &'static [&'static [u8; 2]],
    /// Fields without which samtools or htsjdk cannot read it.
    pub required: &'static [&'static [u8; 2]],
}

/// SAM specification, section 1.3.
pub(super) const KNOWN: [Known; 4] = [
    Known { kind: b"HD", fields: &[b"VN", b"SO", b"GO", b"SS"], required: &[b"VN"] },
    Known {
        kind: b"SQ",
        fields: &[b"SN", b"LN", b"AH", b"AN", b"AS", b"DS", b"M5", b"SP", b"TP", b"UR"],
        required: &[b"SN", b"LN"],
    },
    Known {
        kind: b"RG",
        fields: &[
            b"ID", b"BC", b"CN", b"DS", b"DT", b"FO", b"KS", b"LB", b"PG", b"PI", b"PL", b"PM", b"PU",
            b"SM",
        ],
        required: &[b"ID"],
    },
    Known { kind: b"PG", fields: &[b"ID", b"PN", b"CL", b"PP", b"DS", b"VN"], required: &[b"ID"] },
];

/// The start of a text in quotation marks, for a message.
pub(super) fn shown(text: &[u8]) -> String {
    let end = text.len().min(100);
    format!("{:?}", String::from_utf8_lossy(&text[..end]))
}

/// What a line lacks; the caller knows its number.
pub(super) type LineResult<T> = std::result::Result<T, String>;

/// Takes the note that a change deserves.
pub(super) type Noting<'a> = dyn FnMut(String) + 'a;
