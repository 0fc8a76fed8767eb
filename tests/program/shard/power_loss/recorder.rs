//! Carries out recorded system calls on the model of a disk. A call that changes files and is not known here ends the test.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::shard::power_loss::disk::{Change, Disk, Edit, Node};
use crate::shard::power_loss::trace::Call;

/// Folders that are not on the modelled disk: the program only reads the first, and the second holds what has no name.
pub const OUTSIDE: [&str; 4] = ["in", "tmp", "stdout", "stderr"];

/// Calls that change no file, but for what `change` knows of, and permissions.
const HARMLESS: &[&str] = &[
    "access",
    "arch_prctl",
    "brk",
    "chmod",
    "epoll_create1",
    "epoll_ctl",
    "eventfd2",
    "exit",
    "exit_group",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fchmod",
    "fchmodat",
    "flock",
    "fstat",
    "fstatfs",
    "getcwd",
    "getdents64",
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getpriority",
    "getrandom",
    "getrlimit",
    "getrusage",
    "gettid",
    "getuid",
    "lstat",
    "membarrier",
    "mprotect",
    "mremap",
    "munmap",
    "newfstatat",
    "pipe2",
    "poll",
    "ppoll",
    "prctl",
    "pread64",
    "preadv",
    "preadv2",
    "prlimit64",
    "readlink",
    "readlinkat",
    "recvfrom",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_setaffinity",
    "sendto",
    "set_robust_list",
    "set_tid_address",
    "setpriority",
    "shutdown",
    "sigaltstack",
    "socketpair",
    "stat",
    "statfs",
    "statx",
    "sysinfo",
    "tgkill",
    "uname",
    "wait4",
];

/// An open file: where it is on the disk, if it is there, and the position for the next write.
#[derive(Clone, Copy, Default)]
struct OpenFile {
    node: Option<Node>,
    position: u64,
}

/// A run of the program.
pub struct Recorder {
    /// The folder of the disk, by all of its names.
    roots: Vec<PathBuf>,
    /// The current folder of the program.
    current: PathBuf,
    /// Open files; copies of a descriptor have one number here.
    files: Vec<OpenFile>,
    descriptors: HashMap<i64, usize>,
}

impl Recorder {
    /// A run that begins in `folder`, where the disk is.
    pub fn new(folder: &Path) -> Self {
        let roots = vec![folder.to_path_buf(), folder.canonicalize().unwrap()];
        let outside = (0..3).map(|descriptor| (descriptor, 0)).collect();
        Recorder {
            current: roots[0].clone(),
            roots,
            files: vec![OpenFile::default()],
            descriptors: outside,
        }
    }

    /// Carries out a call. Returns whether the disk has changed.
    pub fn carry_out(&mut self, call: &Call, disk: &mut Disk) -> bool {
        let failed = call.result < 0;
        match &*call.name {
            name if HARMLESS.contains(&name) => {}
            // Its length is not seen in the record, but the position is not needed where nothing is written.
            "read" | "readv" => self.forget_position(call),
            _ if failed && call.ended != usize::MAX => {}
            "open" | "openat" | "creat" => return self.open(call, disk),
            "close" => drop(self.descriptors.remove(&call.number(0))),
            "dup" | "dup2" | "dup3" => self.copy(call),
            "fcntl" => match call.word(1) {
                "F_DUPFD" | "F_DUPFD_CLOEXEC" => self.copy(call),
                "F_GETFD" | "F_SETFD" | "F_GETFL" | "F_SETLK" | "F_OFD_SETLK" | "F_SETPIPE_SZ"
                | "F_GETPIPE_SZ" => {}
                _ => unknown(call),
            },
            "lseek" => self.file_of(call, 0).position = call.result as u64,
            "mmap" => {
                let is_shared =
                    call.word(3).contains("MAP_SHARED") && call.word(2).contains("PROT_WRITE");
                let is_file = call.word(4) != "-1" && self.file_of(call, 4).node.is_some();
                assert!(!(is_shared && is_file), "a file is written by its memory: {}", call.short());
            }
            "ioctl" => assert!(self.file_of(call, 0).node.is_none(), "not modelled: {}", call.short()),
            "execve" => assert_eq!(call.began, 0, "another program is started: {}", call.short()),
            "clone" | "clone3" => {
                let flags = call.arguments.join(",");
                assert!(flags.contains("CLONE_FILES"), "a process is started: {}", call.short());
            }
            "chdir" => self.current = self.current.join(call.path(0)),
            "fsync" | "fdatasync" => return self.sync(call, disk),
            "sync_file_range" => {} // it promises nothing
            _ => return self.change(call, disk),
        }
        false
    }

