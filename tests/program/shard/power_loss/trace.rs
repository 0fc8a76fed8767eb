//! The system calls of a program, as strace records them.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Calls that only wait or read the clock; some are so many that strace leaves them out.
const LEFT_OUT: &str = "trace=!futex,sched_yield,nanosleep,clock_nanosleep,clock_gettime,madvise";

/// Bytes of a string that strace prints. Longer ones end in dots, which [`Call::bytes`] refuses.
const LONGEST: &str = "16777216";

/// A system call that has ended.
#[derive(Debug)]
pub struct Call {
    pub name: String,
    /// Its arguments, as strace writes them: strings in hexadecimal.
    pub arguments: Vec<String>,
    /// What it returned; -1 where it failed.
    pub result: i64,
    /// The lines of the record at which it began and ended: other threads may have done something between.
    pub began: usize,
    pub ended: usize,
}

impl Call {
    /// The argument of this number.
    pub fn word(&self, number: usize) -> &str {
        self.arguments.get(number).map_or("", String::as_str)
    }

    /// A number among the arguments.
    #[track_caller]
    pub fn number(&self, number: usize) -> i64 {
        parse_number(self.word(number)).unwrap_or_else(|| panic!("no number at {number}: {self:?}"))
    }

    /// A string among the arguments.
    #[track_caller]
    pub fn bytes(&self, number: usize) -> Vec<u8> {
        let strings = strings(self.word(number));
        assert_eq!(strings.len(), 1, "no string at {number}: {self:?}");
        strings.concat()
    }

    /// The bytes of a list of buffers.
    pub fn buffers(&self, number: usize) -> Vec<u8> {
        strings(self.word(number)).concat()
    }

    /// A path among the arguments.
    #[track_caller]
    pub fn path(&self, number: usize) -> String {
        String::from_utf8(self.bytes(number)).unwrap()
    }

    /// Whether it gives a file or directory another name than it is written under.
    pub fn gives_a_name(&self) -> bool {
        ["link", "rename", "mkdir"].iter().any(|name| self.name.starts_with(name))
    }

    /// The beginning of the call, for messages.
    pub fn short(&self) -> String {
        let word = |word: &String| match strings(word).concat() {
            bytes if bytes.is_empty() => word.clone(),
            bytes => String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).escape_debug().to_string(),
        };
        let words: Vec<String> = self.arguments.iter().map(word).collect();
        format!("{}({}) = {}", self.name, words.join(", "), self.result)
    }
}

/// The command that runs `program` and writes its system calls to `record`.
pub fn recorded(program: &Command, record: &Path) -> Command {
    let is_here = Command::new("strace").arg("--version").output().is_ok();
    assert!(is_here, "strace does not start: its package is strace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-xx", "-s", LONGEST, "-e", LEFT_OUT, "-e", "signal=none"]);
    // What is read need not be shown: the program reads its own file, to know its build.
    command.args(["-e", "raw=read,readv,pread64,preadv,preadv2", "-o"]);
    command.arg(record).arg(program.get_program()).args(program.get_args());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(program.get_current_dir().unwrap()).stdin(Stdio::null());
    command
}

/// Reads a record.
pub fn calls(record: &str) -> Vec<Call> {
    let mut begun: HashMap<&str, (String, usize)> = HashMap::new();
    let mut calls = Vec::new();
    for (ended, line) in record.lines().enumerate() {
        let (thread, text) = line.split_once(' ').unwrap();
        let text = text.trim_start();
        if text.starts_with("+++") || text.starts_with("---") {
            continue;
        }
        if let Some(first) = text.strip_suffix("<unfinished ...>") {
            begun.insert(thread, (first.trim_end().to_string(), ended));
        } else if let Some(rest) = text.strip_prefix("<... ") {
            let (first, began) = begun.remove(thread).unwrap();
            let (_, rest) = rest.split_once("resumed>").unwrap();
            calls.push(call(&(first + rest), began, ended));
        } else {
            calls.push(call(text, ended, ended));
        }
    }
    // Threads that wait when the program ends never return.
    calls.extend(begun.into_values().map(|(first, began)| call(&(first + ") = ?"), began, usize::MAX)));
    calls
}

/// Reads a call.
fn call(text: &str, began: usize, ended: usize) -> Call {
    let (name, rest) = text.split_once('(').unwrap_or_else(|| panic!("no call: {text}"));
    let (mut arguments, mut depth, mut is_string, mut start) = (Vec::new(), 0, false, 0);
    let mut end = None;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                end = Some(at);
                break;
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                arguments.push(rest[start..at].trim().to_string());
                start = at + 1;
            }
            _ => {}
        }
    }
    let end = end.unwrap_or_else(|| panic!("no end of the call: {}", &text[..text.len().min(300)]));
    arguments.push(rest[start..end].trim().to_string());
    let result = rest[end + 1..].trim_start().strip_prefix('=').map(str::trim);
    let result = result.unwrap_or_else(|| panic!("no result: {}", &text[..text.len().min(300)]));
    let result = match result.split(' ').next() {
        Some("?") | None => -1,
        Some(word) => parse_number(word).unwrap_or_else(|| panic!("no result: {result}")),
    };
    Call { name: name.to_string(), arguments, result, began, ended }
}

/// Reads a number, decimal, hexadecimal or octal.
fn parse_number(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as i64),
        None => word.parse().ok(),
    }
}

/// The strings of an argument.
fn strings(word: &str) -> Vec<Vec<u8>> {
    assert!(!word.contains("\"..."), "strace cut a string");
    let quoted = word.split('"').skip(1).step_by(2);
    let byte = |hex: &str| u8::from_str_radix(hex, 16).unwrap();
    quoted.map(|text| text.split("\\x").skip(1).map(byte).collect()).collect()
}

#[test]
fn a_record_of_threads_is_read() {
    let record = "7 openat(AT_FDCWD, \"\\x61\\x62\", O_RDWR|O_CREAT, 0666 <unfinished ...>\n\
                  8 fsync(5)                          = 0\n\
                  7 <... openat resumed>)             = 3\n\
                  7 writev(3, [{iov_base=\"\\x41\", iov_len=1}, {iov_base=\"\\x2c\\x29\", iov_len=2}], 2) = 3\n\
                  8 read(0x3, 0x7ffc, 0x10)           = 0x10\n\
                  7 access(\"\\x2f\", R_OK)           = -1 ENOENT (No such file or directory)\n\
                  8 futex(0x7f, FUTEX_WAIT <unfinished ...>\n\
                  7 exit_group(0)                     = ?\n\
                  7 +++ exited with 0 +++\n";
    let calls = calls(record);
    let names: Vec<&str> = calls.iter().map(|call| &*call.name).collect();
    assert_eq!(names, ["fsync", "openat", "writev", "read", "access", "exit_group", "futex"]);
    assert_eq!((calls[1].path(1), calls[1].began, calls[1].ended), ("ab".to_string(), 0, 2));
    assert_eq!((calls[2].buffers(1), calls[2].result), (b"A,)".to_vec(), 3));
    assert_eq!(calls.iter().map(|call| call.result).collect::<Vec<_>>(), [0, 3, 3, 16, -1, -1, -1]);
}
