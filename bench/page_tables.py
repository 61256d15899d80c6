"""Tables of Markdown."""


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def write_between_marks(page, mark, text):
    """Replaces what stands between the two marks of a page. Exits with a message if the page lacks them."""
    begin, end = f"<!-- begin {mark} -->\n", f"<!-- end {mark} -->\n"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{page}: the lines {begin.strip()} and {end.strip()} are missing")
    page.write_text(before + begin + text + end + after, encoding="utf-8")
