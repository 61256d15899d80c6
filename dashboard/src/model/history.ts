// The slots of the last minutes, oldest first, for tails and for looking back.
import type { Slot } from './slot';

export class History {
  private slots: Slot[] = [];
  private first = 0;

  // Older slots than `spanMs`, and more than `capacity`, are forgotten.
  constructor(
    private readonly spanMs: number,
    private readonly capacity: number,
  ) {}

  // A revision replaces its slot. A slot that is older than the latest is ignored: the stream goes forward.
  add(slot: Slot): void {
    const latest = this.latest();
    if (latest !== undefined && slot.beginsMs < latest.beginsMs) {
      // After a restart with another clock, the old slots have nothing to do with the new ones.
      if (latest.beginsMs - slot.beginsMs < this.spanMs) return;
      this.clear();
    }
    if (latest !== undefined && latest.epoch === slot.epoch) this.slots.pop();
    this.slots.push(slot);
    while (this.length > this.capacity || this.at(0)!.beginsMs < slot.beginsMs - this.spanMs) ++this.first;
    if (this.first > this.capacity) {
      this.slots = this.slots.slice(this.first);
      this.first = 0;
    }
  }

  clear(): void {
    this.slots = [];
    this.first = 0;
  }

  get length(): number {
    return this.slots.length - this.first;
  }

  at(i: number): Slot | undefined {
    return i < 0 ? undefined : this.slots[this.first + i];
  }

  latest(): Slot | undefined {
    return this.at(this.length - 1);
  }

  // The index of the last slot that began at or before a time; 0 if there is none.
  indexAt(timeMs: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle)!.beginsMs <= timeMs) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}
