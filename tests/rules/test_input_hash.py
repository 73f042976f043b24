"""When the files that a run reads are hashed anew."""

import hashlib
from pathlib import Path

from rules.input_hash import hash_input


def test_link_to_another_file_of_equal_time_and_size_is_read_again(tmp_path: Path) -> None:
    # New files, whose times are those of the last tick of the clock of the kernel.
    for number in range(100):
        files = [tmp_path / f"{name}{number}" for name in ("a", "b")]
        for file in files:
            file.write_text(file.name)
        if len({file.stat().st_ctime_ns for file in files}) == 1:
            break
    link = tmp_path / "corpus"
    for file in files:
        link.unlink(missing_ok=True)
        link.symlink_to(file)
        assert hash_input(link) == hashlib.sha256(file.name.encode()).hexdigest()
