//! Patterns of `=~` and `!~`: POSIX extended regular expressions.
//!
//! Patterns have the meaning that glibc gives them in the C locale, as in samtools. They are
//! translated to the syntax of the `regex` crate:
//! - Text is a sequence of bytes. `.` matches any byte; `^` and `$` match only at the ends of the
//!   text.
//! - `\w \W \s \S \b \B \< \>` are glibc's extensions.
//! - A backslash before punctuation makes it literal. Inside brackets, a backslash is an ordinary
//!   character.
//! - Back references (`\1`) are refused. So are backslashes before other letters, which POSIX does
//!   not define: glibc treats `\d` as the letter d, but most people mean a digit.

use regex::bytes::{Regex, RegexBuilder};

/// Maximum repetition count in `{n}`, glibc's `RE_DUP_MAX`.
const MAX_REPEATS: u32 = 32_767;
/// Maximum nesting depth of groups. The translation recurses for each group, so the limit protects
/// the stack.
const MAX_DEPTH: u32 = 50;

/// Compiles a POSIX extended regular expression.
///
/// # Errors
/// Returns a description of the fault, to be shown after "the pattern is invalid:".
///
/// ```
/// use readmill_filters::expression::pattern;
///
/// let numbered = pattern::compile(b"^read[[:digit:]]{2,}$").unwrap();
/// assert!(numbered.is_match(b"read12") && !numbered.is_match(b"read1"));
/// assert_eq!(pattern::compile(b"a(").unwrap_err(), "a ( is not closed");
/// ```
pub fn compile(pattern: &[u8]) -> Result<Regex, String> {
    let mut translation = Translation { pattern, at: 0, out: String::new(), depth: 0 };
    translation.translate_alternatives()?;
    RegexBuilder::new(&translation.out)
        .unicode(false)
        .dot_matches_new_line(true)
        .build()
        .map_err(|_| "too large".to_string())
}

struct Translation<'p> {
    pattern: &'p [u8],
    at: usize,
    out: String,
    depth: u32,
}

