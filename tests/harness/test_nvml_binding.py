"""Which distribution gives the module `pynvml`, where several have one."""

import importlib
import sys
from pathlib import Path

import pytest

from harness import doctor
from harness.system import find_nvml_binding, read_package_versions


def install(site: Path, name: str, version: str, file: str) -> None:
    """A distribution with one file, as pip leaves it."""
    (site / file).parent.mkdir(parents=True, exist_ok=True)
    (site / file).write_text("")
    metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "RECORD").write_text(f"{file},,\n{metadata.name}/METADATA,,\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A first directory of packages with nvidia-ml-py 13."""
    directory = tmp_path / "site-packages"
    install(directory, "nvidia-ml-py", "13.1.0", "pynvml.py")
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.syspath_prepend(directory)
    return directory


def test_the_module_of_nvidia_ml_py_is_named_with_its_version(site: Path) -> None:
    binding = find_nvml_binding()
    assert binding is not None and (binding.name, binding.version) == ("nvidia-ml-py", "13.1.0")
    assert read_package_versions()["nvidia-ml-py"] == "13.1.0"
    (check,) = doctor._check_nvml_binding()
    assert check.ok and check.result == "nvidia-ml-py 13.1.0"


def test_an_older_package_that_hides_it_is_named_in_its_place(site: Path) -> None:
    install(site, "pynvml", "11.5.3", "pynvml/__init__.py")
    importlib.invalidate_caches()
    versions = read_package_versions()
    assert versions["pynvml"] == "11.5.3" and "nvidia-ml-py" not in versions
    (check,) = doctor._check_nvml_binding()
    assert check.ok is None and check.result == "pynvml 11.5.3 is loaded for pynvml"
    assert check.advice.endswith("pip uninstall pynvml")


def test_a_file_of_no_distribution_is_named(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/pynvml.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "own")
    assert "nvidia-ml-py" not in read_package_versions()
    (check,) = doctor._check_nvml_binding()
    assert check.ok is None and str(tmp_path / "own/pynvml.py") in check.result


def test_distributions_without_a_list_of_files_say_nothing(site: Path) -> None:
    (site / "nvidia_ml_py-13.1.0.dist-info/RECORD").unlink()
    assert find_nvml_binding() is None
    assert read_package_versions()["nvidia-ml-py"] == "13.1.0"
