"""The rows of all models, which figures for papers are drawn from."""

from reporting.sections.section import Section

MODELS = Section(name="all-models", place=340, drawn_by=("studies.build_power_chart",))
FRONTS = Section(name="yearly-fronts", place=350, drawn_by=("studies.build_year_chart",))
RATIOS = Section(name="ratios", place=360, drawn_by=("studies.build_ratio_chart",))