impl Translation<'_> {
    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn take_byte(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    fn translate_alternatives(&mut self) -> Result<(), String> {
        while let Some(byte) = self.peek() {
            match byte {
                b')' if self.depth > 0 => break,
                b'|' => {
                    self.at += 1;
                    self.out.push('|');
                }
                _ => self.translate_piece()?,
            }
        }
        Ok(())
    }

    fn translate_piece(&mut self) -> Result<(), String> {
        let start = self.out.len();
        if !self.translate_atom()? {
            return Ok(());
        }
        while let Some(byte @ (b'*' | b'+' | b'?' | b'{')) = self.peek() {
            self.at += 1;
            self.out.insert_str(start, "(?:");
            self.out.push(')');
            match byte {
                b'{' => self.translate_repeats()?,
                _ => self.out.push(char::from(byte)),
            }
        }
        Ok(())
    }

    fn translate_repeats(&mut self) -> Result<(), String> {
        let min_repeats = self.parse_count()?;
        let (min_repeats, max_repeats) = if self.take_byte(b',') {
            (Some(min_repeats.unwrap_or(0)), self.parse_count()?)
        } else {
            (min_repeats, min_repeats)
        };
        match (min_repeats, max_repeats) {
            (Some(min_repeats), None) if self.take_byte(b'}') => {
                self.out.push_str(&format!("{{{min_repeats},}}"));
            }
            (Some(min_repeats), Some(max_repeats))
                if min_repeats <= max_repeats && self.take_byte(b'}') =>
            {
                self.out.push_str(&format!("{{{min_repeats},{max_repeats}}}"));
            }
            _ => return Err("a { is not followed by {n}, {n,}, {,m} or {n,m}".to_string()),
        }
        Ok(())
    }

    fn parse_count(&mut self) -> Result<Option<u32>, String> {
        let digits = self.pattern[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = &self.pattern[self.at..][..digits];
        self.at += digits;
        if digits == 0 {
            return Ok(None);
        }
        let count = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        match count.filter(|&count: &u32| count <= MAX_REPEATS) {
            Some(count) => Ok(Some(count)),
            None => Err(format!("more than {MAX_REPEATS} repeats")),
        }
    }

    /// Translates one atom. Returns `false` if it is an anchor, which cannot be repeated.
    fn translate_atom(&mut self) -> Result<bool, String> {
        let Some(byte) = self.peek() else { return Ok(false) };
        self.at += 1;
        match byte {
            b'^' | b'$' => {
                self.out.push(char::from(byte));
                return Ok(false);
            }
            b'.' => self.out.push('.'),
            b'(' => self.translate_group()?,
            b'[' => {
                let class = self.parse_brackets()?.as_class();
                self.out.push_str(&class);
            }
            b'\\' => return self.translate_escape(),
            b'*' | b'+' | b'?' | b'{' => {
                return Err(format!("there is nothing before {} to repeat", char::from(byte)));
            }
            literal => self.out.push_str(&byte_literal(literal)),
        }
        Ok(true)
    }

    fn translate_group(&mut self) -> Result<(), String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} nested groups"));
        }
        self.depth += 1;
        self.out.push_str("(?:");
        self.translate_alternatives()?;
        self.depth -= 1;
        if !self.take_byte(b')') {
            return Err("a ( is not closed".to_string());
        }
        self.out.push(')');
        Ok(())
    }

    fn translate_escape(&mut self) -> Result<bool, String> {
        let Some(byte) = self.peek() else {
            return Err("ends with a backslash".to_string());
        };
        self.at += 1;
        let (meaning, is_atom) = match byte {
            b'w' | b'W' | b's' | b'S' => (format!("\\{}", char::from(byte)), true),
            b'b' | b'B' => (format!("\\{}", char::from(byte)), false),
            b'<' => ("\\b{start}".to_string(), false),
            b'>' => ("\\b{end}".to_string(), false),
            b'1'..=b'9' => return Err("back references are not supported".to_string()),
            b'd' => return Err("\\d is not supported: use [0-9]".to_string()),
            letter if letter.is_ascii_alphanumeric() => {
                return Err(format!("\\{} is not supported", char::from(letter)));
            }
            literal => (byte_literal(literal), true),
        };
        self.out.push_str(&meaning);
        Ok(is_atom)
    }

    fn parse_brackets(&mut self) -> Result<ByteSet, String> {
        let open = || "a [ is not closed".to_string();
        let negative = self.take_byte(b'^');
        let mut bytes = ByteSet([negative; 256]);
        let mut first = true;
        loop {
            let byte = self.peek().ok_or_else(open)?;
            self.at += 1;
            let next = self.peek();
            match (byte, next) {
                (b']', _) if !first => return Ok(bytes),
                (b'[', Some(b':')) => self.parse_class(&mut bytes, !negative)?,
                _ => {
                    let low = self.parse_element(byte)?;
                    let high = match (self.peek(), self.pattern.get(self.at + 1)) {
                        (Some(b'-'), Some(&after)) if after != b']' => {
                            self.at += 2;
                            self.parse_element(after)?
                        }
                        _ => low,
                    };
                    if low > high {
                        return Err("a range in [] ends before it starts".to_string());
                    }
                    bytes.0[usize::from(low)..=usize::from(high)].fill(!negative);
                }
            }
            first = false;
        }
    }

    /// Parses one byte inside brackets, which may also be written as a collating element `[.x.]` or
    /// as an equivalence class `[=x=]`.
    fn parse_element(&mut self, byte: u8) -> Result<u8, String> {
        let Some(mark @ (b'.' | b'=')) = self.peek().filter(|_| byte == b'[') else {
            return Ok(byte);
        };
        match self.pattern.get(self.at + 1..self.at + 4) {
            Some(&[element, end, b']']) if end == mark => {
                self.at += 4;
                Ok(element)
            }
            _ => Err("unknown collating element".to_string()),
        }
    }

    /// Parses a class such as `[:digit:]` after its first bracket, and sets its members in `bytes`
    /// to `value`.
    fn parse_class(&mut self, bytes: &mut ByteSet, value: bool) -> Result<(), String> {
        let rest = &self.pattern[self.at + 1..];
        let length = rest.windows(2).position(|end| end == b":]");
        let holds: fn(u8) -> bool = match length.map(|length| &rest[..length]) {
            Some(b"alpha") => |b| b.is_ascii_alphabetic(),
            Some(b"digit") => |b| b.is_ascii_digit(),
            Some(b"alnum") => |b| b.is_ascii_alphanumeric(),
            Some(b"upper") => |b| b.is_ascii_uppercase(),
            Some(b"lower") => |b| b.is_ascii_lowercase(),
            Some(b"space") => |b| b.is_ascii_whitespace() || b == 0x0B,
            Some(b"blank") => |b| b == b' ' || b == b'\t',
            Some(b"punct") => |b| b.is_ascii_punctuation(),
            Some(b"print") => |b| (b' '..=b'~').contains(&b),
            Some(b"graph") => |b| b.is_ascii_graphic(),
            Some(b"cntrl") => |b| b.is_ascii_control(),
            Some(b"xdigit") => |b| b.is_ascii_hexdigit(),
            _ => return Err("unknown character class".to_string()),
        };
        self.at += 1 + length.unwrap_or(0) + 2;
        for byte in (0..=255).filter(|&byte| holds(byte)) {
            bytes.0[usize::from(byte)] = value;
        }
        Ok(())
    }
}

