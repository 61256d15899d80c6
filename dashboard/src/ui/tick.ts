// Renders a component again at a steady pace: for figures that people read.
import { useEffect, useState } from 'preact/hooks';

export function useTick(periodMs: number): void {
  const [, render] = useState({});
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) render({});
    }, periodMs);
    return () => clearInterval(timer);
  }, [periodMs]);
}
