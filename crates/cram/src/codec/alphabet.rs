//! The symbols of a block and their frequencies, shared by both rANS encoders.

/// Scales counts to frequencies that sum to `total`. Every symbol that occurs keeps a frequency of
/// at least 1.
pub fn normalise_to(total: u32, counts: &[u32], frequencies: &mut [u16]) {
    let sum: u64 = counts.iter().map(|&n| u64::from(n)).sum();
    let (mut left, mut largest_at) = (total as i32, 0);
    for (i, &n) in counts.iter().enumerate() {
        let share = u64::from(n) * u64::from(total) / sum.max(1);
        frequencies[i] = if n > 0 { share.max(1) as u16 } else { 0 };
        left -= i32::from(frequencies[i]);
        if frequencies[i] > frequencies[largest_at] {
            largest_at = i;
        }
    }
    let largest = i32::from(frequencies[largest_at]);
    if largest + left > 0 {
        frequencies[largest_at] = (largest + left) as u16;
        return;
    }
    // Rounding rare symbols up to 1 took more than the largest frequency can give, so all large
    // frequencies are reduced.
    while left < 0 {
        for f in frequencies.iter_mut().filter(|f| **f > 1) {
            if left < 0 {
                *f -= 1;
                left += 1;
            }
        }
    }
}

/// Appends the list of used symbols, with consecutive symbols stored as runs. After each symbol,
/// `each` appends the data of that symbol.
pub fn put_symbols(
    used: impl Fn(u8) -> bool,
    out: &mut Vec<u8>,
    mut each: impl FnMut(u8, &mut Vec<u8>),
) {
    let mut run = 0;
    for symbol in (0..=255u8).filter(|&symbol| used(symbol)) {
        if run > 0 {
            run -= 1;
        } else {
            out.push(symbol);
            if symbol > 0 && used(symbol - 1) {
                run = (symbol..=255).skip(1).take_while(|&next| used(next)).count();
                out.push(run as u8);
            }
        }
        each(symbol, out);
    }
    out.push(0);
}

/// The symbols of a block, numbered without gaps. Symbol zero is always numbered, because it is the
/// initial context.
pub struct Alphabet {
    pub of: [u8; 256],
    pub used: [bool; 256],
    pub counts: Vec<u32>,
}

impl Alphabet {
    pub fn of(raw: &[u8]) -> Self {
        let mut four = [[0u32; 256]; 4]; // four tables, so that no addition waits for the one before it
        let mut chunks = raw.chunks_exact(4);
        for chunk in &mut chunks {
            for (counts, &byte) in four.iter_mut().zip(chunk) {
                counts[byte as usize] += 1;
            }
        }
        chunks.remainder().iter().for_each(|&byte| four[0][byte as usize] += 1);
        let mut alphabet = Alphabet { of: [0; 256], used: [false; 256], counts: Vec::new() };
        for symbol in 0..256 {
            let count = four.iter().map(|counts| counts[symbol]).sum();
            alphabet.used[symbol] = count > 0;
            if count > 0 || symbol == 0 {
                alphabet.of[symbol] = alphabet.counts.len() as u8;
                alphabet.counts.push(count);
            }
        }
        alphabet
    }

    /// Appends the symbols and frequencies of one context in the layout of rANS 4x8.
    pub fn put_frequencies(&self, frequencies: &[u16], out: &mut Vec<u8>) {
        let of = |symbol: u8| frequencies[usize::from(self.of[symbol as usize])];
        put_symbols(
            |symbol| self.used[symbol as usize] && of(symbol) > 0,
            out,
            |symbol, out| {
                let f = of(symbol);
                if f >= 0x80 {
                    out.push((f >> 8) as u8 | 0x80);
                }
                out.push(f as u8);
            },
        );
    }

    pub fn used_symbols(&self) -> Vec<u8> {
        (0..=255u8).filter(|&symbol| self.used[symbol as usize]).collect()
    }
}
