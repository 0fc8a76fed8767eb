//! The report of a file as text: `fastqc_data.txt` and `summary.txt`.

use std::fmt::Write;

use readmill_format::report::{DescribedReport, named_values};
use readmill_record::java;
use serde_json::{Value, json};

use crate::distinct::DistinctSequences;
use crate::module::{FastqcEncoding, Module, Status};
use crate::options::FastqcOptions;
use crate::totals::Totals;
use crate::{MIN_QUAL_CHAR, QUAL_COUNT, positions, sequences};

pub const VERSION: &str = "0.11.9";

/// The modules of one file, with their verdicts.
///
/// Created by [`FileCounter::make_report`](crate::FileCounter::make_report). Modules are in
/// FastQC's order; a module that FastQC omits (qualities of a file without qualities, tiles if
/// names have none) is also omitted here.
pub struct FastqcFileReport {
    file: String,
    modules: Vec<Module>,
}

impl FastqcFileReport {
    pub(crate) fn new(
        file: &str,
        totals: &Totals,
        sequences: &DistinctSequences,
        options: FastqcOptions,
    ) -> Self {
        let no_group = options.no_group;
        let modules = [
            Some(make_basic_module(file, totals)),
            positions::make_quality_module(totals, no_group),
            totals.tiles.make_module(no_group),
            make_mean_quality_module(totals),
            Some(positions::make_base_module(totals, no_group)),
            Some(totals.gc.make_module()),
            Some(positions::make_n_module(totals, no_group)),
            Some(make_length_module(&totals.lengths, no_group)),
        ];
        let [levels, frequent] = sequences::make_modules(totals, sequences);
        let last = [levels, frequent, positions::make_adapter_module(totals, no_group)];
        FastqcFileReport {
            file: file.into(),
            modules: modules.into_iter().flatten().chain(last).collect(),
        }
    }

    /// Returns a warning if the file is reported as Phred+64. FastQC guesses this for files without
    /// a quality character below `@`, but the best reads of recent instruments do not have one
    /// either. `None` if the file is empty or reported as Phred+33.
    pub fn encoding_warning(&self) -> Option<String> {
        let rows = &self.modules.first()?.rows;
        let value = |name: &str| rows.iter().find(|row| row[0] == name).map(|row| row[1].as_str());
        let encoding = value("Encoding")
            .filter(|name| *name != FastqcEncoding::from_min_char(MIN_QUAL_CHAR).name)?;
        let has_reads = value("Total Sequences").is_some_and(|reads| reads != "0");
        let file = &self.file;
        has_reads.then(|| {
            format!(
                "{file}: --fastqc assumes the quality encoding {encoding} (Phred+64), as FastQC does if no character is below @; if the file is Phred+33, as all files since 2011, add 31 to the qualities in the FastQC report"
            )
        })
    }

    pub fn format_data(&self) -> String {
        let mut text = format!("##FastQC\t{VERSION}\n");
        for module in &self.modules {
            let _ = writeln!(text, ">>{}\t{}", module.name, module.status.name());
            if let Some(share) = &module.deduplicated {
                let _ = writeln!(text, "#Total Deduplicated Percentage\t{share}");
            }
            if !module.columns.is_empty() {
                text += &format!("#{}\n", module.columns.join("\t"));
            }
            module.rows.iter().for_each(|row| text += &format!("{}\n", row.join("\t")));
            text += ">>END_MODULE\n";
        }
        text
    }

    pub fn format_summary(&self) -> String {
        let line = |module: &Module| {
            format!("{}\t{}\t{}\n", module.status.name().to_uppercase(), module.name, self.file)
        };
        self.modules.iter().map(line).collect()
    }
}

impl DescribedReport for FastqcFileReport {
    fn format_text(&self) -> Vec<u8> {
        self.format_data().into_bytes()
    }

    fn to_value(&self) -> Value {
        let modules = self.modules.iter().map(Module::to_value).collect();
        named_values(["file", "modules"], [json!(self.file), modules].into_iter())
    }
}

/// Creates the first module: file name, encoding, read count, read lengths and %GC.
fn make_basic_module(file: &str, totals: &Totals) -> Module {
    let letters = |letter: usize| totals.positions.iter().map(|at| at.letters[letter]).sum::<u64>();
    let [a, c, g, t] = [0, 1, 2, 3].map(letters);
    let percent = ((c + g) * 100).checked_div(a + c + g + t).unwrap_or(0);
    let known =
        totals.lengths.iter().enumerate().filter(|(_, reads)| **reads > 0).map(|(length, _)| length);
    let (shortest, longest) = known.fold((usize::MAX, 0), |(low, high), it| (low.min(it), high.max(it)));
    let length = match totals.reads {
        0 => "0".into(),
        _ if shortest == longest => shortest.to_string(),
        _ => format!("{shortest}-{longest}"),
    };
    let kind = if totals.reads == 0 { "null" } else { "Conventional base calls" };
    let encoding =
        FastqcEncoding::from_min_char(totals.lowest.min(MIN_QUAL_CHAR + QUAL_COUNT as u8 - 1)).name;
    let rows = [
        ("Filename", file.to_string()),
        ("File type", kind.into()),
        ("Encoding", encoding.into()),
        ("Total Sequences", totals.reads.to_string()),
        ("Sequences flagged as poor quality", "0".into()),
        ("Sequence length", length),
        ("%GC", percent.to_string()),
    ];
    Module {
        name: "Basic Statistics",
        status: Status::Pass,
        deduplicated: None,
        columns: ["Measure", "Value"].map(String::from).into(),
        rows: rows.map(|(name, value)| vec![name.into(), value]).into(),
    }
}

