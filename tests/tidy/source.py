"""Reading the tree: which files count, and C++ text with its comments and strings blanked out."""
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPP = (".hpp", ".h", ".cpp", ".cc", ".c")
NOT_OURS = {"build", "out", ".git", "__pycache__", "node_modules", ".venv"}


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


def project_files(root):
    """Paths, relative to root, of what is committed or about to be; without git, of everything but build output."""
    git = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False)
    if git.returncode == 0:
        listed = [name for name in git.stdout.decode().split("\0") if name]
    else:
        listed = [str((Path(folder) / name).relative_to(root))
                  for folder, folders, names in walk(root) for name in names]
    return sorted(name for name in set(listed) if (Path(root) / name).is_file())


def walk(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        yield folder, folders, names


def read_texts(root):
    """path -> content of every file that is text."""
    texts = {}
    for name in project_files(root):
        data = (Path(root) / name).read_bytes()
        if b"\0" in data[:4096]:
            continue
        try:
            texts[name] = data.decode()
        except UnicodeDecodeError:
            continue
    return texts


TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)"""
    r"""|(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<separator>(?<=[0-9a-fA-F])'(?=[0-9a-fA-F]))"""
    r"""|(?P<character>'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE)


def without_comments(text, keep_strings=False):
    """The same text, line for line, with comments and (unless kept) the insides of literals blanked out."""

    def blank(match):
        if match.lastgroup == "separator" or (keep_strings and match.group("comment") is None):
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return TOKEN.sub(blank, text)
