"""The models at each batch size."""

from reporting.sections.section import Section

SECTION = Section(name="ladder", place=330, drawn_by=("studies.build_ladder_charts",))
