"""How to install what an extra brings. No package index has wattmark, so the command names the
file, directory or address that the installed wattmark came from, and never the name alone."""

import json
import shlex
from importlib import metadata
from urllib.parse import unquote, urlsplit

UNKNOWN = "pip install 'WHEEL[{}]' with the file or the address of wattmark as WHEEL"


def advise_extra(extra: str) -> str:
    """The command that installs an extra, as `pip install './wattmark.whl[report]'`."""
    try:
        text = metadata.distribution("wattmark").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        text = None
    origin = json.loads(text) if text else {}
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    if not url:
        return UNKNOWN.format(extra)
    if not url.startswith("file://"):
        return f"pip install {shlex.quote(f'wattmark[{extra}] @ {url}')}"
    place = unquote(urlsplit(url).path)
    editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{place}[{extra}]')}"
