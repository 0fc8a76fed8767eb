//! The flag `--revert`: turn alignments back into unaligned reads, by the rules of Picard
//! RevertSam.

use std::fmt;
use std::str::FromStr;

use readmill_record::bases::{CODES, COMPLEMENTS, LETTERS};
use readmill_record::header::HeaderLine;
use readmill_record::tag::{self, Fields, Tag};
use readmill_record::{Batch, Changes, Error, Flags, Header, RecordRef, Result, Step, edit};

use crate::flag::{Flag, FlagValue, GivenFlags, shell_quote};
use crate::optional_fields::parse_tag;
use crate::spec::{Filter, FilterFacts, FilterSpec, Filters, MakeContext};
use crate::turn::reverse_field_value;

const KEEP_CHOICES: &[(&str, &str)] = &[
    ("alignments", "Keep alignments, all fields and all header lines"),
    ("duplicates", "Keep the flag 0x400"),
    ("qualities", "Keep base qualities, even if OQ has the original qualities"),
    ("hard-clips", "Keep hard-clipped bases in XB and their qualities in XQ"),
    ("programs", "Keep the @PG lines of the header"),
];

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::switch(
            "revert",
            "Make reads unaligned, as Picard RevertSam does: drop secondary and supplementary records, remove alignments and duplicate flags, and restore qualities from OQ",
        ),
        Flag::with_value("revert-keep", FlagValue::OneOf(KEEP_CHOICES), "WHAT", "Do not revert this part")
            .repeatable()
            .requires_flag("revert"),
        Flag::with_value(
            "revert-clear",
            FlagValue::Text,
            "TAGS",
            "Remove these fields together with the alignment [default: NM,UQ,PG,MD,MQ,SA,MC,AS]",
        )
        .requires_flag("revert"),
        Flag::switch("revert-read-groups", "Also remove the RG fields of reads and the @RG lines of the header")
            .requires_flag("revert"),
        Flag::with_value(
            "revert-reverse",
            FlagValue::Text,
            "TAGS",
            "Reverse these fields of reads on the reverse strand [default: OQ,U2]",
        )
        .requires_flag("revert"),
        Flag::with_value(
            "revert-complement",
            FlagValue::Text,
            "TAGS",
            "Reverse-complement these fields of reads on the reverse strand [default: E2,SQ]",
        )
        .requires_flag("revert"),
        Flag::with_value(
            "revert-programs-before",
            FlagValue::Text,
            "ID",
            "Keep the @PG lines before the line with this ID (samtools reset --reject-PG)",
        )
        .requires_flag("revert"),
        Flag::switch(
            "revert-erase-unequal",
            "If OQ or XQ has a different length than the bases, remove the qualities, so that --whole-templates drops the read [default: report an error]",
        )
        .requires_flag("revert"),
    ],
    parse: parse_flags,
};

/// Default tags of Picard RevertSam 3.4.0 (`ATTRIBUTE_TO_CLEAR`) and htsjdk 4.2.0
/// (`SAMRecord.TAGS_TO_REVERSE` and `TAGS_TO_REVERSE_COMPLEMENT`).
const DEFAULT_CLEARED_TAGS: [Tag; 8] = [*b"NM", *b"UQ", *b"PG", *b"MD", *b"MQ", *b"SA", *b"MC", *b"AS"];
const DEFAULT_REVERSED_TAGS: [Tag; 2] = [*b"OQ", *b"U2"];
const DEFAULT_COMPLEMENTED_TAGS: [Tag; 2] = [*b"E2", *b"SQ"];

/// Tags in which Picard MergeBamAlignment stores the bases and qualities that it hard-clips.
const CUT_BASES: Tag = *b"XB";
const CUT_QUALITIES: Tag = *b"XQ";

#[derive(Clone, Debug, PartialEq, Eq)]
struct TagList(Vec<Tag>);

impl FromStr for TagList {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.split(',')
            .filter(|word| !word.is_empty())
            .map(parse_tag)
            .collect::<Result<_>>()
            .map(TagList)
    }
}

impl fmt::Display for TagList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|tag| String::from_utf8_lossy(tag)).collect();
        f.write_str(&names.join(","))
    }
}

fn parse_flags(given: &GivenFlags, filters: &mut Filters) -> Result<()> {
    filters.extend(rules_from_flags(given)?);
    Ok(())
}

