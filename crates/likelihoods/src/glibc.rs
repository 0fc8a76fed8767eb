//! `log10f` and `log10` with the bits of glibc 2.28 to 2.40 on x86-64 processors with FMA.
//!
//! GKL turns probabilities into logarithms by these functions. Both write x as 2^k · m and return
//! log10(e) · log(m) + k · log10(2) with the rounding errors of fdlibm's formula. log(m) is that of
//! Arm's optimized routines, which glibc compiles to fused operations.

use crate::tables::read_f64_pairs;

const LOG10_E: f64 = std::f64::consts::LOG10_E;
const LOG10_E_F32: f32 = std::f32::consts::LOG10_E;

/// log10(2) in two parts: products of the first with exponents are exact.
const LOG10_2: [f64; 2] = [f64::from_bits(0x3fd3_4413_509f_6000), f64::from_bits(0x3d59_fef3_11f1_2b36)];
const LOG10_2_F32: [f32; 2] = [f32::from_bits(0x3e9a_2080), f32::from_bits(0x3554_27db)];

/// log(2) in two parts.
const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fefa_3800), f64::from_bits(0x3d2e_f357_93c7_6730)];

/// The mantissas of Arm's functions start at these numbers, about 0.7, instead of 1.
const FIRST_MANTISSA: u64 = 0x3fe6_0000_0000_0000;
const FIRST_MANTISSA_F32: u32 = 0x3f33_0000;

/// 1/c and log(c) by the upper 4 bits of a mantissa that is near c.
static LN_TABLE_F32: [[f64; 2]; 16] = [
    [1.398907162146528, -0.33569133332882284],
    [1.3403141896637998, -0.2929040563774074],
    [1.286432210124115, -0.2518726580937369],
    [1.2367150214269895, -0.21245868807117255],
    [1.1906977166711752, -0.17453945183745634],
    [1.1479821020556429, -0.1380057072319758],
    [1.1082251448272158, -0.10275976698545139],
    [1.0711297413057381, -0.06871392447020525],
    [1.036437278977283, -0.0357891387398228],
    [1.0, 0.0],
    [0.9492859795739057, 0.05204517742929496],
    [0.8951049428609004, 0.11081431298787942],
    [0.8476821620351103, 0.1652495223695143],
    [0.8050314851692001, 0.21687389031699977],
    [0.7664671008843108, 0.2659635028121397],
    [0.731428603316328, 0.3127556664073557],
];

/// 1/c and log(c) by the upper 7 bits of a mantissa.
static LN_TABLE: [[f64; 2]; 128] = read_f64_pairs(include_bytes!("data/log.bin"));

/// Returns the decimal logarithm, like `log10f` of glibc.
pub(crate) fn log10_f32(x: f32) -> f32 {
    if x <= 0.0 || !x.is_finite() {
        return logarithm_of_special(f64::from(x)) as f32;
    }
    // Subnormal numbers become normal.
    let (bits, scale) =
        if x < f32::MIN_POSITIVE { ((x * 33_554_432.0).to_bits(), 25) } else { (x.to_bits(), 0) };
    let exponent = (bits >> 23) as i32 - 127 - scale;
    let below_one = u32::from(exponent < 0);
    let mantissa = f32::from_bits(bits & 0x7f_ffff | (127 - below_one) << 23);
    let exponent = (exponent + below_one as i32) as f32;
    let sum = exponent * LOG10_2_F32[1] + LOG10_E_F32 * ln_f32(mantissa);
    sum + exponent * LOG10_2_F32[0]
}

/// Returns the decimal logarithm, like `log10` of glibc.
pub(crate) fn log10(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return logarithm_of_special(x);
    }
    let two_54 = f64::from_bits(0x4350 << 48);
    let (bits, scale) =
        if x < f64::MIN_POSITIVE { ((x * two_54).to_bits(), 54) } else { (x.to_bits(), 0) };
    let exponent = (bits >> 52) as i32 - 1023 - scale;
    let below_one = u64::from(exponent < 0);
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | (1023 - below_one) << 52);
    let exponent = f64::from(exponent + below_one as i32);
    let sum = exponent * LOG10_2[1] + LOG10_E * ln(mantissa);
    sum + exponent * LOG10_2[0]
}

