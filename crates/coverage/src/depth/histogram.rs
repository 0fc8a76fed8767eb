//! The text histogram of `samtools coverage`: the percentage of covered positions, or the mean
//! depth, in bins of a contig.

use crate::depth::contig_coverage::{ContigCoverage, mean_of};
use crate::depth::number::format_general;
use crate::depth::rules::CountWindow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    pub bins: u32,
    pub ascii: bool,
    /// Draw the mean depth instead of the percentage of covered positions.
    pub draws_depth: bool,
}

const ROW_COUNT: u32 = 10;

/// Characters for bars that fill 1 to 8 eighths of a row (ASCII: 1 to 2 halves).
const UNICODE_BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const ASCII_BLOCKS: [&str; 2] = [".", ":"];

const LABEL_WIDTH: usize = 10;

pub(crate) struct HistogramBins {
    window: CountWindow,
    counts: Vec<u32>,
    width: u32,
    depth: bool,
}

impl HistogramBins {
    pub(crate) fn new(histogram: &Histogram, window: CountWindow) -> Self {
        let length = window.end.saturating_sub(window.start);
        let bins = histogram.bins.min(length);
        let (counts, width) = (vec![0; bins as usize], length.checked_div(bins).unwrap_or(1));
        HistogramBins { window, counts, width, depth: histogram.draws_depth }
    }

    pub(crate) fn add_positions(&mut self, mut start: u32, end: u32, depth: u64, is_covered: bool) {
        let one = match self.depth {
            true => depth as u32,
            false => u32::from(is_covered),
        };
        while start < end {
            let bin = (start - self.window.start) / self.width;
            let Some(count) = self.counts.get_mut(bin as usize) else { return };
            let next = (self.window.start + (bin + 1) * self.width).min(end);
            *count = count.wrapping_add(one.wrapping_mul(next - start));
            start = next;
        }
    }
}

impl Histogram {
    pub(crate) fn draw_contig(
        &self,
        bins: &HistogramBins,
        (name, length): &(String, u32),
        own: &ContigCoverage,
        text: &mut String,
    ) {
        let blocks = if self.ascii { ASCII_BLOCKS.as_slice() } else { &UNICODE_BLOCKS };
        let border = if self.ascii { "|" } else { "│" };
        let factor = if self.draws_depth { 1 } else { 100u32 };
        // samtools multiplies in 32 bits, and may overflow.
        let height = |&count: &u32| f64::from(factor.wrapping_mul(count)) / f64::from(bins.width);
        let heights = Vec::from_iter(bins.counts.iter().map(height));
        let max_height = heights.iter().fold(0.0, |max_height: f64, &height| max_height.max(height));
        let row_height = max_height / f64::from(ROW_COUNT);
        *text += &format!("{name} ({}bp)\n", format_bases(f64::from(*length)));
        for row in (0..ROW_COUNT).rev() {
            let floor = row_height * f64::from(row);
            *text += &match self.draws_depth {
                true => format!(">{floor:8.1} "),
                false => format!(">{floor:7.2}% "),
            };
            *text += border;
            for height in &heights {
                let steps = blocks.len() as f64 * (height - floor) / row_height;
                // NaN if all heights are 0. Nothing is drawn then.
                let block = (steps.round() - 1.0) as i32;
                *text += match usize::try_from(block) {
                    Ok(block) if !steps.is_nan() => blocks[block.min(blocks.len() - 1)],
                    _ => " ",
                };
            }
            *text += border;
            text.push(' ');
            *text += &self.row_legend(row, bins, own, max_height);
            text.push('\n');
        }
        let columns = heights.len() as u32;
        *text += &format!("     {}", center_label(&format_bases(f64::from(bins.window.start) + 1.0)));
        for column in (10..10 * (columns / 10)).step_by(10) {
            let position = f64::from(bins.window.start) + f64::from(bins.width) * f64::from(column);
            *text += &center_label(&format_bases(position));
        }
        let padding = ((columns % 10) as usize).max(1);
        *text +=
            &format!("{:padding$}{}\n", " ", center_label(&format_bases(f64::from(bins.window.end))));
    }

    fn row_legend(
        &self,
        row: u32,
        bins: &HistogramBins,
        own: &ContigCoverage,
        max_height: f64,
    ) -> String {
        let bases = f64::from(bins.window.end) - f64::from(bins.window.start);
        let tally = &own.tally;
        match row {
            9 => format!("Number of reads: {}", tally.counted),
            8 if tally.reads > tally.counted => {
                format!("    ({} filtered)", tally.reads - tally.counted)
            }
            7 => format!("Covered bases:   {}bp", format_bases(own.covered as f64)),
            6 => format!("Percent covered: {}%", format_general(100.0 * own.covered as f64 / bases, 4)),
            5 => format!("Mean coverage:   {}x", format_general(own.depth as f64 / bases, 3)),
            4 => format!("Mean baseQ:      {}", format_general(own.mean_quality(), 3)),
            3 => {
                let mean = mean_of(tally.mapq, tally.counted).unwrap_or(f64::NAN);
                format!("Mean mapQ:       {}", format_general(mean, 3))
            }
            1 => format!("Histo bin width: {}bp", format_bases(f64::from(bins.width))),
            0 if self.draws_depth => format!("Histo max cov:   {}", format_general(max_height, 5)),
            0 => format!("Histo max bin:   {}%", format_general(max_height, 5)),
            _ => String::new(),
        }
    }
}

/// Formats a number of bases with a unit (none, K, M, G or T). The number of decimals grows with
/// the unit, from 0 to 4.
fn format_bases(mut bases: f64) -> String {
    let mut unit = 0;
    while bases >= 1000.0 && unit < 4 {
        bases /= 1000.0;
        unit += 1;
    }
    format!("{bases:.unit$}{}", ["", "K", "M", "G", "T"][unit])
}

fn center_label(label: &str) -> String {
    let free = LABEL_WIDTH.saturating_sub(label.len());
    let (half, odd) = (free / 2, free % 2);
    if half == 0 {
        return label.to_string();
    }
    let (width, behind) = (label.len() + half, (half - 1 + odd).max(1));
    format!(" {label:>width$}{:behind$}", " ")
}
