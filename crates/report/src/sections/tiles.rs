//! Optical duplicates by flow cell tile, a figure of the section "Duplicates".

use maud::Markup;
use serde_json::Value;

use crate::plot::{Axes, COLORS, Figure, draw_lines};
use crate::run::{Quantity, RunPart};
use crate::section::PageSample;
use crate::table::{Cell, table_of_cells};
use crate::text::{NumberFormat, cell_text};
use crate::tile_map::{TilePanel, draw_tile_map};

const MAX_TILES: usize = 200;

/// A tile: its index in the columns of the report, and the fraction of its pairs that are optical
/// duplicates.
#[derive(Clone, Copy)]
struct TileShare {
    at: usize,
    share: f64,
}

/// Maximum number of read groups with a map of their own.
const MAX_MAPS: usize = 4;

/// Draws the percentage of optical duplicates by tile: as a map of the flow cell for each read
/// group, or as one line for each read group if the numbers of the tiles do not tell where the
/// tiles are. `None` if the run has no counts by tile, or only one tile.
pub fn tile_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let report = sample.run.part("reports/duplicates_by_tile")?;
    let groups = report.list("read_group");
    let (pairs, optical) = (report.column("pairs"), report.column("optical_duplicates"));
    let share = |(at, (pairs, optical)): (usize, (&f64, &f64))| TileShare {
        at,
        share: if *pairs > 0.0 { optical / pairs } else { 0.0 },
    };
    let tiles: Vec<TileShare> = pairs.iter().zip(&optical).enumerate().map(share).collect();
    if tiles.len() < 2 {
        return None;
    }
    // In the JSON, the tiles of a read group are adjacent.
    let by_group: Vec<&[TileShare]> =
        tiles.chunk_by(|one, other| groups.get(one.at) == groups.get(other.at)).collect();
    let title = |of: &[TileShare]| match of.first().and_then(|tile| groups.get(tile.at)) {
        Some(Value::String(name)) => name.clone(),
        _ => "no read group".to_string(),
    };
    let drawn = by_group.iter().take(COLORS);
    let points = |of: &&[TileShare]| {
        of.iter().enumerate().map(|(i, tile)| ((i + 1) as f64, tile.share)).collect::<Vec<_>>()
    };
    let mut worst = tiles.clone();
    worst.sort_by(|one, other| other.share.total_cmp(&one.share).then(one.at.cmp(&other.at)));
    let max_share = worst.first().map_or(0.0, |tile| tile.share);
    let axes = Axes {
        x: "Tile (in order of tile number)",
        y: "Optical duplicate rate",
        y_range: Some((0.0, max_share.max(0.01))),
        percent: true,
        ..Axes::default()
    };
    let maximum = NumberFormat::Share.format_number(max_share);
    let number = |tile: &TileShare| report.value(&format!("tile/{}", tile.at)).map(|it| it as u32);
    let panel = |of: &&[TileShare]| {
        let tiles = of.iter().map(|tile| Some((number(tile)?, tile.share))).collect::<Option<_>>()?;
        Some(TilePanel { title: title(of), tiles })
    };
    let panels: Option<Vec<TilePanel>> = by_group.iter().take(MAX_MAPS).map(panel).collect();
    let map = panels.and_then(|panels| draw_tile_map(&panels, max_share.max(0.01)));
    let shown = if map.is_some() { MAX_MAPS } else { COLORS };
    let mut reading =
        "Percentage of read pairs that are optical duplicates, by tile and read group.".to_string();
    reading += match &map {
        Some(_) => {
            " Each rectangle is a tile. A column has the tiles of a swath; its name has the digits of \
            surface and swath. The darker, the more optical duplicates: dark edges or spots indicate \
            the edge of the flow cell, a bubble, or overloaded tiles."
        }
        None => " Peaks indicate flow cell edges, a bubble, or overloaded tiles.",
    };
    if map.is_some() {
        reading += &format!(" The darkest colour is {maximum}.");
    }
    if by_group.len() > shown {
        reading += &format!(" The plot shows the first {shown} of {} read groups.", by_group.len());
    }
    let has_lines = map.is_none();
    Some(Figure {
        has_lines,
        id: sample.element_id("tiles-plot"),
        title: "Optical duplicates by tile",
        reading,
        alt: format!(
            "{} of the percentage of optical duplicates by tile; the maximum is {maximum}.",
            if has_lines { "Lines" } else { "Maps of the flow cell" }
        ),
        legend: if has_lines { drawn.clone().map(|of| title(of)).collect() } else { Vec::new() },
        svg: map.unwrap_or_else(|| draw_lines(&axes, drawn.map(points).collect())),
        table: tile_table(&report, &worst),
    })
}

/// Returns a table of the tiles with the highest fractions. `worst` is sorted, highest first.
fn tile_table(report: &RunPart<'_>, worst: &[TileShare]) -> Markup {
    let row = |tile: &TileShare| {
        let at = |column: &str| format!("{column}/{}", tile.at);
        let number = |column: &str| report.number(&at(column));
        let shown = |column: &str| report.cell(&at(column), NumberFormat::Plain);
        let share = Quantity::share(number("optical_duplicates"), number("pairs"));
        let group = report.at(&at("read_group")).map(|group| Cell::text(cell_text(group)));
        // A tile number is an identifier, so it gets no thousands separators.
        let name = report.at(&at("tile")).map(|tile| Cell::text(tile.to_string()));
        vec![
            group.unwrap_or_else(Cell::dash),
            name.unwrap_or_else(Cell::dash),
            shown("pairs"),
            shown("duplicates"),
            shown("optical_duplicates"),
            Cell::number(share.as_ref(), NumberFormat::Share),
        ]
    };
    let rows: Vec<Vec<Cell>> = worst.iter().take(MAX_TILES).map(row).collect();
    let caption = match worst.len().saturating_sub(MAX_TILES) {
        0 => "Tiles by optical duplicate rate, highest first".to_string(),
        _ => {
            format!("The {MAX_TILES} of {} tiles with the highest optical duplicate rates", worst.len())
        }
    };
    let titles = [
        "Read group",
        "Tile",
        "Read pairs",
        "Duplicate pairs",
        "Optical duplicate pairs",
        "Optical duplicate rate",
    ];
    table_of_cells(&caption, &titles, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use serde_json::json;

    fn shown(value: &Value) -> Option<String> {
        let limits = Limits::default();
        let sample = PageSample { run: RunPart::new(value), prefix: "s0-".into(), limits: &limits };
        tile_figure(&sample).map(|figure| figure.to_html().into_string())
    }

    #[test]
    fn the_worst_tile_is_first() {
        let value = json!({"reports": {"duplicates_by_tile": {
            "read_group": ["a<", "a<", null], "tile": [1101, 12102, 7], "pairs": [100, 50, 10],
            "duplicates": [10, 9, 0], "optical_duplicates": [1, 5, 0],
        }}});
        let html = shown(&value).unwrap();
        let wanted = "<tbody><tr><th scope=\"row\">a&lt;</th><td class=\"t\">12102</td>\
            <td><data value=\"50\" data-json=\"/reports/duplicates_by_tile/pairs/1\">50</data></td>";
        assert!(html.contains(wanted), "{html}");
        assert!(html.contains("no read group") && html.contains("10.0\u{a0}%"), "{html}");
        assert_eq!(shown(&json!({"reports": {}})), None);
    }
}
