#!/usr/bin/env bash
# Units of energy: no way to write a kilowatt-hour is read by every library of units.
#
# Guess: a column with the unit `kWh`, or `W h` with a factor, is read by any library of units for Python.
# What happens: `kWh` and `Wh` are unknown to UDUNITS, on which the CF convention of netCDF rests, and to
# Astropy. `W h` is unknown to unyt and quantities, and `W*h` to unyt. quantities lacks `kJ` and `MJ`. Only
# the joule is read by all five.
# Source: cf-units 3.3.1 (UDUNITS-2), Astropy 8.0.2, unyt 3.2.0, quantities 0.16.4 and Pint 0.25.3 on PyPI.
# Why it matters: who publishes energy for programs writes joules, or loses some of the readers.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
    cf-units==3.3.1 astropy==8.0.2 unyt==3.2.0 quantities==0.16.4 pint==0.25.3 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

import astropy.units
import cf_units
import pint
import quantities
import unyt

registry = pint.UnitRegistry()
in_joules = {
    "cf-units": lambda unit: cf_units.Unit(unit).convert(1.0, "J"),
    "astropy": lambda unit: astropy.units.Unit(unit).to(astropy.units.J),
    "unyt": lambda unit: unyt.unyt_quantity(1.0, unit).to_value("J"),
    "quantities": lambda unit: quantities.Quantity(1.0, unit).rescale("J").magnitude,
    "pint": lambda unit: registry.Quantity(1.0, unit).to("J").magnitude,
}
JOULES = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6, "W h": 3600.0, "W*h": 3600.0}


def reads(library, unit):
    try:
        value = float(in_joules[library](unit))
    except Exception:
        return False
    assert abs(value / JOULES[unit] - 1) < 1e-12, (library, unit, value)
    return True


found = {unit: [library for library in in_joules if reads(library, unit)] for unit in JOULES}
print(", ".join(f"{library} {version(library)}" for library in in_joules))
for unit, libraries in found.items():
    print(f"{unit:4} is read by {', '.join(libraries)}")
assert found["J"] == list(in_joules)
assert found["kWh"] == found["Wh"] == ["unyt", "quantities", "pint"]
assert found["W h"] == ["cf-units", "astropy", "pint"]
assert found["W*h"] == ["cf-units", "astropy", "quantities", "pint"]
assert found["kJ"] == found["MJ"] == ["cf-units", "astropy", "unyt", "pint"]
END
echo "as described"
