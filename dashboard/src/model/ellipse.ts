// The ellipse of equal probability of a Gaussian in the plane, from the Cholesky factor of its covariance.

export interface Ellipse {
  readonly major: number; // standard deviation along the longer axis
  readonly minor: number;
  readonly angle: number; // of the longer axis, radians from x towards y
}

// Covariance L Lᵀ with L = [[l11, 0], [l21, l22]].
export function ellipseOf([l11, l21, l22]: readonly [number, number, number]): Ellipse {
  const xx = l11 * l11;
  const xy = l11 * l21;
  const yy = l21 * l21 + l22 * l22;
  const mean = (xx + yy) / 2;
  const spread = Math.hypot((xx - yy) / 2, xy);
  return {
    major: Math.sqrt(mean + spread),
    // The product of the axes is |det L|: no cancellation for long, thin ellipses.
    minor: mean + spread > 0 ? Math.abs(l11 * l22) / Math.sqrt(mean + spread) : 0,
    angle: Math.atan2(2 * xy, xx - yy) / 2,
  };
}

// How many times as large ellipses are drawn so that they can be seen: 1, 2, 5, 10 …, for a typical deviation in pixels. What was
// chosen before stays while it will do.
export function enlargement(deviationPx: number, before: number): number {
  if (!(deviationPx > 0)) return before;
  const wanted = 9 / deviationPx;
  if (before > wanted / 3 && before < 3 * wanted) return before;
  if (wanted <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * (wanted < 2 * power ? 1 : wanted < 5 * power ? 2 : 5);
}
