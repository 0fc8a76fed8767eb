//! Damages lines and cells of text: SAM, FASTQ, FASTA, VCF, BED, refFlat, tables and lists.

use readmill_fuzz::changes;
use readmill_simulate::Rng;

use super::numbers::{MAX_BYTES, draw_number};

const CELLS: [&str; 44] = [
    "",
    "*",
    ".",
    "-",
    "+",
    "=",
    "0",
    "-0",
    "1e9",
    "0x10",
    "1.5",
    "nan",
    "inf",
    "99999999999999999999",
    "chr1",
    "chr2",
    "chrM",
    "chr99",
    "chr1:1-10",
    "1M",
    "5S",
    "0M",
    "268435455M",
    "10M5I3D2N4S",
    "50H",
    "3S44M3S1H",
    "M",
    "ACGT",
    "acgtnN.-*",
    "IIII",
    "!",
    "RG:Z:",
    "RG:Z:x",
    "RG:i:5",
    "NM:i:-5",
    "NM:Z:x",
    "MC:Z:5M",
    "MC:Z:*",
    "MD:Z:10^",
    "XX:B:c,",
    "XX:B:I,4294967296",
    "SA:Z:chr1,1,+,5M,0,0",
    "CG:B:I,1,2",
    "\u{e4}\u{20ac}",
];

const LINES: [&str; 22] = [
    "",
    "@",
    "@CO",
    "@HD\tVN:1.6\tSO:coordinate",
    "@HD\tVN:9.9\tSO:unknown\tGO:reference",
    "@SQ\tSN:chr1\tLN:0",
    "@SQ\tSN:new\tLN:2147483647",
    "@SQ\tLN:100\tSN:chr1",
    "@RG\tID:x",
    "@RG\tSM:x",
    "@PG\tID:readmill\tPP:readmill",
    "#",
    "##contig=<ID=chr1>",
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts",
    "track name=x",
    "browser position chr1:1-10",
    ">chr1",
    ">",
    "+",
    "@r1 1:N:0:ACGT",
    "chr1\t5\t4",
    "r\t0\tchr1\t1\t60\t268435455M\t*\t0\t0\t*\t*",
];

/// Damages one to four lines. With `is_fastq`, also resizes bases and qualities of records. The
/// result has at most [`MAX_BYTES`] bytes.
pub fn damage_lines(content: &[u8], is_fastq: bool, rng: &mut Rng) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = content.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=rng.index(4) {
        if lines.is_empty() {
            break;
        }
        // Headers are short but affect much code, so they are damaged more often.
        let end = if rng.is_once_in(3) { lines.len().min(12) } else { lines.len() };
        let at = rng.index(end);
        match rng.index(16) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let to = rng.index(lines.len());
                lines.swap(at, to);
            }
            3 => lines.insert(at, rng.pick(&LINES).as_bytes().to_vec()),
            4 => lines[at].push(b'\r'),
            5 => {
                let n = rng.index(lines[at].len() + 1);
                lines[at].truncate(n);
            }
            6 if rng.is_once_in(4) => lines.truncate(at),
            7 if rng.is_once_in(3) => {
                let long = lines[at].repeat(1 + rng.index(300));
                lines[at] = long;
            }
            8 => changes::change_bytes(&mut lines[at], b"\t \0:;,", 1 << 16, rng),
            9 if is_fastq => resize_record(&mut lines, at, rng),
            _ => damage_cell(&mut lines[at], rng),
        }
    }
    let mut damaged = lines.join(&b'\n');
    match rng.index(30) {
        0 => drop(damaged.pop()),
        1 => damaged.push(b'\n'),
        2 => damaged.extend([0; 40]),
        3 => damaged.splice(0..0, *b"\xef\xbb\xbf").for_each(drop),
        _ => {}
    }
    damaged.truncate(MAX_BYTES);
    damaged
}

/// Changes one cell of a line. Cells are separated by tabs, or by the first other separator in the
/// line.
fn damage_cell(line: &mut Vec<u8>, rng: &mut Rng) {
    let between = b"\t ,:=".iter().copied().find(|sign| line.contains(sign)).unwrap_or(b'\t');
    let mut cells: Vec<Vec<u8>> = line.split(|&b| b == between).map(<[u8]>::to_vec).collect();
    let at = rng.index(cells.len());
    match rng.index(9) {
        0 => drop(cells.remove(at)),
        1 => cells.insert(at, rng.pick(&CELLS).as_bytes().to_vec()),
        2 => cells.push(rng.pick(&CELLS).as_bytes().to_vec()),
        3 => {
            let to = rng.index(cells.len());
            cells.swap(at, to);
        }
        4 | 5 => cells[at] = rng.pick(&CELLS).as_bytes().to_vec(),
        6 => {
            // Damage a list or a typed field inside.
            changes::change_bytes(&mut cells[at], b"0123456789,:;MIDNSHP=X", 4096, rng);
        }
        _ => {
            let text = String::from_utf8_lossy(&cells[at]).into_owned();
            let digits: String = text.chars().filter(char::is_ascii_digit).take(15).collect();
            let number = draw_number(digits.parse().unwrap_or_default(), rng).to_string();
            cells[at] =
                if digits.is_empty() { number } else { text.replacen(&digits, &number, 1) }.into();
        }
    }
    *line = cells.join(&between);
}

fn resize_record(lines: &mut [Vec<u8>], at: usize, rng: &mut Rng) {
    let first = at / 4 * 4;
    let Some([_, bases, _, qualities]) = lines.get_mut(first..first + 4) else { return };
    let length = rng.pick(&[0, 1, 2, 30, 49, 51, 400, 5000]);
    let which = rng.index(4);
    if which != 0 {
        bases.resize(length, b'A');
    }
    if which != 1 {
        qualities.resize(length, rng.pick(b"I!~ \x1f\x7f"));
    }
}
