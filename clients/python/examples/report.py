"""Reports a subject that walks along x, as the source "south" of a site. usage: report.py SITE"""

import sys
import time

from tributary import Reporter, Source

with Reporter(sys.argv[1], "walker", [Source("south")]) as reporter:
    for step in range(100):
        reporter.send([1], means=[(0.01 * step, 0.0)], cholesky=[((0.05, 0.0), (0.0, 0.05))])
        time.sleep(0.01)
print("acknowledged", reporter.acknowledged, "dropped", reporter.dropped, reporter.last_refusal)
