/**
 * The folder of the embedded stores: `DATA_DIR/stores` with `postgres/`, `redis/` and the socket folder `sock/`, all
 * readable by one user only. If that user cannot enter DATA_DIR (a checkout under /root), `stores` is a link to
 * `/var/lib/mailstead/<hash>`. The link is created once, so that later changes of permissions do not hide the data.
 * Data are never deleted here: what is in the way is renamed, or an error names it.
 *
 * If the roles run as users of their own, their group may enter `stores` and `sock`, but list or read nothing there;
 * the sockets belong to it.
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
import { type SystemAccount, chooseAccount, canEnter } from './account.ts'
import { reasonOf, type PrintLine, UserError } from './user-error.ts'

/** Used by a supervisor that runs as root and whose DATA_DIR other users cannot enter. */
export const SYSTEM_DIR = '/var/lib/mailstead'
/** sun_path holds 108 bytes with the final NUL; `/.s.PGSQL.5432.lock` must fit behind it too. */
const MAX_SOCKET_DIR_BYTES = 85

export interface StoreDirectory {
  /** Absolute path without links; owned by the account, mode 0700. */
  readonly dir: string
  /** Private folder with a short path for the unix sockets. */
  readonly sockets: string
  readonly account: SystemAccount | null
  /** The group that may connect to the sockets; null: only the account may. */
  readonly socketGroup: number | null
}

/** Who may use a folder. Only the owner may list and write it. */
interface FolderAccess {
  readonly account: SystemAccount | null
  /** May enter the folder. */
  readonly group: number | null
  /** New files belong to the group. */
  readonly isInherited?: boolean
}

/**
 * Opens the stores' folder and creates it at the first start. `group` may connect to the stores, besides the account.
 * @throws UserError if it cannot be used.
 */
export function openStoreDirectory(dataDir: string, say: PrintLine, group: number | null = null): StoreDirectory {
  const path = join(resolve(dataDir), 'stores')
  mkdirSync(resolve(dataDir), { recursive: true })
  const present = lstatSync(path, { throwIfNoEntry: false }) !== undefined
  if (present && !existsSync(path)) {
    throw new UserError(
      `${path} points to ${readlinkSync(path)}, which does not exist.`,
      'Restore it, or remove the link to start without data.',
    )
  }
  const account = chooseAccount(path)
  if (!present) createStoreDirectory(path, account, say)
  const dir = realpathSync(path)
  ensureAccess(dir, { account, group })
  if (!canEnter(dir, account)) {
    throw new UserError(
      `User ${account?.name ?? process.getuid?.()} cannot enter ${dir}, where PostgreSQL and Redis store their data.`,
      'Allow it to enter all parent folders (chmod o+x).',
    )
  }
  return { dir, account, sockets: openSockets(dir, { account, group, isInherited: true }), socketGroup: group }
}

/** Removes the socket folder if it is outside of the stores' folder. Call this after the stores have stopped. */
export function closeStoreDirectory(home: Pick<StoreDirectory, 'dir' | 'sockets'>): void {
  if (home.sockets.startsWith(home.dir)) return
  rmSync(home.sockets, { recursive: true, force: true })
  rmSync(join(home.dir, 'sock'), { force: true })
}

/** Creates a folder, if missing, that only the account can read. */
export function createPrivateDirectory(dir: string, account: SystemAccount | null): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  ensureAccess(dir, { account, group: null })
}

function createStoreDirectory(path: string, account: SystemAccount | null, say: PrintLine): void {
  createPrivateDirectory(path, account)
  if (canEnter(path, account)) return
  rmdirSync(path)
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 12)
  const target = join(SYSTEM_DIR, hash)
  try {
    mkdirSync(SYSTEM_DIR, { recursive: true })
    chmodSync(SYSTEM_DIR, 0o755)
    // Data of an earlier DATA_DIR with the same path, which was removed: neither reused nor deleted.
    if (existsSync(target)) renameSync(target, `${target}.until-${Date.now()}`)
    createPrivateDirectory(target, account)
  } catch (error) {
    throw new UserError(
      `User ${account?.name} cannot enter ${path}, and ${SYSTEM_DIR} cannot be used instead (${reasonOf(error)}).`,
      'Set DATA_DIR to a folder that every user can enter.',
    )
  }
  symlinkSync(target, path)
  say(`User ${account?.name} cannot enter ${resolve(path, '..')}. PostgreSQL and Redis store their data in ${target}.`)
}

function ensureAccess(dir: string, access: FolderAccess): void {
  const { account, group } = access
  const { uid, gid, mode } = statSync(dir)
  const me = account?.uid ?? process.getuid?.() ?? uid
  if (account !== null && (uid !== account.uid || gid !== (group ?? gid)))
    chownSync(dir, account.uid, group ?? account.gid)
  else if (uid !== me) {
    throw new UserError(
      `${dir} belongs to user ${uid}: Mailstead was started as root or as another user before.`,
      `Start it as that user, or change the owner: chown -R ${me} ${dir}`,
    )
  }
  if ((mode & 0o7777) !== modeOf(access)) chmodSync(dir, modeOf(access))
}

function modeOf({ group, isInherited = false }: FolderAccess): number {
  return group === null ? 0o700 : isInherited ? 0o2710 : 0o710
}

function isPrivate(dir: string, access: FolderAccess): boolean {
  const { uid, gid, mode } = statSync(dir)
  const isOfGroup = access.group === null || gid === access.group
  return uid === (access.account?.uid ?? process.getuid?.()) && isOfGroup && (mode & 0o7777) === modeOf(access)
}

/**
 * `<dir>/sock`; if that path is too long for a unix socket, or the group cannot enter a folder above it, a link to a
 * private folder with a short path.
 */
function openSockets(home: string, access: FolderAccess): string {
  const path = join(home, 'sock')
  if (Buffer.byteLength(path) <= MAX_SOCKET_DIR_BYTES && mayGroupEnter(home, access)) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) rmSync(path)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    ensureAccess(path, access)
    return path
  }
  const present = existsSync(path) ? realpathSync(path) : null
  if (present !== null && present !== path && isPrivate(present, access)) return present
  rmSync(path, { recursive: true, force: true })
  const made = mkdtempSync('/tmp/mailstead-')
  ensureAccess(made, access)
  symlinkSync(made, path)
  return made
}

/** Tries it as a user with that number, who owns nothing. */
function mayGroupEnter(dir: string, { group }: FolderAccess): boolean {
  return group === null || canEnter(dir, { name: String(group), uid: group, gid: group })
}