    /// Carries out a call that writes to a file, or changes names.
    fn change(&mut self, call: &Call, disk: &mut Disk) -> bool {
        match &*call.name {
            "write" => self.write(call, disk, call.bytes(1), None),
            "writev" => self.write(call, disk, call.buffers(1), None),
            "pwrite64" => self.write(call, disk, call.bytes(1), Some(call.number(3))),
            "pwritev" | "pwritev2" => self.write(call, disk, call.buffers(1), Some(call.number(3))),
            "ftruncate" => self.edit(call, disk, Edit::Resize(call.number(1) as u64)),
            "fallocate" => {
                let (from, length) = (call.number(2) as u64, call.number(3) as u64);
                let is_hole = call.word(1).contains("PUNCH_HOLE");
                let is_outside = self.file_of(call, 0).node.is_none();
                assert!(is_hole || is_outside, "not modelled: {}", call.short());
                self.edit(call, disk, Edit::Hole(from, from + length))
            }
            "mkdir" => self.make_directory(call, 0, disk),
            "mkdirat" => self.make_directory(call, 1, disk),
            "rmdir" | "unlink" => self.take(call, 0, disk),
            "unlinkat" => self.take(call, 1, disk),
            "link" => self.name_again(call, [0, 1], disk),
            "linkat" => self.name_again(call, [1, 3], disk),
            "rename" => self.rename(call, [0, 1], disk),
            "renameat" => self.rename(call, [1, 3], disk),
            "renameat2" => {
                assert_eq!(call.word(4), "0", "not modelled: {}", call.short());
                self.rename(call, [1, 3], disk)
            }
            _ => unknown(call),
        }
    }

    /// The path on the disk that an argument names; `None` if it is outside. A descriptor of a directory is before it,
    /// but for calls that have none.
    fn path(&self, call: &Call, number: usize) -> Option<String> {
        let path = self.current.join(call.path(number));
        let is_relative = !call.path(number).starts_with('/');
        let from = number.checked_sub(1).map(|before| call.word(before));
        let is_of_descriptor = call.name.contains("at") && from != Some("AT_FDCWD");
        assert!(
            !(is_relative && is_of_descriptor && call.name != "creat"),
            "not modelled: {}",
            call.short()
        );
        let inner = self.roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
        let names = inner.components().map(|component| match component {
            std::path::Component::Normal(name) => Some(name.to_str().unwrap()),
            std::path::Component::CurDir => None,
            _ => panic!("not modelled: {}", call.short()),
        });
        let names: Vec<&str> = names.flatten().collect();
        let is_outside = names.first().is_some_and(|name| OUTSIDE.contains(name));
        (!is_outside).then(|| names.join("/"))
    }

    /// The directory on the disk of an argument's path, and the name in it.
    fn place(&self, call: &Call, number: usize, disk: &Disk) -> Option<(Node, String)> {
        let path = self.path(call, number)?;
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let node =
            disk.find(directory).unwrap_or_else(|| panic!("{directory} is not known: {}", call.short()));
        Some((node, name.to_string()))
    }

    fn open(&mut self, call: &Call, disk: &mut Disk) -> bool {
        let (at, flags) = match &*call.name {
            "open" => (0, call.word(1)),
            "openat" => (1, call.word(2)),
            _ => unknown(call),
        };
        let is_written = !flags.contains("O_RDONLY") && !flags.contains("O_PATH");
        let Some(path) = self.path(call, at) else {
            let path = call.path(at);
            let is_ours =
                self.roots.iter().any(|root| path.starts_with(&*root.join("tmp").to_string_lossy()))
                    || path.starts_with("tmp");
            assert!(
                !is_written || is_ours || path.starts_with("/dev/"),
                "not modelled: {}",
                call.short()
            );
            self.add(call.result, OpenFile::default());
            return false;
        };
        assert!(
            !flags.contains("O_TMPFILE") && !flags.contains("O_APPEND"),
            "not modelled: {}",
            call.short()
        );
        let found = disk.find(&path);
        let node = found.unwrap_or_else(|| {
            assert!(flags.contains("O_CREAT"), "{path} is not known: {}", call.short());
            let (directory, name) = self.place(call, at, disk).unwrap();
            let node = disk.new_file();
            disk.change(directory, call.ended, Change::Put(name, node));
            node
        });
        let is_emptied = flags.contains("O_TRUNC") && found.is_some();
        if is_emptied {
            disk.edit(node, call.ended, Edit::Resize(0));
        }
        self.add(call.result, OpenFile { node: Some(node), position: 0 });
        is_emptied || found.is_none()
    }

