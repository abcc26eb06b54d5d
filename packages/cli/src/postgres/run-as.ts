// PostgreSQL refuses to run as uid 0, and containers run everything as uid 0. When we are root, its programs run as another
// user; when that user cannot reach the files (a clone below /root, mode 0700), they get the one capability that lets
// them pass folders, and nothing else of root. An ordinary user needs none of this.
import { execFileSync, type SpawnOptions } from 'node:child_process';
import { lchownSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CliError } from '../errors.js';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** How to start a PostgreSQL program. */
export interface Launcher {
  /** Absent: as ourselves. */
  readonly account?: Account;
  /** The program and arguments to hand to spawn, with the options that select the user. */
  readonly command: (program: string, args: readonly string[]) => LaunchCommand;
}

export interface LaunchCommand {
  readonly file: string;
  readonly args: string[];
  readonly options: Pick<SpawnOptions, 'uid' | 'gid'>;
}

const asOurselves: Launcher = { command: (file, args) => ({ file, args: [...args], options: {} }) };

/** @param folder the cluster's folder (exists); @param reads paths the programs must be able to read */
export function chooseLauncher(folder: string, reads: readonly string[]): Launcher {
  if (process.getuid?.() !== 0) return asOurselves;
  const account = accountFor(folder);
  giveTo(account, folder);
  if ([folder, ...reads].every((path) => canReach(path, account))) {
    const { uid, gid } = account;
    return { account, command: (file, args) => ({ file, args: [...args], options: { uid, gid } }) };
  }
  return { account, command: setprivCommand(account, folder) };
}

/** The owner of an existing cluster keeps it, so that the same folder works with and without sudo. */
function accountFor(folder: string): Account {
  const { uid, gid } = statSync(folder);
  if (uid !== 0) return { name: `uid ${uid}`, uid, gid };
  const accounts = parsePasswd(readFileSync('/etc/passwd', 'utf8'));
  const account = accounts.find(({ name }) => name === 'postgres') ?? accounts.find(({ name }) => name === 'nobody');
  if (account !== undefined && account.uid !== 0) return account;
  throw new CliError('PostgreSQL cannot run as root, and this system has neither a user `postgres` nor `nobody`.', {
    hint: 'Create one (useradd --system postgres), run noetl as an ordinary user, or set DATABASE_URL.',
  });
}

export function parsePasswd(text: string): Account[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (name === undefined || name === '' || uid === undefined || gid === undefined) return [];
    const account = { name, uid: Number(uid), gid: Number(gid) };
    return Number.isSafeInteger(account.uid) && Number.isSafeInteger(account.gid) ? [account] : [];
  });
}

function giveTo(account: Account, path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || (stat.uid === account.uid && stat.gid === account.gid)) return;
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    lchownSync(join(entry.parentPath, entry.name), account.uid, account.gid);
  }
  // The folder itself last: it tells the next start that the whole tree was handed over.
  lchownSync(path, account.uid, account.gid);
}

/** Mode bits only. Access control lists are not read; when only they would allow it, setpriv works as well. */
export function canReach(path: string, { uid, gid }: Pick<Account, 'uid' | 'gid'>): boolean {
  for (let current = resolve(path), last = true; ; current = dirname(current), last = false) {
    const stat = statSync(current, { throwIfNoEntry: false });
    if (stat === undefined) return false;
    const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0;
    const wanted = stat.isDirectory() ? (last ? 0o5 : 0o1) : 0o4;
    if (((stat.mode >> shift) & wanted) !== wanted) return false;
    if (current === dirname(current)) return true;
  }
}

function setprivCommand(account: Account, folder: string): Launcher['command'] {
  const prefix = [
    ...['--reuid', String(account.uid), '--regid', String(account.gid), '--clear-groups'],
    // dac_override alone: it covers searching folders, and dac_read_search is not among a container's capabilities.
    ...['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'],
    // access(2) drops the capabilities of a process whose real uid is not 0 unless this bit is set, and initdb calls it
    // to find its own programs. The exec that follows still drops everything that is not ambient.
    ...['--securebits', '+no_setuid_fixup'],
  ];
  try {
    execFileSync('setpriv', [...prefix, 'test', '-x', folder], { stdio: 'pipe' });
  } catch (cause) {
    throw new CliError(`PostgreSQL cannot run as root, and user ${account.name} cannot reach ${folder}.`, {
      hint:
        'Use a --data-dir (and a clone) that other users may enter, such as one below /var/lib or /srv, ' +
        'install util-linux (setpriv), or set DATABASE_URL.',
      cause,
    });
  }
  return (program, args) => ({ file: 'setpriv', args: [...prefix, program, ...args], options: {} });
}