/// Returns the logarithm of a number that is not positive and finite.
fn logarithm_of_special(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x < 0.0 {
        f64::NAN
    } else {
        x
    }
}

/// Returns the natural logarithm of a normal number, like `logf`.
fn ln_f32(x: f32) -> f32 {
    if x == 1.0 {
        return 0.0;
    }
    let from_first = x.to_bits().wrapping_sub(FIRST_MANTISSA_F32);
    let [reciprocal, ln_center] = LN_TABLE_F32[(from_first >> 19 & 15) as usize];
    let exponent = f64::from(from_first as i32 >> 23);
    let mantissa = f64::from(f32::from_bits(x.to_bits().wrapping_sub(from_first & 0xff80_0000)));
    let r = mantissa.mul_add(reciprocal, -1.0);
    let start = exponent.mul_add(std::f64::consts::LN_2, ln_center);
    let r2 = r * r;
    let polynomial =
        r2.mul_add(-0.25089342214237154, 0.333456765744066f64.mul_add(r, -0.4999997485802103));
    r2.mul_add(polynomial, r + start) as f32
}

/// Returns the natural logarithm of a normal number, like `log`.
fn ln(x: f64) -> f64 {
    if (1.0 - 0.0625..1.0 + 0.064_697_265_625).contains(&x) {
        return ln_near_1(x);
    }
    let from_first = x.to_bits().wrapping_sub(FIRST_MANTISSA);
    let [reciprocal, ln_center] = LN_TABLE[(from_first >> 45 & 127) as usize];
    let exponent = (from_first as i64 >> 52) as f64;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub(from_first & 0xfff << 52));
    let r = mantissa.mul_add(reciprocal, -1.0);
    let start = exponent.mul_add(LN_2[0], ln_center);
    let high = start + r;
    let low = exponent.mul_add(LN_2[1], start - high + r);
    let r2 = r * r;
    let low = r2.mul_add(-0.5000000000000001, low);
    let upper = r.mul_add(-0.16667054827627667, 0.20000304511814496);
    let lower = r.mul_add(-0.2499999999622955, 0.33333333331825593);
    (r * r2).mul_add(upper.mul_add(r2, lower), low) + high
}

