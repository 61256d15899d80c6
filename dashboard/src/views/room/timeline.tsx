// Pause, and a slider through the last minutes.
import { clockTime } from '../../model/numbers';
import type { LiveSite } from './live_site';

const STEP_MS = 50;

export function Timeline({ live }: { live: LiveSite }) {
  const first = live.history.at(0);
  const last = live.history.latest();
  if (first === undefined || last === undefined) return null;
  const shownMs = live.shown()?.beginsMs ?? last.beginsMs;
  const paused = live.pausedAtMs !== undefined;
  const behindS = (last.beginsMs - shownMs) / 1000;
  return (
    <div class="timeline">
      <button type="button" onClick={() => live.pause(paused ? undefined : shownMs)}>{paused ? 'Go live' : 'Pause'}</button>
      <input
        type="range"
        aria-label="Moment that is shown, seconds before now"
        min={STEP_MS * Math.ceil((first.beginsMs - last.beginsMs) / STEP_MS)}
        max={0}
        step={STEP_MS}
        value={STEP_MS * Math.round((shownMs - last.beginsMs) / STEP_MS)}
        onInput={(event) => live.pause(last.beginsMs + Number(event.currentTarget.value))}
      />
      <output>{paused ? `${clockTime(shownMs)} (${behindS.toFixed(1)} s ago)` : 'live'}</output>
    </div>
  );
}
