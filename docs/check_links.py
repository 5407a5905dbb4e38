"""Check every link inside the built site, offline: `python docs/check_links.py docs/_build/html`.

Pages, files and anchors must exist; addresses elsewhere must only be well formed, since this runs without a network
(`sphinx-build -b linkcheck docs docs/_build/linkcheck` asks them).
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HOST = re.compile(r"(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+)(:\d+)?", re.IGNORECASE)


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src"):
                self.links.append(value)
            elif name == "srcset":
                self.links += [part.split()[0] for part in value.split(",") if part.strip()]


def read(site: Path) -> dict[Path, Page]:
    """The pages of the site; those put there as they are (reports) belong to the program."""
    files = [path for path in sorted(site.rglob("*.html")) if not path.name.endswith("-report.html")]
    return {path: Page(path.read_text(encoding="utf-8")) for path in files}


def problems(site: Path, pages: dict[Path, Page]) -> list[str]:
    """What is wrong, one line each."""
    found = []
    for path, page in pages.items():
        for link in page.links:
            wrong = elsewhere(link) if urlsplit(link).scheme else inside(link, path, site, pages)
            if wrong:
                found.append(f"{path.relative_to(site)}: {link}: {wrong}")
    return found


def elsewhere(link: str) -> str | None:
    """Whether an address could be one."""
    parts = urlsplit(link)
    if parts.scheme in ("mailto", "data"):
        return None
    if parts.scheme not in ("https", "http"):
        return f"the scheme {parts.scheme!r} is not one of the web"
    if any(mark.isspace() for mark in link) or not HOST.fullmatch(parts.netloc):
        return "the address is not well formed"
    return None


def inside(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> str | None:
    """Whether a page, file or anchor of the site exists."""
    parts = urlsplit(link)
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_relative_to(site) or not target.is_file():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "there is no such anchor"
    return None


def main(folder: str) -> int:
    """Print what is wrong; 1 if anything is."""
    site = Path(folder).resolve()
    pages = read(site)
    found = problems(site, pages)
    for line in found:
        sys.stderr.write(f"{line}\n")
    links = sum(len(page.links) for page in pages.values())
    sys.stdout.write(f"{len(pages)} pages, {links} links, {len(found)} broken\n")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
