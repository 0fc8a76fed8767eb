//! HTML tables.
//!
//! Tables of a report's own numbers carry attributes from which `./dev page` finds the JSON value
//! of each cell: `data-columns` or `data-row` has the pointer of the table or row, and `data-key`
//! the name of the column. In other tables each cell is a `<data>` element.

use serde_json::Value;

use crate::run::RunDescription;
use crate::text::{NumberFormat, cell_text, escape_html};

/// Returns a table of a histogram. `pointer` leads to an object with one list for each column;
/// `columns` has the key and the title of each column to show.
pub fn table_of_columns(
    run: &RunDescription<'_>,
    pointer: &str,
    caption: &str,
    columns: &[(&str, &str)],
) -> String {
    let lists: Vec<&[Value]> =
        columns.iter().map(|(key, _)| run.list(&format!("{pointer}/{key}"))).collect();
    let rows = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let row = |i: usize| {
        let cells: String = lists
            .iter()
            .map(|list| format!("<td>{}</td>", list.get(i).map_or("–".into(), cell_text)))
            .collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = (0..rows).map(row).collect();
    format!(
        "<table data-columns=\"{}\">{}<tbody>{body}</tbody></table>",
        escape_html(pointer),
        table_head(caption, columns)
    )
}

pub fn table_of_rows(rows: &[(String, &Value)], caption: &str, columns: &[(&str, &str)]) -> String {
    let row = |(pointer, row): &(String, &Value)| {
        let cells: String = columns
            .iter()
            .map(|(key, _)| format!("<td>{}</td>", row.get(key).map_or("–".into(), cell_text)))
            .collect();
        format!("<tr data-row=\"{}\">{cells}</tr>", escape_html(pointer))
    };
    let body: String = rows.iter().map(row).collect();
    format!("<table data-rows>{}<tbody>{body}</tbody></table>", table_head(caption, columns))
}

fn table_head(caption: &str, columns: &[(&str, &str)]) -> String {
    let column = |(key, title): &(&str, &str)| {
        format!("<th scope=\"col\" data-key=\"{}\">{}</th>", escape_html(key), escape_html(title))
    };
    let columns: String = columns.iter().map(column).collect();
    format!("<caption>{}</caption><thead><tr>{columns}</tr></thead>", escape_html(caption))
}

/// Returns a table whose cells are HTML already. The first cell of a row is its header. If all
/// titles are empty, the table has no heading.
pub fn table_of_cells(caption: &str, titles: &[&str], rows: &[Vec<String>]) -> String {
    let is_titled = titles.iter().any(|title| !title.is_empty());
    // Columns that hold text are aligned to the left, columns of numbers to the right.
    let is_number = |cell: &String| cell.starts_with("<data") || cell == "–";
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(titles.len());
    let classes: Vec<&str> = (0..columns)
        .map(|column| {
            let mut cells = rows.iter().filter_map(|row| row.get(column));
            if cells.all(is_number) { "" } else { " class=\"t\"" }
        })
        .collect();
    let class = |column: usize| classes.get(column).copied().unwrap_or_default();
    let titles: String = titles
        .iter()
        .enumerate()
        .map(|(i, title)| match *title {
            "" => "<td></td>".to_string(),
            title => format!("<th scope=\"col\"{}>{}</th>", class(i), escape_html(title)),
        })
        .collect();
    let titles = if is_titled { format!("<thead><tr>{titles}</tr></thead>") } else { String::new() };
    let row = |cells: &Vec<String>| {
        let mut cells = cells.iter().enumerate();
        let name =
            cells.next().map_or(String::new(), |(_, name)| format!("<th scope=\"row\">{name}</th>"));
        let cells: String = cells.map(|(i, cell)| format!("<td{}>{cell}</td>", class(i))).collect();
        format!("<tr>{name}{cells}</tr>")
    };
    let rows: String = rows.iter().map(row).collect();
    format!("<table><caption>{}</caption>{titles}<tbody>{rows}</tbody></table>", escape_html(caption))
}

/// Wraps a table that may be wider than the page in an element that scrolls. `name` is read by
/// screen readers.
pub fn wrap_scrollable(name: &str, table: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">{table}</div>",
        escape_html(name)
    )
}

/// Returns a table with one row for each field and one column for each row of a report. Used if
/// there are many fields and few rows. Fields that no row has are omitted.
pub fn transposed_table(
    run: &RunDescription<'_>,
    caption: &str,
    columns: &[(String, String)],
    fields: &[(&str, &str, NumberFormat)],
) -> String {
    let titles: Vec<&str> =
        std::iter::once("").chain(columns.iter().map(|(title, _)| title.as_str())).collect();
    let row = |(key, title, form): &(&str, &str, NumberFormat)| {
        let cell = |(_, pointer): &(String, String)| run.number_html(&format!("{pointer}/{key}"), *form);
        std::iter::once(escape_html(title)).chain(columns.iter().map(cell)).collect()
    };
    let is_known = |(key, ..): &&(&str, &str, NumberFormat)| {
        columns.iter().any(|(_, pointer)| run.number(&format!("{pointer}/{key}")).is_some())
    };
    let rows: Vec<Vec<String>> = fields.iter().filter(is_known).map(row).collect();
    wrap_scrollable(caption, &table_of_cells(caption, &titles, &rows))
}

/// Returns a table with one line for each row of a report. Numbers are written in the format of
/// their field.
pub fn row_table(
    run: &RunDescription<'_>,
    caption: &str,
    rows: &[(String, &Value)],
    fields: &[(&str, &str, NumberFormat)],
) -> String {
    let titles: Vec<&str> = fields.iter().map(|(_, title, _)| *title).collect();
    let cell = |pointer: &str, row: &Value, key: &str, form: NumberFormat| match row.get(key) {
        Some(Value::String(text)) => escape_html(text),
        _ => run.number_html(&format!("{pointer}/{key}"), form),
    };
    let line = |(pointer, row): &(String, &Value)| {
        fields.iter().map(|(key, _, form)| cell(pointer, row, key, *form)).collect()
    };
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    wrap_scrollable(caption, &table_of_cells(caption, &titles, &lines))
}
