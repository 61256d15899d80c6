// The colours of the style sheet, for canvases.
export interface Colours {
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly accent: string;
  readonly strong: string;
  readonly good: string;
  readonly bad: string;
  readonly surface: string;
  readonly series: readonly string[];
}

function read(): Colours {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour('text'),
    faint: colour('faint'),
    line: colour('line'),
    accent: colour('accent'),
    strong: colour('strong'),
    good: colour('good'),
    bad: colour('bad'),
    surface: colour('surface'),
    series: [1, 2, 3, 4, 5, 6].map((number) => colour(`series-${number}`)),
  };
}

let known: Colours | undefined;
const listeners = new Set<() => void>();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  known = undefined;
  for (const listener of listeners) listener();
});

export function colours(): Colours {
  known ??= read();
  return known;
}

// Calls `listener` when the colours change; returns how to stop that.
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function seriesColour(palette: Colours, number: number): string {
  return palette.series[number % palette.series.length] ?? palette.text;
}
