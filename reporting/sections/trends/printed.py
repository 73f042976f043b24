"""The tables that the publication prints, and the rows that figures for papers are drawn from."""

from reporting.sections.section import Section

SPEEDUPS = Section(name="trends-speedups", place=410, drawn_by=("trends.build_speedup_chart",))
EDGE = Section(name="trends-edge", place=420, drawn_by=("trends.build_edge_charts",))
CHECKS = Section(name="trends-checks", place=430, drawn_by=("trends.build_check_chart",))
BOARDS = Section(name="trends-figure-boards", place=440, drawn_by=("trends.build_board_charts",))
MODELS = Section(
    name="trends-figure-vision",
    other_names=("trends-figure-language",),
    place=450,
    drawn_by=("trends.build_model_charts",),
)