struct ByteSet([bool; 256]);

impl ByteSet {
    fn as_class(&self) -> String {
        let members = (0..=255u8).filter(|&byte| self.0[usize::from(byte)]);
        let class: String = members.map(byte_literal).collect();
        if class.is_empty() { "[^\\x00-\\xFF]".to_string() } else { format!("[{class}]") }
    }
}

fn byte_literal(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("\\x{byte:02X}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_glibc() {
        for (pattern, matching, others) in [
            ("^a+b+c+$", &["abc", "aabbc"][..], &["aBBc", "xabc", "abcx"][..]),
            ("a.c", &["abc", "a\nc", "xa.cx"], &["ac"]),
            ("^(ab|c)$", &["ab", "c"], &["abc", ""]),
            ("^(a|)$", &["a", ""], &["b"]),
            ("^a+?$", &["", "a", "aa"], &["b"]), // repeats a repetition; not a lazy operator
            ("^a{2}$", &["aa"], &["a", "aaa"]),
            ("^a{,2}$", &["", "a", "aa"], &["aaa"]),
            ("^a{2,}$", &["aa", "aaa"], &["a"]),
            ("^a{1,2}{2}$", &["aa", "aaaa"], &["a", "aaaaa"]),
            ("^[]x]$", &["]", "x"], &["[", "\\"]),
            ("^[^]x]$", &["a", "\n"], &["]", "x"]),
            ("^[\\n]$", &["\\", "n"], &["\n"]), // no escapes in brackets
            ("^[a-c-]$", &["b", "-"], &["d"]),
            ("^[--/]$", &["-", ".", "/"], &[","]),
            ("^[[:digit:]x]+$", &["12x"], &["12y", ""]),
            ("^[^[:digit:]]$", &["x"], &["1"]),
            ("^[[.-.]a]$", &["-", "a"], &["b", "."]),
            ("^[[=a=]]$", &["a"], &["="]),
            ("^[&&~~]$", &["&", "~"], &["a"]),
            ("^\\.\\[\\\\$", &[".[\\"], &["x[\\"]),
            ("^\\w\\W\\s\\S$", &["a- x"], &["--  "]),
            ("\\<b", &["a b"], &["ab"]),
            ("a\\>", &["a b"], &["ab"]),
            ("a\\b", &["a-"], &["ab"]),
            ("x)", &["x)"], &["x"]),
            ("a|b|", &["", "anything"], &[]),
            ("x^a", &[], &["xa", "x^a"]),
            ("é+", &["xéx"], &["e"]),
            ("", &["", "a"], &[]),
        ] {
            let regex = compile(pattern.as_bytes()).unwrap();
            for text in matching {
                assert!(regex.is_match(text.as_bytes()), "{pattern} should match {text:?}");
            }
            for text in others {
                assert!(!regex.is_match(text.as_bytes()), "{pattern} should not match {text:?}");
            }
        }
    }

    #[test]
    fn what_glibc_refuses_or_leaves_open_is_refused() {
        for pattern in [
            "*a",
            "+",
            "?",
            "a|*",
            "^*",
            "(",
            "(a",
            "[a",
            "[",
            "[]",
            "[z-a]",
            "[[:nope:]]",
            "[[:digit:]",
            "a{",
            "a{x",
            "a{2,1}",
            "a{1",
            "{1}",
            "a{99999}",
            "\\",
            "\\1",
            "\\d",
            "\\n",
            "a\\b*",
            "[[.ab.]]",
        ] {
            assert!(compile(pattern.as_bytes()).is_err(), "{pattern}");
        }
        assert!(compile("(".repeat(100_000).as_bytes()).is_err());
        assert!(compile("((((a{999}){999}){999}){999})".as_bytes()).is_err());
    }
}
