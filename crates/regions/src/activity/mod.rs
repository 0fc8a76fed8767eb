//! How likely it is at each locus that the sample differs from the reference.
//!
//! The activity of a locus is a function of the reads over it and of the reference base there, so
//! stretches of a contig can be computed apart from each other ([`compute_activity`]).

mod model;
mod steps;
mod window;

pub use model::{ActivityModel, LocusActivity, MAX_PLOIDY};
pub use window::ActivityWindow;

use std::sync::Arc;

use crate::ContigSpan;
use crate::read::CallerRead;
use crate::reference::Contig;

/// Returns the activity of each locus of `span`. `reads` are all reads that
/// overlap it, in their order after downsampling; others have no effect.
///
/// ```
/// use std::sync::Arc;
/// use readmill_jmath::{CpuMaker, JavaMath};
/// use readmill_regions::activity::{ActivityModel, compute_activity};
/// use readmill_regions::{CallerRead, Contig, ContigSpan};
///
/// let model = Arc::new(ActivityModel::new(JavaMath::of_maker(CpuMaker::Intel)?, 2));
/// let read = CallerRead {
///     start: 2,
///     cigar: "4M".parse()?,
///     bases: b"CGAA".to_vec(),
///     qualities: vec![30; 4],
///     ..CallerRead::default()
/// };
/// let contig = Contig::new(0, b"chr1", *b"ACGTA");
/// let activity = compute_activity(&model, &[Arc::new(read)], &contig, ContigSpan { start: 1, end: 5 });
/// let active = Vec::from_iter(activity.iter().map(|locus| locus.probability > 0.002));
/// assert_eq!(active, [false, false, false, true, false], "the read has A instead of T");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compute_activity<'a>(
    model: &Arc<ActivityModel>,
    reads: impl IntoIterator<Item = &'a Arc<CallerRead>>,
    contig: &Contig,
    span: ContigSpan,
) -> Vec<LocusActivity> {
    let mut window = ActivityWindow::new(Arc::clone(model), contig.clone(), span.start);
    reads.into_iter().for_each(|read| window.add_read(read));
    let mut activity = Vec::with_capacity(span.len());
    window.take_until(span.end, |_, locus| activity.push(locus));
    activity
}
