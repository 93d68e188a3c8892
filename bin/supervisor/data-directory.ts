/**
 * Where the embedded stores keep their files: `DATA_DIR/stores`, with
 * `postgres/`, `redis/` and the private socket folder `sock/` inside, all
 * readable by one account only. When that account cannot enter DATA_DIR (a
 * root checkout under /root), `stores` is a link to `/var/lib/mailstead/<hash>`,
 * made once: later changes of folder modes never make the data seem to vanish.
 * Nothing is ever deleted here; what is in the way is moved aside or named.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { type Account, chooseAccount, mayEnter } from './account.ts'
import { reasonOf, type Say, Trouble } from './user-error.ts'

/** System-wide folder of a root supervisor whose own folder other users cannot enter. */
export const SYSTEM_DIR = '/var/lib/mailstead'
/** sun_path holds 108 bytes with the final NUL; `/.s.PGSQL.5432.lock` must fit behind it too. */
const LONGEST_SOCKET_DIR = 85

export interface Home {
  /** Absolute, without links, owned by the account, mode 0700. */
  readonly dir: string
  /** Short private folder for the unix sockets. */
  readonly sockets: string
  readonly account: Account | null
}

/** Opens (makes, on the first start) the stores' home of a data folder. Throws Trouble when it cannot be used. */
export function openHome(dataDir: string, say: Say): Home {
  const wanted = join(resolve(dataDir), 'stores')
  mkdirSync(resolve(dataDir), { recursive: true })
  const present = lstatSync(wanted, { throwIfNoEntry: false }) !== undefined
  if (present && !existsSync(wanted)) {
    throw new Trouble(
      `${wanted} points to ${readlinkSync(wanted)}, which is gone. Bring it back, or remove the link to start empty.`,
    )
  }
  const account = chooseAccount(wanted)
  if (!present) makeHome(wanted, account, say)
  const dir = realpathSync(wanted)
  own(dir, account)
  if (!mayEnter(dir, account)) {
    throw new Trouble(
      `User ${account?.name ?? process.getuid?.()} cannot enter ${dir}, where PostgreSQL and Redis keep their data: ` +
        'make all its parent folders enterable (chmod o+x).',
    )
  }
  return { dir, account, sockets: openSockets(dir, account) }
}

/** Removes the socket folder where it lies outside the home. Call it when the stores have stopped. */
export function closeHome(home: Home): void {
  if (home.sockets.startsWith(home.dir)) return
  rmSync(home.sockets, { recursive: true, force: true })
  rmSync(join(home.dir, 'sock'), { force: true })
}

/** Makes a folder (if missing) that only the account can read. */
export function makePrivate(dir: string, account: Account | null): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  own(dir, account)
}

function makeHome(wanted: string, account: Account | null, say: Say): void {
  makePrivate(wanted, account)
  if (mayEnter(wanted, account)) return
  rmdirSync(wanted)
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 12)
  const target = join(SYSTEM_DIR, hash)
  try {
    mkdirSync(SYSTEM_DIR, { recursive: true })
    chmodSync(SYSTEM_DIR, 0o755)
    // Data of an earlier DATA_DIR with this name, which was removed: not ours to mix with, not ours to delete.
    if (existsSync(target)) renameSync(target, `${target}.until-${Date.now()}`)
    makePrivate(target, account)
  } catch (error) {
    throw new Trouble(
      `User ${account?.name} cannot enter ${wanted}, and ${SYSTEM_DIR} cannot be used instead (${reasonOf(error)}). ` +
        'Set DATA_DIR to a folder that every user can enter.',
    )
  }
  symlinkSync(target, wanted)
  say(`User ${account?.name} cannot enter ${resolve(wanted, '..')}: PostgreSQL and Redis keep their data in ${target}.`)
}

function own(dir: string, account: Account | null): void {
  const { uid, mode } = statSync(dir)
  const me = account?.uid ?? process.getuid?.() ?? uid
  if (account !== null && uid !== account.uid) chownSync(dir, account.uid, account.gid)
  else if (uid !== me) {
    throw new Trouble(
      `${dir} belongs to user ${uid}: it was made by a start as root or as another user. ` +
        `Start as that user, or give it over: chown -R ${me} ${dir}`,
    )
  }
  if ((mode & 0o777) !== 0o700) chmodSync(dir, 0o700)
}

function isPrivate(dir: string, owner: number | undefined): boolean {
  const { uid, mode } = statSync(dir)
  return uid === owner && (mode & 0o777) === 0o700
}

/** `<home>/sock`; where that is too long for a unix socket, a link to a short private folder. */
function openSockets(home: string, account: Account | null): string {
  const wanted = join(home, 'sock')
  if (Buffer.byteLength(wanted) <= LONGEST_SOCKET_DIR) {
    makePrivate(wanted, account)
    return wanted
  }
  const owner = account?.uid ?? process.getuid?.()
  const present = existsSync(wanted) ? realpathSync(wanted) : null
  if (present !== null && present !== wanted && isPrivate(present, owner)) return present
  rmSync(wanted, { force: true })
  const made = mkdtempSync('/tmp/mailstead-')
  own(made, account)
  symlinkSync(made, wanted)
  return made
}
