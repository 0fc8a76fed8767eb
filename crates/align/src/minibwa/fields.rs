//! Writes optional fields in minibwa's order: RG NM AS ms md MC MQ, then MD or cs or ds, then SA,
//! n2, XA.

use std::io::Write;

use super::hits::MinibwaHit;
use super::hits::{Segment, clip_lengths};

/// Appends the optional fields of a hit, or of an unmapped read.
pub(super) fn push_fields(segment: &Segment<'_>, hit: Option<&MinibwaHit>, out: &mut Vec<u8>) {
    if let Some(group) = segment.group {
        push_text_field(*b"RG", out, |out| out.extend_from_slice(group));
    }
    let Some(hit) = hit else { return };
    let [score, best_segment, best, next] = hit.scores().unwrap_or_default();
    push_integer_field(*b"NM", hit.edit_distance(), out);
    push_integer_field(*b"AS", score, out);
    push_integer_field(*b"ms", best_segment, out);
    push_integer_field(*b"md", best - next, out);
    if let (Some(mate), Some((_, length))) = (segment.mate_hit(), segment.mate)
        && !mate.cigar().is_empty()
        && length > 0
    {
        push_text_field(*b"MC", out, |out| push_cigar_text(mate, length, out));
        push_integer_field(*b"MQ", i32::from(mate.mapq()), out);
    }
    if let Some([one, two, b':', b'Z', b':', value @ ..]) = hit.difference_text() {
        push_text_field([*one, *two], out, |out| out.extend_from_slice(value));
    }
    if hit.is_primary() && hit.scores().is_some() && segment.hits.len() > 1 {
        push_sa(segment, hit, out);
        push_xa(segment, hit, best, out);
    }
}

/// Appends SA, which lists the other parts of a split read. As in minibwa, its CIGARs are
/// simplified to at most one operator of each kind.
fn push_sa(segment: &Segment<'_>, own: &MinibwaHit, out: &mut Vec<u8>) {
    let is_part =
        |hit: &&MinibwaHit| !std::ptr::eq(*hit, own) && hit.is_primary() && hit.scores().is_some();
    if !segment.hits.iter().any(|hit| is_part(&hit)) {
        return;
    }
    push_text_field(*b"SA", out, |out| {
        for hit in segment.hits.iter().filter(is_part) {
            let (start, end) = hit.read_range();
            let (of_read, of_reference) = ((end - start) as u32, (hit.end() - hit.start()) as u32);
            let matched = of_read.min(of_reference);
            let [before, behind] = clip_lengths(hit, segment.read.bases.len());
            let sign = if hit.is_reverse() { '-' } else { '+' };
            push_formatted(
                out,
                format_args!("{},{},{sign},", contig_name(segment, hit), hit.start() + 1),
            );
            let lengths = [before, matched, of_read - matched, of_reference - matched, behind];
            for (length, letter) in lengths.into_iter().zip(['S', 'M', 'I', 'D', 'S']) {
                if length > 0 {
                    push_formatted(out, format_args!("{length}{letter}"));
                }
            }
            push_formatted(out, format_args!(",{},{};", hit.mapq(), hit.edit_distance()));
        }
    });
}

/// Appends n2, the number of secondary hits with a similar score, and lists them in XA unless there
/// are too many.
fn push_xa(segment: &Segment<'_>, own: &MinibwaHit, best: i32, out: &mut Vec<u8>) {
    let min_score = f64::from(segment.settings.out_s) * f64::from(best);
    let at = segment.hits.iter().position(|hit| std::ptr::eq(hit, own));
    let is_other = |hit: &&MinibwaHit| {
        let good = hit.scores().is_some_and(|scores| f64::from(scores[2]) >= min_score);
        good && !std::ptr::eq(*hit, own) && Some(hit.parent()) == at
    };
    let count = segment.hits.iter().filter(is_other).count();
    if segment.settings.xa_max <= 0 || count == 0 {
        return;
    }
    push_integer_field(*b"n2", count as i32, out);
    if count > segment.settings.xa_max as usize {
        return;
    }
    push_text_field(*b"XA", out, |out| {
        for hit in segment.hits.iter().filter(is_other) {
            let sign = if hit.is_reverse() { '-' } else { '+' };
            push_formatted(
                out,
                format_args!("{},{sign}{},", contig_name(segment, hit), hit.start() + 1),
            );
            push_cigar_text(hit, segment.read.bases.len(), out);
            push_formatted(out, format_args!(",{};", hit.edit_distance()));
        }
    });
}

fn contig_name<'a>(segment: &Segment<'a>, hit: &MinibwaHit) -> &'a str {
    let at = usize::try_from(hit.sequence()).unwrap_or(usize::MAX);
    segment.contigs.get(at).map_or("*", |contig| contig.name.as_str())
}

/// Appends the CIGAR of a hit as text, with soft clips. `length` is the length of the read.
fn push_cigar_text(hit: &MinibwaHit, length: usize, out: &mut Vec<u8>) {
    let [before, behind] = clip_lengths(hit, length).map(|clip| (clip > 0).then_some(clip << 4 | 4));
    for operator in before.into_iter().chain(hit.cigar().iter().copied()).chain(behind) {
        let letter = char::from(b"MIDNSHP=XB??????"[operator as usize & 15]);
        push_formatted(out, format_args!("{}{letter}", operator >> 4));
    }
}

fn push_formatted(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text); // writing to a vector never fails
}

fn push_text_field(tag: [u8; 2], out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&tag);
    out.push(b'Z');
    write(out);
    out.push(0);
}

/// Appends an integer field in the smallest type that can represent the value, unsigned if
/// possible, like htslib.
fn push_integer_field(tag: [u8; 2], value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&tag);
    match value {
        0..=0xff => out.extend([b'C', value as u8]),
        0x100..=0xffff => {
            out.push(b'S');
            out.extend((value as u16).to_le_bytes());
        }
        0x1_0000.. => {
            out.push(b'I');
            out.extend(value.to_le_bytes());
        }
        -0x80.. => out.extend([b'c', value as u8]),
        -0x8000.. => {
            out.push(b's');
            out.extend((value as i16).to_le_bytes());
        }
        _ => {
            out.push(b'i');
            out.extend(value.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_little_room_as_they_can() {
        for (value, bytes) in [
            (0, &b"NMC\0"[..]),
            (255, b"NMC\xff"),
            (256, b"NMS\0\x01"),
            (65_536, b"NMI\0\0\x01\0"),
            (-1, b"NMc\xff"),
            (-129, b"NMs\x7f\xff"),
            (-32_769, b"NMi\xff\x7f\xff\xff"),
        ] {
            let mut out = Vec::new();
            push_integer_field(*b"NM", value, &mut out);
            assert_eq!(out, bytes);
        }
    }
}
