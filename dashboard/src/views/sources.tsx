// The sources of a site: which of them can be believed.
import { useState } from 'preact/hooks';
import type { Site } from '../api/types';
import { duration, integer, percent, real, significant } from '../model/numbers';
import type { SiteHistory } from '../model/site_history';
import { bandOf, BOUNDS, judge, type Severity, type Verdict } from '../model/trust';
import { Chart } from '../ui/chart';
import { Empty, Scrolling, State } from '../ui/parts';
import { Calibration } from './calibration';

const LATELY_MS = 60_000;
const LABELS: Record<Severity, string> = { bad: 'look here', warn: 'notable', good: 'consistent', faint: 'not measured' };

function Row({ verdict, chosen, choose }: { verdict: Verdict; chosen: boolean; choose: () => void }) {
  const { band } = verdict;
  return (
    <tr class={chosen ? 'chosen' : ''}>
      <th scope="row"><button type="button" class="plain" aria-pressed={chosen} onClick={choose}>{verdict.source}</button></th>
      <td><State kind={verdict.severity}>{LABELS[verdict.severity]}</State></td>
      <td class="number">{verdict.consistency > 0 ? significant(verdict.consistency) : '–'}</td>
      <td class="number">{band === undefined ? '–' : `${significant(band.low)} to ${significant(band.high)}`}</td>
      <td class="number">{percent(verdict.gated)}</td>
      <td class="number">{percent(verdict.missed)}</td>
      <td class="number">{integer(verdict.refusedFrames)}</td>
      <td class="number">{verdict.behindMs < 1 ? '0 ms' : duration(verdict.behindMs)}</td>
      <td class="words">{verdict.words.join(' ')}</td>
    </tr>
  );
}

function Reasons({ title, counts }: { title: string; counts: Readonly<Record<string, string>> }) {
  const rows = Object.entries(counts).sort((a, b) => Number(b[1]) - Number(a[1]));
  return (
    <div>
      <h3>{title}</h3>
      {rows.length === 0 ? <p>none</p> : (
        <ul>
          {rows.map(([reason, number]) => <li>{integer(Number(number))} {reason.replaceAll('_', ' ')}</li>)}
        </ul>
      )}
    </div>
  );
}

function ConsistencyText({ classes, one }: { classes: boolean; one: boolean }) {
  const bounds = `Beyond the dashed lines, ${BOUNDS[0]} and ${BOUNDS[1]}, its uncertainty is off by more than 40 %, and the verdict says so.`;
  if (classes) return <p>A source that knows what it claims is at 1 or below. {bounds}</p>;
  return (
    <p>
      Shaded is the chi-square band of {one ? 'this source' : 'the sources; a name in the table shows one with its own'}: 99.9 % of consistent sources are inside if their errors change
      with every slot. Errors that last leave it soon. {bounds} Far above 1, a source claims more than it knows, or stands elsewhere than is believed.
    </p>
  );
}

export function SourcesView({ site, history }: { site: Site; history: SiteHistory }) {
  const [chosen, choose] = useState('');
  const verdicts = judge(site, history.before(site.name, LATELY_MS));
  if (verdicts.length === 0) return <Empty title="No source"><p>The site names none in <code>sources</code> of its configuration.</p></Empty>;
  const names = verdicts.map((each) => each.source).sort();
  const shown = names.includes(chosen) ? [chosen] : names;
  const { times } = history.series(site.name, () => 0);
  const curves = shown.map((name) => ({
    label: name,
    values: history.series(site.name, (then) => real(then.sources.find((each) => each.name === name)?.consistency) || NaN).values,
  }));
  const edge = (end: 'low' | 'high', widest: (...values: number[]) => number) => history.series(site.name, (then) => {
    const ends = then.sources.filter((each) => shown.includes(each.name)).map((each) => bandOf(each)?.[end] ?? NaN).filter(Number.isFinite);
    return ends.length === 0 ? NaN : widest(...ends);
  }).values;
  const band = { low: edge('low', Math.min), high: edge('high', Math.max) };
  const first = verdicts[0]!;
  return (
    <>
      <p class="lead">{first.severity === 'bad' ? <><strong>{first.source}</strong>: {first.words[0]}</> : 'No source contradicts the others.'}</p>
      <Scrolling label="Sources">
        <table>
          <caption class="hidden">Sources, the least believable first; shares of the last minute</caption>
          <thead>
            <tr>
              <th scope="col">source</th>
              <th scope="col">verdict</th>
              <th scope="col" class="number" title="Mean squared distance from the others in units of what the source claims; 1 is right">consistency</th>
              <th scope="col" class="number" title="Where 99.9 % of consistent sources lie, by chi-square">band</th>
              <th scope="col" class="number">gated</th>
              <th scope="col" class="number">missed slots</th>
              <th scope="col" class="number">refused frames</th>
              <th scope="col" class="number">behind</th>
              <th scope="col">why</th>
            </tr>
          </thead>
          <tbody>
            {verdicts.map((verdict) => (
              <Row key={verdict.source} verdict={verdict} chosen={verdict.source === chosen} choose={() => choose(verdict.source === chosen ? '' : verdict.source)} />
            ))}
          </tbody>
        </table>
      </Scrolling>
      <h3>Consistency of {shown.length === 1 ? shown[0] : 'all sources'} since the page was opened</h3>
      <ConsistencyText classes={site.classes.length > 0} one={shown.length === 1} />
      <Chart label={`Consistency of ${shown.join(', ')} over time`} time logarithmic band={band} bounds={BOUNDS} along={times} curves={curves} />
      <Calibration site={site} />
      <div class="columns">
        <Reasons title="Refused frames of the site by reason" counts={site.counters?.refused_frames_by_reason ?? {}} />
        <Reasons title="Refused tuples of the site by reason" counts={site.counters?.refused_tuples_by_reason ?? {}} />
      </div>
    </>
  );
}
