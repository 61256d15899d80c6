// Small parts that every view uses.
import type { ComponentChildren } from 'preact';

export function Notice({ kind, children }: { kind: 'info' | 'warn' | 'bad'; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'info' ? 'note' : 'alert'}>
      {children}
    </div>
  );
}

// What to do where there is nothing to show.
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Figure({ label, value, title }: { label: string; value: string; title?: string }) {
  return (
    <div class="figure" title={title}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

export function Figures({ children }: { children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

// A wide table scrolls by itself, also with the keyboard.
export function Scrolling({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scrolling" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

export function State({ kind, children }: { kind: 'good' | 'warn' | 'bad' | 'faint'; children: ComponentChildren }) {
  return <span class={`state ${kind}`}>{children}</span>;
}
