//! Writes optional fields in minibwa's order: RG NM AS ms md MC MQ, then MD or cs or ds, then SA,
//! n2, XA.

use std::io::Write;

use super::hits::Hit;
use super::hits::{Segment, clips};

/// Appends the optional fields of a hit, or of an unmapped read.
pub(super) fn push(segment: &Segment<'_>, hit: Option<&Hit>, out: &mut Vec<u8>) {
    if let Some(group) = segment.group {
        text(*b"RG", out, |out| out.extend_from_slice(group));
    }
    let Some(hit) = hit else { return };
    let [score, best_segment, best, next] = hit.scores().unwrap_or_default();
    integer(*b"NM", hit.differences(), out);
    integer(*b"AS", score, out);
    integer(*b"ms", best_segment, out);
    integer(*b"md", best - next, out);
    if let (Some(mate), Some((_, length))) = (segment.of_mate(), segment.mate)
        && !mate.cigar().is_empty()
        && length > 0
    {
        text(*b"MC", out, |out| cigar(mate, length, out));
        integer(*b"MQ", i32::from(mate.mapq()), out);
    }
    if let Some([one, two, b':', b'Z', b':', value @ ..]) = hit.text() {
        text([*one, *two], out, |out| out.extend_from_slice(value));
    }
    if hit.is_primary() && hit.scores().is_some() && segment.hits.len() > 1 {
        parts(segment, hit, out);
        others(segment, hit, best, out);
    }
}

/// Appends SA, which lists the other parts of a split read. As in minibwa, its CIGARs are
/// simplified: at most one operator of each kind.
fn parts(segment: &Segment<'_>, own: &Hit, out: &mut Vec<u8>) {
    let is_part = |hit: &&Hit| !std::ptr::eq(*hit, own) && hit.is_primary() && hit.scores().is_some();
    if !segment.hits.iter().any(|hit| is_part(&hit)) {
        return;
    }
    text(*b"SA", out, |out| {
        for hit in segment.hits.iter().filter(is_part) {
            let (start, end) = hit.of_read();
            let (of_read, of_reference) = ((end - start) as u32, (hit.end() - hit.start()) as u32);
            let matched = of_read.min(of_reference);
            let [before, behind] = clips(hit, segment.read.bases.len());
            let sign = if hit.is_reverse() { '-' } else { '+' };
            put(out, format_args!("{},{},{sign},", name(segment, hit), hit.start() + 1));
            let lengths = [before, matched, of_read - matched, of_reference - matched, behind];
            for (length, letter) in lengths.into_iter().zip(['S', 'M', 'I', 'D', 'S']) {
                if length > 0 {
                    put(out, format_args!("{length}{letter}"));
                }
            }
            put(out, format_args!(",{},{};", hit.mapq(), hit.differences()));
        }
    });
}

/// Appends n2, the number of secondary hits with a similar score, and lists them in XA unless there
/// are too many.
fn others(segment: &Segment<'_>, own: &Hit, best: i32, out: &mut Vec<u8>) {
    let least = f64::from(segment.settings.out_s) * f64::from(best);
    let at = segment.hits.iter().position(|hit| std::ptr::eq(hit, own));
    let is_other = |hit: &&Hit| {
        let good = hit.scores().is_some_and(|scores| f64::from(scores[2]) >= least);
        good && !std::ptr::eq(*hit, own) && Some(hit.parent()) == at
    };
    let count = segment.hits.iter().filter(is_other).count();
    if segment.settings.xa_max <= 0 || count == 0 {
        return;
    }
    integer(*b"n2", count as i32, out);
    if count > segment.settings.xa_max as usize {
        return;
    }
    text(*b"XA", out, |out| {
        for hit in segment.hits.iter().filter(is_other) {
            let sign = if hit.is_reverse() { '-' } else { '+' };
            put(out, format_args!("{},{sign}{},", name(segment, hit), hit.start() + 1));
            cigar(hit, segment.read.bases.len(), out);
            put(out, format_args!(",{};", hit.differences()));
        }
    });
}

fn name<'a>(segment: &Segment<'a>, hit: &Hit) -> &'a str {
    let at = usize::try_from(hit.sequence()).unwrap_or(usize::MAX);
    segment.contigs.get(at).map_or("*", |contig| contig.name.as_str())
}

/// Appends the CIGAR of a hit as text, with soft clips. `length` is the length of the read.
fn cigar(hit: &Hit, length: usize, out: &mut Vec<u8>) {
    let [before, behind] = clips(hit, length).map(|clip| (clip > 0).then_some(clip << 4 | 4));
    for operator in before.into_iter().chain(hit.cigar().iter().copied()).chain(behind) {
        let letter = char::from(b"MIDNSHP=XB??????"[operator as usize & 15]);
        put(out, format_args!("{}{letter}", operator >> 4));
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text); // writing to a vector never fails
}

fn text(tag: [u8; 2], out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&tag);
    out.push(b'Z');
    write(out);
    out.push(0);
}

/// Appends an integer field in the smallest type that holds the value, unsigned if possible, as
/// htslib does.
fn integer(tag: [u8; 2], value: i32, out: &mut Vec<u8>) {
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
            integer(*b"NM", value, &mut out);
            assert_eq!(out, bytes);
        }
    }
}
