// The sites as they were during the last minutes, for curves and for shares of what happened lately.
import type { Site } from '../api/types';

interface Moment {
  readonly timeMs: number; // since the Unix epoch
  readonly sites: readonly Site[];
}

export class SiteHistory {
  private moments: Moment[] = [];

  constructor(private readonly spanMs: number) {}

  add(timeMs: number, sites: readonly Site[]): void {
    const latest = this.moments.at(-1);
    if (latest?.sites === sites) return;
    // Counters that went back are those of another process.
    if (latest !== undefined && restarted(latest.sites, sites)) this.moments = [];
    this.moments.push({ timeMs, sites });
    const kept = this.moments.findIndex((each) => each.timeMs >= timeMs - this.spanMs);
    if (kept > 0) this.moments.splice(0, kept);
  }

  // The site about so long ago; undefined: it has not been seen for so long.
  before(name: string, agoMs: number): Site | undefined {
    const latest = this.moments.at(-1);
    if (latest === undefined) return undefined;
    const then = this.moments.find((each) => each.timeMs >= latest.timeMs - agoMs);
    return then === latest ? undefined : then?.sites.find((each) => each.name === name);
  }

  // Times in seconds since the Unix epoch, and a value at each of them.
  series(name: string, value: (site: Site) => number): { times: number[]; values: number[] } {
    return {
      times: this.moments.map((each) => each.timeMs / 1000),
      values: this.moments.map((each) => {
        const site = each.sites.find((one) => one.name === name);
        return site === undefined ? NaN : value(site);
      }),
    };
  }
}

function restarted(before: readonly Site[], now: readonly Site[]): boolean {
  return before.some((old) => {
    const site = now.find((each) => each.name === old.name);
    return Number(site?.counters?.accepted_frames ?? 0) < Number(old.counters?.accepted_frames ?? 0);
  });
}