/// Limits of the most frequent mean quality: a warning at or below the first, a failure at or below
/// the second.
const MEAN_QUALITY_LIMITS: [i64; 2] = [27, 20];

fn make_mean_quality_module(totals: &Totals) -> Option<Module> {
    let counts = &totals.mean_quals;
    let first = counts.iter().position(|&reads| reads > 0)?;
    let last = counts.iter().rposition(|&reads| reads > 0)?;
    let offset =
        i64::from(FastqcEncoding::from_min_char(totals.lowest).offset) - i64::from(MIN_QUAL_CHAR);
    let max_reads = counts.iter().max()?;
    let commonest_quality = counts.iter().position(|reads| reads == max_reads)? as i64 - offset;
    let row = |at: usize| vec![(at as i64 - offset).to_string(), java::format_double(counts[at] as f64)];
    let [warn, fail] = MEAN_QUALITY_LIMITS.map(|limit| commonest_quality <= limit);
    Some(Module {
        name: "Per sequence quality scores",
        status: Status::from_warns_and_fails(warn, fail),
        deduplicated: None,
        columns: ["Quality", "Count"].map(String::from).into(),
        rows: (first..=last).map(row).collect(),
    })
}

const MAX_LENGTH_GROUPS: usize = 50;

/// Creates the module "Sequence Length Distribution". Unless `no_group` is set, lengths are grouped
/// into intervals of 1, 2 or 5 times a power of ten bases, so that the table stays short.
fn make_length_module(lengths: &[u64], no_group: bool) -> Module {
    let known = || lengths.iter().enumerate().filter(|(_, reads)| **reads > 0).map(|(length, _)| length);
    // FastQC's plot has an empty length on both sides, and its intervals start there.
    let shortest = known().next().unwrap_or(0).saturating_sub(1);
    let longest = known().next_back().unwrap_or(0) + 1;
    let steps =
        (0..18).map(|power| 10_usize.pow(power)).flat_map(|factor| [1, 2, 5].map(|it| it * factor));
    let is_wide = |&step: &usize| (longest - shortest) / step <= MAX_LENGTH_GROUPS;
    let step = if no_group { 1 } else { steps.take(54).find(is_wide).unwrap_or(1) };
    let first = if no_group { shortest } else { shortest / step * step };
    let starts = Vec::from_iter((first..=longest).step_by(step));
    let mut rows = Vec::new();
    for (at, &start) in starts.iter().enumerate() {
        let end = (start + step - 1).min(longest);
        let reads: u64 = (start..=end).filter_map(|length| lengths.get(length)).sum();
        if reads == 0 && (at == 0 || at + 1 == starts.len()) {
            continue;
        }
        let name = if step == 1 { start.to_string() } else { format!("{start}-{end}") };
        rows.push(vec![name, java::format_double(reads as f64)]);
    }
    Module {
        name: "Sequence Length Distribution",
        status: Status::from_warns_and_fails(
            known().count() > 1,
            lengths.first().is_some_and(|&reads| reads > 0),
        ),
        deduplicated: None,
        columns: ["Length", "Count"].map(String::from).into(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(usize, u64)]) -> Vec<String> {
        let mut all = vec![0; 2000];
        of.iter().for_each(|&(length, reads)| all[length] = reads);
        make_length_module(&all, false).rows.iter().map(|row| row.join(" ")).collect()
    }

    #[test]
    fn lengths_are_grouped_where_there_are_many() {
        assert_eq!(rows(&[(150, 7)]), ["150 7.0"]);
        assert_eq!(rows(&[(10, 7), (12, 1)]), ["10 7.0", "11 0.0", "12 1.0"]);
        assert_eq!(rows(&[(10, 7), (61, 1)])[..2], ["10-11 7.0", "12-13 0.0"], "from 8 to 62");
        let wide = rows(&[(100, 3), (1000, 1)]);
        assert_eq!((&wide[0][..], &wide[wide.len() - 1][..]), ("100-119 3.0", "1000-1001 1.0"));
        assert_eq!(make_length_module(&[], false).rows, [[""; 0]; 0]);
        assert_eq!(make_length_module(&[1], false).status, Status::Fail);
        assert_eq!(make_length_module(&[0, 1, 1], false).status, Status::Warn);
    }
}
