//! HTML tables.
//!
//! Tables that show a list or histogram of the JSON have attributes with which `./dev page` finds
//! the value of each cell: `data-columns` or `data-row` is the JSON pointer of the table or row, and
//! `data-key` is the column's key. In all other tables, each number is a `<data>` element.

use maud::{Markup, Render, html};
use serde_json::Value;

use crate::run::{Quantity, RunPart};
use crate::text::{NumberFormat, cell_text};

/// A table cell. Columns with only numbers are right-aligned, all others left-aligned.
pub enum Cell {
    /// A number, or a dash for a missing one.
    Number(Markup),
    Text(Markup),
}

impl Cell {
    pub fn text(text: impl Render) -> Self {
        Cell::Text(text.render())
    }

    pub fn code(text: &str) -> Self {
        Cell::Text(html! { code { (text) } })
    }

    pub fn number(number: Option<&Quantity>, form: NumberFormat) -> Self {
        number.map_or_else(Cell::dash, |number| Cell::Number(number.to_html(form)))
    }

    pub fn dash() -> Self {
        Cell::Number("–".render())
    }
}

impl Render for Cell {
    fn render_to(&self, buffer: &mut String) {
        let (Cell::Number(content) | Cell::Text(content)) = self;
        content.render_to(buffer);
    }
}

/// A field of a table: its key in the JSON, its title, and its number format.
pub type TableField<'a> = (&'a str, &'a str, NumberFormat);

impl RunPart<'_> {
    /// Returns the number at a path as a table cell. A missing number becomes a dash.
    pub fn cell(&self, path: &str, form: NumberFormat) -> Cell {
        Cell::number(self.number(path).as_ref(), form)
    }
}

/// Returns for each column the class of its cells: `t`, which lets text wrap and aligns it left, if
/// the column has text, and `None` if it has only numbers.
fn column_classes<'a>(columns: impl Iterator<Item = Vec<&'a Value>>) -> Vec<Option<&'static str>> {
    columns.map(|values| values.iter().any(|value| value.is_string()).then_some("t")).collect()
}

