//! stub
use readmill_record::Result;
use readmill_record::header::Reference as Contig;
#[derive(Clone)]
pub struct Intervals;
#[derive(Default)]
pub struct Chosen<'a> {
    pub include: &'a [String],
    pub exclude: &'a [String],
    pub padding: u32,
    pub exclusion_padding: u32,
}
impl Intervals {
    pub fn of(_: &Chosen<'_>, _: &[Contig]) -> Result<Intervals> {
        Ok(Intervals)
    }
    pub fn overlaps(&self, _: u32, _: u32, _: u32) -> bool {
        true
    }
}
