//! Mends lines that contradict each other: @HD that is not the first line, and read groups or programs
//! that share an ID.

use std::collections::{HashMap, HashSet};

use super::super::contigs::allocated_bytes;
use super::super::line::{HEADERS_USER, HeaderLine};
use super::notes::HeaderNotes;
use crate::error::Result;
use crate::ledger::Ledger;

/// Mends lines that contradict each other. `number` maps an index in `lines` to the line number in the
/// file.
///
/// # Errors
/// Fails if there is too little memory for the lists of IDs.
pub(in super::super) fn mend_conflicts(
    lines: &mut Vec<HeaderLine>,
    number: &dyn Fn(usize) -> usize,
    notes: &mut HeaderNotes,
    ledger: &Ledger,
) -> Result<()> {
    let count = |kind: &[u8; 2]| lines.iter().filter(|line| line.kind() == kind).count();
    let (groups, programs) = (count(b"RG"), count(b"PG"));
    let each = (size_of::<(&[u8], usize)>() + size_of::<(usize, usize)>()) as u64;
    let _charge = ledger.charge(HEADERS_USER, groups.max(programs) as u64 * each)?;
    if groups > 1 {
        let repeated = find_repeated_ids(lines, b"RG");
        for &(at, first) in &repeated {
            let is_same = lines[at] == lines[first];
            let id = String::from_utf8_lossy(lines[at].get(b"ID").unwrap_or_default()).into_owned();
            notes.add_line_note(|| number(at), || match is_same {
                true => format!("removed this line, because it repeats the line of read group {id}"),
                false => format!(
                    "the read group {id} is already defined in line {}, which takes precedence, as in samtools; changed this line to a comment (@CO)",
                    number(first)
                ),
            });
            let comment = [b"@CO\t", lines[at].text()].concat();
            lines[at] = HeaderLine::new(if is_same { Vec::new() } else { comment });
        }
    }
    if programs > 1 {
        rename_programs(lines, number, notes, ledger)?;
    }
    move_hd_first(lines, number, notes);
    lines.retain(|line| !line.text().is_empty());
    Ok(())
}

/// Moves the first @HD line to the start, where samtools and htsjdk expect it.
fn move_hd_first(lines: &mut [HeaderLine], number: &dyn Fn(usize) -> usize, notes: &mut HeaderNotes) {
    let at = lines.iter().position(|line| line.kind() == b"HD");
    let Some(at) = at.filter(|&at| at > 0) else { return };
    notes.add_line_note(|| number(at), || "moved @HD to the first line".into());
    lines[..=at].rotate_right(1);
}

/// Returns the index of each line of `kind` whose ID has occurred before, in file order, with the index
/// of the first line that has this ID.
fn find_repeated_ids(lines: &[HeaderLine], kind: &[u8; 2]) -> Vec<(usize, usize)> {
    let of_kind = lines.iter().enumerate().filter(|(_, line)| line.kind() == kind);
    let mut ids: Vec<(&[u8], usize)> =
        of_kind.filter_map(|(at, line)| Some((line.get(b"ID")?, at))).collect();
    ids.sort_unstable();
    let mut first = ids.first().copied();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for &(id, at) in ids.iter().skip(1) {
        match first {
            Some((known, before)) if known == id => found.push((at, before)),
            _ => first = Some((id, at)),
        }
    }
    found.sort_unstable();
    found
}

/// Makes the IDs of programs unique, because htsjdk refuses a header in which an ID occurs twice.
fn rename_programs(
    lines: &mut [HeaderLine],
    number: &dyn Fn(usize) -> usize,
    notes: &mut HeaderNotes,
    ledger: &Ledger,
) -> Result<()> {
    let repeated = find_repeated_ids(lines, b"PG");
    if repeated.is_empty() {
        return Ok(());
    }
    let ids = || lines.iter().filter(|line| line.kind() == b"PG").filter_map(|line| line.get(b"ID"));
    // The set holds each ID and up to as many new, longer ones; its table is at least half empty.
    let bytes: u64 =
        ids().map(|id| 2 * (allocated_bytes(id.len() + 24) + 4 * size_of::<Vec<u8>>() as u64)).sum();
    let _charge = ledger.charge(HEADERS_USER, bytes)?;
    let mut taken: HashSet<Vec<u8>> = ids().map(<[u8]>::to_vec).collect();
    let mut next: HashMap<usize, u64> = HashMap::new();
    for (at, first) in repeated {
        let id = lines[at].get(b"ID").unwrap_or_default().to_vec();
        let shown = String::from_utf8_lossy(&id).into_owned();
        if lines[at] == lines[first] {
            notes.add_line_note(
                || number(at),
                || format!("removed this line, because it repeats the line of program {shown}"),
            );
            lines[at] = HeaderLine::new(Vec::new());
            continue;
        }
        let count = next.entry(first).or_insert(0);
        let new = loop {
            *count += 1;
            let new = [&id[..], format!(".{count}").as_bytes()].concat();
            if taken.insert(new.clone()) {
                break new;
            }
        };
        notes.add_line_note(
            || number(at),
            || {
                format!(
                    "another program already has the ID {shown}; changed this ID to {}",
                    String::from_utf8_lossy(&new)
                )
            },
        );
        lines[at].set_field(b"ID", &new);
    }
    Ok(())
}
