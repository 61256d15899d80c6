// All nodes: who reports, who learns, and what is wrong with whom.
import { useMemo, useState } from 'preact/hooks';
import { nodes as poll } from '../../api/nodes';
import { usePoll } from '../../api/poll';
import type { Node } from '../../api/types';
import { count, integer, milliseconds, duration, shortDigest, significant } from '../../model/numbers';
import { FrameRates, inOrder, keyOf, matches, troublesOf, warningsOf } from '../../model/fleet';
import { hashOf } from '../../model/route';
import { Empty, Figure, Figures, Notice, Scrolling, State } from '../../ui/parts';
import { NodeDetails } from './details';

const SHOWN = 100;

function Row({ node, rate, nowMs, open, toggle }: { node: Node; rate: number; nowMs: number; open: boolean; toggle: () => void }) {
  const troubles = troublesOf(node, nowMs);
  const connected = node.connected || node.learns.some((each) => each.connected);
  return (
    <>
      <tr class={open ? 'chosen' : ''}>
        <th scope="row"><button type="button" class="plain" aria-expanded={open} onClick={toggle}>{node.name}</button></th>
        <td>{node.site === '' ? '–' : <a href={hashOf('room', node.site)}>{node.site}</a>}</td>
        <td><State kind={!connected ? 'bad' : troubles.length > 0 ? 'warn' : 'good'}>{connected ? 'connected' : 'not connected'}</State></td>
        <td class="number">{node.site === '' ? '–' : `${significant(rate)}`}</td>
        <td class="number">{node.last_frame_unix_ns === '0' ? '–' : duration(Math.max(0, nowMs - milliseconds(node.last_frame_unix_ns)))}</td>
        <td class="number">{integer(count(node.refused_frames))}</td>
        <td class="number">{integer(count(node.dropped_frames))}</td>
        <td>{node.model_name}{node.model_sha256 !== '' && <> <code>{shortDigest(node.model_sha256)}</code></>}</td>
        <td>{node.learns.map((each) => <div>{each.run === '' ? 'waits for a run' : <a href={hashOf('learning', each.run)}>{each.run}</a>}{each.last_round > 0 && ` round ${each.last_round}`}</div>)}</td>
        <td class="words">{[...troubles, ...warningsOf(node)].join(' ')}</td>
      </tr>
      {open && <tr class="details"><td colSpan={10}><NodeDetails node={node} nowMs={nowMs} /></td></tr>}
    </>
  );
}

export function FleetView() {
  const { answer, answeredMs, problem } = usePoll(poll);
  const [words, setWords] = useState('');
  const [shown, show] = useState(SHOWN);
  const [opened, open] = useState('');
  const rates = useMemo(() => new FrameRates(), []);
  useMemo(() => answer !== undefined && rates.take(answer, answeredMs), [answer]);
  if (answer === undefined) return problem === undefined ? null : <Notice kind="bad">{problem.message}</Notice>;
  if (answer.length === 0) {
    return <Empty title="No node yet"><p>Start a node whose <code>[uplink]</code> or <code>[federation]</code> names this aggregator: <code>tributary-node --config node.toml</code>.</p></Empty>;
  }
  const nowMs = Date.now();
  const found = inOrder(answer.filter((node) => matches(node, words)), nowMs);
  const reporting = answer.filter((node) => node.connected && node.site !== '').length;
  return (
    <>
      <Figures>
        <Figure label="nodes" value={integer(answer.length)} />
        <Figure label="report now" value={integer(reporting)} />
        <Figure label="learn now" value={integer(answer.filter((node) => node.learns.some((each) => each.connected)).length)} />
        <Figure label="in trouble" value={integer(answer.filter((node) => troublesOf(node, nowMs).length > 0).length)} />
      </Figures>
      <p><label>Find <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} /></label> {found.length} of {answer.length}, those in trouble first</p>
      <Scrolling label="Nodes">
        <table>
          <caption class="hidden">Nodes; a name opens what the node says of itself</caption>
          <thead>
            <tr>
              <th scope="col">node</th>
              <th scope="col">site</th>
              <th scope="col">state</th>
              <th scope="col" class="number">frames/s</th>
              <th scope="col" class="number">last frame</th>
              <th scope="col" class="number">refused</th>
              <th scope="col" class="number">dropped</th>
              <th scope="col">model</th>
              <th scope="col">learns in</th>
              <th scope="col">what is wrong</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, shown).map((node) => {
              const key = keyOf(node);
              return <Row key={key} node={node} rate={rates.of(node)} nowMs={nowMs} open={opened === key} toggle={() => open(opened === key ? '' : key)} />;
            })}
          </tbody>
        </table>
      </Scrolling>
      {found.length > shown && <p><button type="button" onClick={() => show(shown + 400)}>Show more</button> {found.length - shown} are not shown.</p>}
    </>
  );
}
