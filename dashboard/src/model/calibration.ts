// What the sources of a site need to agree with each other.
import type { Site, SourceCalibration } from '../api/types';
import { real, significant } from './numbers';

export type Mode = 'none' | 'off' | 'observe' | 'correct';

export function modeOf(site: Site): Mode {
  switch (site.calibration) {
    case 'CALIBRATION_MODE_OFF': return 'off';
    case 'CALIBRATION_MODE_OBSERVE': return 'observe';
    case 'CALIBRATION_MODE_CORRECT': return 'correct';
    default: return 'none';
  }
}

// As the aggregator: with fewer tuples it finds nothing.
const LEAST_OBSERVATIONS = 100;

function measured(value: number, deviation: number, unit: string, digits: number): string {
  return Number.isFinite(value) && Number.isFinite(deviation) ? `${value.toFixed(digits)} ± ${deviation.toFixed(digits)} ${unit}` : '–';
}

export interface Need {
  readonly source: string;
  readonly scale: string;
  readonly shiftX: string;
  readonly shiftY: string;
  readonly turn: string;
  readonly observations: number;
  readonly words: string;
  readonly notable: boolean;
}

function needOf(source: string, from: SourceCalibration): Need {
  const observations = real(from.observations);
  const few = !(observations >= LEAST_OBSERVATIONS);
  return {
    source,
    scale: significant(real(from.scale)),
    shiftX: measured(100 * real(from.shift_x_m), 100 * real(from.shift_x_deviation_m), 'cm', 1),
    shiftY: measured(100 * real(from.shift_y_m), 100 * real(from.shift_y_deviation_m), 'cm', 1),
    turn: measured(real(from.turn_deg), real(from.turn_deviation_deg), '°', 2),
    observations,
    words: from.finding !== '' ? from.finding : few ? 'Too few tuples that others saw, too.' : 'Nothing stands out.',
    notable: from.finding !== '',
  };
}

// Those with a finding first.
export function needsOf(site: Site): Need[] {
  const needs = site.sources.flatMap((each) => (each.calibration === undefined ? [] : [needOf(each.name, each.calibration)]));
  return needs.sort((a, b) => Number(b.notable) - Number(a.notable) || a.source.localeCompare(b.source));
}
