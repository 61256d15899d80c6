// The clusters that the nodes of a run were found to form.
import type { Clusters, Run } from '../../api/types';
import { real } from '../../model/numbers';
import { hashOf } from '../../model/route';
import { splitInto } from '../../model/runs';

// What can be done with the clusters. Who stopped the run has no use for them, or has split it under other names.
function WhatNext({ run, split }: { run: Run; split: readonly string[] }) {
  if (split.length > 0) {
    return <>Split into {split.map((name, index) => <>{index > 0 && ', '}<a href={hashOf('learning', name)}>{name}</a></>)}.</>;
  }
  return run.state === 'RUN_STATE_STOPPED' ? null : <><code>tributary run split {run.name}</code> starts a run for each.</>;
}

export function FoundClusters({ run, found, runs }: { run: Run; found: Clusters; runs: readonly Run[] }) {
  if (found.clusters.length === 0) return <p>None: {found.message}.</p>;
  return (
    <>
      <p>
        {found.clusters.length} after round {found.round}, agreement {real(found.agreement).toFixed(2)}. <WhatNext run={run} split={splitInto(run, found.clusters.length, runs)} />
      </p>
      <ol>
        {found.clusters.map((each) => <li>{each.nodes.join(', ')}</li>)}
      </ol>
      {found.alone.length > 0 && <p>In none: {found.alone.join(', ')}</p>}
      {found.missing_since > 0 && <p>Not found again since round {found.missing_since}: {found.message}.</p>}
    </>
  );
}