/// Returns the natural logarithm of a number from 0.9375 to 1.065 by a longer polynomial.
fn ln_near_1(x: f64) -> f64 {
    if x == 1.0 {
        return 0.0;
    }
    let r = x - 1.0;
    let r2 = r * r;
    let r3 = r * r2;
    let first = r2.mul_add(0.19999999999320328, r.mul_add(-0.24999999999998432, 0.3333333333333352));
    let second = r2.mul_add(-0.12499997863982555, r.mul_add(0.14285715076560868, -0.16666666669929706));
    let third = r2.mul_add(0.09181994006195467, r.mul_add(-0.10000486757818193, 0.11110712032936046));
    let third = r3.mul_add(-0.08328363062289341, third);
    let polynomial = third.mul_add(r3, second).mul_add(r3, first);
    // The upper 26 bits of r, whose square is exact, and the rest.
    let two_27: f64 = 134_217_728.0;
    let upper = (-two_27).mul_add(r, r.mul_add(two_27, r));
    let square = upper * upper;
    let high = square.mul_add(-0.5, r);
    let low = square.mul_add(-0.5, r - high);
    let low = (-0.5 * (r - upper)).mul_add(r + upper, low);
    high + polynomial.mul_add(r3, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_glibc() {
        // Printed by a C program with glibc 2.36.
        for (x, log10) in F32_VALUES {
            assert_eq!(log10_f32(f32::from_bits(x)).to_bits(), log10, "{x:x}");
        }
        for (x, expected) in F64_VALUES {
            assert_eq!(log10(f64::from_bits(x)).to_bits(), expected, "{x:x}");
        }
    }

    #[test]
    fn special_numbers_have_logarithms() {
        assert_eq!(log10_f32(0.0), f32::NEG_INFINITY);
        assert_eq!(log10(-0.0), f64::NEG_INFINITY);
        assert_eq!(log10_f32(f32::INFINITY), f32::INFINITY);
        assert!(log10_f32(-1.0).is_nan() && log10(f64::NAN).is_nan());
        assert_eq!((log10_f32(1.0), log10(1.0)), (0.0, 0.0));
        assert_eq!(log10_f32(f32::from_bits(1)), -44.853_47);
    }

    /// Passes on processors with FMA, and with glibc 2.28 to 2.40.
    #[test]
    #[ignore = "takes minutes, and needs a certain version of glibc"]
    fn logarithms_of_all_f32_are_those_of_this_library() {
        for bits in 0..=f32::INFINITY.to_bits() {
            let x = f32::from_bits(bits);
            assert_eq!(log10_f32(x).to_bits(), std::hint::black_box(x).log10().to_bits(), "{x:e}");
        }
    }

    #[test]
    #[ignore = "takes minutes, and needs a certain version of glibc"]
    fn logarithms_of_random_f64_are_those_of_this_library() {
        let mut draw = 0_u64;
        for number in 0..200_000_000_u64 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // One of four is near 1, where another polynomial is used.
            let bits = (draw ^ draw >> 31) & i64::MAX as u64;
            let x = f64::from_bits(bits);
            let x =
                if number % 4 == 0 { 0.9 + (bits >> 11) as f64 / (1_u64 << 52) as f64 * 0.2 } else { x };
            if x.is_finite() {
                assert_eq!(log10(x).to_bits(), std::hint::black_box(x).log10().to_bits(), "{x:e}");
            }
        }
    }

    const F32_VALUES: [(u32, u32); 12] = [
        (0x5fbb_3e22, 0x419b_72ec),
        (0x3de4_7dde, 0xbf73_d464),
        (0x7bb6_a198, 0x4211_1ca3),
        (0x53d8_5892, 0x4144_4e64),
        (0x4b99_85ed, 0x40e9_b7c7),
        (0x2fe0_f51b, 0xc116_3588),
        (0x2413_b446, 0xc183_f4ab),
        (0x4c0a_7451, 0x40f1_ea43),
        (0x40bc_ace7, 0x3f45_43c4),
        (0x3f7f_f508, 0xb898_733c),
        (0x3f7d_dee6, 0xbb6d_b981),
        (0x3f7b_a720, 0xbbf3_bbab),
    ];

    const F64_VALUES: [(u64, u64); 12] = [
        (0x5f02_e04c_4164_d839, 0x4062_b5e0_e22a_74d5),
        (0x5870_8fef_cb91_ce37, 0x405d_8133_539a_0899),
        (0x5385_c64f_bd69_fe29, 0x4057_96cc_4eaa_d4df),
        (0x6ba0_86ff_076c_e2ef, 0x406a_4de3_bc1b_4a63),
        (0x78cf_e9ba_c6a5_3877, 0x4071_1efa_5274_d8d1),
        (0x06b3_209c_a623_3255, 0xc071_3aa7_b101_d7f3),
        (0x2fa6_ecbf_1cfb_10f6, 0xc053_9a68_c020_9f81),
        (0x1f9f_b2d4_de52_7100, 0xc063_745f_2d1e_bc75),
        (0x3ff0_1cad_da97_b6b8, 0x3f68_d2d4_e9bc_7432),
        (0x3fed_81d4_3b59_13c0, 0xbfa2_08b8_ccc8_aac8),
        (0x3fef_879c_9bb2_e910, 0xbf7a_5602_01cb_4baf),
        (0x3ff1_10db_298e_be04, 0x3f9c_ae13_2524_886e),
    ];
}
