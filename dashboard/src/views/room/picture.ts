// Draws the room: walls, panels, and the subjects with their uncertainty.
import { ellipseOf } from '../../model/ellipse';
import type { History } from '../../model/history';
import { gridStep, Scale, type Plan } from '../../model/plan';
import { significant } from '../../model/numbers';
import { errorM, horizontalFactor, horizontalPosition, type Contribution, type Slot } from '../../model/slot';
import { seriesColour, type Colours } from '../../ui/theme';

const MARGIN_PX = 28;
const TAIL_MS = 2_000;
const TAIL_POINTS = 40;
const INSET_PX = 200;
// Beyond this, the sources of a subject contradict each other plainly.
const INCONSISTENT = 4;

export interface Scene {
  readonly history: History;
  readonly index: number; // of the slot that is shown
  readonly plan: Plan;
  readonly selected: number | undefined; // subject
  readonly sources: readonly string[];
  readonly enlarged: number; // how many times the ellipses are as large as true
  readonly colours: Colours;
}

function stroke(context: CanvasRenderingContext2D, colour: string, width: number, path: () => void): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  path();
  context.stroke();
}

function drawGrid(context: CanvasRenderingContext2D, scale: Scale, { plan, colours, enlarged }: Scene): void {
  const { left, right, bottom, top } = plan.bounds;
  const step = gridStep(scale.length(1), 36);
  stroke(context, colours.line, 1, () => {
    for (let x = Math.ceil(left / step) * step; x <= right; x += step) {
      context.moveTo(scale.x(x), scale.y(bottom));
      context.lineTo(scale.x(x), scale.y(top));
    }
    for (let y = Math.ceil(bottom / step) * step; y <= top; y += step) {
      context.moveTo(scale.x(left), scale.y(y));
      context.lineTo(scale.x(right), scale.y(y));
    }
  });
  context.fillStyle = colours.faint;
  context.textAlign = 'left';
  context.fillText(`grid ${step} m${enlarged > 1 ? `, ellipses ${enlarged} times as large` : ''}`, scale.x(left) + 4, scale.y(bottom) - 6);
}

function drawPlan(context: CanvasRenderingContext2D, scale: Scale, scene: Scene): void {
  const { plan, colours } = scene;
  stroke(context, colours.text, 2.5, () => {
    for (const [x1, y1, x2, y2] of plan.walls) {
      context.moveTo(scale.x(x1), scale.y(y1));
      context.lineTo(scale.x(x2), scale.y(y2));
    }
  });
  context.textAlign = 'center';
  for (const panel of plan.panels) {
    const colour = seriesColour(colours, Math.max(0, scene.sources.indexOf(panel.source)));
    const heading = (panel.headingDeg * Math.PI) / 180;
    const [x, y] = [scale.x(panel.x), scale.y(panel.y)];
    context.fillStyle = colour;
    if (!Number.isFinite(heading)) {
      context.fillRect(x - 5, y - 5, 10, 10);
      context.fillText(panel.source, x, y - 10);
      continue;
    }
    // The antenna's face, and where it looks.
    stroke(context, colour, 6, () => {
      context.moveTo(x - 14 * Math.sin(heading), y - 14 * Math.cos(heading));
      context.lineTo(x + 14 * Math.sin(heading), y + 14 * Math.cos(heading));
    });
    stroke(context, colour, 2, () => {
      context.moveTo(x, y);
      context.lineTo(x + 12 * Math.cos(heading), y - 12 * Math.sin(heading));
    });
    context.fillText(panel.source, x + 30 * Math.cos(heading), y - 24 * Math.sin(heading) + 4);
  }
}

