// Who a pid is. A pid alone proves nothing: it may have been reused, or be a zombie that nobody reaped (common in containers,
// where the parent that should reap an orphan is often not an init). Everything that trusts a pid from a file asks here.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal for one process during its whole life, different for the next process with the same pid. */
  readonly startTime: string;
  /** Name of the executable, without its folder. */
  readonly command: string;
}

/** Undefined when no such process runs. A zombie does not run. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return process.platform === 'linux' ? identifyFromProc(pid) : identifyFromPs(pid);
}

function identifyFromProc(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  return parseProcStat(pid, stat);
}

/** `pid (comm) state ppid … starttime …`: comm may itself contain spaces and parentheses, so split at the last one. */
export function parseProcStat(pid: number, stat: string): ProcessIdentity | undefined {
  const open = stat.indexOf('(');
  const close = stat.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const fields = stat.slice(close + 2).split(' ');
  const state = fields[0];
  const startTime = fields[19];
  if (state === undefined || startTime === undefined || state === 'Z' || state === 'X') return undefined;
  return { pid, startTime, command: stat.slice(open + 1, close) };
}

function identifyFromPs(pid: number): ProcessIdentity | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=,comm=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const match = /^(\S+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+(.+)$/.exec(line);
    if (match === null || match[1]?.startsWith('Z')) return undefined;
    const [, , startTime = '', command = ''] = match;
    return { pid, startTime, command: command.split('/').at(-1) ?? command };
  } catch {
    return undefined;
  }
}
