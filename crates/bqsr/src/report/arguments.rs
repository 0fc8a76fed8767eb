//! The arguments of BaseRecalibrator that a report lists in its Arguments table.

use readmill_record::{Error, Result};

use crate::counters::ErrorEvent;

/// Maximum context size in a report, as in GATK. Reports with contexts above
/// [`crate::covariates::MAX_CONTEXT_SIZE`] can be read and gathered, but not applied.
const GATK_MAX_CONTEXT_SIZE: u8 = 13;

const COVARIATES: &str = "ReadGroupCovariate,QualityScoreCovariate,ContextCovariate,CycleCovariate";

/// The arguments used to make a report. The defaults are the same as in GATK 4.6.2.0.
///
/// GATK does not list --preserve-qscores-less-than, --use-original-qualities,
/// --default-base-qualities and --compute-indel-bqsr-tables in a report, so they are not fields of
/// this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// `--mismatches-context-size`: context size for mismatches, 1 to 7 when counting, up to 13
    /// when reading a report.
    pub mismatches_context_size: u8,
    /// `--indels-context-size`: context size for insertions and deletions, with the same limits.
    pub indels_context_size: u8,
    /// `--maximum-cycle-value`: maximum cycle. Longer reads are an error.
    pub maximum_cycle_value: u32,
    /// `--low-quality-tail`: bases in both tails of a read have no context if their quality is at
    /// most this. A negative value disables this rule.
    pub low_quality_tail: i8,
    /// `--quantizing-levels`: number of quantized qualities, at least 1.
    pub quantizing_levels: u32,
    /// `--mismatches-default-quality`: replaces the qualities of all bases. A negative value
    /// disables this.
    pub mismatches_default_quality: i8,
    pub insertions_default_quality: i8,
    pub deletions_default_quality: i8,
    /// `--binary-tag-name`. Unused: only preserved when read from a GATK report, like
    /// `default_platform` and `force_platform`.
    pub binary_tag_name: Option<String>,
    pub default_platform: Option<String>,
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
    pub fn context_size(&self, event: ErrorEvent) -> u8 {
        match event {
            ErrorEvent::Mismatch => self.mismatches_context_size,
            ErrorEvent::Insertion | ErrorEvent::Deletion => self.indels_context_size,
        }
    }

    pub fn max_context_size(&self) -> u8 {
        self.mismatches_context_size.max(self.indels_context_size)
    }

    /// Fails for the first value that is out of range.
    pub fn check_ranges(&self) -> Result<()> {
        let sizes = [("mismatches", self.mismatches_context_size), ("indels", self.indels_context_size)];
        for (of, size) in sizes {
            if !(1..=GATK_MAX_CONTEXT_SIZE).contains(&size) {
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
            return Err(Error::usage("quantizing_levels is 0, but must be at least 1"));
        }
        Ok(())
    }

    /// Returns the rows of the Arguments table, in GATK's order.
    pub fn printed_rows(&self) -> Vec<(String, String)> {
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

    /// Sets the argument in one row of the table. Unknown names are ignored, as in GATK.
    ///
    /// # Errors
    /// Fails if the value is invalid, or requests something that GATK 4 does not support.
    pub fn set_argument(&mut self, name: &str, value: &str) -> Result<()> {
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

    /// Describes the differences between arguments that must be equal to compare reports. Like
    /// GATK, it does not compare indels_context_size.
    pub fn describe_differences(&self, other: &Arguments) -> Vec<String> {
        let pairs = self.printed_rows().into_iter().zip(other.printed_rows());
        let unlike = pairs.filter(|((name, one), (_, two))| one != two && name != "indels_context_size");
        unlike.map(|((name, one), (_, two))| format!("{name} has two values, {one} and {two}")).collect()
    }
}
