"""Makes the files of a release: for each target an archive with the program, its man pages and completions, the licences
of all that is linked, and a list of parts (SBOM); and one file of checksums.

`./dev release` installs what this script needs, and runs it. Two runs of the same commit make the same bytes, in any folder.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent.parent
MAX_BYTES = 15_000_000
TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
FEATURES = {"x86_64-unknown-linux-musl": ["bundled-zlib", "old-processors"]}
# Without this, LLVM copies functions of up to 250 instructions into their callers: the program is 3 MB larger, and no faster.
RUST_FLAGS = ["-Cllvm-args=-inline-threshold=30"]
SHELLS = {"bash": "readmill.bash", "zsh": "_readmill", "fish": "readmill.fish"}
LICENCE_NAMES = ("LICEN", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


class Library(NamedTuple):
    """A C or C++ library whose source is part of a Rust package."""

    name: str
    package: str
    licence: str
    version_file: str
    version_pattern: str


LIBRARIES = [
    Library("bwa-mem3", "bwa-mem3-sys", "MIT", "vendor/bwa-mem3/version.txt", r"([\d.]+)"),
    Library("pdqsort", "bwa-mem3-sys", "Zlib", "vendor/bwa-mem3/ext/pdqsort/pdqsort.h", r"Copyright \(c\) (\d+)"),
    Library("zlib", "libz-sys", "Zlib", "src/zlib/zlib.h", r'define ZLIB_VERSION "([\d.]+)"'),
    Library("zstd", "zstd-sys", "BSD-3-Clause", "Cargo.toml", r'version = "[\d.]+\+zstd\.([\d.]+)"'),
    Library("libdeflate", "libdeflate-sys", "MIT", "libdeflate/libdeflate.h", r'VERSION_STRING\s+"([\d.]+)"'),
    Library("libsais", "libsais-sys", "Apache-2.0", "libsais/include/libsais.h", r'VERSION_STRING\s+"([\d.]+)"'),
    Library("mimalloc", "libmimalloc-sys", "MIT", "c_src/mimalloc/v3/include/mimalloc.h", r"MI_MALLOC_VERSION (\d+)"),
]
SSE2NEON = Library("sse2neon", "bwa-mem3-sys", "MIT", "vendor/bwa-mem3/ext/sse2neon/sse2neon.h", r"(sse2neon)")

# Folders inside packages whose code is not compiled, so their licences do not apply; and the GPL, which zstd offers as an
# alternative to the BSD licence.
UNUSED = re.compile(r"zlib-ng|src/zlib/contrib|mimalloc/v2|/tests?/|zstd/COPYING")
UNUSED_OFF_ARM = re.compile(r"sse2neon")

# Parts of the compiler's C and C++ libraries, by the folder of their licence inside Zig.
ZIG_PARTS = [
    ("zig-compiler-rt", "MIT", "LICENSE"),
    ("musl", "MIT", "lib/libc/musl/COPYRIGHT"),
    ("libcxx", "Apache-2.0 WITH LLVM-exception", "lib/libcxx/LICENSE.TXT"),
    ("libcxxabi", "Apache-2.0 WITH LLVM-exception", "lib/libcxxabi/LICENSE.TXT"),
    ("libunwind", "Apache-2.0 WITH LLVM-exception", "lib/libunwind/LICENSE.TXT"),
]


def zig_parts(target: str) -> list[tuple[str, str, str]]:
    """Returns the parts of Zig that a program of the target contains."""
    return [it for it in ZIG_PARTS if it[0] != "musl" or "musl" in target]


def say(text: str) -> None:
    """Prints a message in the form of `./dev`."""
    print(f"release: {text}", file=sys.stderr, flush=True)


def fail(text: str) -> NoReturn:
    """Prints a message and ends with exit code 1."""
    say(text)
    sys.exit(1)


def output(*command: str | Path, **options: Any) -> str:
    """Returns what a command prints."""
    return subprocess.run([str(it) for it in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


# ---- Building ----


class Build:
    """One target, and where its files are."""

    def __init__(self, target: str, target_dir: Path, epoch: int, out: Path) -> None:
        self.target, self.target_dir, self.epoch, self.out = target, target_dir, epoch, out
        self.features = FEATURES.get(target, ["bundled-zlib"])
        self.packages = linked_packages(target, self.features)
        self.version = next(it["version"] for it in self.packages if it["name"] == "readmill")
        self.name = f"readmill-{self.version}-{target}"

    @property
    def program(self) -> Path:
        """Returns the path of the program that Cargo makes."""
        return self.target_dir / self.target / "dist" / "readmill"

    def folder(self, package: str) -> Path:
        """Returns the folder of a package's source."""
        return next(Path(it["manifest_path"]).parent for it in self.packages if it["name"] == package)

    def prefixes(self) -> list[tuple[Path, str]]:
        """Returns the folders of this machine that compilers could write into the program, and the names that replace them."""
        cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
        return [(cargo_home, "/cargo"), (ROOT, "/readmill"), (self.target_dir, "/target")]

    def environment(self) -> dict[str, str]:
        """Returns the environment of the build: no path of this machine may reach the program."""
        prefixes = self.prefixes()
        # On arm64, compilers would fuse multiplications and additions, and take char as unsigned: other results than on x86.
        # mimalloc contains the time of its compilation. Zig ignores SOURCE_DATE_EPOCH where it finds a compiled file in its cache.
        no_time = ["-Wno-builtin-macro-redefined", '-D__DATE__="none"', '-D__TIME__="none"']
        c_flags = ["-ffp-contract=off", "-fsigned-char", *no_time, *(f"-ffile-prefix-map={old}={new}" for old, new in prefixes)]
        cxx_flags = [*c_flags, f"-I{self.folder('libz-sys') / 'src' / 'zlib'}"]
        if self.target.startswith("x86_64"):
            # gcc takes SSE4.2 to include it, and Zig does not. Only the aligner is C++, and readmill checks for both first.
            cxx_flags.append("-mpopcnt")
        if "musl" in self.target:
            cxx_flags += ["-include", str(ROOT / "crates/align/src/bwa/quiet.h")]
        suffix = self.target.replace("-", "_")
        return os.environ | {
            "CARGO_TARGET_DIR": str(self.target_dir),
            "CARGO_INCREMENTAL": "0",
            "RUSTFLAGS": " ".join([*RUST_FLAGS, *(f"--remap-path-prefix={old}={new}" for old, new in prefixes)]),
            f"CFLAGS_{suffix}": " ".join(c_flags),
            f"CXXFLAGS_{suffix}": " ".join(cxx_flags),
            f"AR_{suffix}": str(ROOT / "packaging" / "ar"),
            "ZERO_AR_DATE": "1",
        }

    def run(self) -> None:
        """Compiles and links the program."""
        subprocess.run(["rustup", "target", "add", self.target], check=True, stderr=subprocess.DEVNULL)
        command = ["cargo-zigbuild", "zigbuild", "--profile", "dist", "--locked", "--bin", "readmill", "--target", self.target]
        command += ["--features", ",".join(self.features)]
        say(" ".join(command))
        subprocess.run(command, check=True, cwd=ROOT, env=self.environment())


