// The plan of a room in metres, and how it fits a picture in pixels: the same scale in both directions, y up.
import type { Room } from '../api/types';
import { real } from './numbers';
import type { Slot } from './slot';
import { horizontalPosition } from './slot';

export interface Bounds {
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
  readonly top: number;
}

export interface Panel {
  readonly source: string;
  readonly x: number;
  readonly y: number;
  readonly headingDeg: number; // counter-clockwise from x; NaN: not known
}

export interface Plan {
  readonly bounds: Bounds;
  readonly walls: readonly (readonly [number, number, number, number])[];
  readonly panels: readonly Panel[];
}

export function planOf(room: Room): Plan {
  return {
    bounds: { left: real(room.min_x_m), bottom: real(room.min_y_m), right: real(room.max_x_m), top: real(room.max_y_m) },
    walls: room.walls.map((wall) => [real(wall.from_x_m), real(wall.from_y_m), real(wall.to_x_m), real(wall.to_y_m)] as const),
    // An orientation of 0 faces along y.
    panels: room.panels.map((panel) => ({
      source: panel.source, x: real(panel.x_m), y: real(panel.y_m), headingDeg: real(panel.orientation_deg) + 90,
    })),
  };
}

export class Scale {
  private readonly perMetre: number;
  private readonly x0: number;
  private readonly y0: number;

  constructor(bounds: Bounds, width: number, height: number, marginPx: number) {
    const wide = Math.max(bounds.right - bounds.left, 1e-3);
    const high = Math.max(bounds.top - bounds.bottom, 1e-3);
    this.perMetre = Math.max(1e-6, Math.min((width - 2 * marginPx) / wide, (height - 2 * marginPx) / high));
    this.x0 = width / 2 - (this.perMetre * (bounds.left + bounds.right)) / 2;
    this.y0 = height / 2 + (this.perMetre * (bounds.bottom + bounds.top)) / 2;
  }

  x(metres: number): number {
    return this.x0 + this.perMetre * metres;
  }
  y(metres: number): number {
    return this.y0 - this.perMetre * metres;
  }
  length(metres: number): number {
    return this.perMetre * metres;
  }
  metres(xPx: number, yPx: number): readonly [number, number] {
    return [(xPx - this.x0) / this.perMetre, (this.y0 - yPx) / this.perMetre];
  }
}

// Bounds that hold what was seen, in whole steps so that the picture does not tremble. Only ever wider.
export function widen(bounds: Bounds | undefined, slot: Slot): Bounds {
  let { left, bottom, right, top } = bounds ?? { left: Infinity, bottom: Infinity, right: -Infinity, top: -Infinity };
  for (let i = 0; i < slot.subjects.length; ++i) {
    const [x, y] = horizontalPosition(slot, i);
    // One estimate far away must not shrink the room to a dot.
    if (!(Math.abs(x) < 1e5 && Math.abs(y) < 1e5)) continue;
    left = Math.min(left, Math.floor(x - 0.5));
    right = Math.max(right, Math.ceil(x + 0.5));
    bottom = Math.min(bottom, Math.floor(y - 0.5));
    top = Math.max(top, Math.ceil(y + 0.5));
  }
  return left < right ? { left, bottom, right, top } : { left: -5, bottom: -5, right: 5, top: 5 };
}

// The distance between grid lines: 1, 2 or 5 times a power of ten, at least `leastPx` apart.
export function gridStep(pixelsPerMetre: number, leastPx: number): number {
  const least = leastPx / pixelsPerMetre;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999) ?? 10 * power;
}
