// Numbers of the API, and numbers for people.
import type { Int64, Real } from '../api/types';

// A 64-bit count; exact up to 2^53. An absent count is 0.
export function count(value: Int64 | number | undefined): number {
  const number = Number(value ?? 0);
  return Number.isFinite(number) ? number : 0;
}

export function real(value: Real | undefined): number {
  return value === undefined ? NaN : Number(value);
}

export function milliseconds(unixNs: Int64 | undefined): number {
  return count(unixNs) / 1e6;
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// 1,234,567
export function integer(value: number): string {
  return Number.isFinite(value) ? whole.format(value) : '–';
}

// Three significant digits: 0.0123, 1.23, 1,230.
export function significant(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 100 || value === 0) return integer(value);
  return value.toFixed(Math.min(4, size >= 10 ? 1 : size >= 1 ? 2 : 2 - Math.floor(Math.log10(size))));
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return '–';
  // A share just below one is not all.
  if (share < 1 && share > 0.9995) return '> 99.9 %';
  return `${(100 * share).toFixed(1)} %`;
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return '–';
  for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]] as const) {
    if (value >= size) return `${significant(value / size)} ${unit}`;
  }
  return `${integer(value)} B`;
}

// 850 ms, 12 s, 3 min, 5 h, 2 d
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 1000) return `${significant(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 120) return `${significant(seconds)} s`;
  if (seconds < 7200) return `${integer(seconds / 60)} min`;
  if (seconds < 172_800) return `${integer(seconds / 3600)} h`;
  return `${integer(seconds / 86_400)} d`;
}

// 14:07:09, in the reader's time zone
export function clockTime(unixMs: number): string {
  return unixMs > 0 ? new Date(unixMs).toLocaleTimeString('en-GB') : '–';
}

// 2026-11-24 14:07, in the reader's time zone
export function dateAndTime(unixMs: number): string {
  if (!(unixMs > 0)) return '–';
  const time = new Date(unixMs);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clockTime(unixMs).slice(0, 5)}`;
}

// A tick of a time axis whose ticks are `stepMs` apart: seconds only where ticks differ by them, dates where they are days apart.
export function tickTime(unixMs: number, stepMs: number): string {
  if (stepMs >= 86_400_000) return dateAndTime(unixMs).slice(0, 10);
  const time = clockTime(unixMs);
  return stepMs < 60_000 ? time : time.slice(0, 5);
}

// The first eight digits of a digest, hexadecimal; empty for an empty digest.
export function shortDigest(base64: string): string {
  return digest(base64).slice(0, 8);
}

export function digest(base64: string): string {
  const characters = atob(base64);
  let text = '';
  for (let i = 0; i < characters.length; ++i) text += characters.charCodeAt(i).toString(16).padStart(2, '0');
  return text;
}

export function plural(number: number, noun: string): string {
  return `${integer(number)} ${noun}${number === 1 ? '' : 's'}`;
}
