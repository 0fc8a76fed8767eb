//! The flags `--set-sample` and `--set-library`: set the sample or library of all read groups in
//! the header.

use readmill_record::header::HeaderLine;
use readmill_record::{Batch, Changes, Detail, Error, Header, Result, Step};

use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "set-sample",
            FlagValue::Text,
            "NAME",
            "Set the sample (SM) of all read groups. Read groups with different samples are an error",
        ),
        Flag::with_value(
            "set-library",
            FlagValue::Text,
            "NAME",
            "Set the library (LB) of all read groups. Read groups with different libraries are an error",
        ),
    ],
    parse: |given, filters| {
        for (flag, field) in [("set-sample", b"SM"), ("set-library", b"LB")] {
            filters.extend(given.parse_value(flag)?.map(|name| GroupField {
                flag,
                field: *field,
                name,
            }));
        }
        Ok(())
    },
};

#[derive(Debug)]
struct GroupField {
    flag: &'static str,
    field: [u8; 2],
    name: String,
}

impl GroupField {
    /// Sets the field in every `@RG` line.
    ///
    /// # Errors
    /// The name is not allowed in a header, or the read groups have different values, which Picard
    /// RevertSam 3.4.0 also refuses.
    fn set_in_header(&self, header: &mut Header) -> Result<()> {
        if self.name.is_empty() || !self.name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Error::usage(format!(
                "--{} {:?} is not allowed in a header",
                self.flag, self.name
            ))
            .hint("use only printable ASCII characters"));
        }
        let mut lines: Vec<HeaderLine> = header.lines_of_kind(b"RG").cloned().collect();
        if let Some(other) = lines.iter().find(|line| line.get(&self.field) != lines[0].get(&self.field))
        {
            let shown = |line: &HeaderLine| {
                String::from_utf8_lossy(line.get(&self.field).unwrap_or(b"none")).into_owned()
            };
            let field = String::from_utf8_lossy(&self.field).into_owned();
            let what = format!(
                "read groups have different {field} ({} and {}), but --{} would set the same value for all",
                shown(&lines[0]),
                shown(other),
                self.flag
            );
            return Err(Error::usage(what).hint("to change the header, use readmill reheader"));
        }
        lines.iter_mut().for_each(|line| line.set_field(&self.field, self.name.as_bytes()));
        header.replace_lines(b"RG", lines, &[b"PG", b"CO"])
    }
}

impl Filter for GroupField {
    fn command_words(&self) -> Vec<String> {
        flag_with_value(&format!("--{}", self.flag), shell_quote(&self.name))
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        if context.header.lines_of_kind(b"RG").next().is_none() {
            let what = format!("--{} has no effect, because the header has no @RG line", self.flag);
            context.host.print_warning(&what);
        }
        self.set_in_header(context.header)?;
        Ok(Box::new(HeaderOnlyStep(self.flag)))
    }
}

/// A step that does not change reads, for edits that only change the header.
struct HeaderOnlyStep(&'static str);

impl Step for HeaderOnlyStep {
    fn name(&self) -> &'static str {
        self.0
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(HeaderOnlyStep(self.0))
    }

    fn changes(&self) -> Changes {
        Changes::nothing()
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn detail(&self) -> Detail {
        Detail::Flags
    }

    fn apply(&mut self, _: &mut Batch) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{header, warnings_of};

    fn set(before: &str, name: &str) -> Result<String> {
        let mut header = header(before);
        let field = GroupField { flag: "set-sample", field: *b"SM", name: name.to_string() };
        field.set_in_header(&mut header)?;
        Ok(String::from_utf8(header.to_text()).unwrap().replace('\n', ";").replace('\t', " "))
    }

    #[test]
    fn a_header_without_groups_is_reported() {
        let words = ["--set-sample", "s"];
        let warned = warnings_of(&words, "@HD VN:1.6").unwrap();
        assert_eq!(warned, ["--set-sample has no effect, because the header has no @RG line"]);
        assert_eq!(warnings_of(&words, "@RG ID:a").unwrap(), [""; 0]);
    }

    #[test]
    fn all_groups_get_the_sample_if_they_are_of_one() {
        assert_eq!(
            set("@RG ID:a SM:x;@RG ID:b SM:x", "y"),
            Ok("@RG ID:a SM:y;@RG ID:b SM:y;".to_string())
        );
        assert_eq!(set("@RG ID:a;@CO c", "y"), Ok("@RG ID:a SM:y;@CO c;".to_string()));
        assert_eq!(set("@HD VN:1.6", "y"), Ok("@HD VN:1.6;".to_string()));
        let error = set("@RG ID:a SM:x;@RG ID:b", "y").unwrap_err();
        assert!(error.what.contains("different SM (x and none)"), "{error}");
        assert!(set("@RG ID:a", "y\tz").is_err() && set("@RG ID:a", "").is_err());
    }
}
