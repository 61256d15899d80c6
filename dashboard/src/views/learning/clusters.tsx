// The clusters that the nodes of a run were found to form.
import type { Clusters } from '../../api/types';
import { real } from '../../model/numbers';

export function FoundClusters({ run, found }: { run: string; found: Clusters }) {
  if (found.clusters.length === 0) return <p>None: {found.message}.</p>;
  return (
    <>
      <p>
        {found.clusters.length} after round {found.round}, agreement {real(found.agreement).toFixed(2)}. <code>tributary run split {run}</code> starts a run for each.
      </p>
      <ol>
        {found.clusters.map((each) => <li>{each.nodes.join(', ')}</li>)}
      </ol>
      {found.alone.length > 0 && <p>In none: {found.alone.join(', ')}</p>}
      {found.missing_since > 0 && <p>Not found again since round {found.missing_since}: {found.message}.</p>}
    </>
  );
}
