//! Tables of a GATKReport: columns as wide as their content, numbers aligned right (spec D5.23).

use crate::java;

/// The header of a table.
pub(super) struct TableHead {
    pub name: &'static str,
    pub description: &'static str,
    /// Names of columns, and their formats in GATK's Java.
    pub columns: &'static [(&'static str, &'static str)],
}

/// The width and alignment of a column.
struct ColumnFormat {
    width: usize,
    right: bool,
}

/// Appends a table. `fill` writes the text of a row into empty cells.
pub(super) fn table<R>(
    out: &mut Vec<u8>,
    head: &TableHead,
    rows: &[R],
    fill: impl Fn(&R, &mut [Vec<u8>]),
) {
    let formats: String = head.columns.iter().map(|(_, format)| format!(":{format}")).collect();
    let sizes = format!("#:GATKTable:{}:{}{formats}:;\n", head.columns.len(), rows.len());
    out.extend_from_slice(sizes.as_bytes());
    out.extend_from_slice(format!("#:GATKTable:{}:{}\n", head.name, head.description).as_bytes());

    let mut columns: Vec<ColumnFormat> =
        head.columns.iter().map(|(name, _)| ColumnFormat { width: name.len(), right: true }).collect();
    let mut cells = vec![Vec::new(); columns.len()];
    for row in rows {
        cells.iter_mut().for_each(Vec::clear);
        fill(row, &mut cells);
        columns.iter_mut().zip(&cells).for_each(|(column, cell)| column.fit(cell));
    }
    let names = head.columns.iter().zip(&columns);
    line(
        out,
        names.map(|((name, _), column)| {
            (name.as_bytes(), ColumnFormat { width: column.width, right: false })
        }),
    );
    for row in rows {
        cells.iter_mut().for_each(Vec::clear);
        fill(row, &mut cells);
        let cells = cells.iter().zip(&columns);
        line(
            out,
            cells.map(|(cell, column)| {
                (cell.as_slice(), ColumnFormat { width: column.width, right: column.right })
            }),
        );
    }
    out.push(b'\n');
}

impl ColumnFormat {
    fn fit(&mut self, cell: &[u8]) {
        self.width = self.width.max(java::length(cell));
        self.right = self.right && (cell.is_empty() || java::aligns_right(cell));
    }
}

fn line<'a>(out: &mut Vec<u8>, cells: impl Iterator<Item = (&'a [u8], ColumnFormat)>) {
    for (at, (cell, column)) in cells.enumerate() {
        if at > 0 {
            out.extend_from_slice(b"  ");
        }
        let padding = column.width - java::length(cell);
        let (before, after) = if column.right { (padding, 0) } else { (0, padding) };
        out.extend(std::iter::repeat_n(b' ', before));
        out.extend_from_slice(cell);
        out.extend(std::iter::repeat_n(b' ', after));
    }
    out.push(b'\n');
}
