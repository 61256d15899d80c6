// The samples of a burst as a picture: in-phase to the right, quadrature up.
import type { SimulatedBurst } from '../api/types';
import { real } from './numbers';

export const REACH = 3; // in units of the root mean square: clips the rare peak of noise

export interface Point {
  readonly x: number;
  readonly y: number;
}

// Points in a picture from -REACH to REACH whose y axis points down. Values that are no numbers are left out.
export function pointsOf(burst: SimulatedBurst): Point[] {
  const clip = (value: number) => Math.max(-REACH, Math.min(REACH, value));
  return burst.in_phase
    .map((value, k) => ({ x: real(value), y: -real(burst.quadrature[k]) }))
    .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))
    .map(({ x, y }) => ({ x: clip(x), y: clip(y) }));
}

export function pathOf(points: readonly Point[]): string {
  return points.map(({ x, y }, k) => `${k === 0 ? 'M' : 'L'}${x.toFixed(3)} ${y.toFixed(3)}`).join('');
}
