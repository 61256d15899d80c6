"""Whether something that was sampled over time grows. No I/O."""

import statistics


def slope(samples):
    """Theil and Sen's estimate: the median of the slopes between pairs. `samples`: (time, value); single outliers do not move it."""
    # All pairs of a thousand samples would take minutes: pairs at half the length, which determine the slope best.
    half = len(samples) // 2
    return statistics.median((later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in zip(samples, samples[half:]))


def settled(samples, share=1 / 3):
    """Without the beginning, in which pools, windows and allocators fill."""
    return samples[int(len(samples) * share):]


def memory_faults(name, samples, most_mib_per_hour):
    """`samples`: (seconds, bytes)."""
    growth = slope(settled(samples)) * 3600 / 2**20
    return [f"{name}: memory grows by {growth:.1f} MiB/h, more than {most_mib_per_hour}"] if growth > most_mib_per_hour else []


def descriptor_faults(name, samples, most_more):
    """`samples`: (seconds, open descriptors). The median of the last tenth against that of the tenth after the beginning."""
    after = settled(samples)
    tenth = max(1, len(after) // 10)
    first, last = (statistics.median(count for _, count in part) for part in (after[:tenth], after[-tenth:]))
    return [f"{name}: {last:.0f} open descriptors, {first:.0f} at the beginning"] if last > first + most_more else []
