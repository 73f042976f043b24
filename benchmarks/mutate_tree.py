"""Ways of mutating a tree of submissions: its files, and the directories that hold them."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from mutate import mutate_file

ODD_NAMES = (
    b"\xff",
    b"a\nb",
    b"a\\b",
    b"-v",
    b"A" * 255,
    "\u202e\u200b\u212a\u00df".encode(),
    b"=1+1",
    b"\x1b[2J",
)

Tree = dict[str, bytes]
"""Files by path below the submissions directory."""


def mutate_tree(tree: Tree, random: Random) -> tuple[Tree, Callable[[Path], None]]:
    """The tree with a file or two mutated, and what else is to be done once it lies on the disk."""
    mutated_tree = dict(tree)
    for _ in range(random.choice((1, 1, 2, 3))):
        name = random.choice(sorted(mutated_tree))
        action = random.randrange(20)
        if action == 0:
            del mutated_tree[name]
        elif action == 1:
            mutated_tree[name] = mutated_tree[random.choice(sorted(mutated_tree))]
        elif action == 2:
            mutated_tree[
                str(
                    Path(name).with_name(
                        random.choice(
                            ("x", "a.json", "review.a@b.json", "submission..sig", "\x1b[2J")
                        )
                    )
                )
            ] = mutated_tree[name]
        elif action == 3:
            return mutated_tree, partial(replace_with_special_file, name, random.randrange(6))
        elif action == 4:
            return mutated_tree, partial(add_directories, name, random)
        else:
            mutated_tree[name] = mutate_file(name, mutated_tree[name], random)
    return mutated_tree, lambda _: None


def replace_with_special_file(name: str, kind: int, submissions: Path) -> None:
    path = submissions / name
    path.unlink()
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    else:
        path.symlink_to(
            ("/etc/passwd", "/dev/zero", "../" * 12 + "etc/hostname", path.name)[kind - 2]
        )


def add_directories(name: str, random: Random, submissions: Path) -> None:
    """Add directories: deep ones, many hidden ones, or a copy of a bundle under an odd name."""
    directory = (submissions / name).parent
    parent = submissions if directory == submissions else directory.parent
    action = random.randrange(3)
    if action == 0:
        descriptor = os.open(parent, os.O_RDONLY)
        for _ in range(random.choice((20, 200, 1_500))):
            os.mkdir("d", dir_fd=descriptor)
            outer, descriptor = descriptor, os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(outer)
        os.close(descriptor)
    elif action == 1:
        for n in range(random.choice((3, 300))):
            (parent / f".{n}").mkdir()
    else:
        odd_name = random.choice(ODD_NAMES)
        shutil.copytree(directory, parent / os.fsdecode(odd_name))
