// Where the frames and tuples of a site went: every one is in one row.
import { useMemo, useRef } from 'preact/hooks';
import { nodes as nodePoll } from '../api/nodes';
import { Poll, usePoll } from '../api/poll';
import type { Node, Site, SiteFlow } from '../api/types';
import { accountOf, balanceOf, type Account, type NodeBalance } from '../model/flow';
import { keyOf } from '../model/fleet';
import { duration, integer, percent, plural } from '../model/numbers';
import { Notice, Scrolling, State } from '../ui/parts';

function AccountPicture({ title, account, unit }: { title: string; account: Account; unit: string }) {
  const rows = account.rows.filter((row) => row.count > 0);
  return (
    <section>
      <h3>{title}: {plural(account.total, unit)}</h3>
      <div class="bar" role="img" aria-label={rows.map((row) => `${row.label} ${percent(row.share)}`).join(', ')}>
        {rows.map((row) => <div class={row.kind} style={{ flexGrow: row.share }} title={`${row.label}: ${integer(row.count)}`} />)}
      </div>
      <Scrolling label={title}>
        <table>
          <caption class="hidden">{title}</caption>
          <thead>
            <tr><th scope="col">where</th><th scope="col" class="number">{unit}s</th><th scope="col" class="number">share</th><th scope="col">metric</th></tr>
          </thead>
          <tbody>
            {account.rows.map((row) => (
              <tr>
                <th scope="row"><span class={`swatch ${row.kind}`} />{row.label}</th>
                <td class={row.kind === 'lost' && row.count > 0 ? 'number bad' : 'number'}>{integer(row.count)}</td>
                <td class="number">{percent(row.share)}</td>
                <td><code>{row.metric}</code></td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {account.missing !== 0 && <Notice kind="bad">The rows do not add up: {plural(Math.abs(account.missing), unit)} {account.missing > 0 ? 'are in no row' : 'too many'}.</Notice>}
    </section>
  );
}

// Two seconds' frames are nothing of what came in so long; before, a difference says little.
const LEAST_S = 10;

function Balances({ balances, seconds, silent }: { balances: readonly NodeBalance[]; seconds: number; silent: number }) {
  return (
    <section>
      <h3>Frames by node{balances.length > 0 && ` in ${duration(1000 * seconds)}`}</h3>
      <p>What a node says it offered, against what became of it: accepted, refused, dropped or waiting. A difference of more than two seconds’ frames is red.</p>
      {silent > 0 && <p>{plural(silent, 'node')} did not say yet what {silent === 1 ? 'it' : 'they'} offered.</p>}
      {balances.length > 0 && (
        <Scrolling label="Frames by node">
          <table>
            <caption class="hidden">Frames by node</caption>
            <thead>
              <tr><th scope="col">node</th><th scope="col" class="number">offered</th><th scope="col" class="number">explained</th><th scope="col" class="number">difference</th><th scope="col">verdict</th></tr>
            </thead>
            <tbody>
              {balances.map((each) => (
                <tr key={each.node}>
                  <th scope="row">{each.node}</th>
                  <td class="number">{integer(each.offered)}</td>
                  <td class="number">{integer(each.explained)}</td>
                  <td class={each.addsUp ? 'number' : 'number bad'}>{integer(each.missing)}</td>
                  <td><State kind={!each.addsUp ? 'bad' : seconds < LEAST_S ? 'faint' : 'good'}>{each.addsUp ? (seconds < LEAST_S ? 'counting' : 'adds up') : each.missing > 0 ? 'gone without a count' : 'counted twice'}</State></td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
    </section>
  );
}

export function LossView({ site }: { site: Site }) {
  const poll = useMemo(() => new Poll<SiteFlow>(`api/v1/sites/${encodeURIComponent(site.name)}/flow`, 2_000), [site.name]);
  const { answer, problem } = usePoll(poll);
  const listed = usePoll(nodePoll);
  const base = useRef(new Map<string, { node: Node; atMs: number }>());
  const here = (listed.answer ?? []).filter((node) => node.site === site.name);
  let seconds = 0;
  const balances: NodeBalance[] = [];
  for (const node of here) {
    const then = base.current.get(keyOf(node));
    const elapsed = then === undefined ? 0 : (listed.answeredMs - then.atMs) / 1000;
    const balance = then === undefined ? undefined : balanceOf(node, then.node, elapsed);
    if (balance === undefined) base.current.set(keyOf(node), { node, atMs: listed.answeredMs });
    else balances.push(balance);
    seconds = Math.max(seconds, elapsed);
  }
  if (answer === undefined) return problem === undefined ? null : <Notice kind="bad">{problem.message}</Notice>;
  balances.sort((a, b) => Number(a.addsUp) - Number(b.addsUp) || a.node.localeCompare(b.node));
  return (
    <>
      <p>Since the aggregator started. Green arrived, blue waits or is contained in something larger, red is lost or refused.</p>
      <AccountPicture title="Frames that nodes sent" unit="frame" account={accountOf(answer.frames)} />
      <AccountPicture title="Tuples in the frames that were taken" unit="tuple" account={accountOf(answer.tuples)} />
      <Balances balances={balances} seconds={seconds} silent={here.length - balances.length} />
    </>
  );
}
