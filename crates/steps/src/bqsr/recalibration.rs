//! What a report makes of each reported quality (spec D7).

use readmill_record::{Error, Result};

use super::report::{Covariate, Group, Report};
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
    pub context_size: usize,
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
    rows: Vec<Row>,
    results: Results,
}

/// What becomes of one reported quality.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Where its empirical quality stands among the results.
    base: i16,
    /// What to add, by the code of the context; empty if it has no row.
    contexts: Box<[i8]>,
    /// What to add, by the index of the cycle.
    cycles: Box<[i8]>,
}

impl Recalibration {
    /// Works out what a report makes of each quality.
    pub fn new(report: &Report, applying: &Applying) -> Result<Recalibration> {
        let maps = results::Maps::new(&report.quantization, applying)?;
        let context_size = report.arguments.mismatches_context_size;
        let mut groups = Vec::with_capacity(report.groups.len());
        for group in &report.groups {
            groups.push(GroupRecalibration::new(group, context_size, applying, &maps)?);
        }
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Recalibration {
            context_size: usize::from(context_size),
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
        let row = |row: &Row| size_of::<Row>() + row.contexts.len() + row.cycles.len();
        let group = |group: &GroupRecalibration| {
            size_of::<GroupRecalibration>() + group.rows.iter().map(row).sum::<usize>()
        };
        size_of::<Self>() + self.groups.iter().map(group).sum::<usize>()
    }

    /// Bytes of memory that a report's would take at most.
    pub fn bytes_for(report: &Report) -> usize {
        let contexts = 1usize << (2 * report.arguments.mismatches_context_size.min(13));
        let row = size_of::<Row>() + contexts + 2 * report.arguments.maximum_cycle_value as usize + 2;
        let rows = |group: &Group| {
            let mut qualities: Vec<u8> = group.covariates.iter().map(|row| row.quality).collect();
            qualities.dedup();
            qualities.len()
        };
        let bare = size_of::<GroupRecalibration>() + QUALITIES * size_of::<Row>();
        report.groups.iter().map(|group| bare + rows(group) * row).sum()
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
        let mut building: Vec<Building> = empirical.iter().map(|_| Building::default()).collect();
        for row in group.covariates.iter().filter(|row| row.event == Event::Mismatch) {
            let quality = usize::from(row.quality);
            let base = empirical[quality];
            let delta = row.evidence.expecting(f64::from(base)) as i8 - base as i8;
            building[quality].set(row.covariate, delta, context_size);
        }
        let rows =
            building.into_iter().zip(empirical).enumerate().map(|(quality, (building, empirical))| {
                if quality < usize::from(applying.preserve_below) {
                    return Row { base: results::preserved(quality), ..Row::default() };
                }
                let Building { contexts, cycles } = building;
                Row { base: results::place(empirical), contexts: contexts.into(), cycles: cycles.into() }
            });
        Ok(GroupRecalibration {
            name: group.name.clone(),
            rows: rows.collect(),
            results: maps.results(),
        })
    }

    /// The new quality of a base: of its reported quality (0 to 93; a higher one is given back), the code of its
    /// context and the index of its cycle. A code or an index that is too high is one without a row:
    /// `usize::MAX` stands for a base without context.
    #[inline]
    pub fn quality(&self, reported: u8, context: usize, cycle: usize) -> u8 {
        let Some(row) = self.rows.get(usize::from(reported)) else { return reported };
        let delta = |deltas: &[i8], at: usize| i16::from(deltas.get(at).copied().unwrap_or(0));
        self.results.at(row.base + delta(&row.contexts, context) + delta(&row.cycles, cycle))
    }
}

/// The deltas of one quality.
#[derive(Default)]
struct Building {
    contexts: Vec<i8>,
    cycles: Vec<i8>,
}

impl Building {
    fn set(&mut self, covariate: Covariate, delta: i8, context_size: u8) {
        match covariate {
            Covariate::Context { size, code } if size == context_size => {
                self.contexts.resize(1 << (2 * size), 0);
                self.contexts[code as usize] = delta;
            }
            // No read has such a context.
            Covariate::Context { .. } => {}
            Covariate::Cycle(cycle) => {
                let index = cycle_index(cycle);
                if self.cycles.len() <= index {
                    self.cycles.resize(index + 1, 0);
                }
                self.cycles[index] = delta;
            }
        }
    }
}
