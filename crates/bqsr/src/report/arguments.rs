//! The arguments in a report: those of GATK's BaseRecalibrator that its table Arguments lists (spec D5.25).

use readmill_record::{Error, Result};

use crate::counters::Event;

/// The longest context that a report may state, as in GATK; those over [`crate::covariates::LONGEST_CONTEXT`] are refused when the
/// report is used.
const GATK_LONGEST_CONTEXT: u8 = 13;

/// The only covariates there are since GATK 4.
const COVARIATES: &str = "ReadGroupCovariate,QualityScoreCovariate,ContextCovariate,CycleCovariate";

/// The arguments of the tables. Defaults are those of GATK 4.6.2.0.
///
/// GATK lists neither --preserve-qscores-less-than, --use-original-qualities, --default-base-qualities nor
/// --compute-indel-bqsr-tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// `--mismatches-context-size`: bases of a context of mismatches: 1 to 7 where bases are counted, to 13 in a report.
    pub mismatches_context_size: u8,
    /// `--indels-context-size`: bases of a context of insertions and deletions, likewise.
    pub indels_context_size: u8,
    /// `--maximum-cycle-value`: a cycle beyond it is an error.
    pub maximum_cycle_value: u32,
    /// `--low-quality-tail`: bases of at most this quality at the ends of a read give no context; none if negative.
    pub low_quality_tail: i8,
    /// `--quantizing-levels`: the number of quantized qualities, at least 1.
    pub quantizing_levels: u32,
    /// `--mismatches-default-quality`, the quality of all bases; off if negative.
    pub mismatches_default_quality: i8,
    /// `--insertions-default-quality`.
    pub insertions_default_quality: i8,
    /// `--deletions-default-quality`.
    pub deletions_default_quality: i8,
    /// `--binary-tag-name`, from GATK alone.
    pub binary_tag_name: Option<String>,
    /// `--default-platform`, from GATK alone.
    pub default_platform: Option<String>,
    /// `--force-platform`, from GATK alone.
    pub force_platform: Option<String>,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments {
            mismatches_context_size: 2,
            indels_context_size: 3,
            maximum_cycle_value: 500,
            low_quality_tail: 2,
            quantizing_levels: 16,
            mismatches_default_quality: -1,
            insertions_default_quality: 45,
            deletions_default_quality: 45,
            binary_tag_name: None,
            default_platform: None,
            force_platform: None,
        }
    }
}

impl Arguments {
    /// Bases of a context of an event.
    pub fn context_size(&self, event: Event) -> u8 {
        match event {
            Event::Mismatch => self.mismatches_context_size,
            Event::Insertion | Event::Deletion => self.indels_context_size,
        }
    }

    /// Bases of the longest context of any event.
    pub fn longest_context(&self) -> u8 {
        self.mismatches_context_size.max(self.indels_context_size)
    }

    /// Checks that all values are in range.
    pub fn check(&self) -> Result<()> {
        let sizes = [("mismatches", self.mismatches_context_size), ("indels", self.indels_context_size)];
        for (of, size) in sizes {
            if !(1..=GATK_LONGEST_CONTEXT).contains(&size) {
                return Err(Error::usage(format!(
                    "{of}_context_size is {size}, but contexts have 1 to 13 bases"
                )));
            }
        }
        if self.maximum_cycle_value > i32::MAX as u32 / 2 - 1 {
            return Err(Error::usage(format!(
                "maximum_cycle_value {} is too high",
                self.maximum_cycle_value
            )));
        }
        if self.quantizing_levels == 0 {
            return Err(Error::usage("quantizing_levels is 0, and must be at least 1"));
        }
        Ok(())
    }

    /// Returns the rows of the table Arguments, in its order.
    pub fn stated(&self) -> Vec<(String, String)> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".into());
        let rows = [
            ("binary_tag_name", text(&self.binary_tag_name)),
            ("covariate", COVARIATES.into()),
            ("default_platform", text(&self.default_platform)),
            ("deletions_default_quality", self.deletions_default_quality.to_string()),
            ("force_platform", text(&self.force_platform)),
            ("indels_context_size", self.indels_context_size.to_string()),
            ("insertions_default_quality", self.insertions_default_quality.to_string()),
            ("low_quality_tail", self.low_quality_tail.to_string()),
            ("maximum_cycle_value", self.maximum_cycle_value.to_string()),
            ("mismatches_context_size", self.mismatches_context_size.to_string()),
            ("mismatches_default_quality", self.mismatches_default_quality.to_string()),
            ("no_standard_covs", "false".into()),
            ("quantizing_levels", self.quantizing_levels.to_string()),
            ("recalibration_report", "null".into()),
            ("run_without_dbsnp", "false".into()),
            ("solid_nocall_strategy", "THROW_EXCEPTION".into()),
            ("solid_recal_mode", "SET_Q_ZERO".into()),
        ];
        rows.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Parses one row of the table. Unknown names are ignored, as in GATK.
    pub fn take(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong = || Error::input(format!("{name} is {value}, which is not a valid value"));
        let optional = || (value != "null").then(|| value.to_owned());
        let only = |accepted: &str| match value == accepted {
            true => Ok(()),
            false => Err(Error::input(format!("{name} is {value}; only {accepted} is supported"))),
        };
        match name {
            "mismatches_context_size" => {
                self.mismatches_context_size = value.parse().map_err(|_| wrong())?
            }
            "indels_context_size" => self.indels_context_size = value.parse().map_err(|_| wrong())?,
            "maximum_cycle_value" => self.maximum_cycle_value = value.parse().map_err(|_| wrong())?,
            "low_quality_tail" => self.low_quality_tail = value.parse().map_err(|_| wrong())?,
            "quantizing_levels" => self.quantizing_levels = value.parse().map_err(|_| wrong())?,
            "mismatches_default_quality" => {
                self.mismatches_default_quality = value.parse().map_err(|_| wrong())?;
            }
            "insertions_default_quality" => {
                self.insertions_default_quality = value.parse().map_err(|_| wrong())?;
            }
            "deletions_default_quality" => {
                self.deletions_default_quality = value.parse().map_err(|_| wrong())?
            }
            "binary_tag_name" => self.binary_tag_name = optional(),
            "default_platform" => self.default_platform = optional(),
            "force_platform" => self.force_platform = optional(),
            "covariate" if value != "null" => only(COVARIATES)?,
            "no_standard_covs" if value.eq_ignore_ascii_case("true") => only("false")?,
            "solid_recal_mode" => only("SET_Q_ZERO")?,
            "solid_nocall_strategy" => only("THROW_EXCEPTION")?,
            _ => {}
        }
        Ok(())
    }

    /// Returns the arguments whose values differ, of those that compared reports must share. GATK leaves out
    /// indels_context_size.
    pub fn differences(&self, other: &Arguments) -> Vec<String> {
        let pairs = self.stated().into_iter().zip(other.stated());
        let unlike = pairs.filter(|((name, one), (_, two))| one != two && name != "indels_context_size");
        unlike.map(|((name, one), (_, two))| format!("{name} is {one} and {two}")).collect()
    }
}
