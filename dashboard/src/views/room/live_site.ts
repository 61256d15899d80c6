// A site as it is seen live: its stream, the last minutes, and the moment that is shown.
import { siteParameter } from '../../api/client';
import { SlotStream, type LinkState } from '../../api/slot_stream';
import type { Site, WatchResponse } from '../../api/types';
import { Confusion } from '../../model/confusion';
import { figuresOf, type Figures } from '../../model/figures';
import { History } from '../../model/history';
import { ellipseOf, enlargement } from '../../model/ellipse';
import { milliseconds } from '../../model/numbers';
import { widen, type Bounds, type Scale } from '../../model/plan';
import { horizontalFactor, readSlot, type Slot } from '../../model/slot';

const RATE_HZ = 20;
const LEAST_RATE_HZ = 1.25;
// A link that is slower than the stream delivers an ever older past. So much older than at best: the page asks for fewer slots.
const LATE_MS = 1_000;
const KEPT_MS = 5 * 60_000;
const FIGURES_MS = 5_000;
// Slots come many times a second; after this much silence the picture is old.
export const STALE_MS = 3_000;

export class LiveSite {
  readonly history = new History(KEPT_MS, (KEPT_MS / 1000) * RATE_HZ * 1.2);
  leaves: readonly string[] = [];
  classes: readonly string[] = [];
  seen: Bounds | undefined; // where subjects were
  pausedAtMs: number | undefined; // undefined: live
  link: LinkState = 'connecting';
  receivedMs = 0; // performance.now() of the latest slot
  readonly confusion = new Confusion();
  private enlarged = 1;
  private stream: SlotStream | undefined;
  private subject: number | undefined;
  private rateHz = RATE_HZ;
  private shortestMs = Infinity; // from the fusion of a slot to its arrival, by two clocks that need not agree

  constructor(
    private readonly site: Site,
    private readonly onChange: () => void,
  ) {}

  // Also what each source says of a subject, from now on. The history stays.
  follow(subject: number | undefined): void {
    if (this.stream !== undefined && subject === this.subject) return;
    this.subject = subject;
    this.open();
  }

  private open(): void {
    this.stream?.close();
    const subject = this.subject;
    const plain = `api/v1/events?${siteParameter(this.site.name)}&rate_hz=${this.rateHz}${this.site.has_truth ? '&truth=true' : ''}`;
    this.stream = new SlotStream(
      // Only a few readers of a site may ask for contributions.
      subject === undefined ? [plain] : [`${plain}&contributions=${subject}`, plain],
      (response) => this.take(response),
      (link) => {
        this.link = link;
        this.onChange();
      },
    );
  }

  close(): void {
    this.stream?.close();
  }

  private take(response: WatchResponse): void {
    const slot = readSlot(response);
    if (slot === undefined) return;
    this.leaves = response.leaves;
    this.classes = response.classes;
    this.receivedMs = performance.now();
    this.keepUp(Date.now() - milliseconds(response.slot?.fused_unix_ns));
    this.history.add(slot);
    this.confusion.add(slot, response.classes.length);
    if (slot.dimension > 0) this.seen = widen(this.seen, slot);
    this.onChange();
  }

  // Another connection leaves behind what waits in the old one.
  private keepUp(delayMs: number): void {
    this.shortestMs = Math.min(this.shortestMs, delayMs);
    if (delayMs - this.shortestMs < LATE_MS || this.rateHz <= LEAST_RATE_HZ) return;
    this.rateHz /= 2;
    this.open();
  }

  // The index in the history of the slot to show.
  index(): number {
    return this.pausedAtMs === undefined ? this.history.length - 1 : this.history.indexAt(this.pausedAtMs);
  }

  shown(): Slot | undefined {
    return this.history.at(this.index());
  }

  // The figures of the seconds before the moment that is shown.
  figures(): Figures | undefined {
    const slot = this.shown();
    if (slot === undefined) return undefined;
    return figuresOf(this.history, this.history.indexAt(slot.beginsMs - FIGURES_MS), this.index());
  }

  // How long no slot has come, ms; NaN before the first.
  silentMs(): number {
    return this.receivedMs === 0 ? NaN : performance.now() - this.receivedMs;
  }

  changed(): void {
    this.onChange();
  }

  // How many times as large the ellipses are drawn.
  enlargement(scale: Scale | undefined): number {
    const slot = this.shown();
    if (slot === undefined || scale === undefined || slot.dimension === 0) return this.enlarged;
    const deviations = [...slot.subjects.keys()].map((i) => ellipseOf(horizontalFactor(slot, i)).major).sort((a, b) => a - b);
    this.enlarged = enlargement(scale.length(deviations[deviations.length >> 1] ?? NaN), this.enlarged);
    return this.enlarged;
  }

  pause(atMs: number | undefined): void {
    this.pausedAtMs = atMs;
    this.onChange();
  }
}
