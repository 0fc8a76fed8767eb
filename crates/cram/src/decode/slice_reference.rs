//! The reference as far as a slice covers it.

use readmill_record::Result;

use super::slice::Slice;
use crate::bases::Bases;
use crate::num::damaged;
use crate::scheme::Scheme;

/// The bases of the reference for one slice.
pub struct SliceReference<'a> {
    bases: &'a mut Bases,
    /// The embedded reference, and where it starts (0-based).
    embedded: Option<(&'a [u8], i64)>,
    is_needed: bool,
    /// One past the last base that the slice covers (0-based); `None` if it covers whole contigs.
    end: Option<i64>,
}

impl<'a> SliceReference<'a> {
    /// The reference of `slice`, whose own one, if any, is in `embedded`.
    pub fn new(slice: &Slice, scheme: &Scheme, bases: &'a mut Bases, embedded: &'a [u8]) -> Self {
        let own = slice.embedded.filter(|_| slice.contig >= 0);
        let own = own.map(|_| (embedded, i64::from(slice.start) - 1));
        let end = (slice.contig >= 0).then(|| i64::from(slice.start) - 1 + i64::from(slice.span));
        SliceReference { bases, embedded: own, is_needed: scheme.reference, end }
    }

    /// Whether there are bases for reads on `contig`.
    pub fn exists(&self, contig: i32) -> bool {
        contig >= 0 && (self.embedded.is_some() || self.is_needed)
    }

    /// One past the last available base of `contig` (0-based).
    pub fn end(&self, contig: i32) -> i64 {
        let length = self.bases.references().length(contig);
        self.end.map_or(length, |end| if self.embedded.is_some() { end } else { end.min(length) })
    }

    /// Bases of `contig` from `start` (0-based) on; an error beyond what the slice covers.
    pub fn get(&mut self, contig: i32, start: i64, n: i64) -> Result<&[u8]> {
        if n < 0 || start < 0 || start + n > self.end(contig) {
            return Err(damaged("a read reaches beyond what its slice covers"));
        }
        if let Some((bases, first)) = self.embedded {
            let from = usize::try_from(start - first).ok();
            let bases = from.and_then(|from| bases.get(from..from + n as usize));
            return bases.ok_or_else(|| damaged("a read reaches beyond the embedded reference"));
        }
        self.bases.get(contig, start as u32, (start + n) as u32)
    }
}
