"""Power of a chassis from `PowerControl` of a Redfish service, such as an older BMC.

A feed in meters.toml is a member, as in `/redfish/v1/Chassis/ID/Power#/PowerControl/0`, whose
PowerConsumedWatts is read. harness/power/nodes/redfish.py has the other keys, and why this is a
kind of its own.
"""

from harness.power.nodes.redfish import RedfishMeter


class PowerControlMeter(RedfishMeter):
    """Reads members of PowerControl of one Redfish service."""
