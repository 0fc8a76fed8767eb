//! What a report makes of each reported quality (spec D7).

use readmill_record::{Error, Result};

use super::covariates::{Cycles, MOST_CONTEXT};
use super::report::{Covariate, CovariateRow, Group, Report};
use super::results::{self, Results};
use super::tables::{Event, QUALITIES, cycle_index};

/// How a report is applied: options of GATK's ApplyBQSR. Defaults are those of GATK 4.6.2.0.
#[derive(Clone, Debug, PartialEq)]
pub struct Applying {
    /// `--preserve-qscores-less-than`: qualities below it stay as they are.
    pub preserve_below: u8,
    /// `--quantize-quals`: so many different qualities; 0 for all, and the report's own map if negative.
    pub quantize: i32,
    /// `--static-quantized-quals`: the qualities to which those from 6 on are rounded; none if empty.
    pub static_quantized: Vec<u8>,
    /// `--round-down-quantized`: to the next lower one of them, not to the nearest.
    pub round_down: bool,
    /// `--global-qscore-prior`: what is expected of every read group (Phred), if above 0.
    pub global_prior: Option<f64>,
}

impl Default for Applying {
    fn default() -> Self {
        Applying {
            preserve_below: 6,
            quantize: 0,
            static_quantized: Vec::new(),
            round_down: false,
            global_prior: None,
        }
    }
}

/// What a report makes of reported qualities.
#[derive(Clone, Debug)]
pub struct Recalibration {
    /// Bases of a context, that of the base itself included.
    pub context_size: u8,
    /// Bases of at most this quality at either end of a read give no context; none if negative.
    pub low_quality_tail: i8,
    /// A read with a cycle beyond it is an error.
    pub maximum_cycle: u32,
    /// What becomes of qualities of a read whose group is not in the report, if that is allowed. Here those
    /// below [`Applying::preserve_below`] are mapped too.
    pub without_group: [u8; QUALITIES],
    /// By name.
    groups: Vec<GroupRecalibration>,
}

/// What becomes of the qualities of one read group.
#[derive(Clone, Debug)]
pub struct GroupRecalibration {
    name: Vec<u8>,
    /// For each reported quality where its empirical quality stands among the results.
    bases: [i16; QUALITIES],
    /// For each reported quality where its row of deltas begins. The first row is for all that have none.
    rows: [u32; QUALITIES],
    /// Rows of what to add: by the code of the context, 0 for none, by the index of the cycle, 0 for any higher.
    deltas: Vec<i8>,
    /// Contexts and cycles in a row, without the zeros.
    shape: [usize; 2],
    results: Results,
}

impl Recalibration {
    /// Works out what a report makes of each quality.
    pub fn new(report: &Report, applying: &Applying) -> Result<Recalibration> {
        let maps = results::Maps::new(&report.quantization, applying)?;
        let context_size = report.arguments.mismatches_context_size;
        if context_size > MOST_CONTEXT {
            return Err(Error::input(format!(
                "the table has contexts of {context_size} bases, and {MOST_CONTEXT} are the most"
            ))
            .hint("make it with a smaller --mismatches-context-size"));
        }
        let mut groups = Vec::with_capacity(report.groups.len());
        for group in &report.groups {
            groups.push(GroupRecalibration::new(group, context_size, applying, &maps)?);
        }
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Recalibration {
            context_size,
            low_quality_tail: report.arguments.low_quality_tail,
            maximum_cycle: report.arguments.maximum_cycle_value,
            without_group: std::array::from_fn(|quality| maps.map(quality)),
            groups,
        })
    }

    /// The read group of a name, which is its PU or, without that, its ID.
    pub fn group(&self, name: &[u8]) -> Option<&GroupRecalibration> {
        self.groups
            .binary_search_by(|group| group.name.as_slice().cmp(name))
            .ok()
            .map(|at| &self.groups[at])
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        let group = |group: &GroupRecalibration| size_of::<GroupRecalibration>() + group.deltas.len();
        size_of::<Self>() + self.groups.iter().map(group).sum::<usize>()
    }
}

