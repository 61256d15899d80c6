// The room of a site, live: where its subjects are and how sure that is.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Site } from '../../api/types';
import { duration, integer, percent, significant } from '../../model/numbers';
import type { Plan, Scale } from '../../model/plan';
import { Empty, Figure, Figures, Notice } from '../../ui/parts';
import { Redraw } from '../../ui/redraw';
import { colours, onTheme } from '../../ui/theme';
import { useTick } from '../../ui/tick';
import { LiveSite, STALE_MS } from './live_site';
import { drawRoom, subjectNear } from './picture';
import { SubjectTable } from './subject_table';
import { Timeline } from './timeline';

interface Properties {
  readonly site: Site;
  readonly subject: number | undefined;
  readonly select: (subject: number | undefined) => void;
}

export function RoomView({ site, subject, select }: Properties) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scale = useRef<Scale | undefined>(undefined);
  const chosen = useRef(subject);
  chosen.current = subject;
  const [live, setLive] = useState<LiveSite | undefined>(undefined);
  const plan = useMemo<Plan | undefined>(() => undefined, [site.name]);
  useTick(250);

  useEffect(() => {
    let current: LiveSite | undefined;
    const redraw = new Redraw(() => {
      if (canvas.current === null || current === undefined) return;
      const fallback: Plan = { bounds: current.seen ?? { left: -5, bottom: -5, right: 5, top: 5 }, walls: [], panels: [] };
      scale.current = drawRoom(canvas.current, {
        history: current.history,
        index: current.index(),
        plan: plan ?? fallback,
        selected: chosen.current,
        sources: current.leaves,
        colours: colours(),
      });
    });
    current = new LiveSite(site.name, () => redraw.request());
    setLive(current);
    const forgetTheme = onTheme(() => redraw.request());
    const sizes = new ResizeObserver(() => redraw.request());
    if (canvas.current !== null) sizes.observe(canvas.current);
    return () => {
      current?.close();
      redraw.cancel();
      forgetTheme();
      sizes.disconnect();
    };
  }, [site.name, plan]);

  const slot = live?.shown();
  const figures = live?.figures();
  const silentMs = live?.silentMs() ?? NaN;
  const paused = live?.pausedAtMs !== undefined;
  const click = (event: MouseEvent) => {
    if (slot === undefined || scale.current === undefined) return;
    const near = subjectNear(slot, scale.current, event.offsetX, event.offsetY);
    select(near < 0 ? undefined : slot.subjects[near]);
  };

  return (
    <>
      {live?.link === 'lost' && (
        <Notice kind="bad">
          The connection to the aggregator is lost. The picture is {duration(silentMs)} old; the page connects again by itself.
        </Notice>
      )}
      {live?.link === 'open' && silentMs > STALE_MS && !paused && (
        <Notice kind="warn">
          The site has published nothing for {duration(silentMs)}. The connection stands: look at <a href={`#/sources/${encodeURIComponent(site.name)}`}>Sources</a>.
        </Notice>
      )}
      <div class="room">
        <div class="plan">
          <canvas ref={canvas} role="img" onClick={click}
            aria-label={`Plan of ${site.name} with ${slot?.subjects.length ?? 0} subjects; the table has the same positions`} />
          {slot === undefined && (
            <Empty title="No slot yet">
              <p>The site has fused nothing since the aggregator started. Start its nodes; <code>tributary status</code> lists who reports.</p>
            </Empty>
          )}
          {live !== undefined && <Timeline live={live} />}
        </div>
        <div class="beside">
          <Figures>
            <Figure label="slots" value={figures ? `${significant(figures.slotsPerSecond)} /s` : '–'} />
            <Figure label="estimates" value={figures ? `${integer(figures.estimatesPerSecond)} /s` : '–'} />
            <Figure label="latency" value={figures ? duration(figures.latencyMs) : '–'} title="Median time from the earliest sample to the fused slot, by the clocks of node and aggregator" />
            <Figure label="complete" value={figures ? percent(figures.complete) : '–'} title="Estimates that contain every source" />
            {figures !== undefined && Number.isFinite(figures.meanErrorM) && (
              <Figure label="mean error" value={`${significant(100 * figures.meanErrorM)} cm`} />
            )}
          </Figures>
          {slot !== undefined && <SubjectTable slot={slot} selected={subject} select={select} />}
        </div>
      </div>
    </>
  );
}
