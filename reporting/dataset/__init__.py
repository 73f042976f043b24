"""A round as pandas data frames (`Round`), as Parquet files, and as a data set for an archive.

`Round` is the public interface of this package; docs/dataset.md describes it.
"""

from reporting.dataset.round import Round

__all__ = ["Round"]
