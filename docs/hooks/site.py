"""Pages of the site that are files elsewhere in the repository, and links to files that are no pages.

The documents are written to be read in the repository, where a link to ``../examples/addition.py`` works. In the site
the examples, the guide for contributors and the changelog are pages too; a link to anything else outside ``docs``
becomes its text, so that a strict build still finds every link that is dead.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from api import MARK, sections
from formulas import typeset

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
BLOCK = re.compile(r"(<pre\b.*?</pre>)", re.S)
INLINE = re.compile(r"<code>[^<]*</code>")
FENCE = re.compile(r"^(```.*?^```[ \t]*$)", re.M | re.S)


def copied() -> dict[str, str]:
    """What of the repository is a page, and where."""
    scripts = [path.relative_to(ROOT) for path in sorted((ROOT / "examples").rglob("*.py"))]
    return {
        "CONTRIBUTING.md": "contributing.md",
        "CHANGELOG.md": "changelog.md",
        "examples/README.md": "examples/index.md",
    } | {str(path): str(path.with_suffix(".md")) for path in scripts}


def as_page(path: Path) -> str:
    """A Markdown file as it is; a script as its docstring, then its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    words = ast.get_docstring(ast.parse(text)) or ""
    code = text.split('"""', 2)[2].strip() if words else text.strip()
    title = path.stem.replace("_", " ").capitalize()
    return f'# {title}\n\n{words}\n\n```python title="{path.relative_to(ROOT)}"\n{code}\n```\n'


def relinked(markdown: str, source: str, page: str) -> str:
    """The text of the file ``source`` with its links as they must be on ``page``; code is left alone."""
    pages = copied()

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[3]))
        site = target.removeprefix("docs/") if target.startswith("docs/") else pages.get(target)
        if site is None:
            return found[2]
        return f"{found[1]}[{found[2]}]({posixpath.relpath(site, posixpath.dirname(page) or '.')}{found[4] or ''})"

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def on_files(files: Files, *, config: Any) -> Files:
    """Add the repository's files to the pages."""
    for path, page in copied().items():
        files.append(File.generated(config, page, content=as_page(ROOT / path)))
    return files


def on_page_content(html: str, *, page: Any, config: Any, files: Files) -> str:
    """Keep every option in running text whole: browsers would break a line after its hyphens."""
    parts = BLOCK.split(html)
    return "".join(part if part.startswith("<pre") else INLINE.sub(_whole, part) for part in parts)


def _whole(code: re.Match[str]) -> str:
    return re.sub(r"(?<![\w-])--?\w[\w-]*", r'<span class="option">\g<0></span>', code[0])


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Fill the API page, correct links and typeset formulas."""
    sources = {at: path for path, at in copied().items()}
    here = page.file.src_uri
    text = relinked(markdown, sources.get(here, f"docs/{here}"), here).replace(MARK, sections())
    return typeset(text).replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")  # in narrow columns, too
