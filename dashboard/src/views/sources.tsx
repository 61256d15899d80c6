// The sources of a site: which of them can be believed.
import type { Site } from '../api/types';
import { duration, integer, percent, real, significant } from '../model/numbers';
import type { SiteHistory } from '../model/site_history';
import { BAND, judge, type Severity, type Verdict } from '../model/trust';
import { Chart } from '../ui/chart';
import { Empty, Scrolling, State } from '../ui/parts';

const LATELY_MS = 60_000;
const LABELS: Record<Severity, string> = { bad: 'look here', warn: 'notable', good: 'consistent', faint: 'not measured' };

function Row({ verdict }: { verdict: Verdict }) {
  return (
    <tr>
      <th scope="row">{verdict.source}</th>
      <td><State kind={verdict.severity}>{LABELS[verdict.severity]}</State></td>
      <td class="number">{verdict.consistency > 0 ? significant(verdict.consistency) : '–'}</td>
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

export function SourcesView({ site, history }: { site: Site; history: SiteHistory }) {
  const verdicts = judge(site, history.before(site.name, LATELY_MS));
  if (verdicts.length === 0) return <Empty title="No source"><p>The site names none in <code>sources</code> of its configuration.</p></Empty>;
  const names = verdicts.map((each) => each.source).sort();
  const { times } = history.series(site.name, () => 0);
  const curves = names.map((name) => ({
    label: name,
    values: history.series(site.name, (then) => real(then.sources.find((each) => each.name === name)?.consistency) || NaN).values,
  }));
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
              <th scope="col" class="number">gated</th>
              <th scope="col" class="number">missed slots</th>
              <th scope="col" class="number">refused frames</th>
              <th scope="col" class="number">behind</th>
              <th scope="col">why</th>
            </tr>
          </thead>
          <tbody>{verdicts.map((verdict) => <Row key={verdict.source} verdict={verdict} />)}</tbody>
        </table>
      </Scrolling>
      <h3>Consistency since the page was opened</h3>
      <p>The band from {BAND[0]} to {BAND[1]} is where a source should be. Far above 1 it claims more than it knows, or stands elsewhere than is believed.</p>
      <Chart label={`Consistency of ${names.join(', ')} over time`} time logarithmic band={BAND} along={times} curves={curves} />
      <div class="columns">
        <Reasons title="Refused frames of the site by reason" counts={site.counters?.refused_frames_by_reason ?? {}} />
        <Reasons title="Refused tuples of the site by reason" counts={site.counters?.refused_tuples_by_reason ?? {}} />
      </div>
    </>
  );
}