fn rules_from_flags(given: &GivenFlags) -> Result<Option<RevertRules>> {
    if !given.is_given("revert") {
        return Ok(None);
    }
    let kept: Vec<String> = given.parse_values("revert-keep")?;
    let keeps = |what: &str| kept.iter().any(|word| word == what);
    let tags = |name: &str, usual: &[Tag]| {
        given.parse_value(name).map(|list: Option<TagList>| list.unwrap_or(TagList(usual.to_vec())))
    };
    Ok(Some(RevertRules {
        alignments: !keeps("alignments"),
        duplicates: !keeps("duplicates"),
        qualities: !keeps("qualities"),
        hard_clips: !keeps("hard-clips") && !keeps("alignments"),
        programs: keeps("programs"),
        programs_before: given.parse_value("revert-programs-before")?,
        erases_unequal: given.is_given("revert-erase-unequal"),
        read_groups: given.is_given("revert-read-groups"),
        cleared: tags("revert-clear", &DEFAULT_CLEARED_TAGS)?,
        reversed: tags("revert-reverse", &DEFAULT_REVERSED_TAGS)?,
        complemented: tags("revert-complement", &DEFAULT_COMPLEMENTED_TAGS)?,
    }))
}

/// The parts of a record that the filter reverts. It reverts a part if its field is `true`, unless the
/// comment of the field says otherwise.
#[derive(Clone, Debug)]
struct RevertRules {
    alignments: bool,
    duplicates: bool,
    qualities: bool,
    hard_clips: bool,
    /// Whether the `@PG` lines of the header are kept.
    programs: bool,
    /// The `@PG` lines before the line with this ID are kept, regardless of `programs`.
    programs_before: Option<String>,
    /// Whether a read whose OQ or XQ does not fit its bases loses its qualities. Otherwise, such a
    /// read is an error.
    erases_unequal: bool,
    read_groups: bool,
    cleared: TagList,
    reversed: TagList,
    complemented: TagList,
}

impl RevertRules {
    /// Prints a warning for each flag that has no effect. These are no errors, because Picard
    /// RevertSam and samtools reset also accept them.
    fn warn_about_unused_flags(&self, context: &MakeContext<'_>) {
        let is_missing = |id: &&String| {
            let mut programs = context.header.lines_of_kind(b"PG");
            !programs.any(|line| line.get(b"ID") == Some(id.as_bytes()))
        };
        if let Some(id) = self.programs_before.as_ref().filter(|_| self.alignments).filter(is_missing) {
            context.host.print_warning(&format!(
                "--revert-programs-before {id}: all @PG lines are kept, because none has this ID"
            ));
        }
        for (flag, is_given) in [
            ("--revert-programs-before", self.programs_before.is_some()),
            ("--revert-clear", self.cleared.0 != DEFAULT_CLEARED_TAGS),
            ("--revert-reverse", self.reversed.0 != DEFAULT_REVERSED_TAGS),
            ("--revert-complement", self.complemented.0 != DEFAULT_COMPLEMENTED_TAGS),
        ] {
            if is_given && !self.alignments {
                let what = format!("{flag} has no effect with --revert-keep alignments");
                context.host.print_warning(&what);
            }
        }
    }
}

impl Filter for RevertRules {
    fn command_words(&self) -> Vec<String> {
        let mut words = vec!["--revert".to_string()];
        let kept = [
            (self.alignments, "alignments"),
            (self.duplicates, "duplicates"),
            (self.qualities, "qualities"),
            (self.hard_clips || !self.alignments, "hard-clips"),
            (!self.programs, "programs"),
        ];
        for (_, what) in kept.into_iter().filter(|(is_reverted, _)| !is_reverted) {
            words.extend(["--revert-keep".to_string(), what.to_string()]);
        }
        if let Some(id) = &self.programs_before {
            words.extend(["--revert-programs-before".to_string(), shell_quote(id)]);
        }
        words.extend(self.erases_unequal.then(|| "--revert-erase-unequal".to_string()));
        words.extend(self.read_groups.then(|| "--revert-read-groups".to_string()));
        for (flag, tags, usual) in [
            ("--revert-clear", &self.cleared, &DEFAULT_CLEARED_TAGS[..]),
            ("--revert-reverse", &self.reversed, &DEFAULT_REVERSED_TAGS),
            ("--revert-complement", &self.complemented, &DEFAULT_COMPLEMENTED_TAGS),
        ] {
            if tags.0 != usual {
                words.extend([
                    flag.to_string(),
                    if tags.0.is_empty() { ",".into() } else { tags.to_string() },
                ]);
            }
        }
        words
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts { other_header: self.alignments, ..FilterFacts::default() }
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        self.warn_about_unused_flags(context);
        Ok(Box::new(Revert::new(self.clone(), context.header)?))
    }
}

