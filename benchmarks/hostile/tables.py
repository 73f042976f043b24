"""Hostile directories, tables and runs."""

import json
import os
import shutil
from pathlib import Path

from hostile.cases import (
    BATCHES_HEADER,
    MIB,
    MOST_ROWS,
    REQUESTS_HEADER,
    ROOT,
    SAMPLES_HEADER,
    add_case,
    make_batch,
    make_request,
    make_sample,
    set_accelerators,
    write_packed,
    write_run,
    write_table,
)

# Directories


@add_case("directories 1 500 levels deep")
def nest_directories(bundle: Path) -> None:
    descriptor = os.open(bundle.parent, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


@add_case("20 000 hidden directories")
def hide_directories(bundle: Path) -> None:
    for n in range(20_000):
        (bundle.parent / f".{n}").mkdir()


@add_case("100 000 files beside the evidence")
def add_files(bundle: Path) -> None:
    for n in range(100_000):
        (bundle / f"{n}").touch()


@add_case("20 000 files of reviews", signed=True)
def add_reviews(bundle: Path) -> None:
    (bundle / "signatures").mkdir(exist_ok=True)
    signature = next((bundle / "signatures").glob("submission.*.sig")).read_bytes()
    for n in range(10_000):
        (bundle / f"signatures/review.r{n}@example.org.sig").write_bytes(signature)
        (bundle / f"signatures/review.r{n}@example.org.json").write_text("{}")


@add_case("5 000 submitters' signatures", signed=True)
def add_submitters(bundle: Path) -> None:
    signature = next((bundle / "signatures").glob("submission.*.sig")).read_bytes()
    for n in range(5_000):
        (bundle / f"signatures/submission.reference{n}@example.org.sig").write_bytes(signature)


# Tables


@add_case("3 000 000 epochs")
def many_epochs(bundle: Path) -> None:
    write_table(bundle / "batches.csv.gz", BATCHES_HEADER, lambda n: make_batch(n, 0, n), 3_000_000)


@add_case("499 991 epochs")
def fewer_epochs(bundle: Path) -> None:
    write_table(
        bundle / "batches.csv.gz", BATCHES_HEADER, lambda n: make_batch(n, 0, n), MOST_ROWS - 9
    )


@add_case("490 000 pairs of epoch and rank")
def many_pairs(bundle: Path) -> None:
    write_table(
        bundle / "batches.csv.gz",
        BATCHES_HEADER,
        lambda n: make_batch(n // 500, n % 500, n),
        490_000,
    )


@add_case("500 000 accelerators in samples")
def many_accelerators(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz", SAMPLES_HEADER, lambda n: make_sample(n, f"G{n}"), MOST_ROWS
    )


@add_case("500 000 different statuses")
def many_statuses(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz", SAMPLES_HEADER, lambda n: make_sample(n, "G", f"s{n}"), MOST_ROWS
    )


@add_case("most rows of samples")
def most_samples(bundle: Path) -> None:
    (name,) = set_accelerators(bundle, 1, 1)
    write_table(
        bundle / "samples.csv.gz", SAMPLES_HEADER, lambda n: make_sample(n, name), MOST_ROWS
    )


@add_case("most rows of batches")
def most_batches(bundle: Path) -> None:
    write_table(
        bundle / "batches.csv.gz",
        BATCHES_HEADER,
        lambda n: make_batch(n * 11 // MOST_ROWS, 0, n),
        MOST_ROWS,
    )


@add_case("most rows of requests")
def most_requests(bundle: Path) -> None:
    write_table(
        bundle / "requests.csv.gz",
        REQUESTS_HEADER,
        lambda n: make_request(n, 10**12 + n, 99),
        MOST_ROWS,
    )


@add_case("most rows of all tables of a server")
def most_rows(bundle: Path) -> None:
    server = next(ROOT.glob("submissions/reference/h200/*serve*"))
    for file in server.iterdir():
        if file.is_file():
            shutil.copy(file, bundle)
    write_run(bundle, 1, 1, 11, MOST_ROWS)
    begin_ns = 10**12 + 10**9
    write_table(
        bundle / "batches.csv.gz",
        BATCHES_HEADER,
        lambda n: make_batch(n * 11 // MOST_ROWS, 0, n, begin_ns, 90_000_000),
        MOST_ROWS,
    )
    write_table(
        bundle / "requests.csv.gz",
        REQUESTS_HEADER,
        lambda n: make_request(n, begin_ns + n * 90_000_000, 85_000_000),
        MOST_ROWS,
    )


@add_case("shortest rows of samples, up to the largest size")
def short_samples(bundle: Path) -> None:
    write_packed(
        bundle / "samples.csv.gz", SAMPLES_HEADER.encode(), b"1,1,n,G,,,,,,,,,,,,k\n" * 3_900_000
    )


@add_case("one cell of 90 MiB")
def long_cell(bundle: Path) -> None:
    write_packed(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER.encode(),
        b"1,1,n,G,,,,,,,,,,,,",
        b"k" * (90 * MIB),
        b"\n",
    )


@add_case("a row of 90 MiB of commas")
def wide_row(bundle: Path) -> None:
    write_packed(bundle / "samples.csv.gz", SAMPLES_HEADER.encode(), b"," * (90 * MIB), b"\n")


@add_case("quoted cells in every row")
def quoted_cells(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER,
        lambda n: make_sample(n, '"G"'),
        MOST_ROWS - 9,
    )


@add_case("an offence in the last row")
def late_offence(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER,
        lambda n: make_sample(n, "G") if n < MOST_ROWS - 10 else "x\n",
        MOST_ROWS - 9,
    )


@add_case("statuses of 2 000 characters")
def long_statuses(bundle: Path) -> None:
    write_table(
        bundle / "samples.csv.gz",
        SAMPLES_HEADER,
        lambda n: make_sample(n, "G", f"{n:02000}"),
        60_000,
    )


# The largest run that the limits allow, in several proportions


@add_case("512 accelerators in 11 epochs")
def largest_run(bundle: Path) -> None:
    write_run(bundle, 512, 512, 11, MOST_ROWS)


@add_case("512 accelerators in 16 epochs")
def most_parts(bundle: Path) -> None:
    write_run(bundle, 512, 512, 16, MOST_ROWS)


@add_case("512 accelerators of one rank in 16 epochs")
def most_parts_of_one_rank(bundle: Path) -> None:
    write_run(bundle, 512, 1, 16, MOST_ROWS)


@add_case("16 accelerators in 1 000 epochs")
def many_epochs_of_a_node(bundle: Path) -> None:
    write_run(bundle, 16, 16, 1_000, MOST_ROWS)


@add_case("1 accelerator in 1 000 epochs")
def many_epochs_of_a_board(bundle: Path) -> None:
    write_run(bundle, 1, 1, 1_000, MOST_ROWS)


# Files of the round


@add_case("a LOG of 60 MiB", signed=True)
def long_log(bundle: Path) -> None:
    line = (ROOT / "submissions/LOG").read_bytes().splitlines(keepends=True)[0]
    (bundle.parents[2] / "LOG").write_bytes(line * (60 * MIB // len(line)))


@add_case("a keyring of 3 MiB", signed=True)
def large_keyring(bundle: Path) -> None:
    signers = bundle.parents[2] / "keyring/allowed_signers"
    line = signers.read_bytes().strip().splitlines()[-1].partition(b" ")[2] + b"\n"
    count = 3 * MIB // (len(line) + 20)
    with signers.open("ab") as file:
        file.writelines(b"r%d@example.org " % n + line for n in range(count))


@add_case("10 000 waivers", signed=True)
def many_waivers(bundle: Path) -> None:
    waivers = bundle.parents[2] / "waivers"
    waivers.mkdir()
    for n in range(10_000):
        (waivers / f"{n}.json").write_text("{}")
        (waivers / f"{n}.json.sig").write_text("x")


@add_case("published figures of 15 MiB")
def many_published(bundle: Path) -> None:
    paper = json.loads((ROOT / "submissions/published/mayr2026.json").read_text())
    row = json.dumps(paper["rows"][0])
    paper["rows"] = paper["rows"][:1] * (15 * MIB // len(row))
    (bundle.parents[2] / "published").mkdir()
    (bundle.parents[2] / "published/paper.json").write_text(json.dumps(paper))
