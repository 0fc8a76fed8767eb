//! Commands that cannot run in stages, and the reasons.

use readmill_format::bgzf::Codec;
use readmill_record::{Error, Result};

use crate::plan::{Destination, Plan};

/// Returns a usage error if `plan` cannot run in stages. The error contains the reason and an
/// alternative.
pub fn refuse_unsupported(plan: &Plan) -> Result<()> {
    let refuse = |what: &str, hint: &'static str| {
        Err(Error::usage(format!("this command cannot be run in stages: {what}")).hint(hint))
    };
    let without = "omit the flag, or run the command without stages";
    if plan.inputs.iter().any(|path| path.as_os_str() == "-") {
        return refuse(
            "the input is a pipe, but stages read the input more than once",
            "write the input to a file first",
        );
    }
    let Destination::Main(output, others) = &plan.destination else {
        return refuse("there is not exactly one main output", "give one output with -o");
    };
    if !others.is_empty() {
        return refuse("some reads are written to other files (--copy-to, --move-to)", without);
    }
    if plan.steps.duplicates.as_ref().is_some_and(|it| it.rules.samtools.is_some()) {
        return refuse("duplicates are marked with --rules samtools", without);
    }
    if plan.steps.group_by_file {
        return refuse("read groups are named after files (--group-by-file)", without);
    }
    if let Some(what) = plan.reports.add_ons.iter().find_map(|add_on| add_on.stage_refusal()) {
        return refuse(what, without);
    }
    let is_file = |path: &std::path::Path| std::fs::metadata(path).map_or(true, |meta| meta.is_file());
    if output.path.as_os_str() == "-" || !output.data_files().iter().all(|path| is_file(path)) {
        return refuse("the output is not a regular file", "give a file with -o");
    }
    if output.codec != Codec::default() && output.codec.to_string() == "igzip" {
        return refuse("the output of igzip depends on the processor", "choose another --codec");
    }
    if !plan.holds_everything() {
        return refuse(
            "the command neither sorts reads nor marks duplicates",
            "run the command without stages",
        );
    }
    Ok(())
}
