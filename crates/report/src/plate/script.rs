//! The style sheet and the script of the page. The script is a function of all files in `script/`, so
//! that their names are not global.

use crate::page::PageScript;

macro_rules! script_of {
    ($($file:literal),* $(,)?) => {
        concat!(
            "\"use strict\";\n(() => {\n",
            $(include_str!(concat!("script/", $file)), "\n",)*
            "})();\n"
        )
    };
}

pub const SCRIPT: PageScript = PageScript {
    style: include_str!("plate.css"),
    script: script_of!(
        "state.js",
        "table.js",
        "names.js",
        "view.js",
        "files.js",
        "painters.js",
        "plot.js",
        "curves.js",
        "metrics.js",
        "scatter.js",
        "wells.js",
        "bars.js",
        "details.js",
        "contents.js",
        "print.js",
        "start.js",
    ),
};
