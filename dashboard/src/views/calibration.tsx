// What the sources of a site find out about each other: how sure each should be, and how far its mounting is off.
import type { Site } from '../api/types';
import { type Mode, modeOf, needsOf } from '../model/calibration';
import { integer } from '../model/numbers';
import { Scrolling, State } from '../ui/parts';

function ModeText({ mode }: { mode: Mode }) {
  const key = <code>mode</code>;
  switch (mode) {
    case 'none': return <p>Only positions in two dimensions are calibrated. The table above judges these sources.</p>;
    case 'off': return <p>Calibration is off. To see how far each source is off, set {key} to <code>"observe"</code> in <code>[site.calibration]</code> of the aggregator’s configuration and reload it.</p>;
    case 'observe': return <p>Mode <code>observe</code>: tuples are fused as sent. To correct them before they are fused, set {key} to <code>"correct"</code> in <code>[site.calibration]</code> and reload.</p>;
    case 'correct': return <p>Mode <code>correct</code>: tuples are corrected before they are fused. Set {key} to <code>"observe"</code> and reload to take that back.</p>;
  }
}

export function Calibration({ site }: { site: Site }) {
  const mode = modeOf(site);
  const needs = mode === 'none' || mode === 'off' ? [] : needsOf(site);
  return (
    <section>
      <h3>Calibration</h3>
      <ModeText mode={mode} />
      {mode !== 'none' && mode !== 'off' && needs.length === 0 && <p>No source yet: start at least two nodes, three to tell which one is off.</p>}
      {mode !== 'none' && mode !== 'off' && !site.has_room && <p>Give the places of the sources in <code>[site.room]</code>: without them, nothing tells a turn of all sources from shifts.</p>}
      {needs.length > 0 && (
        <>
          <p>Shift and turn are what a source’s positions need to agree with the others, ± one standard deviation. The finding says what is wrong with the source: the opposite.</p>
          <Scrolling label="Calibration">
            <table>
              <caption class="hidden">What each source needs to agree with the others, those with a finding first</caption>
              <thead>
                <tr>
                  <th scope="col">source</th>
                  <th scope="col">state</th>
                  <th scope="col" class="number" title="How many times as large as it claims its errors are">scale</th>
                  <th scope="col" class="number">shift along x</th>
                  <th scope="col" class="number">shift along y</th>
                  <th scope="col" class="number" title="About its place, counter-clockwise">turn</th>
                  <th scope="col" class="number" title="Tuples that count; older ones count less">tuples</th>
                  <th scope="col">finding</th>
                </tr>
              </thead>
              <tbody>
                {needs.map((need) => (
                  <tr key={need.source}>
                    <th scope="row">{need.source}</th>
                    <td><State kind={need.notable ? (mode === 'correct' ? 'good' : 'warn') : 'faint'}>{need.notable ? (mode === 'correct' ? 'corrected' : 'notable') : 'no finding'}</State></td>
                    <td class="number">{need.scale}</td>
                    <td class="number">{need.shiftX}</td>
                    <td class="number">{need.shiftY}</td>
                    <td class="number">{need.turn}</td>
                    <td class="number">{integer(need.observations)}</td>
                    <td class="words">{need.words}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scrolling>
        </>
      )}
    </section>
  );
}
