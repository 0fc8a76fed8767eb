//! Integers of 32 and 64 bits and of any size, with what the production of digits needs.

use std::cmp::Ordering;

/// Arithmetic for the production of digits.
pub(super) trait Natural: Ord + Clone {
    fn times(self, factor: u32) -> Self;
    fn plus(self, other: &Self) -> Self;
    /// Divides by `divisor`, keeps the remainder, and returns the quotient, which is below 10.
    fn take_quotient(&mut self, divisor: &Self) -> u8;
    /// Compares twice this number with another one.
    fn cmp_doubled(self, other: &Self) -> Ordering;
    /// Returns whether this number has not wrapped around to a negative one.
    fn is_positive(&self) -> bool;
}

/// Implements the arithmetic in Java's integers, which wrap around.
macro_rules! impl_wrapping {
    ($integer:ty) => {
        impl Natural for $integer {
            fn times(self, factor: u32) -> Self {
                self.wrapping_mul(factor as $integer)
            }

            fn plus(self, other: &Self) -> Self {
                self.wrapping_add(*other)
            }

            fn take_quotient(&mut self, divisor: &Self) -> u8 {
                let quotient = *self / divisor;
                *self %= divisor;
                quotient as u8
            }

            fn cmp_doubled(self, other: &Self) -> Ordering {
                self.wrapping_mul(2).wrapping_sub(*other).cmp(&0)
            }

            fn is_positive(&self) -> bool {
                *self > 0
            }
        }
    };
}

impl_wrapping!(i32);
impl_wrapping!(i64);

/// A number as 32-bit limbs, the lowest first, without zeros at the end.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Large(Vec<u32>);

impl Large {
    /// Returns factor · 5^five · 2^two.
    pub(super) fn of(factor: u64, five: u32, two: u32) -> Self {
        let mut number = Large(vec![factor as u32, (factor >> 32) as u32]);
        for _ in 0..five / 13 {
            number = number.times(5_u32.pow(13));
        }
        number = number.times(5_u32.pow(five % 13)).times(1 << (two % 32));
        number.0.splice(0..0, std::iter::repeat_n(0, two as usize / 32));
        number.trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }
}

impl Ord for Large {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_limbs = || self.0.iter().rev().cmp(other.0.iter().rev());
        self.0.len().cmp(&other.0.len()).then_with(by_limbs)
    }
}

impl PartialOrd for Large {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Natural for Large {
    fn times(mut self, factor: u32) -> Self {
        let mut carry = 0_u64;
        for limb in &mut self.0 {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = carry as u32;
            carry >>= 32;
        }
        self.0.push(carry as u32);
        self.trimmed()
    }

    fn plus(mut self, other: &Self) -> Self {
        let len = self.0.len().max(other.0.len()) + 1;
        self.0.resize(len, 0);
        let mut carry = 0_u64;
        for (i, limb) in self.0.iter_mut().enumerate() {
            carry += u64::from(*limb) + u64::from(other.0.get(i).copied().unwrap_or(0));
            *limb = carry as u32;
            carry >>= 32;
        }
        self.trimmed()
    }

    fn cmp_doubled(self, other: &Self) -> Ordering {
        self.times(2).cmp(other)
    }

    fn is_positive(&self) -> bool {
        true
    }

    fn take_quotient(&mut self, divisor: &Self) -> u8 {
        let mut quotient = 0;
        while *self >= *divisor {
            let mut borrow = 0_i64;
            for (i, limb) in self.0.iter_mut().enumerate() {
                borrow += i64::from(*limb) - i64::from(divisor.0.get(i).copied().unwrap_or(0));
                *limb = borrow as u32;
                borrow >>= 32;
            }
            while self.0.last() == Some(&0) {
                self.0.pop();
            }
            quotient += 1;
        }
        quotient
    }
}