function drawEllipse(context: CanvasRenderingContext2D, scale: Scale, mean: readonly [number, number],
                     factor: readonly [number, number, number], deviations: number): void {
  const { major, minor, angle } = ellipseOf(factor);
  if (!Number.isFinite(major + minor)) return;
  const longest = scale.length(deviations * major);
  context.moveTo(scale.x(mean[0]) + longest * Math.cos(angle), scale.y(mean[1]) - longest * Math.sin(angle));
  context.ellipse(scale.x(mean[0]), scale.y(mean[1]), longest, Math.max(0.5, scale.length(deviations * minor)), -angle, 0, 2 * Math.PI);
}

function drawTails(context: CanvasRenderingContext2D, scale: Scale, scene: Scene, slot: Slot): void {
  const { history } = scene;
  const from = history.indexAt(slot.beginsMs - TAIL_MS);
  const stride = Math.max(1, Math.ceil((scene.index - from) / TAIL_POINTS));
  context.globalAlpha = 0.55;
  stroke(context, scene.colours.accent, 1.5, () => {
    for (let k = 0; k < slot.subjects.length; ++k) {
      const [x, y] = horizontalPosition(slot, k);
      context.moveTo(scale.x(x), scale.y(y));
      for (let i = scene.index - stride; i >= from; i -= stride) {
        const earlier = history.at(i);
        if (earlier === undefined || earlier.dimension !== slot.dimension) break;
        // Mostly the subjects have the same places in every slot.
        const place = earlier.subjects[k] === slot.subjects[k] ? k : earlier.subjects.indexOf(slot.subjects[k]!);
        if (place < 0) break;
        const [ex, ey] = horizontalPosition(earlier, place);
        context.lineTo(scale.x(ex), scale.y(ey));
      }
    }
  });
  context.globalAlpha = 1;
}

function drawSubjects(context: CanvasRenderingContext2D, scale: Scale, scene: Scene, slot: Slot): void {
  const { colours } = scene;
  for (let k = 0; k < slot.subjects.length; ++k) {
    const mean = horizontalPosition(slot, k);
    const factor = horizontalFactor(slot, k);
    const chosen = slot.subjects[k] === scene.selected;
    const colour = slot.consistency[k]! > INCONSISTENT ? colours.bad : chosen ? colours.strong : colours.accent;
    context.globalAlpha = chosen ? 0.9 : 0.7;
    stroke(context, colour, chosen ? 2 : 1.25, () => drawEllipse(context, scale, mean, factor, scene.enlarged));
    context.globalAlpha = chosen ? 0.6 : 0.35;
    stroke(context, colour, 1, () => drawEllipse(context, scale, mean, factor, 2 * scene.enlarged));
    context.globalAlpha = 1;
    const [x, y] = [scale.x(mean[0]), scale.y(mean[1])];
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, chosen ? 5 : 3.5, 0, 2 * Math.PI);
    context.fill();
    context.textAlign = 'left';
    context.fillText(String(slot.subjects[k]), x + 8, y - 8);
    if (slot.truth !== undefined && Number.isFinite(errorM(slot, k))) drawTruth(context, scale, scene, slot, k);
  }
}

function drawTruth(context: CanvasRenderingContext2D, scale: Scale, scene: Scene, slot: Slot, k: number): void {
  const [x, y] = horizontalPosition(slot, k);
  const tx = scale.x(slot.truth!.positions[2 * k]!);
  const ty = scale.y(slot.dimension === 1 ? 0 : slot.truth!.positions[2 * k + 1]!);
  stroke(context, scene.colours.good, 1.5, () => {
    context.moveTo(tx - 4, ty - 4);
    context.lineTo(tx + 4, ty + 4);
    context.moveTo(tx - 4, ty + 4);
    context.lineTo(tx + 4, ty - 4);
    context.moveTo(tx, ty);
    context.lineTo(scale.x(x), scale.y(y));
  });
}

// Mean and factor of a contribution in the plane.
function horizontal(each: Contribution): { mean: [number, number]; factor: [number, number, number] } {
  if (each.mean.length === 1) return { mean: [each.mean[0]!, 0], factor: [each.cholesky[0]!, 0, 0] };
  return { mean: [each.mean[0]!, each.mean[1]!], factor: [each.cholesky[0]!, each.cholesky[1]!, each.cholesky[2]!] };
}