def linked_packages(target: str, features: list[str]) -> list[dict[str, Any]]:
    """Returns the packages whose code is in the program: not those that only run during the build."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    metadata = json.loads(output(*command, "--features", ",".join(features), cwd=ROOT))
    packages = {it["id"]: it for it in metadata["packages"]}
    edges = {it["id"]: it["deps"] for it in metadata["resolve"]["nodes"]}
    waiting = [key for key, it in packages.items() if it["name"] == "readmill"]
    found = set()
    while waiting:
        key = waiting.pop()
        if key in found or any("proc-macro" in it["kind"] for it in packages[key]["targets"]):
            continue
        found.add(key)
        waiting += [it["pkg"] for it in edges[key] if any(kind["kind"] is None for kind in it["dep_kinds"])]
    return sorted((packages[key] for key in found), key=lambda it: (it["name"], it["version"]))


def runner(target: str) -> list[str] | None:
    """Returns the words before a program of the target that run it here, or None if it cannot run here."""
    machine, system = os.uname().machine, sys.platform
    arch = target.split("-")[0]
    if ("linux" in target) != (system == "linux"):
        return None
    if arch == machine or (arch, machine) == ("aarch64", "arm64"):
        return []
    qemu = shutil.which(f"qemu-{arch}")
    return [qemu] if qemu else None


# ---- Checks ----


def check_program(build: Build) -> None:
    """Fails if the program names a folder of this machine, or needs a library; warns if it is larger than it should be."""
    data = build.program.read_bytes()
    for path in {Path.home(), *(old for old, _ in build.prefixes())}:
        at = data.find(str(path).encode() + b"/")
        if at >= 0:
            fail(f"{build.program} names a folder of this machine: {data[at:at + 120]!r}")
    if "musl" in build.target and is_dynamic(data):
        fail(f"{build.program} needs shared libraries")
    say(f"{build.program}: {len(data):,} bytes{f', more than the goal of {MAX_BYTES:,}' if len(data) > MAX_BYTES else ''}")


def is_dynamic(data: bytes) -> bool:
    """Returns whether a 64-bit ELF file names a program interpreter (PT_INTERP, 3), so needs shared libraries."""
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    return any(struct.unpack_from("<I", data, offset + at * size)[0] == 3 for at in range(count))


# ---- Licences and parts ----


def licence_files(build: Build, package: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each licence file of a package that applies to its linked code."""
    folder = Path(package["manifest_path"]).parent
    found = [it for it in folder.rglob("*") if it.name.upper().startswith(LICENCE_NAMES) and it.is_file()]
    for path in sorted(found):
        name = path.relative_to(folder).as_posix()
        is_unused = UNUSED.search(f"/{name}") or ("aarch64" not in build.target and UNUSED_OFF_ARM.search(name))
        if not is_unused and path.suffix not in {".rs", ".c", ".h"}:
            yield name, path.read_text(encoding="utf-8", errors="replace")


