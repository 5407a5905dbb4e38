"""The words that pages and figures use, read from ``words.toml``."""

import tomllib
from pathlib import Path

_words = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ALGORITHMS, MEASURES, TRAINING = _words["algorithms"], _words["measures"], _words["training"]
SECTIONS, SENTENCES, VARIANTS = _words["sections"], _words["sentences"], _words["variants"]
CLAIMS, FIGURES = _words["claims"], _words["figures"]