// A corner of the picture, as through a magnifying glass: the chosen subject, what each source says of it, and the truth, to scale.
function drawInset(context: CanvasRenderingContext2D, scene: Scene, slot: Slot, width: number): void {
  const k = slot.subjects.indexOf(scene.selected ?? -1);
  if (k < 0) return;
  const { colours } = scene;
  const told = slot.contributions.filter((each) => each.subject === scene.selected && each.mean.length > 0).map((each) => ({ each, ...horizontal(each) }));
  const [x, y] = horizontalPosition(slot, k);
  const truth = errorM(slot, k);
  const reach = told.reduce(
    (most, { mean, factor }) => Math.max(most, Math.hypot(mean[0] - x, mean[1] - y) + 1.5 * ellipseOf(factor).major),
    Math.max(3 * ellipseOf(horizontalFactor(slot, k)).major, Number.isFinite(truth) ? 1.2 * truth : 0),
  );
  if (!(reach > 0 && reach < 1e5)) return;
  const size = Math.min(INSET_PX, width / 2);
  const scale = new Scale({ left: x - reach, right: x + reach, bottom: y - reach, top: y + reach }, size, size, 4);
  context.save();
  context.translate(width - size - 6, 6);
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, size, size);
  context.beginPath();
  context.rect(0, 0, size, size);
  context.clip();
  for (const { each, mean, factor } of told) {
    const colour = seriesColour(colours, Math.max(0, scene.sources.indexOf(each.source)));
    context.setLineDash(each.leftOut === '' ? [] : [4, 3]);
    stroke(context, colour, 1.5, () => drawEllipse(context, scale, mean, factor, 1));
    context.setLineDash([]);
    context.fillStyle = colour;
    context.fillRect(scale.x(mean[0]) - 2.5, scale.y(mean[1]) - 2.5, 5, 5);
  }
  stroke(context, colours.text, 2, () => drawEllipse(context, scale, [x, y], horizontalFactor(slot, k), 1));
  context.fillStyle = colours.text;
  context.beginPath();
  context.arc(scale.x(x), scale.y(y), 3.5, 0, 2 * Math.PI);
  context.fill();
  if (Number.isFinite(truth)) drawTruth(context, scale, scene, slot, k);
  stroke(context, colours.faint, 1, () => context.rect(0.5, 0.5, size - 1, size - 1));
  context.fillStyle = colours.text;
  context.textAlign = 'left';
  context.fillText(`subject ${scene.selected}, ${significant(200 * reach)} cm wide`, 8, size - 8);
  context.restore();
}

// Fills the canvas; returns the scale, with which a click finds its subject.
export function drawRoom(canvas: HTMLCanvasElement, scene: Scene): Scale {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
  }
  const scale = new Scale(scene.plan.bounds, width, height, MARGIN_PX);
  const context = canvas.getContext('2d');
  if (context === null) return scale;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  context.lineJoin = 'round';
  drawGrid(context, scale, scene);
  drawPlan(context, scale, scene);
  const slot = scene.history.at(scene.index);
  if (slot === undefined || slot.dimension === 0) return scale;
  drawTails(context, scale, scene, slot);
  drawSubjects(context, scale, scene, slot);
  drawInset(context, scene, slot, width);
  return scale;
}

// The index of the subject nearest to a point of the picture; -1 if none is within reach of a finger.
export function subjectNear(slot: Slot, scale: Scale, x: number, y: number): number {
  let nearest = -1;
  let least = 24;
  for (let k = 0; k < slot.subjects.length; ++k) {
    const [mx, my] = horizontalPosition(slot, k);
    const distance = Math.hypot(scale.x(mx) - x, scale.y(my) - y);
    if (distance < least) [nearest, least] = [k, distance];
  }
  return nearest;
}
