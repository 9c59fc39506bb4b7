"""A page as a browser would read it."""

from __future__ import annotations

from html.parser import HTMLParser

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """What a browser would make of a page: elements with attributes, and the text of each kind.

    Visible are the words that are seen before anything is opened.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.visible: list[str] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "details" or "open" not in dict(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "wbr"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)
        folded = "details" in self._open and "summary" not in self._open
        if not folded and not {"title", "desc"} & {*self._open}:
            self.visible += data.split()

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag: str) -> list[str]:
        return [text.strip() for text in self.texts.get(tag, []) if text.strip()]
