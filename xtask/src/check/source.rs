//! A Rust file as the rules see it: the text, and the code alone, without comments, strings and tests.
//!
//! What is not code is replaced by blanks of the same length, so an offset means the same in both.

use std::path::{Path, PathBuf};

/// One Rust file.
pub struct Source {
    /// Its path from the root of the workspace.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
    /// The text with blanks for comments and the insides of strings.
    pub code: String,
    /// The code with blanks for tests, too; nothing but blanks in a file of tests.
    pub production: String,
}

impl Source {
    /// Takes a file apart.
    pub fn new(path: PathBuf, text: String) -> Self {
        let code = blank_text(&text);
        let production = if is_test(&path) { String::new() } else { blank_tests(&code) };
        Source { path, text, code, production }
    }

    /// Whether the whole file is a test.
    pub fn is_test(&self) -> bool {
        is_test(&self.path)
    }

    /// Whether the file lies in `directory`, given from the root of the workspace.
    pub fn is_in(&self, directory: &str) -> bool {
        self.path.starts_with(directory)
    }

    /// The words of the production code with their offsets; `::` and other signs are words, too.
    pub fn words(&self) -> Vec<(usize, &str)> {
        words(&self.production)
    }

    /// What to say about the place at `offset`.
    pub fn finding(&self, offset: usize, what: impl std::fmt::Display) -> String {
        let line = self.text[..offset].matches('\n').count() + 1;
        format!("{}:{line}: {what}", self.path.display())
    }
}

fn is_test(path: &Path) -> bool {
    let names = ["tests", "benches", "tests.rs"];
    path.iter().any(|part| names.iter().any(|name| part == *name))
}

/// Splits code into identifiers, `::` and single signs.
pub fn words(code: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() {
            found.push((at, &rest[..length]));
        }
        at += length;
    }
    found
}

/// Puts blanks for comments and the insides of strings and characters.
fn blank_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let hidden = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if !after_word && let Some(length) = raw_string(rest) {
            length
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            character(rest)
        } else {
            0
        };
        if hidden == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            blank(&rest[..hidden], &mut out);
            rest = &rest[hidden..];
        }
    }
    out
}

fn blank(hidden: &str, out: &mut String) {
    out.extend(hidden.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
}

/// Length of the comment, others inside it included.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length of a raw string such as `br#"…"#`, if one starts here.
fn raw_string(rest: &str) -> Option<usize> {
    let body = ["br", "cr", "r"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inside = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(rest.len() - inside.len() + length)
}

/// Length of the string that starts here.
fn string(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Length of the character that starts here; 0 if it is a lifetime.
fn character(rest: &str) -> usize {
    let mut inside = rest[1..].chars();
    match inside.next() {
        Some('\\') => rest[3..].find('\'').map_or(0, |at| at + 4),
        Some(one) if inside.next() == Some('\'') => one.len_utf8() + 2,
        _ => 0,
    }
}

/// Puts blanks for every item that is compiled for tests alone.
fn blank_tests(code: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(code.len()), code);
    while let Some(start) = rest.find("#[cfg(test)]") {
        let item = &rest[start..];
        let length = item_end(item);
        out.push_str(&rest[..start]);
        blank(&item[..length], &mut out);
        rest = &item[length..];
    }
    out + rest
}

/// Length of the item: to its semicolon, or to the brace that closes its first brace.
pub fn item_end(item: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in item.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (byte == b';' || byte == b'}') {
            return at + 1;
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_tests_are_no_code() {
        let text = "fn a<'x>() { b(\"{ \\\" //\", '\"', '\\'', r#\"dbg!\"#) } // unsafe\n\
                    /* /* x */ y */ fn c() {}\n#[cfg(test)]\nmod tests { fn d() {} }\nfn e() {}\n";
        let source = Source::new("src/a.rs".into(), text.into());
        assert_eq!(source.code.len(), text.len());
        let shown: Vec<&str> = source.words().into_iter().map(|(_, word)| word).collect();
        assert_eq!(shown.concat(), "fna<'x>(){b(,,,)}fnc(){}fne(){}");
        assert!(source.code.contains("mod tests") && !source.code.contains("unsafe"));
    }
}
