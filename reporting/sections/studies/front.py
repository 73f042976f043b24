"""The Pareto fronts."""

from reporting.sections.section import Section

SECTION = Section(name="front", place=310, drawn_by=("fronts.build_front_chart",))
