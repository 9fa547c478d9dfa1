"""Train and write the sample models: ``python -m sample_models.make [--out FOLDER]``; takes well under two minutes.

Every model is trained on the first three quarters of the committed rows, or built from the planted rule itself. Writes
the models, ``catalogue.json``, ``figures.json`` (what was measured on them), and the table of ``docs/sample-data.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sample_data.make import TABLES, write_json
from sample_models.figures import individuals, lesson, lesson_of_comments, measure, measure_comments, write_figures
from sample_models.makers import MAKERS, Made, make_comments_model, outcomes

FOLDER = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and write every model."""
    parser = argparse.ArgumentParser(description="Train and write the sample models.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write to")
    parser.add_argument("--docs", type=Path, default=None, help="the page whose table of figures is renewed")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    catalogue: dict[str, list[dict[str, Any]]] = {}
    figures: list[dict[str, Any]] = []
    for table in TABLES:
        made = list(MAKERS[table.name](table))
        measured = [measure(table, model.decide, model.protected) for model in made]
        catalogue[table.name] = [
            _save(model, outcomes(table.rule.schema), options.out)
            | {"measured": lesson(table, model.decide, model.protected) | individuals(figure)}
            for model, figure in zip(made, measured, strict=True)
        ]
        figures += [{"model": model.file, **figure} for model, figure in zip(made, measured, strict=True)]
    text = make_comments_model()
    figure = measure_comments(text.decide)
    entry = _save(text, ("kept", "removed"), options.out)
    catalogue["comments"] = [entry | {"measured": lesson_of_comments(text.decide) | individuals(figure)}]
    figures.append({"model": text.file, **figure})
    write_json(options.out / "catalogue.json", {"version": 1, "models": catalogue})
    write_json(options.out / "figures.json", figures)
    if options.docs is not None:
        write_figures(figures, options.docs)


def _save(model: Made, classes: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """Write one model and give its entry of the catalogue."""
    model.write(folder / model.file)
    return {
        "name": Path(model.file).stem,
        "title": model.title,
        "description": model.description,
        "file": model.file,
        "model_input": model.model_input,
        "classes": list(classes),
        "is_exact": model.is_exact,
        "protected": list(model.protected),
        "known": model.known,
    }


if __name__ == "__main__":
    main()
