"""A page of the documents as a script: docs/HACKING.md has the rules that people write pages by."""
import dataclasses
import re

# Why a block may be left out; a page names one: <!-- not run: needs two machines -->
REASONS = ("needs two machines", "needs a cluster", "needs systemd", "needs a GPU", "needs a browser", "opens a browser", "needs Grafana", "needs Docker", "needs the network", "needs a terminal", "takes minutes",
           "takes hours", "installs software", "changes the system", "builds the programs", "shows a form", "run by ")
_FENCE = re.compile(r"^( *)```([a-z]*) *$")
_DIRECTIVE = re.compile(r"^ *<!-- (not run|smaller|first): (.*?) -->$")
_FILE_NAME = re.compile(r"^# ([A-Za-z0-9_./-]+\.(?:yaml|yml|py|sql|json|csv|txt|cnf|sh))(?::.*)?$")


class PageError(Exception):
    """What is wrong with the form of a page, with its line."""


@dataclasses.dataclass
class Block:
    line: int                  # Of its first line, from 1.
    language: str
    text: str
    not_run: str = ""          # The reason.
    expected: str | None = None  # The `text` block after it.

    @property
    def file(self):
        """The file that the block is, by its first line: `# gamma.yaml`."""
        match = _FILE_NAME.match(self.text.split("\n", 1)[0])
        return match[1] if match else None

    def is_sweep(self):
        return self.language == "yaml" and re.search(r"^name:", self.text, re.M) and re.search(r"^base:", self.text, re.M)


@dataclasses.dataclass
class Page:
    blocks: list[Block]
    smaller: list[tuple[str, str]]  # Texts that the test replaces so that a page takes seconds.


def read_page(text):
    blocks, smaller, pending, open_block, after = [], [], "", None, None
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if open_block is not None:
            if fence and not fence[2]:
                body = [part[indent:] if part[:indent].isspace() or not indent else part for part in open_block]
                block = Block(start, language, "\n".join(body) + "\n", pending)
                if language == "text" and after is not None:
                    after.expected = block.text
                else:
                    blocks.append(block)
                after = block if language == "sh" else None
                open_block, pending = None, ""
            else:
                open_block.append(line)
        elif fence:
            indent, language, start, open_block = len(fence[1]), fence[2], number + 1, []
        elif directive := _DIRECTIVE.match(line):
            if directive[1] == "smaller":
                old, separator, new = directive[2].partition(" => ")
                if not separator:
                    raise PageError(f"line {number}: write <!-- smaller: OLD => NEW -->")
                smaller.append((old, new))
            elif directive[1] == "first":
                blocks.append(Block(number, "sh", directive[2] + "\n"))
            elif not directive[2].startswith(REASONS):
                raise PageError(f"line {number}: \"{directive[2]}\" is no reason; one of: {', '.join(REASONS)}")
            else:
                pending = directive[2]
        elif line.strip():
            if pending:
                raise PageError(f"line {number}: after <!-- not run: … --> comes a block")
            after = None
    if open_block is not None:
        raise PageError(f"line {start}: the block has no end")
    return Page(blocks, smaller)


_FREE = re.compile(r"…|\.\.\.|[<(]?\d+(?:[.,:eTZ+-]*\d+)*[)>]?|[0-9a-f]{12,}|\s+|[·█▏▎▍▌▋▊▉▁▂▃▄▅▆▇─]+")


def pattern_of(expected):
    """A line of expected output: numbers, spaces and bars may differ, … stands for anything."""
    parts, end = [], 0
    for match in _FREE.finditer(expected.strip()):
        parts.append(re.escape(expected.strip()[end:match.start()]))
        token = match[0]
        if token.isspace():
            parts.append(r"\s+")
        elif token in ("…", "..."):
            parts.append(".*")
        elif token[0] in "·█▏▎▍▌▋▊▉▁▂▃▄▅▆▇─":
            parts.append(r"[·█▏▎▍▌▋▊▉▁▂▃▄▅▆▇─]+")
        else:
            parts.append(r"[<(]?[0-9a-f]+(?:[.,:eTZ+-]*[0-9a-f]+)*[)>]?" if len(token) > 11 else r"[<(]?\d+(?:[.,:eTZ+-]*\d+)*[)>]?")
        end = match.end()
    parts.append(re.escape(expected.strip()[end:]))
    return re.compile("".join(parts))


def missing_line(expected, output):
    """The first line of `expected` that `output` has not after the earlier ones; None when it has all."""
    lines = iter(output.splitlines())
    for wanted in expected.splitlines():
        if wanted.strip() in ("", "…", "..."):
            continue
        pattern = pattern_of(wanted)
        if not any(pattern.fullmatch(line.strip()) for line in lines):
            return wanted
    return None
