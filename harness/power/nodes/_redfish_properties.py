"""Which property of a Redfish resource is the power of a feed, and which members of PowerControl
contain others."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.power.feeds.feed import FeedError

KINDS = {
    "PowerWatts": "redfish",
    "Reading": "redfish",
    "PowerConsumedWatts": "redfish_power_control",
}
"""Which kind of meter reads a property."""
IN_WATTS = re.compile(r"(?:[a-z]W|Watts)$")
"""The end of the name of a maker's own property that states its unit, W."""
PART = re.compile(
    r"sub-?\s?system|\b(?:cpu|processor|memory|dimm|gpu|accelerator|fan|drive|storage|pcie)", re.I
)
WHOLE = re.compile(r"\b(?:server|system|chassis|node|enclosure|total|platform|input)\b", re.I)
MOST_LISTED = 8


def find_property(document: Any, pointer: str, kind: str) -> tuple[str, str]:
    """The pointer to the object of a feed, and the property of it that is its power. A pointer may
    end with the property. Raises FeedError if there is none that the kind reads."""
    parent, _, name = pointer.rpartition("/")
    if name and isinstance(content := look_up(document, pointer), int | float):
        if name in KINDS:
            return parent, _require_kind(name, kind)
        if "/Oem/" in pointer and IN_WATTS.search(name):
            return parent, name
        raise FeedError("absent", f"{pointer} is {content!r}, and its name states no power in W")
    content = look_up(document, pointer)
    if not isinstance(content, dict):
        raise FeedError("malformed", "the resource is not a JSON object")
    if isinstance(members := content.get("PowerControl"), list):
        raise FeedError(
            "absent",
            f"the resource has {len(members)} members of PowerControl; add #/PowerControl/NUMBER "
            f"to name one: {'; '.join(map(_describe_member, range(len(members)), members))}",
        )
    available = [
        name
        for name in KINDS
        if name in content and (name != "Reading" or content.get("ReadingUnits") == "W")
    ]
    for name in available:
        if KINDS[name] == kind:
            return pointer, name
    if available:
        _require_kind(available[0], kind)
    if own := list(_list_own(content, pointer))[:MOST_LISTED]:
        raise FeedError(
            "absent",
            "the power of this maker is in Oem; add the pointer of one property to the feed: "
            f"{'; '.join(own)}",
        )
    raise FeedError("absent", f"the resource has no power in W ({', '.join(KINDS)}); name another")


def look_up(document: Any, pointer: str) -> Any:
    """What is at a JSON pointer (RFC 6901). Raises FeedError."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        try:
            document = document[int(name)] if isinstance(document, list) else document[name]
        except (KeyError, IndexError, ValueError, TypeError):
            raise FeedError("absent", f"the resource has no {pointer}") from None
    return document


def refuse_parts(members: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise FeedError if the member of one feed contains that of another, by their names or related
    items: their powers would count twice."""
    for whole, content in members.items():
        for part, other in members.items():
            if whole != part and _contains(content, other):
                raise FeedError(
                    "refused",
                    f"the feed {whole} ({_name(content)}) contains the feed {part} "
                    f"({_name(other)}); declare parts as a meter of their own with "
                    "of_record = false",
                )


def _require_kind(name: str, kind: str) -> str:
    if KINDS[name] != kind:
        raise FeedError(
            "absent",
            f"the resource has {name}, which the kind {KINDS[name]} reads; set this kind, or name "
            "another resource",
        )
    return name


def _describe_member(number: int, member: Any) -> str:
    power_w = member.get("PowerConsumedWatts") if isinstance(member, dict) else None
    power = "no power" if power_w is None else f"{power_w} W"
    return f"{number} is {_name(member)}, {power}"


def _name(member: Any) -> str:
    name = member.get("Name") if isinstance(member, dict) else None
    return repr(name[:60]) if isinstance(name, str) and name else "without a name"


def _contains(whole: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    names = [str(member.get("Name") or "") for member in (whole, part)]
    if WHOLE.search(PART.sub("", names[0])) and not PART.search(names[0]) and PART.search(names[1]):
        return True
    contexts = [member.get("PhysicalContext") for member in (whole, part)]
    if contexts[0] in ("Chassis", "SystemBoard") and contexts[1] not in (None, contexts[0]):
        return True
    return any(
        inner.startswith(f"{outer.rstrip('/')}/")
        for outer in _list_related(whole)
        for inner in _list_related(part)
    )


def _list_related(member: Mapping[str, Any]) -> Sequence[str]:
    items = member.get("RelatedItem")
    links = [item.get("@odata.id") for item in items or () if isinstance(item, dict)]
    return [link for link in links if isinstance(link, str) and link.strip("/")]


def _list_own(content: Any, pointer: str) -> Iterator[str]:
    """Pointer and value of each property of the maker below the object that states a power in W."""
    if not isinstance(content, dict):
        return
    for name, value in content.items():
        place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        if isinstance(value, dict):
            yield from _list_own(value, place)
        elif (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and "/Oem/" in place
            and IN_WATTS.search(name)
        ):
            yield f"#{place} ({value} W)"
