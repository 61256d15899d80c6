// All that the API has of one node.
import type { CheckFinding, Node, NodeStatus, Sensor } from '../../api/types';
import { checkWords } from '../../model/fleet';
import { bytes, count, dateAndTime, digest, duration, integer, milliseconds, real, significant } from '../../model/numbers';
import { State } from '../../ui/parts';

function reading(sensor: Sensor): string {
  const unit = sensor.kind === 'SENSOR_KIND_TEMPERATURE' ? ' °C' : sensor.kind === 'SENSOR_KIND_POWER' ? ' W' : '';
  return `${sensor.name} ${significant(real(sensor.value))}${unit}`;
}

function factsOf(node: Node, nowMs: number): [string, string][] {
  const facts: [string, string][] = [['sources', node.sources.join(', ')]];
  facts.push(['accepted frames', integer(count(node.accepted_frames))]);
  facts.push(['model', `${node.model_name} ${node.model_version}`.trim()]);
  if (node.model_sha256 !== '') facts.push(['SHA-256 of its parameters', digest(node.model_sha256)]);
  if (node.identity !== '') facts.push(['name on its certificate', node.identity]);
  const expires = milliseconds(node.certificate_expires_unix_ns);
  if (expires > 0) facts.push(['certificate expires', dateAndTime(expires)]);
  for (const each of node.learns) {
    facts.push([each.run === '' ? 'learning' : `run ${each.run}`,
      `${integer(count(each.sample_count))} samples, ${integer(count(each.accepted_updates))} updates accepted, ${integer(count(each.refused_updates))} refused, ${integer(count(each.dropped_rounds))} rounds missed`]);
  }
  const status = node.status;
  if (status === undefined) return facts;
  facts.push(['program', status.version], ['runs for', duration(nowMs - milliseconds(status.started_unix_ns))]);
  facts.push(['offered frames', integer(count(status.offered_frames))]);
  facts.push(['waiting in its spool', `${integer(count(status.held_frames))} frames, ${bytes(count(status.held_bytes))}`]);
  if (status.xclbin_uuid !== '') facts.push(['bitstream', status.xclbin_uuid]);
  if (status.sensors.length > 0) facts.push(['sensors', status.sensors.map(reading).join(', ')]);
  if (status.last_error !== '') facts.push([`last error, ${duration(nowMs - milliseconds(status.last_error_unix_ns))} ago`, status.last_error]);
  facts.push(['told this', `${duration(Math.max(0, nowMs - milliseconds(node.status_unix_ns)))} ago`]);
  return facts;
}

const FINDINGS: Record<CheckFinding, { kind: 'good' | 'warn' | 'bad' | 'faint'; word: string }> = {
  CHECK_FINDING_UNSPECIFIED: { kind: 'faint', word: 'unknown' },
  CHECK_FINDING_OK: { kind: 'good', word: 'ok' },
  CHECK_FINDING_WARNING: { kind: 'warn', word: 'warning' },
  CHECK_FINDING_FAULT: { kind: 'bad', word: 'fault' },
};

function Checks({ status, nowMs }: { status: NodeStatus; nowMs: number }) {
  if (status.checks.length === 0) return <p>It has not said how its machine is. Nodes before this release do not.</p>;
  return (
    <>
      <p>Checks of its machine, {duration(Math.max(0, nowMs - milliseconds(status.checked_unix_ns)))} ago; <code>tributary doctor --config node.toml</code> on the node checks more.</p>
      <ul aria-label="Checks">
        {status.checks.map((check) => {
          const { kind, word } = FINDINGS[check.finding] ?? FINDINGS.CHECK_FINDING_UNSPECIFIED;
          return <li><State kind={kind}>{word}</State> {checkWords(check)}</li>;
        })}
      </ul>
    </>
  );
}

export function NodeDetails({ node, nowMs }: { node: Node; nowMs: number }) {
  return (
    <>
      <dl class="facts">
        {factsOf(node, nowMs).filter(([, text]) => text !== '').map(([name, text]) => <div><dt>{name}</dt><dd>{text}</dd></div>)}
      </dl>
      {node.status !== undefined && <Checks status={node.status} nowMs={nowMs} />}
    </>
  );
}
