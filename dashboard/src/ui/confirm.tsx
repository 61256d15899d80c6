// Asks before something is done that others notice.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../api/client';
import { Notice } from './parts';

interface Properties {
  readonly title: string;
  readonly verb: string; // on the button
  readonly danger?: boolean;
  readonly act: () => Promise<void>;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

export function Confirm({ title, verb, danger, act, close, children }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const go = async () => {
    setBusy(true);
    try {
      await act();
      close();
    } catch (fault) {
      setProblem(fault instanceof ApiProblem ? fault.message : String(fault));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={close}>
      <h2 id="confirm-title">{title}</h2>
      {children}
      {problem !== '' && <Notice kind="bad">{problem}</Notice>}
      <div class="buttons">
        <button type="button" onClick={close} autoFocus>Leave it as it is</button>
        <button type="button" class={danger ? 'danger' : ''} disabled={busy} onClick={() => void go()}>{verb}</button>
      </div>
    </dialog>
  );
}
