//! Options of trimming and of filters. The defaults are those of fastp.

/// All options of trimming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimOptions {
    /// What is cut off first and last reads, whatever they are.
    pub ends: [Ends; 2],
    /// Windows of qualities.
    pub windows: Windows,
    /// Whether tails of G are cut off.
    pub poly_g: PolyG,
    /// The shortest tail of G.
    pub least_poly_g: usize,
    /// The shortest tail of any one base; `None` if these are left.
    pub least_poly_x: Option<usize>,
    /// The adapters of first and last reads; `None` if adapters are left.
    pub adapters: Option<[Option<Vec<u8>>; 2]>,
    /// When mates overlap.
    pub overlap: OverlapRules,
    /// Whether bases are corrected where mates overlap.
    pub correction: bool,
    /// The filter of qualities.
    pub quality: Option<QualityFilter>,
    /// The filter of lengths.
    pub length: Option<LengthFilter>,
    /// Of a hundred neighbours, how many must differ; `None` if any read may stay.
    pub complexity: Option<u8>,
}

impl Default for TrimOptions {
    fn default() -> Self {
        TrimOptions {
            ends: [Ends::default(); 2],
            windows: Windows::default(),
            poly_g: PolyG::ByName,
            least_poly_g: 10,
            least_poly_x: None,
            adapters: Some([None, None]),
            overlap: OverlapRules { least: 30, most_different: 5, percent: 20 },
            correction: false,
            quality: Some(QualityFilter {
                qualified: 15,
                unqualified_percent: 40,
                average: 0,
                most_n: 5,
            }),
            length: Some(LengthFilter { least: 15, most: 0 }),
            complexity: None,
        }
    }
}

/// Bases that are cut off all reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// First bases, which go before anything else.
    pub front: usize,
    /// Last bases, which go before anything else.
    pub tail: usize,
    /// The longest length in the end; 0 for any.
    pub longest: usize,
}

/// A window that slides over qualities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Bases in it.
    pub size: usize,
    /// Their mean quality, at least.
    pub quality: u8,
}

/// The windows that are slid over each read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// From the front, as long as qualities are bad.
    pub front: Option<Window>,
    /// From the tail, as long as qualities are bad. Not where `right` is.
    pub tail: Option<Window>,
    /// From the front, up to the first that is bad.
    pub right: Option<Window>,
}

impl Windows {
    /// Whether there is none.
    pub fn is_nothing(&self) -> bool {
        *self == Windows::default()
    }
}

/// Whether tails of G are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolyG {
    /// If the name of the first read is that of an instrument with two colours, to which no signal is a G.
    ByName,
    /// Yes.
    Cut,
    /// No.
    Keep,
}

/// When mates overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapRules {
    /// Fewest bases of an overlap.
    pub least: usize,
    /// Most bases that differ.
    pub most_different: usize,
    /// Most bases that differ, of a hundred.
    pub percent: u8,
}

/// The filter of qualities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityFilter {
    /// Lower qualities are bad.
    pub qualified: u8,
    /// Most bad qualities, of a hundred.
    pub unqualified_percent: u8,
    /// The mean quality, at least; 0 for any.
    pub average: u8,
    /// Most N.
    pub most_n: usize,
}

/// The filter of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthFilter {
    /// Fewest bases.
    pub least: usize,
    /// Most bases; 0 for any.
    pub most: usize,
}

/// Starts of the names of reads of instruments with two colours: NextSeq 500 and 550, and NovaSeq 6000 as its names were
/// when fastp 0.23.2 came out.
const TWO_COLOURS: [&[u8]; 4] = [b"NS", b"NB", b"NDX", b"A0"];

/// Whether a read of this name is of an instrument with two colours.
pub fn has_two_colours(name: &[u8]) -> bool {
    TWO_COLOURS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruments_are_known_by_the_names_of_their_reads() {
        let names: [&[u8]; 7] = [b"NS500:1", b"NB551", b"NDX550", b"A00123:4", b"A1", b"M0123", b""];
        assert_eq!(names.map(has_two_colours), [true, true, true, true, false, false, false]);
    }
}
