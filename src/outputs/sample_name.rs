//! The name of the sample in reports, by which report tools join them.

use std::path::Path;

use readmill_record::Header;

use crate::formats::FORMATS;
use crate::outputs::atomic_file::is_device;
use crate::plan::Plan;

/// Returns the name of the sample in reports: the name in the plan, else the name of the output without its ending. If
/// the output has no name: the only input file, as Picard names its metrics, else the prefix of the metrics, else the
/// sample of the read groups if they have only one, else the first input.
pub(super) fn sample_name(plan: &Plan, header: &Header) -> String {
    let given = plan.tallies.sample.clone();
    let by_file = || output_name(plan).or_else(|| input_name(plan)).or_else(|| prefix_name(plan));
    let name = given.or_else(by_file).or_else(|| only_sample(header));
    let name = name.unwrap_or_else(|| {
        let input = plan.inputs.first().and_then(|path| path.file_name());
        input.map_or("-".into(), |name| name.to_string_lossy().into_owned())
    });
    // Report tools read up to a blank, and after a slash.
    name.replace(|c: char| c.is_whitespace() || c == '/', "_")
}

/// Returns the name of the output without its ending; `None` for standard output and devices.
fn output_name(plan: &Plan) -> Option<String> {
    file_stem(&plan.destination.main()?.path)
}

/// Returns the name of the only input without its ending; `None` for pipes and several inputs. Two lanes of one sample are
/// two files, and their reports must not overwrite each other. FASTQ files and fingerprints are named after the sample.
fn input_name(plan: &Plan) -> Option<String> {
    let is_of_records = plan.aligning.is_none() && plan.merging.is_none();
    match &plan.inputs[..] {
        [only] if is_of_records && plan.tallies.fingerprint.is_none() => file_stem(only),
        _ => None,
    }
}

/// Returns the beginning of the names of the metrics or the coverage, which report tools take for the sample, too.
fn prefix_name(plan: &Plan) -> Option<String> {
    let qc = plan.tallies.qc.as_ref().map(|qc| qc.prefix());
    let prefix = qc.or_else(|| plan.tallies.coverage.as_ref().map(|coverage| coverage.prefix()))?;
    Some(prefix.file_name()?.to_string_lossy().into_owned())
}

/// Returns the name of a file without its ending; `None` for standard streams and devices.
fn file_stem(path: &Path) -> Option<String> {
    if path.as_os_str() == "-" || is_device(path) {
        return None;
    }
    let name = path.file_name()?.to_string_lossy();
    let stem = FORMATS.iter().find_map(|spec| name.strip_suffix(spec.extension));
    Some(stem.filter(|stem| !stem.is_empty()).unwrap_or(&name).to_owned())
}

/// Returns the sample of the read groups, if they have only one.
fn only_sample(header: &Header) -> Option<String> {
    let mut samples = header.lines_of_kind(b"RG").filter_map(|line| line.get(b"SM"));
    let first = samples.next().filter(|name| !name.is_empty())?;
    samples.all(|other| other == first).then(|| String::from_utf8_lossy(first).into_owned())
}