/// Turns alignments back into unaligned reads, by the rules of Picard RevertSam 3.4.0.
///
/// For each record, in this order:
///
/// 1. Secondary and supplementary records are dropped.
/// 2. Qualities are restored from OQ, and reads on the reverse strand are reverse-complemented.
/// 3. Hard-clipped bases and qualities (XB and XQ) are appended.
/// 4. Position, CIGAR, mate fields, the duplicate flag, and the tags of the alignment are removed.
#[derive(Clone)]
struct Revert {
    rules: RevertRules,
    dropped: u64,
    restored: u64,
    erased: u64,
    bases: Vec<u8>,
    qualities: Vec<u8>,
}

impl Revert {
    /// Creates the step, and reverts the header. Unless alignments are kept, the header keeps only
    /// `@HD`, `@RG` and the `@PG` lines that the rules keep.
    fn new(rules: RevertRules, header: &mut Header) -> Result<Self> {
        if rules.alignments {
            let rejected = rules.programs_before.as_deref().map(str::as_bytes);
            let stays = |line: &&HeaderLine| rejected.is_none() || line.get(b"ID") != rejected;
            let mut programs: Vec<HeaderLine> =
                header.lines_of_kind(b"PG").take_while(stays).cloned().collect();
            if !rules.programs && rejected.is_none() {
                programs.clear();
            }
            header.replace_lines(b"PG", programs, &[b"CO"])?;
            for kind in [b"SQ", b"CO"] {
                header.replace_lines(kind, Vec::new(), &[])?;
            }
            header.set_order(b"unsorted", None, None);
        } else {
            header.replace_lines(b"CO", Vec::new(), &[])?;
        }
        if rules.read_groups {
            header.replace_lines(b"RG", Vec::new(), &[])?;
        }
        Ok(Revert {
            rules,
            dropped: 0,
            restored: 0,
            erased: 0,
            bases: Vec::new(),
            qualities: Vec::new(),
        })
    }

