"""Claims as cards that can be filtered: plain HTML that works without a script, and a few lines of script."""

import html
from collections.abc import Sequence

from reproduction.claims.claim import VERDICTS, Record

STYLE = """
.claims-filter { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; }
.claims-filter select, .claims-filter input { font: inherit; padding: .3rem .5rem; color: inherit;
  background: transparent; border: 1px solid #8888; border-radius: .4rem; max-width: 100%; }
.claims-filter option { color: #1a1a1a; background: #fff; }
details.claim { border: 1px solid #8886; border-radius: .5rem; margin: .5rem 0; padding: .4rem .7rem; }
details.claim summary { cursor: pointer; }
details.claim dl { display: grid; grid-template-columns: max-content 1fr; align-items: baseline; gap: .2rem .8rem;
  margin: .6rem 0 .2rem; }
details.claim dt { font-weight: 600; } details.claim dd { margin: 0; overflow-wrap: anywhere; }
.verdict { display: inline-block; min-width: 5.6em; padding: 0 .4em; margin-right: .4em; border-radius: .3rem;
  text-align: center; font-size: .85em; font-weight: 600; color: #fff; }
.verdict.holds { background: #00684a; } .verdict.partly { background: #8a5a00; }
.verdict.fails { background: #a62800; } .verdict.unchecked { background: #555; }
@media (max-width: 40em) { details.claim dl { grid-template-columns: 1fr; } details.claim dd { margin-bottom: .4rem; } }
"""
SCRIPT = """
(() => {
  const box = document.querySelector(".claims-filter");
  const cards = [...document.querySelectorAll("details.claim")];
  const shown = document.querySelector(".claims-shown");
  function show() {
    const [task, verdict, better, text] = [...box.elements].map(one => one.value.toLowerCase());
    let count = 0;
    for (const card of cards) {
      const fits = (!task || card.dataset.task === task) && (!verdict || card.dataset.verdict === verdict)
        && (!better || card.dataset.better === better) && (!text || card.textContent.toLowerCase().includes(text));
      card.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${cards.length} shown`;
  }
  box.hidden = false;
  box.addEventListener("input", show);
  box.addEventListener("submit", event => event.preventDefault());
  show();
  function open() {
    const card = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (card && card.matches("details.claim")) { card.open = true; card.scrollIntoView(); }
  }
  addEventListener("hashchange", open);
  open();
})();
"""


def cards(records: Sequence[Record], tasks: dict[str, str]) -> str:
    """The filters and a card for every record, on lines of their own and without an empty line between them."""
    kinds = {task: title for task, title in tasks.items() if any(record.task == task for record in records)}
    filters = (
        _select("task", {"": "all tasks", **kinds}),
        _select("verdict", {"": "all verdicts", **{name: name for name in VERDICTS}}),
        _select("flat spectrum", {"": "flat: any", "yes": "better", "in part": "in part", "no": "not better"}),
        "<input type='search' placeholder='search' aria-label='search in the claims'>",
    )
    style = "\n".join(line for line in STYLE.splitlines() if line)
    lines = [
        f"<style>\n{style}\n</style>",
        f"<form class='claims-filter' hidden>{''.join(filters)}</form>",
        "<p class='claims-shown'></p>",
    ]
    lines += [card(record) for record in records]
    script = "\n".join(line for line in SCRIPT.splitlines() if line.strip())
    return "\n".join([*lines, f"<script>\n{script}\n</script>"])


def card(r: Record) -> str:
    """One claim: verdict and sentence, and on opening the numbers."""
    rows = {
        "published": r.published,
        "measured": r.measured,
        "over flat": f"{r.over_flat} ({r.better})" if r.over_flat else "",
        "note": r.note,
        "rule": r.rule,
        "checks": f"{r.checks}; repeats those of {r.of.replace(' ', ', ')}" if r.of else r.checks,
        "name": r.id,
    }
    told = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in rows.items() if text)
    return (
        f"<details class='claim' id='{html.escape(r.id)}' data-task='{r.task}' data-verdict='{r.verdict}' "
        f"data-better='{r.better}'><summary><span class='verdict {r.verdict}'>{r.verdict}</span>"
        f"{html.escape(r.claim)}</summary><dl>{told}</dl></details>"
    )


def _select(name: str, values: dict[str, str]) -> str:
    options = "".join(
        f"<option value='{html.escape(key)}'>{html.escape(text)}</option>" for key, text in values.items()
    )
    return f"<select aria-label='{name}'>{options}</select>"