def third_party_licences(build: Build, zig: Path) -> str:
    """Returns the licences of all that is linked, each text once, after a table of who uses it."""
    texts: dict[str, list[str]] = {}
    for package in build.packages:
        if package["source"] is None:
            continue
        title = f"{package['name']} {package['version']} ({package['license']})"
        files = list(licence_files(build, package))
        if not files:
            files = [("LICENCE", standard_text(package))]
        for name, text in files:
            texts.setdefault(text.strip(), []).append(f"{title}: {name}")
    header = (build.folder("bwa-mem3-sys") / "vendor/bwa-mem3/ext/pdqsort/pdqsort.h").read_text()
    texts.setdefault(header[2 : header.index("*/")].strip(), []).append("pdqsort (Zlib), part of bwa-mem3")
    for name, licence, path in zig_parts(build.target):
        texts.setdefault((zig / path).read_text().strip(), []).append(f"{name} ({licence}), from Zig")
    for name in ("MIT", "Apache-2.0"):
        text = (rust_documents() / "licenses" / f"{name}.txt").read_text().strip()
        texts.setdefault(text, []).append("the standard library of Rust (MIT OR Apache-2.0)")
    blocks = ["The program contains code under these licences. readmill itself: LICENSE-MIT or LICENSE-APACHE, at your option.\n"]
    for text, users in texts.items():
        blocks.append("-" * 80 + "\n" + "".join(f"{it}\n" for it in users) + "-" * 80 + f"\n\n{text}\n")
    return "\n".join(blocks)


def standard_text(package: dict[str, Any]) -> str:
    """Returns the text of the MIT licence for a package that names this licence but has no file with its text."""
    if "MIT" not in re.split(r" OR |/", package["license"] or ""):
        fail(f"the package {package['name']} has no licence file, and its licence is {package['license']}")
    holders = ", ".join(re.sub(r" *<.*?>", "", it) for it in package["authors"]) or f"the {package['name']} authors"
    text = (rust_documents() / "licenses" / "MIT.txt").read_text()
    return f"MIT License\n\nCopyright (c) {holders}\n\n" + text[text.index("Permission is hereby granted") :]


