// `postmaster.pid`, the file by which PostgreSQL marks a cluster as in use: who holds it, on which port, in which state.
import { readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess } from '../datadir/process.js';

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

export type ClusterUse =
  | { readonly state: 'free' }
  /** A server runs on this cluster (it may still be starting, or already stopping). */
  | { readonly state: 'running'; readonly postmaster: Postmaster }
  /** The file is left over; its pid is dead, a zombie, or belongs to a stranger by now. */
  | { readonly state: 'stale' };

export function inspectCluster(data: string): ClusterUse {
  let text: string;
  try {
    text = readFileSync(pidFile(data), 'utf8');
  } catch {
    return { state: 'free' };
  }
  const postmaster = parsePidFile(text);
  if (postmaster === undefined) return { state: 'stale' };
  return servesCluster(postmaster.pid, data) ? { state: 'running', postmaster } : { state: 'stale' };
}

/** Lines: pid, data directory, start time, port, socket directory, listen address, shared memory key, status. */
export function parsePidFile(text: string): Postmaster | undefined {
  const lines = text.split('\n');
  const pid = Math.abs(Number.parseInt(lines[0] ?? '', 10));
  const port = Number.parseInt(lines[3] ?? '', 10);
  if (!Number.isSafeInteger(pid) || pid === 0) return undefined;
  return { pid, port: Number.isSafeInteger(port) ? port : 0 };
}

/** A postgres process that works in this folder: PostgreSQL changes into its data directory, all its processes do. */
export function servesCluster(pid: number, data: string): boolean {
  const command = identifyProcess(pid)?.command;
  if (command === undefined || !command.startsWith('postgres')) return false;
  if (process.platform !== 'linux') return true;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
  } catch {
    // Not ours to read: some other user's server. Claiming it is ours is the safe answer, it leads to an attempt to connect.
    return true;
  }
}

// Larger than any pid a kernel gives out.
const NOBODY = 2_147_483_646;

/**
 * Makes a stale file harmless. PostgreSQL itself ignores one whose pid is gone, but refuses to start when the pid was
 * reused or is a zombie. Only the pid is replaced: the rest holds the shared memory key, by which the new server makes sure
 * that no child of the old one still writes to the cluster. Deleting the file would give that up.
 */
export function disownPidFile(data: string): void {
  const file = pidFile(data);
  const text = readFileSync(file, 'utf8');
  if (parsePidFile(text) === undefined) {
    rmSync(file);
    return;
  }
  const [, ...rest] = text.split('\n');
  writeFileSync(file, [String(NOBODY), ...rest].join('\n'));
}

function pidFile(data: string): string {
  return join(data, 'postmaster.pid');
}
