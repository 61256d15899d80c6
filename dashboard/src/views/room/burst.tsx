// What a receiver hears of a simulated emitter: the aggregator makes it from the seed of the simulation, for nodes send no samples.
import { useEffect, useState } from 'preact/hooks';
import { request } from '../../api/client';
import type { SimulatedBurst, Site } from '../../api/types';
import { pathOf, pointsOf, REACH } from '../../model/burst';
import { real, significant } from '../../model/numbers';
import type { Slot } from '../../model/slot';

const PERIOD_MS = 500;

export function BurstPicture({ site, slot, subject }: { site: Site; slot: Slot; subject: number }) {
  const [receiver, setReceiver] = useState(0);
  const [burst, setBurst] = useState<SimulatedBurst | undefined>(undefined);
  const [problem, setProblem] = useState('');
  // A slot twice a second, and each one that is shown while paused.
  const moment = Math.floor(slot.beginsMs / PERIOD_MS);
  useEffect(() => {
    let current = true;
    void request<SimulatedBurst | undefined>(`api/v1/sites/${encodeURIComponent(site.name)}/burst?subject=${subject}&receiver=${receiver}&epoch=${slot.epoch}`).then(
      (answer) => { if (current) { setBurst(answer); setProblem(''); } },
      (fault: Error) => { if (current) setProblem(fault.message); },
    );
    return () => { current = false; };
  }, [site.name, subject, receiver, moment]);
  const points = burst === undefined ? [] : pointsOf(burst);
  return (
    <figure class="burst">
      <svg viewBox={`${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`} role="img"
        aria-label={burst === undefined ? 'No burst yet' : `I/Q samples of subject ${subject}: ${burst.modulation} at ${significant(real(burst.snr_db))} dB`}>
        <path class="axes" d={`M${-REACH} 0H${REACH}M0 ${-REACH}V${REACH}`} />
        <path class="samples" d={pathOf(points)} />
        {points.map(({ x, y }) => <circle cx={x} cy={y} r={0.05} />)}
      </svg>
      <figcaption>
        <p>{problem !== '' ? problem : burst === undefined ? 'No burst yet.' : `${burst.modulation}, ${significant(real(burst.snr_db))} dB: I to the right, Q up.`}</p>
        <label>Receiver <input type="number" min={0} max={65535} value={receiver} onInput={(event) => setReceiver(Math.max(0, Math.min(65535, Math.trunc(Number(event.currentTarget.value)) || 0)))} /></label>
        <p class="hint">Made again from the simulation in <code>truth</code>. Nodes send probabilities, never samples.</p>
      </figcaption>
    </figure>
  );
}
