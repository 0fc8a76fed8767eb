//! Quantiles of the normal distribution, as commons-math 3.5 computes them.

use super::fast_log::fast_log;

/// Coefficients of `Erf.erfInv` from the highest power down, in the order of the three ranges of
/// -log(1 - x²).
const CENTRE: [f64; 23] = [
    -3.64441206401782e-21,
    -1.6850591381820166e-19,
    1.28584807152564e-18,
    1.1157877678025181e-17,
    -1.333171662854621e-16,
    2.0972767875968562e-17,
    6.637638134358324e-15,
    -4.054566272975207e-14,
    -8.151934197605472e-14,
    2.6335093153082323e-12,
    -1.2975133253453532e-11,
    -5.415412054294628e-11,
    1.0512122733215323e-09,
    -4.112633980346984e-09,
    -2.9070369957882005e-08,
    4.2347877827932404e-07,
    -1.3654692000834679e-06,
    -1.3882523362786469e-05,
    0.00018673420803405714,
    -0.000740702534166267,
    -0.006033670871430149,
    0.24015818242558962,
    1.6536545626831027,
];
const MIDDLE: [f64; 19] = [
    2.2137376921775787e-09,
    9.075656193888539e-08,
    -2.7517406297064545e-07,
    1.8239629214389228e-08,
    1.5027403968909828e-06,
    -4.013867526981546e-06,
    2.9234449089955446e-06,
    1.2475304481671779e-05,
    -4.7318229009055734e-05,
    6.828485145957318e-05,
    2.4031110387097894e-05,
    -0.0003550375203628475,
    0.0009532893797373805,
    -0.0016882755560235047,
    0.002491442096107851,
    -0.003751208507569241,
    0.005370914553590064,
    1.0052589676941592,
    3.0838856104922208,
];
const TAIL: [f64; 17] = [
    -2.7109920616438573e-11,
    -2.555641816996525e-10,
    1.5076572693500548e-09,
    -3.789465440126737e-09,
    7.61570120807834e-09,
    -1.496002662714924e-08,
    2.914795345090108e-08,
    -6.771199775845234e-08,
    2.2900482228026655e-07,
    -9.9298272942317e-07,
    4.526062597223154e-06,
    -1.968177810553167e-05,
    7.599527703001776e-05,
    -0.00021503011930044477,
    -0.00013871931833623122,
    1.0103004648645344,
    4.849906401408584,
];

/// Returns the standard deviations below which a standard normal variable lies with probability
/// `p`, like `NormalDistribution.inverseCumulativeProbability`.
pub(super) fn normal_quantile(p: f64) -> f64 {
    0.0 + std::f64::consts::SQRT_2 * inverse_erf(2.0 * p - 1.0)
}

/// Returns the inverse of the error function, like `Erf.erfInv`.
fn inverse_erf(x: f64) -> f64 {
    let w = -fast_log((1.0 - x) * (1.0 + x));
    let polynomial = |coefficients: &[f64], at: f64| {
        coefficients[1..].iter().fold(coefficients[0], |sum, coefficient| coefficient + sum * at)
    };
    let factor = if w < 6.25 {
        polynomial(&CENTRE, w - 3.125)
    } else if w < 16.0 {
        polynomial(&MIDDLE, w.sqrt() - 3.25)
    } else if w.is_finite() || w.is_nan() {
        polynomial(&TAIL, w.sqrt() - 5.0)
    } else {
        f64::INFINITY
    };
    factor * x
}
