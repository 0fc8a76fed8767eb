//! The sections that the script fills: the table of samples with its tools, the plots, and the bar with
//! highlighted samples. They are hidden until it runs.

use maud::{Markup, html};

fn button(id: &str, text: &str) -> Markup {
    html! { button type="button" id=(id) { (text) } }
}

/// Returns the table of samples, with its tools.
pub fn samples_section() -> Markup {
    html! {
        section id="samples" aria-labelledby="samples-h" hidden {
            h2 id="samples-h" { "Samples" }
            div class="tools" {
                label {
                    "Filter "
                    input type="search" id="filter" placeholder="Name or pattern" spellcheck="false"
                        title="All terms must match: NA12 !control matches names with NA12 but not control. Terms can be regular expressions: ^NA|^HG.";
                }
                label { "in " select id="filter-place" {} }
                details class="menu" { summary { "Columns" } div id="columns" {} }
                (names_menu())
                (view_menu())
                label { "Colour by " select id="color-by" {} }
                label {
                    "Show shares as "
                    select id="numbers" title="A share is a part of all reads or bases" {
                        option value="percent" { "percentages" }
                        option value="count" { "counts" }
                    }
                }
                (save_menu())
            }
            div class="tools" {
                span id="shown" role="status" {}
                span class="buttons" {
                    (button("mark-shown", "Highlight these")) (button("hide-shown", "Hide these"))
                    (button("group-shown", "Group these"))
                }
                span id="plots-note" {}
                (button("only-shown", "Show only these in plots"))
            }
            p class="note" id="filter-note" role="status" hidden {}
            p class="note" id="numbers-note" role="status" hidden {}
            div id="window" class="scroll" tabindex="0" role="group" aria-label="Key metrics of all samples" {
                table { caption class="sr" { "Key metrics of all samples" } thead { tr {} } tbody {} }
            }
            div id="print-table" {}
            p class="note" {
                "Click a heading to sort; drag it, or press Shift and an arrow key, to move its column. The box "
                "before a name highlights the sample in all plots; the name opens its details. "
                span class="out" { "high" } " and " span class="out" { "low" }
                " mark values that are far from those of the other samples."
            }
        }
    }
}

/// Returns the menu that saves and copies the table, and saves all plots.
fn save_menu() -> Markup {
    html! {
        details class="menu" {
            summary { "Save" }
            div {
                p class="note" {
                    "The table, with its shown columns and all digits. Filtered and hidden samples are left out."
                }
                p class="buttons" {
                    (button("save-table", "Table as TSV")) (button("copy-table", "Copy table"))
                }
                p class="note" {
                    "All plots as they are shown, their values and the table, in one ZIP file."
                }
                p class="buttons" {
                    (button("save-all-svg", "All plots as SVG")) (button("save-all-png", "All plots as PNG"))
                }
                p class="note" id="save-note" role="status" {}
            }
        }
    }
}

/// Returns the menu that changes display names.
fn names_menu() -> Markup {
    html! {
        details class="menu" {
            summary { "Names" }
            div {
                form id="names-form" {
                    p class="note" {
                        "Change all names by a pattern (a regular expression): "
                        code { "^S0*(\\d+)" } " and " code { "NA$1" } " make NA12 of S0012."
                    }
                    p class="buttons" {
                        label { "Find " input id="names-find" size="12" spellcheck="false"; }
                        label { "Replace with " input id="names-replace" size="12" spellcheck="false"; }
                        button type="submit" { "Replace" }
                    }
                    p class="note" id="replace-note" role="status" {}
                }
                p class="note" id="names-h" {
                    "Or paste a table of two columns, one sample per line: name, tab, display name."
                }
                textarea id="names" rows="8" cols="36" spellcheck="false" aria-labelledby="names-h" {}
                p class="note" id="names-note" role="status" {}
                p class="buttons" {
                    (button("names-apply", "Apply table")) (button("names-undo", "Undo"))
                    (button("names-original", "Original names")) (button("names-save", "Save as TSV"))
                }
            }
        }
    }
}

/// Returns the menu that saves, loads and resets the choices of the reader.
fn view_menu() -> Markup {
    html! {
        details class="menu" {
            summary { "View" }
            div {
                p class="note" {
                    "The view is what you chose: highlighted and hidden samples, names, groups, filter, columns, "
                    "order, colours, and settings of plots. This browser keeps it; a file takes it to another "
                    "browser or page."
                }
                input type="file" id="view-file" accept=".json,application/json" hidden
                    aria-label="File of a view";
                p class="buttons" {
                    (button("view-save", "Save view")) (button("view-load", "Load view"))
                    (button("forget", "Reset view"))
                }
                p class="note" id="view-note" role="status" {}
            }
        }
    }
}

/// Returns the sections of the plots.
pub fn plot_sections() -> Markup {
    html! {
        section id="metrics" aria-labelledby="metrics-h" hidden {
            h2 id="metrics-h" { "Key metrics" }
            div class="plots wide" {}
        }
        section id="scatter" aria-labelledby="scatter-h" hidden {
            h2 id="scatter-h" { "Comparison of two columns" }
            div class="plots wide" {}
        }
        section id="wells" aria-labelledby="wells-h" hidden {
            h2 id="wells-h" { "Plates" }
            div class="plots wide" {}
        }
        section id="bars" aria-labelledby="bars-h" hidden {
            h2 id="bars-h" { "Reads and bases of all samples" }
            div class="plots" {}
        }
        section id="curves" aria-labelledby="curves-h" hidden {
            h2 id="curves-h" { "Curves of all samples" }
            p class="lead" {
                "Click a curve to highlight its sample; drag to zoom. Outliers in a metric of the plot have "
                "stronger lines."
            }
            p class="tools" {
                label {
                    "Plots "
                    select id="plot-size" {
                        option value="small" { "side by side" }
                        option value="large" { "large, one per line" }
                    }
                }
            }
            div class="plots" {}
        }
    }
}

/// Returns the bar below the page, with the legend of the colours and the highlighted samples.
pub fn choice_bar() -> Markup {
    html! {
        div id="choice" role="region" aria-label="Colours and highlighted samples" hidden {
            ul class="legend" id="colors" {}
            span class="buttons" { (button("clear-groups", "Clear groups")) }
            div id="chosen" class="tools" hidden {
                span { "Highlighted:" } ul id="chips" {}
                span class="buttons" {
                    (button("only-marked", "Hide all others")) (button("hide-marked", "Hide these"))
                    (button("clear-marked", "Clear"))
                }
            }
            p id="hidden-count" class="tools" hidden {
                span {} span class="buttons" { (button("show-all", "Show all")) }
            }
        }
    }
}
