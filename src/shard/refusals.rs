//! Commands that cannot be run in stages, each with the reason.

use readmill_format::bgzf::Codec;
use readmill_record::{Error, Result};

use crate::plan::{Destination, Plan};

/// Returns a usage error if `plan` cannot be run in stages. The error names the reason
/// and what to do instead.
pub fn refuse_unsupported(plan: &Plan) -> Result<()> {
    let refuse = |what: &str, hint: &'static str| {
        Err(Error::usage(format!("{what}, which a job in stages cannot do")).hint(hint))
    };
    let without = "leave it out, or run the command without stages";
    if plan.inputs.iter().any(|path| path.as_os_str() == "-") {
        return refuse(
            "the input is a pipe, and has to be read more than once",
            "write it to a file first",
        );
    }
    let Destination::Main(output, others) = &plan.destination else {
        return refuse("there is not one main output", "give one output by -o");
    };
    if !others.is_empty() {
        return refuse("some reads go to other files (--copy-to, --move-to)", without);
    }
    if plan.steps.duplicates.as_ref().is_some_and(|it| it.rules.samtools.is_some()) {
        return refuse("duplicates are marked by samtools' rules", without);
    }
    if plan.steps.group_by_file {
        return refuse("reads are put into read groups by their files (--group-by-file)", without);
    }
    if plan.tallies.fastqc.is_some() {
        return refuse(
            "the modules of FastQC are counted in the order of the inputs (--fastqc)",
            without,
        );
    }
    let is_file = |path: &std::path::Path| std::fs::metadata(path).map_or(true, |meta| meta.is_file());
    if output.path.as_os_str() == "-" || !output.files().iter().all(|path| is_file(path)) {
        return refuse("the output is not a file", "give a file by -o");
    }
    if output.codec != Codec::default() && output.codec.to_string() == "igzip" {
        return refuse("igzip writes other bytes on other processors", "choose another --codec");
    }
    if !plan.holds_everything() {
        return refuse(
            "reads are neither sorted nor are duplicates marked",
            "run the command without stages",
        );
    }
    Ok(())
}
