//! A map of the tiles of a flow cell, coloured by a share.
//!
//! Illumina numbers a tile by the digits of its surface, its swath, for some instruments its
//! camera, and two digits for its place in the swath. So the digits before the last two name a
//! column of the map, and the last two a row. The tiles of one colour are one path, because a flow
//! cell has thousands of tiles.

use std::fmt::Write as _;

use maud::{Markup, html};

/// The tiles of one lane.
pub struct TilePanel {
    pub title: String,
    /// The number of each tile, and its share.
    pub tiles: Vec<(u32, f64)>,
}

/// Number of colours, which have equal steps from 0 to the maximum share.
const COLORS: usize = 8;

const WIDTH: f64 = 560.0;
const GAP: f64 = 24.0;
/// Space above a panel for its title, below it for the names of the columns, left of it for the
/// names of the rows, and right of it for half of a name.
const MARGINS: [f64; 4] = [22.0, 20.0, 28.0, 8.0];
/// Width of a wide letter of a title.
const LETTER: f64 = 9.0;

/// Returns the column and the row of a tile, or `None` if its number is not of this kind.
fn locate_tile(tile: u32) -> Option<(u32, u32)> {
    (1_101..=99_999).contains(&tile).then_some((tile / 100, tile % 100)).filter(|(_, row)| *row > 0)
}

/// Draws a panel for each lane, side by side. Returns `None` unless the numbers of all tiles name a
/// column and a row, and at least one column has two rows.
pub fn draw_tile_map(panels: &[TilePanel], max_share: f64) -> Option<String> {
    let located = |panel: &TilePanel| {
        let of = |(tile, share): &(u32, f64)| {
            let (column, row) = locate_tile(*tile)?;
            Some((column, row, *share))
        };
        panel.tiles.iter().map(of).collect::<Option<Vec<_>>>()
    };
    let located: Vec<Vec<(u32, u32, f64)>> = panels.iter().map(located).collect::<Option<_>>()?;
    let mut columns: Vec<u32> = located.iter().flatten().map(|it| it.0).collect();
    columns.sort_unstable();
    columns.dedup();
    let rows = located.iter().flatten().map(|it| it.1).max().filter(|rows| *rows > 1)?;
    let [top, bottom, left, right] = MARGINS;
    let panel_width = (WIDTH - GAP * (panels.len() as f64 - 1.0)) / panels.len() as f64;
    let wide = ((panel_width - left - right) / columns.len() as f64).min(40.0);
    let high = (234.0 / f64::from(rows)).clamp(3.0, 14.0);
    let height = top + high * f64::from(rows) + bottom;
    let max_letters = (panel_width / LETTER) as usize;
    let body = html! {
        @for (n, (panel, tiles)) in panels.iter().zip(&located).enumerate() {
            @let x = n as f64 * (panel_width + GAP);
            g transform={ "translate(" (x) " 0)" } font-size="12" {
                text x="0" y="12" { (shorten_title(&panel.title, max_letters)) }
                text x=(left - 4.0) y=(top + 10.0) text-anchor="end" { "1" }
                text x=(left - 4.0) y=(top + high * f64::from(rows)) text-anchor="end" { (rows) }
                @for (i, column) in columns.iter().enumerate() {
                    text x=(left + wide * (i as f64 + 0.5)) y=(height - 6.0) text-anchor="middle" {
                        @if wide >= 18.0 || i == 0 || i + 1 == columns.len() { (column) }
                    }
                }
                (color_paths(tiles, &columns, max_share, [left, top, wide, high]))
            }
        }
    };
    Some(format!("<svg width=\"{WIDTH}\" height=\"{height}\">{}</svg>", body.into_string()))
}

/// Returns a title of at most `max_letters` letters, whose end is kept: lanes differ at the end.
fn shorten_title(title: &str, max_letters: usize) -> String {
    let letters: Vec<char> = title.chars().collect();
    match letters.len().checked_sub(max_letters) {
        None | Some(0) => title.to_string(),
        Some(extra) => "…".chars().chain(letters.into_iter().skip(extra + 1)).collect(),
    }
}

/// Returns a path for each colour. `[left, top, wide, high]` are the
/// place of the panel and the size of a tile.
fn color_paths(
    tiles: &[(u32, u32, f64)],
    columns: &[u32],
    max_share: f64,
    [left, top, wide, high]: [f64; 4],
) -> Markup {
    let mut paths = vec![String::new(); COLORS + 1];
    for (column, row, share) in tiles {
        let column = columns.iter().position(|it| it == column).unwrap_or(0);
        let color = (share / max_share * COLORS as f64).ceil() as usize;
        let (x, y) = (left + wide * column as f64, top + high * f64::from(row - 1));
        if let Some(path) = paths.get_mut(color.min(COLORS)) {
            // Writing to a string cannot fail.
            let _ =
                write!(path, "M{x:.1} {y:.1}h{:.1}v{:.1}h-{:.1}z", wide - 1.0, high - 0.6, wide - 1.0);
        }
    }
    html! {
        @for (color, path) in paths.iter().enumerate() {
            @if !path.is_empty() {
                path d=(path) fill=(if color == 0 { "var(--grid)" } else { "var(--c1)" })
                    fill-opacity=[(color > 0).then(|| (color as f64 / COLORS as f64 * 100.0).round() / 100.0)] {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(tiles: &[(u32, f64)]) -> TilePanel {
        TilePanel { title: "<1>".into(), tiles: tiles.to_vec() }
    }

    #[test]
    fn tiles_of_a_swath_are_below_each_other() {
        let svg = draw_tile_map(&[panel(&[(1101, 0.0), (1102, 0.2), (2101, 0.1)])], 0.2).unwrap();
        assert!(svg.contains("&lt;1&gt;") && svg.contains(">11<") && svg.contains(">21<"), "{svg}");
        assert!(svg.contains("M28.0 22.0h39.0v13.4h-39.0z\" fill=\"var(--grid)\""), "{svg}");
        assert!(
            svg.contains("M28.0 36.0h39.0v13.4h-39.0z\" fill=\"var(--c1)\" fill-opacity=\"1\""),
            "{svg}"
        );
        assert!(
            svg.contains("M68.0 22.0h39.0v13.4h-39.0z\" fill=\"var(--c1)\" fill-opacity=\"0.5\""),
            "{svg}"
        );
    }

    #[test]
    fn the_end_of_a_long_title_is_kept() {
        assert_eq!(shorten_title("HJYFJ.1", 7), "HJYFJ.1");
        assert_eq!(shorten_title("HJYFJDSXX.1", 7), "…DSXX.1");
    }

    #[test]
    fn other_numbers_have_no_map() {
        for tiles in [&[(7, 0.1), (8, 0.1)][..], &[(1101, 0.1), (2101, 0.1)], &[(1200, 0.1)], &[]] {
            assert_eq!(draw_tile_map(&[panel(tiles)], 0.1), None, "{tiles:?}");
        }
    }

    #[test]
    fn a_large_flow_cell_is_small() {
        let tiles = (1..=2).flat_map(|surface| {
            (1..=6).flat_map(move |swath| (1..=78).map(move |tile| surface * 1000 + swath * 100 + tile))
        });
        let tiles: Vec<(u32, f64)> = tiles.map(|tile| (tile, f64::from(tile % 7) / 70.0)).collect();
        let lanes = [(); 4].map(|()| panel(&tiles));
        let svg = draw_tile_map(&lanes, 0.1).unwrap();
        assert!(svg.len() < 150_000, "{} bytes", svg.len());
    }
}
