//! Decimal digits of a number, as `FloatingDecimal` of JDK 17 chooses them.
//!
//! The algorithm is that of Steele and White: digits are produced until the rest is within half the
//! distance to the next number. Java does so in integers of 32 or 64 bits if the numbers fit, and in
//! large ones otherwise; at the limit itself, these differ.

use std::cmp::Ordering;

use super::natural::{Large, Natural};

/// For what digits are made. `Double.toString` stops at the first digit that identifies the number;
/// `String.format` never stops after one digit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    ToString,
    Format,
}

/// A positive number 0.DIGITS · 10^exponent.
pub(super) struct Decimal {
    /// Digits from 0 to 9 as ASCII.
    pub(super) digits: Vec<u8>,
    pub(super) exponent: i32,
}

/// The decimal logarithm of 2 with the digits that Java uses.
#[allow(clippy::approx_constant, reason = "Java cuts it")]
const LOG10_2: f64 = 0.301_029_995_663_981;

/// Number of bits of 5^k, up to the largest power that fits 64 bits.
const BITS_OF_5_POW: [i32; 27] = [
    0, 3, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28, 31, 33, 35, 38, 40, 42, 45, 47, 49, 52, 54, 56, 59,
    61,
];

impl Decimal {
    /// Returns the digits of a positive finite number.
    pub(super) fn of(x: f64, purpose: Purpose) -> Self {
        let bits = x.to_bits();
        let (mut fraction, mut exponent) = (bits & 0xf_ffff_ffff_ffff, (bits >> 52) as i32);
        let significant = if exponent == 0 {
            let leading = fraction.leading_zeros() as i32;
            fraction <<= leading - 11;
            exponent = 1 - (leading - 11);
            64 - leading
        } else {
            fraction |= 1 << 52;
            53
        };
        exponent -= 1023;
        let tail = fraction.trailing_zeros() as i32;
        let kept = 53 - tail;
        let tiny = (kept - exponent - 1).max(0);
        if (-21..=62).contains(&exponent) && tiny == 0 && kept < 64 {
            return Self::of_integer(fraction, exponent, significant);
        }
        Self::of_fraction(fraction, exponent, significant, tail, purpose)
    }

    /// Returns the digits of an integer. Bits beyond the precision of the number do not matter.
    fn of_integer(fraction: u64, exponent: i32, significant: i32) -> Self {
        let mut value =
            if exponent >= 52 { fraction << (exponent - 52) } else { fraction >> (52 - exponent) };
        let spare = exponent - significant - 1;
        let mut dropped = 0;
        if spare > 1 {
            dropped = (f64::from(spare) * std::f64::consts::LOG10_2) as u32;
        }
        if dropped > 0 {
            let power = 10_u64.pow(dropped);
            let rest = value % power;
            value = value / power + u64::from(rest >= power / 2);
        }
        let text = value.to_string();
        let exponent = text.len() as i32 + dropped as i32;
        Decimal { digits: text.trim_end_matches('0').into(), exponent }
    }

    fn of_fraction(fraction: u64, exponent: i32, significant: i32, tail: i32, purpose: Purpose) -> Self {
        let kept = 53 - tail;
        let tiny = (kept - exponent - 1).max(0);
        let mantissa = f64::from_bits(fraction & 0xf_ffff_ffff_ffff | 0x3ff << 52);
        let estimate = (mantissa - 1.5) * 0.289529654 + 0.176091259 + f64::from(exponent) * LOG10_2;
        let decimal = estimate.floor() as i32;
        let (b_5, s_5) = ((-decimal).max(0), decimal.max(0));
        let (mut b_2, mut s_2) = (b_5 + tiny + exponent, s_5 + tiny);
        let mut m_2 = b_2 - significant;
        let fraction = fraction >> tail;
        b_2 -= kept - 1;
        let common = b_2.min(s_2);
        (b_2, s_2, m_2) = (b_2 - common, s_2 - common, m_2 - common);
        if kept == 1 {
            // Below a power of two, the next number is half as far away.
            m_2 -= 1;
        }
        if m_2 < 0 {
            (b_2, s_2, m_2) = (b_2 - m_2, s_2 - m_2, 0);
        }
        let bits_of_5 = |power: i32| BITS_OF_5_POW.get(power as usize).copied().unwrap_or(power * 3);
        let bits_of_b = kept + b_2 + bits_of_5(b_5);
        let bits_of_10_s = s_2 + 1 + bits_of_5(s_5 + 1);
        let scaled = Scaled { fraction, b_5, b_2, s_5, s_2, m_2 };
        if bits_of_b < 32 && bits_of_10_s < 32 {
            let [b, s, m] = scaled.numbers(|factor, five, two| (factor as i32 * 5_i32.pow(five)) << two);
            Self::produce_digits(b, s, m, decimal, purpose, false)
        } else if bits_of_b < 64 && bits_of_10_s < 64 {
            let [b, s, m] = scaled.numbers(|factor, five, two| (factor as i64 * 5_i64.pow(five)) << two);
            Self::produce_digits(b, s, m, decimal, purpose, false)
        } else {
            let [b, s, m] = scaled.numbers(Large::of);
            Self::produce_digits(b, s, m, decimal, purpose, true)
        }
    }

