//! Chooses the sample name in reports. MultiQC and similar tools combine reports by this name.

use std::path::Path;

use readmill_process::atomic_file::is_device;
use readmill_record::Header;

use crate::formats::FORMATS;
use crate::plan::Plan;

/// Returns the sample name for reports: the first of these that exists.
///
/// 1. the sample name in the plan,
/// 2. the name of the output file, without its extension,
/// 3. the name of the only input file, without its extension, as Picard names its metrics,
/// 4. the prefix of metrics or coverage files,
/// 5. the sample (SM) of the read groups, if they have only one,
/// 6. the name of the first input.
///
/// Whitespace and slashes are replaced by `_`.
pub(super) fn sample_name(plan: &Plan, header: &Header) -> String {
    let given = plan.reports.sample.clone();
    let by_file = || output_name(plan).or_else(|| input_name(plan)).or_else(|| prefix_name(plan));
    let name = given.or_else(by_file).or_else(|| only_sample(header));
    let name = name.unwrap_or_else(|| {
        let input = plan.inputs.first().and_then(|path| path.file_name());
        input.map_or("-".into(), |name| name.to_string_lossy().into_owned())
    });
    // Report tools end the name at whitespace, or start it after a slash.
    name.replace(|c: char| c.is_whitespace() || c == '/', "_")
}

/// Returns the name of the output without its extension; `None` for standard output and devices.
fn output_name(plan: &Plan) -> Option<String> {
    file_stem(&plan.destination.main_output()?.path)
}

/// Returns the name of the only input without its extension; `None` for pipes and for several
/// inputs.
///
/// The file name takes precedence over SM, because two lanes of one sample are two files whose
/// reports must not overwrite each other. SM takes precedence for FASTQ input, and if an add-on
/// needs the sample of the read groups.
fn input_name(plan: &Plan) -> Option<String> {
    let is_of_records = plan.aligning.is_none() && plan.merging.is_none();
    let by_read_groups = plan.reports.add_ons.iter().any(|it| it.needs().sample_of_read_groups);
    match &plan.inputs[..] {
        [only] if is_of_records && !by_read_groups => file_stem(only),
        _ => None,
    }
}

/// Returns the file name part of a report prefix, which report tools use as the sample name.
fn prefix_name(plan: &Plan) -> Option<String> {
    let prefix = plan.reports.add_ons.iter().find_map(|add_on| add_on.prefix())?;
    Some(prefix.file_name()?.to_string_lossy().into_owned())
}

/// Returns a file name without its extension; `None` for standard streams and devices.
fn file_stem(path: &Path) -> Option<String> {
    if path.as_os_str() == "-" || is_device(path) {
        return None;
    }
    let name = path.file_name()?.to_string_lossy();
    let stem = FORMATS.iter().find_map(|spec| name.strip_suffix(spec.extension));
    Some(stem.filter(|stem| !stem.is_empty()).unwrap_or(&name).to_owned())
}

/// Returns the sample (SM) of the read groups, if they all have the same one.
pub(super) fn only_sample(header: &Header) -> Option<String> {
    let mut samples = header.lines_of_kind(b"RG").filter_map(|line| line.get(b"SM"));
    let first = samples.next().filter(|name| !name.is_empty())?;
    samples.all(|other| other == first).then(|| String::from_utf8_lossy(first).into_owned())
}
