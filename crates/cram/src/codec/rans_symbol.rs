//! The encoding step that both rANS encoders share: the effect of a symbol on the state, computed
//! without division.

#[derive(Clone, Copy, Default)]
pub struct RansSymbol {
    /// From this value on, a state must be renormalised before [`next_state`](Self::next_state).
    pub renormalise_from: u32,
    /// Reciprocal of the frequency. The product with it is shifted right by `shift` bits.
    reciprocal: u32,
    bias: u16,
    complement: u16,
    shift: u8,
}

impl RansSymbol {
    /// Returns the effect of a symbol whose range starts at `start` and has width `frequency`. All
    /// ranges together have width 2^`bits`. States of at least `renormalise_from` are renormalised
    /// first.
    ///
    /// The reciprocals are those described by Giesen for rANS. They are exact for states below
    /// 2^31.
    fn new(start: u32, frequency: u32, bits: u32, renormalise_from: u32) -> Self {
        let complement = ((1 << bits) - frequency) as u16;
        if frequency < 2 {
            let bias = (start + (1 << bits) - 1) as u16;
            return RansSymbol { renormalise_from, reciprocal: !0, shift: 0, bias, complement };
        }
        let shift = 32 - (frequency - 1).leading_zeros();
        let reciprocal = ((1u64 << (shift + 31)).div_ceil(u64::from(frequency))) as u32;
        RansSymbol {
            renormalise_from,
            reciprocal,
            shift: shift as u8 - 1,
            bias: start as u16,
            complement,
        }
    }

    /// Returns the state after the symbol. `state` must be less than
    /// [`renormalise_from`](Self::renormalise_from).
    #[inline(always)]
    pub fn next_state(&self, state: u32) -> u32 {
        let quotient = ((u64::from(state) * u64::from(self.reciprocal)) >> 32) as u32 >> self.shift;
        let more = quotient.wrapping_mul(u32::from(self.complement));
        state.wrapping_add(u32::from(self.bias)).wrapping_add(more)
    }
}

/// Fills `symbols` for one context, whose frequencies sum to at most 2^`bits`. A state of at least
/// `max_ratio` times the frequency of a symbol is renormalised before that symbol.
pub fn fill_symbols(frequencies: &[u16], bits: u32, max_ratio: u32, symbols: &mut [RansSymbol]) {
    let mut start = 0;
    for (symbol, &f) in symbols.iter_mut().zip(frequencies).filter(|(_, f)| **f > 0) {
        let frequency = u32::from(f);
        *symbol = RansSymbol::new(start, frequency, bits, max_ratio * frequency);
        start += frequency;
    }
}

/// Estimates the encoded size in bytes of the counted symbols, with frequencies that sum to
/// 2^`bits`, and of their table, in which each symbol takes `table` bytes.
pub fn estimated_size(counts: &[u32], frequencies: &[u16], bits: u32, table: f64) -> f64 {
    let used = counts.iter().zip(frequencies).filter(|(n, _)| **n > 0);
    used.map(|(&n, &f)| f64::from(n) * (f64::from(bits) - f64::from(f).log2()) / 8.0 + table).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quotient by multiplication equals the quotient by division, for all frequencies and for
    /// states near their multiples. (No rANS state is zero.)
    #[test]
    fn a_step_is_the_division_that_rans_asks_for() {
        const BITS: u32 = 12;
        for frequency in 1..=1u32 << BITS {
            let start = (1 << BITS) - frequency;
            let symbol = RansSymbol::new(start, frequency, BITS, (1 << 19) * frequency);
            for part in [1, 2, 1000, 4095, 1 << 15, (1 << 19) - 1] {
                for state in [part * frequency, part * frequency + frequency - 1] {
                    let expected = ((state / frequency) << BITS) + state % frequency + start;
                    assert_eq!(symbol.next_state(state), expected, "{state} at {frequency}");
                }
            }
        }
    }
}