    /// Produces the digits of b/s, each until the rest is less than m/s or more than 1 - m/s. In
    /// large integers, the upper limit itself ends the digits, too.
    fn produce_digits<N: Natural>(
        mut b: N,
        s: N,
        mut m: N,
        mut first_place: i32,
        purpose: Purpose,
        includes_limit: bool,
    ) -> Self {
        let ten_s = s.clone().times(10);
        let mut digits: Vec<u8> = Vec::with_capacity(20);
        let (mut low, mut high);
        let mut is_first = true;
        loop {
            let digit = b.take_quotient(&s);
            b = b.times(10);
            m = m.times(10);
            // The sum can wrap around in Java's integers, and the digits are other ones then.
            low = b < m;
            high = match b.clone().plus(&m).cmp(&ten_s) {
                Ordering::Less => false,
                Ordering::Equal => includes_limit,
                Ordering::Greater => true,
            };
            if !m.is_positive() {
                (low, high) = (true, true);
            }
            if is_first && digit == 0 && !high {
                first_place -= 1;
            } else {
                digits.push(b'0' + digit);
            }
            if is_first && (purpose == Purpose::Format || !(-3..8).contains(&first_place)) {
                (low, high) = (false, false);
            }
            is_first = false;
            if (low || high) && !digits.is_empty() {
                break;
            }
        }
        let mut result = Decimal { digits, exponent: first_place + 1 };
        if high {
            let rest = b.cmp_doubled(&ten_s);
            let is_odd = result.digits.last().is_some_and(|digit| digit & 1 == 1);
            if !low || rest == Ordering::Greater || (rest == Ordering::Equal && is_odd) {
                result.round_up_last();
            }
        }
        // Zeros at the end may remain, which no text shows twice.
        while result.digits.len() > 1 && result.digits.last() == Some(&b'0') {
            result.digits.pop();
        }
        result
    }

    /// Adds 1 to the last digit.
    fn round_up_last(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit != b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.digits[0] = b'1';
        self.exponent += 1;
    }

    /// Keeps this many digits and rounds half up. With a negative number, all digits are kept.
    pub(super) fn round_to(&mut self, count: i64) {
        let Ok(count) = usize::try_from(count) else {
            return;
        };
        if count >= self.digits.len() {
            return;
        }
        let is_up = self.digits[count] >= b'5';
        self.digits.truncate(count);
        if count == 0 {
            self.digits.push(if is_up { b'1' } else { b'0' });
            self.exponent += i32::from(is_up);
        } else if is_up {
            self.round_up_last();
        }
    }
}

/// A number, the unit of its first digit, and half the distance to the next number, as products of
/// powers of 5 and 2: b = fraction · 5^b_5 · 2^b_2, s = 5^s_5 · 2^s_2, m = 5^b_5 · 2^m_2.
struct Scaled {
    fraction: u64,
    b_5: i32,
    b_2: i32,
    s_5: i32,
    s_2: i32,
    m_2: i32,
}

impl Scaled {
    fn numbers<N>(&self, make: impl Fn(u64, u32, u32) -> N) -> [N; 3] {
        [
            make(self.fraction, self.b_5 as u32, self.b_2 as u32),
            make(1, self.s_5 as u32, self.s_2 as u32),
            make(1, self.b_5 as u32, self.m_2 as u32),
        ]
    }
}