def rust_documents() -> Path:
    """Returns the folder of the licences of Rust."""
    return Path(output("rustc", "--print", "sysroot").strip()) / "share" / "doc" / "rust"


def bill_of_materials(build: Build, zig_version: str) -> str:
    """Returns the parts of the program as CycloneDX 1.5: Rust packages, C and C++ libraries, and the compilers' libraries."""
    entry = re.compile(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"')
    checksums = {(name, version): checksum for name, version, checksum in entry.findall((ROOT / "Cargo.lock").read_text())}
    parts = []
    for package in build.packages:
        name, version = package["name"], package["version"]
        if name == "readmill":
            continue
        part = simple_part(name, version, package["license"].replace("/", " OR "))
        if package["source"] is not None:
            part["purl"] = f"pkg:cargo/{name}@{version.replace('+', '%2B')}"
            part["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
        parts.append(part)
    for library in [*LIBRARIES, *([SSE2NEON] if "aarch64" in build.target else [])]:
        if any(it["name"] == library.package for it in build.packages):
            parts.append(library_part(build, library))
    rust_version = output("rustc", "--version").split()[1]
    parts.append(simple_part("rust-std", rust_version, "MIT OR Apache-2.0"))
    for name, licence, _ in zig_parts(build.target):
        parts.append(simple_part(name, f"zig-{zig_version}", licence))
    program = simple_part("readmill", build.version, "MIT OR Apache-2.0") | {"type": "application"}
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program, "properties": [{"name": "target", "value": build.target}]},
        "components": parts,
    }
    return json.dumps(bom, indent=1) + "\n"


def library_part(build: Build, library: Library) -> dict[str, Any]:
    """Returns the entry of a C or C++ library in the list of parts."""
    text = (build.folder(library.package) / library.version_file).read_text()
    found = re.search(library.version_pattern, text)
    if not found:
        fail(f"{library.version_file} of {library.package} does not tell the version of {library.name}")
    return simple_part(library.name, found[1], library.licence) | {"description": f"Part of the package {library.package}"}


def simple_part(name: str, version: str, licence: str) -> dict[str, Any]:
    """Returns an entry of the list of parts."""
    return {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
    }


# ---- Archives ----


def manual_files(builds: list[Build], scratch: Path) -> dict[str, bytes]:
    """Returns man pages and completions, which are the same for all targets, from the first program that runs here."""
    for build in builds:
        words = runner(build.target)
        if words is None:
            continue
        program = [*words, str(build.program)]
        files = {}
        shutil.rmtree(scratch, ignore_errors=True)
        subprocess.run([*program, "man", str(scratch)], check=True)
        for page in sorted(scratch.glob("*.1")):
            files[f"man/man1/{page.name}"] = page.read_bytes()
        for shell, name in SHELLS.items():
            made = subprocess.run([*program, "completions", shell], check=True, stdout=subprocess.PIPE)
            files[f"completions/{name}"] = made.stdout
        return files
    fail("no program of these targets runs here, so the man pages cannot be made; add --target of this machine")


def write_archive(build: Build, files: dict[str, bytes]) -> Path:
    """Writes the archive: names in order, and no time, user or group of this machine."""
    path = build.out / f"{build.name}.tar.gz"
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in sorted(files.items()):
                entry = tarfile.TarInfo(f"{build.name}/{name}")
                entry.size, entry.mtime = len(data), build.epoch
                entry.mode = 0o755 if name == "readmill" else 0o644
                archive.addfile(entry, io.BytesIO(data))
    return path


