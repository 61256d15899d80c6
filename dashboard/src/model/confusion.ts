// How often each class was taken for each other one, where the truth is known.
import { mostLikelyClass, type Slot } from './slot';

export class Confusion {
  private counts: number[][] = [];
  private latest = '';
  judged = 0;
  right = 0;

  // Each slot counts once; a revision does not.
  add(slot: Slot, classes: number): void {
    if (slot.truth === undefined || slot.dimension !== 0 || classes === 0 || slot.epoch === this.latest) return;
    this.latest = slot.epoch;
    if (this.counts.length !== classes) this.counts = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
    for (let i = 0; i < slot.subjects.length; ++i) {
      const truth = slot.truth.classes[i]!;
      if (truth < 0 || truth >= classes) continue;
      const said = mostLikelyClass(slot, i, classes);
      ++this.counts[truth]![said]!;
      ++this.judged;
      if (said === truth) ++this.right;
    }
  }

  // The share of a true class that was taken for another; NaN: it did not occur.
  share(truth: number, said: number): number {
    const row = this.counts[truth] ?? [];
    const total = row.reduce((sum, each) => sum + each, 0);
    return total > 0 ? row[said]! / total : NaN;
  }
}
