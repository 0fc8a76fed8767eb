//! The points of `tests/oracles/java/Numbers.java`, drawn by the same generator, and our results.

use std::cmp::Ordering;

use readmill_jmath::rounding::{round, to_int};
use readmill_jmath::text::{format_double, format_fixed, format_scientific};
use readmill_jmath::{CpuMaker, JavaMath, JavaPriorityQueue, JavaRandom, log1p, strict_log};

/// Names of the series: a function and a kind of points.
pub const SERIES: [&str; 47] = [
    "log10 integers",
    "log10 bits",
    "log10 unit",
    "log10 near",
    "log10 exponents",
    "log bits",
    "log unit",
    "log near",
    "log exponents",
    "exp bits",
    "exp range",
    "exp small",
    "exp exponents",
    "pow bits",
    "pow ten",
    "pow steps",
    "pow unit",
    "pow near",
    "pow limits",
    "pow integers",
    "pow whole",
    "log1p bits",
    "log1p range",
    "log1p exponents",
    "log1p border",
    "strictlog bits",
    "strictlog unit",
    "strictlog near",
    "round bits",
    "round range",
    "int range",
    "fixed0 range",
    "fixed2 range",
    "fixed3 range",
    "fixed4 ties",
    "fixed2 ties",
    "fixed6 bits",
    "fixed2 wide",
    "scientific bits",
    "scientific small",
    "string bits",
    "string range",
    "string subnormal",
    "string integers",
    "random ints",
    "random gaussians",
    "queue ties",
];

/// Random numbers of SplitMix64, which the Java harness draws in the same order.
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    fn spread(&mut self, min: i64, max: i64, is_signed: bool) -> f64 {
        let exponent = min + (self.next() % (max - min + 1) as u64) as i64;
        let bits = self.next();
        let sign = if is_signed { bits & 1 << 63 } else { 0 };
        f64::from_bits(bits & 0xf_ffff_ffff_ffff | ((exponent + 1023) as u64) << 52 | sign)
    }

    fn point(&mut self, kind: &str, index: u64) -> f64 {
        match kind {
            "bits" => f64::from_bits(self.next()),
            "unit" => self.unit(),
            "near" => 1.0 + (self.unit() - 0.5) * 0.25,
            "exponents" => f64::from_bits((index % 2048) << 52 | self.next() >> 12),
            "integers" => (index + 1) as f64,
            "small" => -self.unit() * 40.0,
            "border" => f64::from_bits((0xbfd2_bec0 + (index & 7)) << 32 | self.next() >> 32),
            "subnormal" => f64::from_bits(self.next() >> (12 + index % 50)),
            "wide" => self.spread(-60, 100, true),
            _ => panic!("{kind}"),
        }
    }

    fn power(&mut self, kind: &str, index: u64) -> (f64, f64) {
        match kind {
            "bits" => (f64::from_bits(self.next()), f64::from_bits(self.next())),
            "ten" => (10.0, -self.unit() * 40.0),
            "steps" => (10.0, -((index % 100_000) as f64) * 0.0001),
            "unit" => (self.unit() * 2.0, (self.unit() - 0.5) * 100.0),
            "near" => (1.0 + (self.unit() - 0.5) * 0.125, self.spread(0, 60, true)),
            "limits" => {
                let x = self.spread(-1074 + 52, 1023, false);
                let limit = if self.unit() < 0.5 { 1070.0 } else { -1070.0 };
                let exponent = (x.to_bits() >> 52) as i32 - 1023;
                (x, limit * (0.9 + self.unit() * 0.2) / f64::from(exponent))
            }
            "integers" => ((self.unit() - 0.5) * 40.0, (self.next() % 41) as f64 - 20.0),
            _ => {
                let mut x = ((self.next() % 9) as f64 - 4.0) * 0.5;
                let mut y = ((self.next() % 17) as f64 - 8.0) * 0.25;
                if index.is_multiple_of(7) {
                    y /= 0.0;
                }
                if index.is_multiple_of(11) {
                    x /= 0.0;
                }
                (x, y)
            }
        }
    }

    fn result(&mut self, math: JavaMath, series: &str, index: u64) -> u64 {
        let (function, kind) = series.split_once(' ').unwrap();
        if function == "pow" {
            let (x, y) = self.power(kind, index);
            return bits(math.pow(x, y));
        }
        let x = match series {
            "exp range" => (self.unit() - 0.5) * 1500.0,
            "log1p range" => self.unit() * 4.0 - 1.0,
            "round range" | "int range" => {
                let x = self.spread(-3, 66, true);
                if index.is_multiple_of(3) { x.round_ties_even() + 0.5 } else { x }
            }
            "fixed0 range" | "fixed2 range" | "fixed3 range" | "string range" => {
                (self.unit() - 0.3) * 3000.0
            }
            "fixed4 ties" => (self.next() >> 40) as f64 / 100_000.0,
            "fixed2 ties" => (self.next() >> 40) as f64 / 1000.0,
            "scientific small" => self.unit() * 0.01,
            "string integers" => (self.next() as i64 as u64 >> (index % 60)) as i64 as f64,
            _ => self.point(kind, index),
        };
        match function {
            "log10" => bits(math.log10(x)),
            "log" => bits(math.log(x)),
            "exp" => bits(math.exp(x)),
            "log1p" => bits(log1p(x)),
            "strictlog" => bits(strict_log(x)),
            "round" => round(x) as u64,
            "int" => i64::from(to_int(x)) as u64,
            "string" => hash(&format_double(x)),
            "scientific" => hash(&format_scientific(x, 3)),
            _ => hash(&format_fixed(x, function[5..].parse().unwrap())),
        }
    }
}

/// Returns the bits of a number, which are the same for every NaN.
pub fn bits(x: f64) -> u64 {
    if x.is_nan() { 0x7ff8 << 48 } else { x.to_bits() }
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns our results of a block.
pub fn block(series: &str, number: usize, size: usize) -> Vec<u64> {
    let seed = hash(series).wrapping_add(number as u64);
    let mut draws = Draws(seed);
    if series.starts_with("random") {
        let mut random = JavaRandom::new(seed as i64);
        let mut draw = |i: usize| {
            let bound = (draws.next() >> (34 + i % 29)) as i32;
            match series {
                "random ints" => i64::from(random.next_int(bound + 1)) as u64,
                _ => bits(random.next_gaussian()),
            }
        };
        return (0..size).map(&mut draw).collect();
    }
    if series.starts_with("queue") {
        let compare = |a: &(u64, u64), b: &(u64, u64)| -> Ordering { a.0.cmp(&b.0) };
        let mut queue = JavaPriorityQueue::new(compare);
        let mut step = |i: usize| {
            let draw = draws.next();
            if draw & 3 == 0 && !queue.is_empty() {
                return queue.poll().unwrap().1;
            }
            queue.add((draw >> 60, i as u64));
            0
        };
        return (0..size).map(&mut step).collect();
    }
    let math = JavaMath::of_maker(CpuMaker::Intel).unwrap();
    (0..size).map(|i| draws.result(math, series, (number * size + i) as u64)).collect()
}

/// Returns the hash of the results of a block.
pub fn hash_results(results: &[u64]) -> u64 {
    results.iter().fold(0, |hash: u64, result| {
        let hash = (hash ^ result).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ hash >> 32
    })
}
