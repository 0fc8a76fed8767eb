//! Axes of a plot: positions of values, and ticks.

#[derive(Clone, Debug)]
pub struct Axis {
    pub name: String,
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances, with ticks at powers of 10.
    Log,
    /// Equal ratios have equal distances, with ticks at powers of 2.
    Doubling,
}

impl Axis {
    /// Returns the position of a value, from 0 at the start of the axis to 1 at its end. Values
    /// outside are moved to the ends.
    pub fn position_of(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            _ => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        part.clamp(0.0, 1.0)
    }

    pub fn ticks(&self) -> Vec<f64> {
        let inside = |value: &f64| (self.from * 0.999..=self.to * 1.001).contains(value);
        let powers = |base: f64| {
            let first = (self.from.ln() / base.ln()).floor() as i32;
            (first..first + 40).map(move |power| base.powi(power)).filter(inside)
        };
        match self.scale {
            Scale::Linear => {
                let step = tick_step((self.to - self.from) / 5.0);
                (0..12)
                    .map(|n| (self.from / step).ceil() * step + step * f64::from(n))
                    .filter(inside)
                    .collect()
            }
            Scale::Log => {
                let decades: Vec<f64> = powers(10.0).collect();
                if decades.len() > 2 {
                    return decades;
                }
                let all = powers(10.0).chain([self.from]).flat_map(|ten| {
                    let ten = 10f64.powf(ten.log10().floor());
                    [1.0, 2.0, 5.0].map(|n| n * ten)
                });
                let mut all: Vec<f64> = all.filter(inside).collect();
                all.sort_by(f64::total_cmp);
                all.dedup();
                all
            }
            Scale::Doubling => {
                let all: Vec<f64> = powers(2.0).collect();
                // If there are many, only every second or third is kept.
                let every = all.len().div_ceil(7).max(1);
                all.into_iter().step_by(every).collect()
            }
        }
    }
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `min_step`.
fn tick_step(min_step: f64) -> f64 {
    let ten = 10f64.powf(min_step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * ten).into_iter().find(|&step| step >= min_step).unwrap_or(ten)
}

pub fn short_number(value: f64) -> String {
    let (value, letter) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = if value >= 10.0 || value.fract().abs() < 1e-9 { 0 } else { 2 };
    format!("{value:.digits$}{}{letter}", if letter.is_empty() { "" } else { " " })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, from: f64, to: f64) -> Axis {
        Axis { name: String::new(), scale, from, to }
    }

    #[test]
    fn values_have_their_places() {
        assert_eq!(axis(Scale::Linear, 0.0, 10.0).position_of(5.0), 0.5);
        assert!((axis(Scale::Log, 1.0, 100.0).position_of(10.0) - 0.5).abs() < 1e-9);
        assert_eq!(axis(Scale::Log, 1.0, 100.0).position_of(1e9), 1.0);
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(axis(Scale::Linear, 0.0, 10.0).ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(axis(Scale::Log, 1.0, 1000.0).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(axis(Scale::Log, 50.0, 900.0).ticks(), [50.0, 100.0, 200.0, 500.0]);
        assert_eq!(axis(Scale::Doubling, 1.0, 512.0).ticks(), [1.0, 4.0, 16.0, 64.0, 256.0]);
        assert_eq!(axis(Scale::Doubling, 1.0, 32.0).ticks(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [5.0, 0.5, 2000.0, 2e4, 1.5e6].map(short_number),
            ["5", "0.50", "2000", "20 k", "1.50 M"]
        );
    }
}