    fn add(&mut self, descriptor: i64, file: OpenFile) {
        self.files.push(file);
        self.descriptors.insert(descriptor, self.files.len() - 1);
    }

    /// The open file of a descriptor; pipes, sockets and the like are not known, and outside.
    fn file_of(&mut self, call: &Call, number: usize) -> &mut OpenFile {
        let file = *self.descriptors.entry(call.number(number)).or_insert(0);
        &mut self.files[file]
    }

    fn copy(&mut self, call: &Call) {
        let file = self.descriptors.get(&call.number(0)).copied().unwrap_or(0);
        self.descriptors.insert(call.result, file);
    }

    fn forget_position(&mut self, call: &Call) {
        self.file_of(call, 0).position = u64::MAX;
    }

    fn write(&mut self, call: &Call, disk: &mut Disk, mut bytes: Vec<u8>, offset: Option<i64>) -> bool {
        let written = call.result as usize;
        let file = self.file_of(call, 0);
        let Some(node) = file.node else { return false };
        let at = offset.map_or(file.position, |offset| offset as u64);
        assert_ne!(at, u64::MAX, "where it is written is not known: {}", call.short());
        if offset.is_none() {
            file.position += written as u64;
        }
        assert!(bytes.len() >= written, "the record lacks bytes: {}", call.short());
        bytes.truncate(written);
        disk.edit(node, call.ended, Edit::Write(at, bytes));
        true
    }

    fn edit(&mut self, call: &Call, disk: &mut Disk, edit: Edit) -> bool {
        let Some(node) = self.file_of(call, 0).node else { return false };
        disk.edit(node, call.ended, edit);
        true
    }

    fn sync(&mut self, call: &Call, disk: &mut Disk) -> bool {
        let Some(node) = self.file_of(call, 0).node else { return false };
        disk.sync(node, call.began);
        true
    }

    fn make_directory(&self, call: &Call, at: usize, disk: &mut Disk) -> bool {
        let Some((parent, name)) = self.place(call, at, disk) else { return false };
        let node = disk.new_directory();
        disk.change(parent, call.ended, Change::Put(name, node));
        true
    }

    fn take(&self, call: &Call, at: usize, disk: &mut Disk) -> bool {
        let Some((parent, name)) = self.place(call, at, disk) else { return false };
        disk.change(parent, call.ended, Change::Take(name));
        true
    }

    /// The file of the first path, and the directories and names of both; `None` if they are outside.
    fn two_names(
        &self,
        call: &Call,
        at: [usize; 2],
        disk: &Disk,
    ) -> Option<(Node, [(Node, String); 2])> {
        let places = at.map(|at| self.place(call, at, disk));
        let [Some(from), Some(to)] = places else {
            assert_eq!(places, [None, None], "not modelled: {}", call.short());
            return None;
        };
        let node = disk.directory(from.0).and_then(|names| names.live.get(&from.1).copied());
        let node = node.unwrap_or_else(|| panic!("not known: {}", call.short()));
        Some((node, [from, to]))
    }

    fn name_again(&self, call: &Call, at: [usize; 2], disk: &mut Disk) -> bool {
        let Some((node, [_, (parent, name)])) = self.two_names(call, at, disk) else { return false };
        disk.change(parent, call.ended, Change::Put(name, node));
        true
    }

    fn rename(&self, call: &Call, at: [usize; 2], disk: &mut Disk) -> bool {
        let Some((node, [from, to])) = self.two_names(call, at, disk) else { return false };
        assert_eq!(from.0, to.0, "not modelled: {}", call.short());
        disk.change(from.0, call.ended, Change::Move(from.1, to.1, node));
        true
    }
}

fn unknown(call: &Call) -> ! {
    panic!("this system call is not modelled: {}", call.short())
}
