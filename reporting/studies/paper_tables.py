"""Tables behind the figures of Yang et al. 2024: fronts by year, models at each batch size, and the
rows of all models, which only figures for papers are drawn from."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import Cells
from reporting.studies.labels import CLASS_NAMES, find_setup_look, label_setup
from reporting.study_record import NOT_COMPARED, SIMULATED
from rules.studies.figures import keep_sound
from rules.studies.metrics.batches import Quartiles, summarize_batches
from rules.studies.metrics.comparisons import model_key
from rules.studies.metrics.fronts import find_yearly_fronts, mean_accuracy_pct
from rules.studies.results import ModelResult, Setup

Groups = Mapping[Setup, Sequence[ModelResult]]

_ID = "image-inference"
_SETUP = Column("setup", "setup")
_LOOK = (
    # These select hue, shape and line in the charts.
    Column("line", "line", hidden=True),
    Column("model", "board", hidden=True),
    Column("variant", "engine", hidden=True),
    Column("precision", "precision", hidden=True),
    Column("provenance", "provenance", hidden=True),
    Column("standing", "standing", hidden=True),
    Column("withheld", "not compared", hidden=True),
)
_LEVELS_PCT = (75, 80, 85)
_LEAST_LADDERS = 10
"""A batch size has a median from so many models on."""
_LEAST_MODELS = 100
"""A setup is in the figures of all models from so many on."""


def build_year_table(groups: Groups) -> ReportTable:
    """The fronts of the models published by the end of each year."""
    columns = (
        _SETUP,
        Column("year", "published by the end of"),
        Column("n", "models on the front", form="count"),
        Column("best_percent", "highest accuracy", "%", form="number", about="published top-1"),
        *(
            Column(f"mj_{level}", f"least energy for {level} %", "mJ/image", form="number")
            for level in _LEVELS_PCT
        ),
    )
    rows: list[Cells] = []
    for setup, results in groups.items():
        if setup.provenance in NOT_COMPARED:
            continue
        for year, front in find_yearly_fronts(keep_sound(results)).items():
            accuracies = [mean_accuracy_pct(result) or 0.0 for result in front]
            row: Cells = {"setup": label_setup(setup), "year": str(year), "n": len(front)}
            row["best_percent"] = max(accuracies, default=None)
            for level in _LEVELS_PCT:
                # The front rises in energy and accuracy.
                reaching = [
                    result.best.joules_per_image * 1e3
                    for result, accuracy_pct in zip(front, accuracies, strict=True)
                    if accuracy_pct >= level
                ]
                row[f"mj_{level}"] = reaching[0] if reaching else None
            rows.append(row)
    about = (
        "The year is that of the later of the papers on the architecture and on the training of "
        "the weights. Models without a paper are left out. Doubtful results too."
    )
    return ReportTable(f"{_ID}-years", "Fronts by year", columns, tuple(rows), about)


def build_ladder_table(groups: Groups) -> ReportTable:
    """Throughput, power and energy at each batch size, over the models of each setup."""
    shown = "median; in charts with the quartiles"
    columns = (
        _SETUP,
        Column("batch", "batch", form="count"),
        Column("n", "models", form="count"),
        *(
            column
            for key, title, unit in (
                ("throughput_percent", "throughput over highest", "%"),
                ("power_w", "power", "W"),
                ("energy_ratio", "energy over least", ""),
            )
            for column in (
                Column(key, title, unit, form="number", digits=3, about=shown),
                Column(f"{key}_q1", f"{title}, lower quartile", unit, "number", 3),
                Column(f"{key}_q3", f"{title}, upper quartile", unit, "number", 3),
            )
        ),
        *_LOOK,
    )
    rows = [
        {
            "setup": label_setup(setup),
            "batch": summary.batch,
            "n": summary.models,
            **_make_quartile_cells("throughput_percent", summary.throughput_share, 100),
            **_make_quartile_cells("power_w", summary.power_w),
            **_make_quartile_cells("energy_ratio", summary.energy_ratio),
            **_make_look_cells(setup),
        }
        for setup, results in groups.items()
        for summary in summarize_batches(keep_sound(results), _LEAST_LADDERS)
    ]
    about = (
        "Each model relative to its own highest throughput and least energy. Batch sizes at which "
        f"fewer than {_LEAST_LADDERS} models of the setup ran are left out."
    )
    title = "Models at each batch size"
    return ReportTable(f"{_ID}-ladder", title, columns, tuple(rows), about)


def _make_quartile_cells(key: str, quartiles: Quartiles, factor: float = 1) -> Cells:
    return {
        key: quartiles.median * factor,
        f"{key}_q1": quartiles.low * factor,
        f"{key}_q3": quartiles.high * factor,
    }


def _make_look_cells(setup: Setup) -> Cells:
    look = find_setup_look(setup)
    return {
        "line": label_setup(setup),
        "model": look.board,
        "variant": setup.engine,
        "precision": setup.precision,
        "provenance": look.provenance,
        "standing": setup.provenance,
        "withheld": setup.provenance if look.provenance == SIMULATED else None,
    }


def build_figure_tables(groups: Groups) -> list[ReportTable]:
    """The tables that only figures for papers are drawn from. Of the setups with many models, the
    first measured one and all published ones are drawn."""
    many = {
        setup: keep_sound(results)
        for setup, results in groups.items()
        if setup.provenance not in NOT_COMPARED and len(results) >= _LEAST_MODELS
    }
    measured = [setup for setup in many if setup.provenance == "measured"]
    drawn = {s: rs for s, rs in many.items() if s in measured[:1] or s.provenance == "published"}
    tables = (
        _build_model_table(drawn),
        _build_yearly_front_table(dict(list(drawn.items())[:1])),
        _build_ratio_table(drawn),
    )
    return [table for table in tables if table.rows]


def _build_model_table(groups: Groups) -> ReportTable:
    columns = (
        *_MODEL_COLUMNS,
        Column("energy_mj", "energy", "mJ/image", form="number"),
        Column("images_per_s", "throughput", "images/s", form="number"),
        Column("cap_w", "power cap", "W", form="number"),
        *_LOOK,
    )
    rows = [
        {
            **_make_model_cells(result),
            "energy_mj": result.best.joules_per_image * 1e3,
            "images_per_s": result.best.images_per_s,
            "cap_w": setup.cap_w,
            **_make_look_cells(setup),
        }
        for setup, results in groups.items()
        for result in results
    ]
    return ReportTable(f"{_ID}-all-models", "All models", columns, tuple(rows))


_MODEL_COLUMNS = (
    Column("architecture", "model"),
    Column("size", "size", "px", form="count"),
    Column("model_class", "class"),
)


def _make_model_cells(result: ModelResult) -> Cells:
    return {
        "architecture": ".".join(filter(None, (result.architecture, result.tag))),
        "size": result.size,
        "model_class": CLASS_NAMES[result.model_class],
    }


def _build_yearly_front_table(groups: Groups) -> ReportTable:
    columns = (
        _SETUP,
        Column("year", "year"),
        *_MODEL_COLUMNS,
        Column("energy_mj", "energy", "mJ/image", form="number"),
        Column("accuracy_percent", "accuracy", "%", form="number", about="published top-1"),
    )
    rows = [
        {
            "setup": label_setup(setup),
            "year": str(year),
            **_make_model_cells(result),
            "energy_mj": result.best.joules_per_image * 1e3,
            "accuracy_percent": mean_accuracy_pct(result),
        }
        for setup, results in groups.items()
        for year, front in find_yearly_fronts(results).items()
        for result in front
    ]
    return ReportTable(f"{_ID}-yearly-fronts", "Fronts of each year", columns, tuple(rows))


def _build_ratio_table(groups: Groups) -> ReportTable:
    columns = (
        Column("pair", "setups"),
        *_MODEL_COLUMNS,
        Column("energy_ratio", "energy ratio", form="number"),
    )
    rows = tuple(_list_ratios(groups))
    return ReportTable(f"{_ID}-ratios", "Energy ratio of each model", columns, rows)


def _list_ratios(groups: Groups) -> Iterator[Cells]:
    """Each model on each two setups of one board that differ in engine or precision."""
    for (setup, results), (other, others) in combinations(groups.items(), 2):
        if (setup.board, setup.source) != (other.board, other.source):
            continue
        under = {model_key(result): result for result in others}
        for result in results:
            if match := under.get(model_key(result)):
                yield {
                    "pair": f"{find_setup_look(setup).board}: {setup.engine} {setup.precision} "
                    f"over {other.engine} {other.precision}",
                    **_make_model_cells(result),
                    "energy_ratio": result.best.joules_per_image / match.best.joules_per_image,
                }
