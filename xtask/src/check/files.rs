//! What holds in every file: its length, the length of its functions, `unsafe`, unfinished work.

use super::source::{Source, item_end};

/// Lines that are not blank, in a file and in a file of tests.
const FILE_LINES: usize = 500;
const TEST_FILE_LINES: usize = 800;

/// Lines of a function.
const FUNCTION_LINES: usize = 100;

/// The leaf files in which `unsafe` may stand; tests may use it anywhere, with their reasons.
const UNSAFE: [&str; 15] = [
    "crates/align/src/bwa/failure.rs",
    "crates/align/src/bwa/ffi.rs",
    "crates/align/src/bwa/initialisers.rs",
    "crates/align/src/bwa/memory.rs",
    "crates/align/src/bwa/quiet.rs",
    "crates/align/src/bwa/settings.rs",
    "crates/align/src/bwa/shared_tests.rs",
    "crates/align/src/minibwa/ffi.rs",
    "crates/align/src/minibwa/hits.rs",
    "crates/align/src/minibwa/memory.rs",
    "crates/format/src/bgzf/codec/igzip.rs",
    "crates/record/src/arena.rs",
    "src/allocator.rs",
    "src/audit.rs",
    "xtask/src/bench/usage.rs",
];

/// Macros that mark what is not done yet.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Checks one file.
pub fn check(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    let lines = source.text.lines().filter(|line| !line.trim().is_empty()).count();
    let limit = if source.is_test() { TEST_FILE_LINES } else { FILE_LINES };
    if lines > limit {
        findings.push(source.finding(0, format!("{lines} lines, {limit} at most: divide it by idea")));
    }
    let words = super::source::words(&source.code);
    for (i, &(at, word)) in words.iter().enumerate() {
        let next = words.get(i + 1).map_or("", |&(_, next)| next);
        if word == "unsafe" {
            findings.extend(check_unsafe(source, at, next));
        } else if word == "fn" {
            let lines = source.code[at..at + item_end(&source.code[at..])].lines().count();
            if lines > FUNCTION_LINES && !source.is_test() {
                let what = format!("{next} has {lines} lines, {FUNCTION_LINES} at most");
                findings.push(source.finding(at, what));
            }
        } else if UNFINISHED.contains(&word) && next == "!" {
            findings.push(source.finding(at, format!("{word}! does not stay")));
        }
    }
    findings
}

fn check_unsafe(source: &Source, at: usize, next: &str) -> Option<String> {
    if next == "(" {
        return None; // the attribute `unsafe(…)`
    }
    if !source.is_test() && !UNSAFE.iter().any(|leaf| source.path.as_os_str() == *leaf) {
        let what = format!("unsafe stands in {} alone", UNSAFE.join(", "));
        return Some(source.finding(at, what));
    }
    // The comment stands above the statement, which may have begun lines before; a function says what it asks for.
    let before: Vec<&str> = source.text[..at].lines().rev().take(8).collect();
    let reason = before.iter().any(|line| {
        ["// SAFETY:", "/// # Safety"].iter().any(|reason| line.trim_start().starts_with(reason))
    });
    (!reason).then(|| source.finding(at, "say why it is sound in a comment that starts with SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Source::new(path.into(), text.into())).len()
    }

    #[test]
    fn long_files_and_functions_are_found() {
        assert_eq!(count("src/a.rs", &"use a;\n\n".repeat(500)), 0);
        assert_eq!(count("src/a.rs", &"use a;\n".repeat(501)), 1);
        assert_eq!(count("tests/a.rs", &"use a;\n".repeat(501)), 0);
        let body = |n| format!("fn f() {{\n{}}}\n", "g();\n".repeat(n));
        assert_eq!(count("src/a.rs", &body(98)), 0);
        assert_eq!(count("src/a.rs", &body(99)), 1);
    }

    #[test]
    fn unsafe_has_its_files_and_its_reasons() {
        let bare = "fn f() { unsafe { g() } }\n";
        let reasoned = "// SAFETY: g is sound.\nfn f() { unsafe { g() } }\n";
        assert_eq!(count("src/run.rs", reasoned), 1);
        assert_eq!(count("src/allocator.rs", reasoned), 0);
        assert_eq!(count("src/allocator.rs", bare), 1);
        let asking = "/// # Safety\n///\n/// `p` is not null.\nunsafe fn f(p: *const u8) {}\n";
        assert_eq!(count("src/allocator.rs", asking), 0);
    }

    #[test]
    fn unfinished_work_is_found_in_code_alone() {
        assert_eq!(count("src/a.rs", "fn f() { todo!() } // dbg!\n"), 1);
    }
}
