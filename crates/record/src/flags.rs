//! FLAG, the bit field of SAM column 2.

/// FLAG of a record (SAM specification, section 1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident $test:ident = $bit:literal;)*) => {
        impl Flags {
            $($(#[$doc])* pub const $name: u16 = $bit;)*
            $($(#[$doc])* pub fn $test(self) -> bool { self.0 & $bit != 0 })*
        }
    };
}

bits! {
    /// The template has several segments.
    PAIRED is_paired = 0x1;
    /// Every segment is properly aligned.
    PROPER is_proper = 0x2;
    /// This segment is unmapped.
    UNMAPPED is_unmapped = 0x4;
    /// The next segment is unmapped.
    MATE_UNMAPPED is_mate_unmapped = 0x8;
    /// SEQ is reverse complemented.
    REVERSE is_reverse = 0x10;
    /// SEQ of the next segment is reverse complemented.
    MATE_REVERSE is_mate_reverse = 0x20;
    /// First segment of the template.
    FIRST is_first = 0x40;
    /// Last segment of the template.
    LAST is_last = 0x80;
    /// Secondary alignment.
    SECONDARY is_secondary = 0x100;
    /// Not passing quality controls.
    QC_FAIL is_qc_fail = 0x200;
    /// PCR or optical duplicate.
    DUPLICATE is_duplicate = 0x400;
    /// Supplementary alignment.
    SUPPLEMENTARY is_supplementary = 0x800;
}

impl Flags {
    /// Neither secondary nor supplementary.
    pub fn is_primary(self) -> bool {
        self.0 & (Self::SECONDARY | Self::SUPPLEMENTARY) == 0
    }
}