/// Returns a table of a histogram, which has one list for each column. `columns` are the keys and
/// titles of the columns to show.
pub fn table_of_columns(histogram: &RunPart<'_>, caption: &str, columns: &[(&str, &str)]) -> Markup {
    let lists: Vec<&[Value]> = columns.iter().map(|(key, _)| histogram.list(key)).collect();
    let rows = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let classes = column_classes(lists.iter().map(|list| list.iter().collect()));
    html! {
        table data-columns=(histogram.pointer("")) {
            (table_head(caption, columns, &classes))
            tbody {
                @for i in 0..rows {
                    tr {
                        @for (list, class) in lists.iter().zip(&classes) {
                            td class=[class] { (cell_text(list.get(i).unwrap_or(&Value::Null))) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a table of JSON objects, one per line. `columns` are the keys and titles of the columns.
pub fn table_of_rows(rows: &[RunPart<'_>], caption: &str, columns: &[(&str, &str)]) -> Markup {
    let values = |key: &str| rows.iter().filter_map(|row| row.at(key)).collect();
    let classes = column_classes(columns.iter().map(|(key, _)| values(key)));
    html! {
        table data-rows {
            (table_head(caption, columns, &classes))
            tbody {
                @for row in rows {
                    tr data-row=(row.pointer("")) {
                        @for ((key, _), class) in columns.iter().zip(&classes) {
                            td class=[class] { (cell_text(row.at(key).unwrap_or(&Value::Null))) }
                        }
                    }
                }
            }
        }
    }
}

fn table_head(caption: &str, columns: &[(&str, &str)], classes: &[Option<&str>]) -> Markup {
    html! {
        caption { (caption) }
        thead {
            tr {
                @for ((key, title), class) in columns.iter().zip(classes) {
                    th scope="col" data-key=(key) class=[class] { (title) }
                }
            }
        }
    }
}

/// Returns a table of cells. The first cell of a row is its header. If all titles are empty, there
/// is no header row.
pub fn table_of_cells(caption: &str, titles: &[&str], rows: &[Vec<Cell>]) -> Markup {
    table_of_sample_cells(caption, titles, rows, &[])
}

/// Returns a table of cells. `samples` has the sample index of each row, which becomes the row's
/// `data-run`: `./dev page` looks up the numbers of the row in that run.
pub fn table_of_sample_cells(
    caption: &str,
    titles: &[&str],
    rows: &[Vec<Cell>],
    samples: &[usize],
) -> Markup {
    let is_titled = titles.iter().any(|title| !title.is_empty());
    let class = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        (!cells.all(|cell| matches!(cell, Cell::Number(_)))).then_some("t")
    };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(titles.len());
    let classes: Vec<Option<&str>> = (0..columns).map(class).collect();
    html! {
        table {
            caption { (caption) }
            @if is_titled {
                thead {
                    tr {
                        @for (title, class) in titles.iter().zip(&classes) {
                            @if title.is_empty() { td {} }
                            @else { th scope="col" class=[class] { (title) } }
                        }
                    }
                }
            }
            tbody {
                @for (i, row) in rows.iter().enumerate() {
                    tr data-run=[samples.get(i)] {
                        @for (column, (cell, class)) in row.iter().zip(&classes).enumerate() {
                            @if column == 0 { th scope="row" { (cell) } }
                            @else { td class=[class] { (cell) } }
                        }
                    }
                }
            }
        }
    }
}

/// Wraps a table in an element that scrolls if the table is wider than the page. `name` is the label
/// for screen readers.
pub fn wrap_scrollable(name: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="group" aria-label=(name) { (table) } }
}

/// Minimum number of columns of a table that takes the whole width of the page.
const MIN_WIDE_COLUMNS: usize = 5;

/// Returns a table of cells in an element that scrolls, as [`wrap_scrollable`] makes it. Among
/// figures, which stand side by side, a table of many columns takes the whole width.
pub fn scrollable_table(caption: &str, titles: &[&str], rows: &[Vec<Cell>]) -> Markup {
    let table = table_of_cells(caption, titles, rows);
    if titles.len() < MIN_WIDE_COLUMNS {
        return wrap_scrollable(caption, &table);
    }
    html! { div class="scroll wide" tabindex="0" role="group" aria-label=(caption) { (table) } }
}

/// Returns a table with a row for each field and a column for each row of a report. It suits reports
/// of many fields and few rows. Omits fields without a number in any column.
pub fn transposed_table(
    caption: &str,
    columns: &[(&str, RunPart<'_>)],
    fields: &[TableField<'_>],
) -> Markup {
    let titles: Vec<&str> = std::iter::once("").chain(columns.iter().map(|(title, _)| *title)).collect();
    let row = |(key, title, form): &TableField<'_>| {
        let cells = columns.iter().map(|(_, part)| part.cell(key, *form));
        std::iter::once(Cell::text(title)).chain(cells).collect()
    };
    let is_known =
        |(key, ..): &&TableField<'_>| columns.iter().any(|(_, part)| part.value(key).is_some());
    let rows: Vec<Vec<Cell>> = fields.iter().filter(is_known).map(row).collect();
    scrollable_table(caption, &titles, &rows)
}

/// Returns a table with a line for each row of a report, and a column for each field.
pub fn row_table(caption: &str, rows: &[RunPart<'_>], fields: &[TableField<'_>]) -> Markup {
    let titles: Vec<&str> = fields.iter().map(|(_, title, _)| *title).collect();
    let cell = |row: &RunPart<'_>, (key, _, form): &TableField<'_>| match row.at(key) {
        Some(Value::String(text)) => Cell::text(text),
        _ => row.cell(key, *form),
    };
    let line = |row: &RunPart<'_>| fields.iter().map(|field| cell(row, field)).collect();
    let lines: Vec<Vec<Cell>> = rows.iter().map(line).collect();
    scrollable_table(caption, &titles, &lines)
}
