// Curves over time or over rounds.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clockTime, significant, tickTime } from '../model/numbers';
import { colours, onTheme, seriesColour } from './theme';

export interface Curve {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
}

interface Properties {
  readonly label: string; // what the chart shows, for a screen reader
  readonly along: readonly number[]; // seconds since the Unix epoch, or rounds
  readonly curves: readonly Curve[];
  readonly time?: boolean;
  readonly logarithmic?: boolean;
  readonly band?: { readonly low: readonly number[]; readonly high: readonly number[] }; // along, shaded: where values should be; NaN: not known
  readonly bounds?: readonly number[]; // of the vertical axis, dashed
  readonly range?: readonly [number, number];
}

const HEIGHT_PX = 220;
const LEAST = 1e-6; // a logarithmic axis has no 0

const timesOf: uPlot.Axis.DynamicValues = (_plot, ticks, _axis, _space, stepS) => ticks.map((tick) => tickTime(1000 * tick, 1000 * stepS));

function optionsOf(latest: () => Properties, width: number): uPlot.Options {
  const properties = latest();
  const palette = colours();
  const axis = { stroke: palette.faint, grid: { stroke: palette.line, width: 1 }, ticks: { stroke: palette.line, width: 1 } };
  const { bounds, range, logarithmic } = properties;
  return {
    width,
    height: HEIGHT_PX,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { time: properties.time === true },
      y: logarithmic
        ? { distr: 3, range: (_, low, high) => [Math.min(low || 0.5, 0.4), Math.max(high || 2, 3)] }
        : range !== undefined ? { range: [range[0], range[1]] } : {},
    },
    axes: [{ ...axis, ...(properties.time ? { values: timesOf } : {}) }, { ...axis, size: 60, values: (_, splits) => splits.map((value) => (value === null ? '' : significant(value))) }],
    series: [
      properties.time ? { label: 'time', value: (_: uPlot, value: number | null) => clockTime(1000 * (value ?? 0)) } : { label: 'round' },
      ...properties.curves.map((curve, i) => ({
        label: curve.label,
        stroke: seriesColour(palette, i),
        width: 2,
        spanGaps: true,
        ...(curve.dashed ? { dash: [6, 4] } : {}),
        points: { show: properties.along.length < 60 },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : significant(value)),
      })),
    ],
    hooks: {
      drawClear: [
        (plot) => {
          const { along, band } = latest();
          const { left, width: wide, top, height } = plot.bbox;
          const { ctx } = plot;
          ctx.save();
          ctx.beginPath();
          ctx.rect(left, top, wide, height);
          ctx.clip();
          ctx.strokeStyle = palette.faint;
          ctx.setLineDash([6, 6]);
          for (const bound of bounds ?? []) {
            const y = plot.valToPos(bound, 'y', true);
            ctx.beginPath();
            ctx.moveTo(left, y);
            ctx.lineTo(left + wide, y);
            ctx.stroke();
          }
          ctx.globalAlpha = 0.25;
          ctx.fillStyle = palette.good;
          // Each value holds until the next one.
          for (let i = 0; band !== undefined && i + 1 < along.length; ++i) {
            const [low, high] = [band.low[i]!, band.high[i]!];
            if (!(high > 0)) continue;
            const [x, next] = [plot.valToPos(along[i]!, 'x', true), plot.valToPos(along[i + 1]!, 'x', true)];
            const [upper, lower] = [plot.valToPos(high, 'y', true), plot.valToPos(Math.max(low, LEAST), 'y', true)];
            ctx.fillRect(x, upper, next - x, lower - upper);
          }
          ctx.restore();
        },
      ],
    },
  };
}

function dataOf({ along, curves }: Properties): uPlot.AlignedData {
  return [[...along], ...curves.map((curve) => curve.values.map((value) => (Number.isFinite(value) ? value : null)))] as uPlot.AlignedData;
}

export function Chart(properties: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(properties);
  latest.current = properties;
  // Other curves are another chart; new values are not.
  const shape = properties.curves.map((curve) => curve.label).join('\n');

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(() => latest.current, element.clientWidth || 400), dataOf(latest.current), element);
    };
    make();
    const forget = onTheme(make);
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    sizes.observe(element);
    return () => {
      forget();
      sizes.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);

  useEffect(() => {
    plot.current?.setData(dataOf(properties));
  });

  return <div class="chart" ref={place} role="img" aria-label={properties.label} />;
}
