// Faults of a configuration, as the aggregator says them: a line of text each, mostly with the line of the file.

export interface Fault {
  readonly line: number; // from 1; 0: not about one line
  readonly text: string;
}

// "run.toml:12: client.batch: expected …" and "12: …"; anything else is a fault without a line.
export function parseFaults(text: string): Fault[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const found = /^(?:[^\s:]*[^\s:\d][^\s:]*:)?(\d{1,6})(?::\d+)?:\s*(.+)$/.exec(line);
      return found === null ? { line: 0, text: line } : { line: Number(found[1]), text: found[2]! };
    });
}
