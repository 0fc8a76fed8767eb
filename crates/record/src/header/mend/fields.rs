//! Mends the fields of a line whose kind is known.

use std::borrow::Cow;

use super::blanks::{parse_glued_version, split_at_blanks};
use super::known::{KNOWN_KINDS, KnownKind, LineResult, NoteSink, quote_start};

pub(super) fn has_key(field: &[u8]) -> bool {
    matches!(field, [a, b, b':', ..] if !a.is_ascii_whitespace() && !b.is_ascii_whitespace() && *b != b':' && *a != b':')
}

fn field_key(field: &[u8]) -> [u8; 2] {
    [field[0], field[1]]
}

/// Returns `line` with fields that samtools and htsjdk accept.
///
/// A valid line, which is the usual case, is returned without allocating memory.
pub(super) fn mend_fields<'a>(line: &'a [u8], note: &mut NoteSink<'_>) -> LineResult<Cow<'a, [u8]>> {
    let kind = &line[1..3];
    let Some(known) = KNOWN_KINDS.iter().find(|known| known.kind == kind) else {
        return Ok(Cow::Borrowed(line));
    };
    if has_no_faults(line, known) {
        return Ok(Cow::Borrowed(line));
    }
    if memchr::memchr_iter(b'\t', line).count() > MAX_FIELDS {
        return Err(format!("the line has more than {MAX_FIELDS} fields"));
    }
    let mut fields = LineFields { known, list: split_fields(line), is_changed: false };
    if !fields.is_well_formed(line) {
        fields.mend_structure(line, note)?;
    }
    fields.mend_values(note)?;
    Ok(if fields.is_changed { Cow::Owned(fields.join_fields()) } else { Cow::Borrowed(line) })
}

/// Maximum number of fields in a line that is mended, which limits the memory for its lists.
const MAX_FIELDS: usize = 4096;

/// Returns whether the line has no faults. Allocates nothing, because headers may have millions of
/// contigs.
fn has_no_faults(line: &[u8], known: &KnownKind) -> bool {
    let mut keys = [[0; 2]; 16];
    let mut found = 0;
    if line.get(3) != Some(&b'\t') {
        return false;
    }
    for (number, field) in line[4..].split(|&byte| byte == b'\t').enumerate() {
        if number == keys.len()
            || field.len() < 4
            || !has_key(field)
            || keys[..number].contains(&field_key(field))
        {
            return false;
        }
        keys[number] = field_key(field);
        let value = &field[3..];
        let is_fine = match (known.kind, &field_key(field)) {
            (b"HD", b"VN") => !value.contains(&b' '),
            (b"HD", b"SO") => ORDERS.contains(&value),
            (b"HD", b"GO") => GROUPINGS.contains(&value),
            (b"SQ", b"SN") => is_contig_name(value),
            (b"SQ", b"LN") => parse_contig_length(value).is_some(),
            _ => true,
        };
        if !is_fine {
            return false;
        }
        found = number + 1;
    }
    let has = |tag: &[u8; 2]| keys[..found].contains(tag);
    known.required.iter().all(|tag| has(tag))
}

const ORDERS: [&[u8]; 4] = [b"unknown", b"unsorted", b"queryname", b"coordinate"];

const GROUPINGS: [&[u8]; 3] = [b"none", b"query", b"reference"];

/// Returns the length of a contig if BAM and samtools can represent it (1 to 2^31 - 1).
fn parse_contig_length(text: &[u8]) -> Option<u32> {
    let number: u32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(number).filter(|number| (1..=i32::MAX as u32).contains(number))
}

fn split_fields(line: &[u8]) -> Vec<Cow<'_, [u8]>> {
    line[3..].split(|&byte| byte == b'\t').skip(1).map(Cow::Borrowed).collect()
}

/// Removes a blank in a version, and what follows it. A version in upper case was divided there.
fn end_version_at_blank(field: &mut Cow<'_, [u8]>, note: &mut NoteSink<'_>) {
    let Some(length) = memchr::memchr(b' ', &field[3..]) else { return };
    field.to_mut().truncate(3 + length);
    if length == 0 {
        *field = Cow::Borrowed(b"VN:1.6");
    }
    note(format!("changed VN, which had a blank, to {}", quote_start(&field[3..])));
}

struct LineFields<'a> {
    known: &'static KnownKind,
    list: Vec<Cow<'a, [u8]>>,
    is_changed: bool,
}

impl<'a> LineFields<'a> {
    fn get(&self, tag: &[u8; 2]) -> Option<&[u8]> {
        let field = self.list.iter().find(|field| has_key(field) && field_key(field) == *tag);
        field.map(|field| &field[3..])
    }

    fn is_program(&self) -> bool {
        self.known.kind == b"PG"
    }

