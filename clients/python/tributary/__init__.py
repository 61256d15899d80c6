"""Client of a Tributary aggregator.

    from tributary import Aggregator
    with Aggregator("127.0.0.1:7400") as aggregator:
        for slot in aggregator.watch("lab"):
            print(slot.subjects, slot.means)

Positions are in metres in the site's frame, times in nanoseconds since the Unix epoch. `tributary.v1` has the messages.
"""

from tributary.aggregator import Aggregator
from tributary.errors import TributaryError
from tributary.reporter import Reporter, Source
from tributary.slot import Contribution, Slot

__all__ = ["Aggregator", "Contribution", "Reporter", "Slot", "Source", "TributaryError"]
__version__ = "0.1.0"