    fn write_reverted(&mut self, record: RecordRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        let (start, rules) = (out.len(), &self.rules);
        let is_turned = rules.alignments && record.flags().is_reverse();
        // Like htsjdk, treat an empty OQ as missing.
        let original = rules.qualities.then(|| text_field(record, tag::OQ)).flatten();
        let original = original.filter(|letters| !letters.is_empty());
        let cut = rules
            .hard_clips
            .then(|| text_field(record, CUT_BASES).zip(text_field(record, CUT_QUALITIES)))
            .flatten();
        self.bases.clear();
        self.qualities.clear();
        if original.is_some() || is_turned || cut.is_some() {
            let (packed, length) = (record.seq(), record.l_seq());
            let code = |i: usize| usize::from(packed[i / 2] >> (4 * (1 - i % 2)) & 15);
            match original {
                Some(letters) if letters.len() != length && !rules.erases_unequal => {
                    let what =
                        format!("OQ has {} characters, but the read has {length} bases", letters.len());
                    return Err(Error::input(what)
                        .hint("keep the current qualities with --revert-keep qualities, or drop templates with such reads with --revert-erase-unequal --whole-templates"));
                }
                Some(letters) => {
                    self.qualities.extend(letters.iter().map(|&it| it.saturating_sub(b'!')))
                }
                None => self.qualities.extend_from_slice(record.qual()),
            }
            self.restored += u64::from(original.is_some());
            if is_turned {
                self.bases.extend((0..length).rev().map(|i| COMPLEMENTS[code(i)]));
                self.qualities.reverse();
            } else {
                self.bases.extend((0..length).map(|i| LETTERS[code(i)]));
            }
            if let Some((bases, letters)) = cut {
                if bases.len() != letters.len() && !rules.erases_unequal {
                    let what =
                        format!("XB has {} bases, but XQ has {} qualities", bases.len(), letters.len());
                    return Err(Error::input(what).hint("keep XB and XQ: --revert-keep hard-clips"));
                }
                self.bases.extend_from_slice(bases);
                self.qualities.extend(letters.iter().map(|&it| it.saturating_sub(b'!')));
            }
            if self.qualities.len() != self.bases.len() {
                self.qualities.clear();
                self.qualities.resize(self.bases.len(), 0xff);
                self.erased += 1;
            }
        }
        let is_same = original.is_none() && !is_turned && cut.is_none();
        let name_end = 36 + record.qname().len() + 1;
        out.extend_from_slice(&record.raw()[..name_end]);
        if !rules.alignments {
            let sequence_start = record.fields_start() - record.l_seq() - record.l_seq().div_ceil(2);
            out.extend_from_slice(&record.raw()[name_end..sequence_start]);
        }
        if is_same {
            out.extend_from_slice(record.seq());
            out.extend_from_slice(record.qual());
        } else {
            let length = (self.bases.len() as u32).to_le_bytes();
            out[start + 20..start + 24].copy_from_slice(&length);
            let letter = |base: u8| CODES[usize::from(base)];
            let pack = |two: &[u8]| letter(two[0]) << 4 | two.get(1).map_or(0, |&low| letter(low));
            out.extend(self.bases.chunks(2).map(pack));
            out.extend_from_slice(&self.qualities);
        }
        self.write_fields(record, original.is_some(), cut.is_some(), is_turned, out);
        let raw = &mut out[start..];
        let mut flags = record.flags().0;
        if self.rules.duplicates {
            flags &= !Flags::DUPLICATE;
        }
        if self.rules.alignments {
            flags &= !(Flags::REVERSE | Flags::PROPER | Flags::MATE_REVERSE | Flags::MATE_UNMAPPED);
            flags |= Flags::UNMAPPED;
            if record.flags().is_paired() {
                flags |= Flags::MATE_UNMAPPED;
            }
            raw[16..18].fill(0); // no CIGAR operators
            edit::set_ref_id(raw, -1);
            edit::set_pos(raw, -1);
            edit::set_mapq(raw, 0);
            edit::set_next_ref_id(raw, -1);
            edit::set_next_pos(raw, -1);
            edit::set_tlen(raw, 0);
        }
        edit::set_flags(raw, flags);
        edit::set_block_size(out, start);
        if self.rules.alignments {
            edit::set_bin(&mut out[start..]);
        }
        Ok(())
    }

    fn write_fields(
        &self,
        record: RecordRef<'_>,
        has_original: bool,
        has_cut: bool,
        is_turned: bool,
        out: &mut Vec<u8>,
    ) {
        let rules = &self.rules;
        let all = record.field_bytes();
        let (mut fields, mut at) = (Fields::new(all), 0);
        while let Some(field) = fields.next() {
            let end = all.len() - fields.rest().len();
            let bytes = &all[at..end];
            at = end;
            let is_gone = has_original && field.tag == tag::OQ
                || has_cut && [CUT_BASES, CUT_QUALITIES].contains(&field.tag)
                || rules.read_groups && field.tag == tag::RG
                || rules.alignments && (field.tag == tag::CG || rules.cleared.0.contains(&field.tag));
            if is_gone {
                continue;
            }
            let value = out.len() + 3;
            out.extend_from_slice(bytes);
            if is_turned && rules.complemented.0.contains(&field.tag) {
                reverse_field_value(field.kind, &mut out[value..], true);
            } else if is_turned && rules.reversed.0.contains(&field.tag) {
                reverse_field_value(field.kind, &mut out[value..], false);
            }
        }
    }
}

fn text_field(record: RecordRef<'_>, tag: Tag) -> Option<&[u8]> {
    record.field(tag).filter(|field| field.kind == b'Z').map(|field| field.value)
}

impl Step for Revert {
    fn name(&self) -> &'static str {
        "revert"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes {
            reads: true,
            flags: true,
            alignment: self.rules.alignments,
            bases: self.rules.alignments,
            qualities: true,
            tags: readmill_record::ChangedTags::All,
        }
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let before = batch.len();
        batch.retain(|_, record| record.flags().is_primary());
        self.dropped += (before - batch.len()) as u64;
        batch.rewrite_records(|_, record, out| self.write_reverted(record, out))
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = vec![
            ("secondary and supplementary records dropped", self.dropped),
            ("reads whose original qualities were restored", self.restored),
        ];
        if self.rules.erases_unequal {
            counts
                .push(("reads whose original qualities differ in number from their bases", self.erased));
        }
        counts
    }
}

#[cfg(test)]
mod tests;
