//! A flow diagram (Sankey), in which all bands and bars have the same scale.
//!
//! ```text
//!  reads ████ mapped ██████████ unique
//!        ████        ██████████ duplicates
//!        █───────────────────── unmapped
//! ```
//!
//! The nodes that reads leave are at the top, one in each column. All others are in the last column, in
//! the order of the links, so that no bands cross.

use std::fmt::Write as _;

use maud::{Markup, html};

const WIDTH: f64 = 560.0;
/// Height of the bars and gaps of the last column.
const HEIGHT: f64 = 210.0;
const GAP: f64 = 15.0;
const BAR_WIDTH: f64 = 14.0;
/// Space left of the bars for the name of the first node, and right of them for the names of the last
/// nodes.
const MARGINS: [f64; 2] = [52.0, 142.0];
/// Minimum height of what is drawn, so that a few reads of millions stay visible.
const MIN_HEIGHT: f64 = 1.0;

/// A node of the diagram, with the place and size of its bar.
struct FlowNode<'a> {
    name: &'a str,
    column: usize,
    top: f64,
    height: f64,
}

/// Draws links from node to node with their numbers of reads.
pub fn draw_flow(links: &[(String, String, f64)]) -> String {
    let (nodes, scale) = place_nodes(links);
    let last = nodes.iter().map(|node| node.column).max().unwrap_or(1).max(1);
    let [left, right] = MARGINS;
    let step = (WIDTH - left - right - BAR_WIDTH) / last as f64;
    let x = |node: &FlowNode<'_>| left + step * node.column as f64;
    let body = html! {
        g fill-opacity="0.35" { (draw_bands(links, &nodes, scale, &x)) }
        @for (i, node) in nodes.iter().enumerate() {
            @let middle = node.top + node.height / 2.0 + 4.0;
            rect x=(x(node)) y=(node.top) width=(BAR_WIDTH) height=(node.height.max(MIN_HEIGHT)) fill=(color(i)) {}
            @if node.column == 0 {
                text x=(left - 6.0) y=(middle) font-size="12" text-anchor="end" { (node.name) }
            } @else {
                text x=(x(node) + BAR_WIDTH + 6.0) y=(middle) font-size="12" { (node.name) }
            }
        }
    };
    let height = HEIGHT + 2.0 * GAP;
    format!("<svg width=\"{WIDTH}\" height=\"{height}\">{}</svg>", body.into_string())
}

fn color(node: usize) -> String {
    format!("var(--c{})", node % crate::plot::COLORS)
}

/// Returns the nodes, those that reads leave first, and the height of one read, which is the same for all
/// nodes.
fn place_nodes(links: &[(String, String, f64)]) -> (Vec<FlowNode<'_>>, f64) {
    let is_start = |name: &str| links.iter().any(|(from, ..)| from == name);
    let reads = |name: &str| {
        let sum = |is_end: fn(&(String, String, f64)) -> &String| -> f64 {
            links.iter().filter(|link| is_end(link) == name).map(|link| link.2).sum()
        };
        sum(|link| &link.0).max(sum(|link| &link.1))
    };
    // A start that no other start leads to is the first one; each start leads to at most one other.
    let mut chain: Vec<&str> = Vec::new();
    let is_target = |name: &str| links.iter().any(|(_, to, _)| to == name);
    let mut next = links.iter().map(|link| &*link.0).find(|name| !is_target(name));
    while let Some(name) = next.filter(|name| !chain.contains(name)) {
        chain.push(name);
        next = links.iter().find(|(from, to, _)| from == name && is_start(to)).map(|link| &*link.1);
    }
    let ends: Vec<&str> = links.iter().map(|link| &*link.1).filter(|name| !is_start(name)).collect();
    let total = chain.first().map_or(1.0, |name| reads(name)).max(f64::MIN_POSITIVE);
    let scale = (HEIGHT - GAP * (ends.len() as f64 - 1.0).max(0.0)) / total;
    let mut nodes: Vec<FlowNode<'_>> = Vec::new();
    for (column, name) in chain.iter().enumerate() {
        nodes.push(FlowNode { name, column, top: GAP, height: reads(name) * scale });
    }
    let mut top = GAP;
    for name in ends {
        let height = reads(name) * scale;
        nodes.push(FlowNode { name, column: chain.len(), top, height });
        top += height + GAP;
    }
    (nodes, scale)
}

/// Draws a band for each link. The bands of a node leave its bar from top to bottom, in the order of the
/// links.
fn draw_bands(
    links: &[(String, String, f64)],
    nodes: &[FlowNode<'_>],
    scale: f64,
    x: &dyn Fn(&FlowNode<'_>) -> f64,
) -> Markup {
    let find = |name: &str| nodes.iter().position(|node| node.name == name);
    let mut used = vec![0.0; nodes.len()];
    let mut paths: Vec<(usize, String)> = Vec::new();
    for (from, to, reads) in links {
        let (Some(at), Some(end)) = (find(from), find(to)) else { continue };
        let (Some(start), Some(target), Some(used)) = (nodes.get(at), nodes.get(end), used.get_mut(at))
        else {
            continue;
        };
        let high = reads * scale;
        let (left, right) = (x(start) + BAR_WIDTH, x(target));
        let (one, two, middle) = (start.top + *used, target.top, f64::midpoint(left, right));
        *used += high;
        let high = high.max(MIN_HEIGHT);
        let mut path = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            path,
            "M{left:.1} {one:.1}C{middle:.1} {one:.1} {middle:.1} {two:.1} {right:.1} {two:.1}"
        );
        let (one, two) = (one + high, two + high);
        let _ = write!(path, "v{high:.1}C{middle:.1} {two:.1} {middle:.1} {one:.1} {left:.1} {one:.1}z");
        paths.push((at, path));
    }
    html! { @for (node, path) in &paths { path d=(path) fill=(color(*node)) {} } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(list: &[(&str, &str, f64)]) -> Vec<(String, String, f64)> {
        list.iter().map(|(from, to, reads)| (from.to_string(), to.to_string(), *reads)).collect()
    }

    #[test]
    fn all_bars_have_the_same_scale_and_do_not_overlap() {
        let links = links(&[
            ("kept", "mapped", 90.0),
            ("mapped", "unique", 81.0),
            ("mapped", "duplicates", 9.0),
            ("kept", "unmapped", 10.0),
            ("reads", "kept", 100.0),
            ("reads", "trimmed out", 60.0),
        ]);
        let (nodes, scale) = place_nodes(&links);
        let wanted = [
            ("reads", 0, 160.0),
            ("kept", 1, 100.0),
            ("mapped", 2, 90.0),
            ("unique", 3, 81.0),
            ("duplicates", 3, 9.0),
            ("unmapped", 3, 10.0),
            ("trimmed out", 3, 60.0),
        ];
        for (node, (name, column, reads)) in nodes.iter().zip(wanted) {
            assert_eq!((node.name, node.column), (name, column));
            assert!((node.height - scale * reads).abs() < 1e-9, "{name}");
        }
        let last: Vec<&FlowNode<'_>> = nodes.iter().filter(|node| node.column == 3).collect();
        assert!(last.windows(2).all(|two| two[0].top + two[0].height + GAP <= two[1].top + 1e-9));
        let end = last.last().map(|node| node.top + node.height).unwrap();
        assert!((end - HEIGHT - GAP).abs() < 1e-9, "{end}");
        let svg = draw_flow(&links);
        // The band of 90 reads is as high as the bar of 90 reads.
        assert!(svg.contains(&format!("v{:.1}C", scale * 90.0)), "{svg}");
    }
}