    fn is_well_formed(&self, line: &[u8]) -> bool {
        line.get(3) == Some(&b'\t')
            && self.list.iter().all(|field| field.len() > 3 && has_key(field))
            && !self.has_repeated_key()
            && self.known.required.iter().all(|tag| self.get(tag).is_some())
            && !(self.known.kind == b"HD" && self.get(b"VN").is_some_and(|it| it.contains(&b' ')))
    }

    fn has_repeated_key(&self) -> bool {
        let mut keys: Vec<[u8; 2]> = self.list.iter().map(|field| field_key(field)).collect();
        keys.sort_unstable();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn mend_structure(&mut self, line: &'a [u8], note: &mut NoteSink<'_>) -> LineResult<()> {
        self.split_at_blanks(line, note);
        self.remove_empty_fields(note);
        self.trim_blanks(note);
        self.join_command_line(note);
        if let Some(field) = self.list.iter().find(|field| !has_key(field)) {
            let what = "this field does not have the form TAG:VALUE";
            return Err(format!("{what}: {} in", quote_start(field)));
        }
        self.remove_empty_values(note);
        self.remove_repeated(note)?;
        self.fill_in_required(note)
    }

    /// Splits the line at blanks where tabs are missing: after the record type, in VN of @HD, or in an
    /// @SQ line that lacks SN or LN.
    fn split_at_blanks(&mut self, line: &'a [u8], note: &mut NoteSink<'_>) {
        let has_blank_version = self.get(b"VN").is_some_and(|it| it.contains(&b' '));
        let needs = match (line.get(3), self.known.kind) {
            (Some(b' '), _) => true,
            (_, b"HD") => {
                has_blank_version || self.list.iter().any(|field| parse_glued_version(field).is_some())
            }
            (_, b"SQ") => self.known.required.iter().any(|tag| {
                let after_blank = [b" ", &tag[..], b":"].concat();
                self.get(tag).is_none() && memchr::memmem::find(line, &after_blank).is_some()
            }),
            _ => false,
        };
        if !needs {
            return;
        }
        let list = split_at_blanks(line.get(4..).unwrap_or_default(), self.known.fields);
        if list != self.list {
            (self.list, self.is_changed) = (list, true);
            note("replaced blanks between fields by tabs".into());
        }
    }

    fn remove_empty_fields(&mut self, note: &mut NoteSink<'_>) {
        let before = self.list.len();
        self.list.retain(|field| !field.trim_ascii().is_empty());
        if self.list.len() < before {
            self.is_changed = true;
            note("removed a tab without a field".into());
        }
    }

    fn trim_blanks(&mut self, note: &mut NoteSink<'_>) {
        for field in &mut self.list {
            let trimmed = field.trim_ascii_start();
            if !has_key(field) && has_key(trimmed) {
                *field = Cow::Owned(trimmed.to_vec());
                self.is_changed = true;
                note("removed a blank before a field".into());
            }
        }
    }

    /// Joins the parts of a command line (CL) that contains tabs. bwa and others have written tabs
    /// there, from arguments such as `-R '@RG\tID:x\tSM:s'`.
    fn join_command_line(&mut self, note: &mut NoteSink<'_>) {
        if !self.is_program() {
            return;
        }
        let Some(at) = self.list.iter().position(|field| field.starts_with(b"CL:")) else { return };
        let (mut kept, mut joined): (Vec<Cow<'a, [u8]>>, Vec<u8>) = (Vec::new(), Vec::new());
        for field in self.list.split_off(at + 1) {
            let is_own = has_key(&field)
                && (joined.is_empty() || self.known.fields.contains(&&field_key(&field)))
                && !self
                    .list
                    .iter()
                    .chain(&kept)
                    .any(|other| has_key(other) && field_key(other) == field_key(&field));
            if is_own {
                kept.push(field);
            } else {
                joined.push(b' ');
                joined.extend_from_slice(&field);
            }
        }
        if !joined.is_empty() {
            self.list[at].to_mut().extend_from_slice(&joined);
            self.is_changed = true;
            note("replaced tabs in the command line (CL) by blanks".into());
        }
        self.list.append(&mut kept);
    }

    fn remove_empty_values(&mut self, note: &mut NoteSink<'_>) {
        let is_changed = &mut self.is_changed;
        self.list.retain(|field| {
            let is_kept = field.len() > 3;
            if !is_kept {
                note(format!(
                    "removed {}, because it has no value",
                    String::from_utf8_lossy(&field[..2])
                ));
                *is_changed = true;
            }
            is_kept
        });
    }

    /// Keeps the first of several fields with the same key, as samtools and htsjdk do.
    ///
    /// Two different values of a required field are an error, because the meaning is not clear.
    fn remove_repeated(&mut self, note: &mut NoteSink<'_>) -> LineResult<()> {
        let mut first: std::collections::HashMap<[u8; 2], usize> = std::collections::HashMap::new();
        let mut list: Vec<Cow<'a, [u8]>> = Vec::with_capacity(self.list.len());
        for field in std::mem::take(&mut self.list) {
            let Some(&at) = first.get(&field_key(&field)) else {
                first.insert(field_key(&field), list.len());
                list.push(field);
                continue;
            };
            let name = String::from_utf8_lossy(&field[..2]).into_owned();
            if list[at] != field && self.known.required.contains(&&field_key(&field)) {
                return Err(format!("{name} has two values"));
            }
            note(format!(
                "{name} occurs twice; kept {}, removed {}",
                quote_start(&list[at]),
                quote_start(&field)
            ));
            self.is_changed = true;
        }
        self.list = list;
        Ok(())
    }

    /// Fills in missing required fields whose value is clear: from a key in lower case, VN of @HD, and
    /// ID of @PG from PN.
    fn fill_in_required(&mut self, note: &mut NoteSink<'_>) -> LineResult<()> {
        for &tag in self.known.required {
            if self.get(tag).is_some() {
                continue;
            }
            let name = String::from_utf8_lossy(tag);
            let kind = String::from_utf8_lossy(self.known.kind);
            let lower = tag.to_ascii_lowercase();
            if let Some(field) = self.list.iter_mut().find(|field| field_key(field)[..] == lower) {
                field.to_mut()[..2].copy_from_slice(tag);
                note(format!("changed {name} to upper case"));
                if self.known.kind == b"HD" {
                    end_version_at_blank(field, note);
                }
            } else if self.known.kind == b"HD" {
                self.list.insert(0, Cow::Borrowed(b"VN:1.6"));
                note("VN was missing; set it to 1.6".into());
            } else if let (b"PG", Some(name)) = (self.known.kind, self.get(b"PN").map(<[u8]>::to_vec)) {
                self.list.insert(0, Cow::Owned([b"ID:", &name[..]].concat()));
                note("ID was missing; set it to the name of the program (PN)".into());
            } else {
                return Err(format!("@{kind} without {name}"));
            }
            self.is_changed = true;
        }
        Ok(())
    }

    fn mend_values(&mut self, note: &mut NoteSink<'_>) -> LineResult<()> {
        match self.known.kind {
            b"HD" => {
                self.restrict_value(b"SO", &ORDERS, Some(b"unknown"), note);
                self.restrict_value(b"GO", &GROUPINGS, None, note);
            }
            b"SQ" => self.mend_contig(note)?,
            _ => {}
        }
        Ok(())
    }

    /// Mends a value that is not in `allowed`: corrects its case if that is enough, otherwise replaces
    /// it with `other`, or removes the field if there is no `other`.
    fn restrict_value(
        &mut self,
        tag: &[u8; 2],
        allowed: &[&[u8]],
        other: Option<&[u8]>,
        note: &mut NoteSink<'_>,
    ) {
        let Some(value) = self.get(tag).filter(|value| !allowed.contains(value)) else { return };
        let plain = value.trim_ascii().to_ascii_lowercase();
        let new = allowed.iter().find(|it| ***it == *plain).copied().or(other);
        let name = String::from_utf8_lossy(tag);
        note(match new {
            Some(new) => format!(
                "{name}:{} is not a valid order; changed it to {}",
                String::from_utf8_lossy(value),
                String::from_utf8_lossy(new)
            ),
            None => {
                format!("{name}:{} is not a valid order; removed it", String::from_utf8_lossy(value))
            }
        });
        self.is_changed = true;
        match new {
            Some(new) => self.set_value(tag, new),
            None => self.list.retain(|field| field_key(field) != *tag),
        }
    }

    fn set_value(&mut self, tag: &[u8; 2], value: &[u8]) {
        for field in self.list.iter_mut().filter(|field| field_key(field) == *tag) {
            *field = Cow::Owned([&tag[..], b":", value].concat());
        }
    }

    fn mend_contig(&mut self, note: &mut NoteSink<'_>) -> LineResult<()> {
        let name = self.get(b"SN").unwrap_or_default();
        if matches!(name, b"*" | b"=") {
            return Err("a contig cannot have the name * or =".into());
        }
        if !is_contig_name(name) {
            note(format!("kept the name {}, which Picard and GATK reject", quote_start(name)));
        }
        let given = self.get(b"LN").unwrap_or_default();
        let trimmed = given.trim_ascii().to_vec();
        if trimmed.len() < given.len() {
            note("removed a blank next to the length".into());
            self.is_changed = true;
            self.set_value(b"LN", &trimmed);
        }
        match parse_contig_length(&trimmed) {
            Some(_) => Ok(()),
            None => Err("@SQ needs an LN from 1 to 2147483647".into()),
        }
    }

    fn join_fields(&self) -> Vec<u8> {
        let mut line = [b"@", &self.known.kind[..]].concat();
        for field in &self.list {
            line.push(b'\t');
            line.extend_from_slice(field);
        }
        line
    }
}

fn is_contig_name(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_graphic() && !b"\\,\"'`()[]{}<>".contains(byte);
    name.iter().all(is_allowed) && !name.starts_with(b"*") && !name.starts_with(b"=")
}
