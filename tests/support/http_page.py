"""The table of paths in docs/reference/http.md, made from the routes. `python tests/support/http_page.py` writes it."""

from pathlib import Path

from wonder.api.routes import LOCAL, PREFIX, all_routes

PAGE = Path(__file__).parents[2] / "docs/reference/http.md"
_BEGIN, _END = "<!-- paths -->\n", "<!-- end of paths -->\n"


def table() -> str:
    """Give the table."""
    rows = ["| | path | role | |", "|---|---|---|---|"]
    for route in sorted(all_routes(), key=lambda one: (one.path.removeprefix(PREFIX).split("/")[1], one.path)):
        if not route.path.startswith("/v1/projects/{project}"):
            reach = "" if route.reach == "project" else f"; of the whole {route.reach}"
            one = route.declared
            rows.append(f"| {route.method} | `{route.path}` | {one.role}{reach} | {one.sentence} |")
    local = [f"| `{name}` | {reason} |" for name, reason in sorted(LOCAL.items())]
    return "\n".join([*rows, "", "Not over HTTP:", "", "| operation | why |", "|---|---|", *local, ""])


def page() -> str:
    """Give the page as it should be."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(_BEGIN)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