impl GroupRecalibration {
    /// What is expected of a read group gives its empirical quality, which is expected of each reported quality
    /// in turn, and the quality found for that is expected of its contexts and cycles (spec D7.36). What these
    /// differ from it is added up. In GATK an empirical quality is worked out once, by whoever asks first; but
    /// all who ask expect the same.
    fn new(group: &Group, context_size: u8, applying: &Applying, maps: &results::Maps) -> Result<Self> {
        let Some(all) = &group.events[Event::Mismatch.index()] else {
            let name = String::from_utf8_lossy(&group.name);
            return Err(Error::input(format!(
                "the read group {name} has no row of event M in RecalTable0"
            )));
        };
        let prior = applying.global_prior.filter(|&prior| prior > 0.0).unwrap_or(all.reported);
        let whole = all.expecting(prior);
        let mut empirical = [whole; QUALITIES];
        for row in group.qualities.iter().filter(|row| row.event == Event::Mismatch) {
            empirical[usize::from(row.quality)] = row.evidence.expecting(f64::from(whole));
        }
        let mut bases = empirical.map(results::place);
        for (quality, base) in bases.iter_mut().enumerate().take(applying.preserve_below.into()) {
            *base = results::preserved(quality);
        }
        let (rows, deltas, shape) = deltas(group, &empirical, context_size, applying.preserve_below);
        let (name, results) = (group.name.clone(), maps.results());
        Ok(GroupRecalibration { name, bases, rows, deltas, shape, results })
    }

    /// Appends the new qualities of the bases of a read: of their reported qualities, which are at most 93,
    /// contexts and cycles.
    pub fn recalibrate(&self, old: &[u8], contexts: &[u16], cycles: Cycles, new: &mut Vec<u8>) {
        let [most_context, most_cycle] = self.shape;
        let bases = old.iter().zip(contexts).zip(cycles.each());
        new.extend(bases.map(|((&quality, &context), cycle)| {
            let row = self.rows[usize::from(quality)] as usize;
            let context = self.deltas[row + usize::from(context).min(most_context)];
            let cycle = self.deltas[row + most_context + 1 + cycle.min(most_cycle)];
            let base = self.bases[usize::from(quality)];
            self.results.at(base + i16::from(context) + i16::from(cycle))
        }));
    }
}

/// Rows of deltas by quality, all rows, and the contexts and cycles in each.
type Deltas = ([u32; QUALITIES], Vec<i8>, [usize; 2]);

/// What each context and cycle adds to the empirical quality.
fn deltas(group: &Group, empirical: &[u8; QUALITIES], context_size: u8, preserved: u8) -> Deltas {
    let own = |row: &&CovariateRow| row.event == Event::Mismatch && row.quality >= preserved;
    let contexts = 1usize << (2 * context_size);
    let index = |row: &CovariateRow| match row.covariate {
        Covariate::Cycle(cycle) => Some(contexts + 1 + cycle_index(cycle)),
        Covariate::Context { size, code } if size == context_size => Some(code as usize),
        Covariate::Context { .. } => None, // no read has such a context
    };
    let last = group.covariates.iter().filter(own).filter_map(index).max().unwrap_or(0);
    let cycles = (last + 1).saturating_sub(contexts + 1);
    let width = contexts + 1 + cycles + 1;
    let (mut rows, mut deltas) = ([0; QUALITIES], vec![0; width]);
    for row in group.covariates.iter().filter(own) {
        let (quality, Some(index)) = (usize::from(row.quality), index(row)) else { continue };
        if rows[quality] == 0 {
            rows[quality] = deltas.len() as u32;
            deltas.resize(deltas.len() + width, 0);
        }
        let base = empirical[quality];
        let delta = row.evidence.expecting(f64::from(base)) as i8 - base as i8;
        deltas[rows[quality] as usize + index] = delta;
    }
    (rows, deltas, [contexts, cycles])
}
