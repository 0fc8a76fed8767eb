//! Small changes of an input, like libFuzzer makes them. The tests and `tools/cli-fuzz` use
//! them.

use readmill_simulate::Rng;

pub fn rng_from_name(name: &str) -> Rng {
    Rng::new(name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

const LIMIT_NUMBERS: [u32; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

const TEXT_CHARACTERS: &[u8] = b"\t\n\r :;,=@#+-.*/()[]\"\\0123456789AZaz";

/// Changes `input` in one to six places. Parts of `other`, another input, may be inserted.
/// The result has at most `max_bytes` bytes.
pub fn change_bytes(input: &mut Vec<u8>, other: &[u8], max_bytes: usize, random: &mut Rng) {
    for _ in 0..=random.index(6) {
        let at = random.index(input.len() + 1);
        let n = (1 + random.index(8)).min(input.len() - at);
        match random.index(9) {
            0 if n > 0 => input[at] ^= 1 << random.index(8),
            1 if n > 0 => input[at] = random.index(256) as u8,
            2 if n > 0 => input[at] = TEXT_CHARACTERS[random.index(TEXT_CHARACTERS.len())],
            3 => input.insert(at, TEXT_CHARACTERS[random.index(TEXT_CHARACTERS.len())]),
            4 => drop(input.drain(at..at + n)),
            5 => {
                let number = LIMIT_NUMBERS[random.index(LIMIT_NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4][random.index(3)].min(input.len() - at);
                input[at..at + width].copy_from_slice(&number[..width]);
            }
            6 => {
                let part: Vec<u8> = input[at..at + n].to_vec();
                let to = random.index(input.len() + 1);
                input.splice(to..to, part);
            }
            7 if !other.is_empty() => {
                let from = random.index(other.len());
                let part = &other[from..(from + 1 + random.index(64)).min(other.len())];
                input.splice(at..at + n, part.iter().copied());
            }
            _ if random.index(20) == 0 => input.truncate(at),
            _ => {}
        }
    }
    input.truncate(max_bytes);
}