def release(targets: list[str], out: Path, target_dir: Path) -> list[Build]:
    """Builds all targets and writes their files and checksums to `out`."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct", cwd=ROOT))
    if any(" " in str(it) for it in (ROOT, target_dir)):
        fail("the path of the checkout has a blank, which flags of compilers do not allow")
    zig = Path(output(sys.executable, "-c", "import ziglang; print(ziglang.__path__[0])").strip())
    zig_version = output(sys.executable, "-m", "ziglang", "version").strip()
    others = [it.name for it in out.glob("*") if not it.name.startswith(("readmill-", "SHA256SUMS"))]
    if others:
        fail(f"{out} has files that are not of a release, such as {others[0]}: give another folder to --out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    builds = [Build(target, target_dir, epoch, out) for target in targets]
    for build in builds:
        build.run()
        check_program(build)
    shared = manual_files(builds, target_dir / "release-man")
    for name in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"):
        shared[name] = (ROOT / name).read_bytes()
    shared["RUST-LIBRARY-COPYRIGHT.html"] = (rust_documents() / "COPYRIGHT-library.html").read_bytes()
    for build in builds:
        parts = bill_of_materials(build, zig_version).encode()
        files = shared | {"readmill": build.program.read_bytes(), "sbom.cdx.json": parts}
        files["THIRD-PARTY-LICENCES.txt"] = third_party_licences(build, zig).encode()
        write_archive(build, files)
        (out / f"{build.name}.cdx.json").write_bytes(parts)
    sums = [f"{hashlib.sha256(it.read_bytes()).hexdigest()}  {it.name}\n" for it in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums))
    say(f"{out}:")
    print("".join(sums), end="", flush=True)
    return builds


def check_builds(builds: list[Build], pairs: int) -> None:
    """Runs each program through its main commands: in an empty chroot, or under qemu, and there as an old processor, too.

    All must write what the first program writes that runs here without qemu.
    """
    check = [sys.executable, str(ROOT / "packaging" / "check.py"), f"--pairs={pairs}"]
    native = next((it.program for it in builds if runner(it.target) == []), None)
    for build in builds:
        words = runner(build.target)
        if words is None:
            say(f"{build.name} cannot run here, so it is not checked")
            continue
        unders = [words] if words or os.geteuid() == 0 else [["env"]]
        if build.target.startswith("x86_64") and shutil.which("qemu-x86_64"):
            unders += [["qemu-x86_64", "-cpu", name] for name in ("Nehalem", "SandyBridge")]
        for under in unders:
            say(f"checking {build.name} {' '.join(under) or 'in an empty chroot'}")
            # The words stay one argument, also if there are none.
            command = [*check, str(build.program), f"--under={' '.join(under)}"]
            if native and under:
                command.append(f"--compare-with={native}")
            subprocess.run(command, check=True)


def repeat(args: argparse.Namespace, out: Path, target_dir: Path) -> None:
    """Makes the release again in a clone in another folder, and fails if any checksum differs."""
    again = target_dir / "release-again"
    shutil.rmtree(again, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(again / "a-clone")], check=True)
    environment = os.environ | {"CARGO_TARGET_DIR": str(again / "other-target")}
    command = [sys.executable, str(again / "a-clone" / "packaging" / "release.py"), f"--out={again / 'files'}"]
    subprocess.run([*command, *(f"--target={it}" for it in args.target)], check=True, env=environment)
    first, second = (it.joinpath("SHA256SUMS").read_text() for it in (out, again / "files"))
    if first != second:
        fail(f"the second build made other bytes; compare {out} and {again / 'files'}")
    say("the second build made the same bytes")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", metavar="TRIPLE", help=f"a target [default: {' and '.join(TARGETS)}]")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the files [default: target/release-files]")
    parser.add_argument("--check", action="store_true", help="run each program through its main commands")
    parser.add_argument("--pairs", type=int, default=2000, metavar="N", help="read pairs of --check [default: 2000]")
    parser.add_argument("--twice", action="store_true", help="build again in another folder, and compare the bytes")
    args = parser.parse_args()
    args.target = args.target or TARGETS
    if args.twice and output("git", "status", "--porcelain", cwd=ROOT):
        fail("--twice compares two checkouts of a commit, and this checkout has changes: commit them first")
    target_dir = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    out = (args.out or target_dir / "release-files").resolve()
    builds = release(args.target, out, target_dir)
    if args.check:
        check_builds(builds, args.pairs)
    if args.twice:
        repeat(args, out, target_dir)


if __name__ == "__main__":
    main()
