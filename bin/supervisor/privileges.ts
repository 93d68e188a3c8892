/**
 * Gives up the rights of root. A role that root starts keeps them only until its ports and files are open: then
 * `drop` switches to the user of the role, for good and in all threads, and the kernel clears all capabilities. With
 * no-new-privs, which `withoutNewPrivileges` sets before the role starts, nothing that it executes can get any back.
 * If the switch fails, the role does not run.
 *
 * What the role writes later is handed over before: the journal of the outbound role, its pid file, and the file with
 * the submission ports. All other files and folders stay with root. A role never writes into a folder in which root
 * creates files: it could place links there.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { environment } from '#config/environment.ts'
import type { Config } from '#config/load.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'
import { canEnter, type SystemAccount } from './account.ts'
import { roleAccount, switchesUsers, type RoleAccount } from './role-accounts.ts'
import { acceptSettingFiles, rememberSettingFiles, unreadableFiles } from './setting-files.ts'
import { ownProgram } from './program-bundle.ts'
import { reasonOf, UserError } from './user-error.ts'

export interface RoleRights<C extends Config> {
  /** The configuration with paths that the role can still reach after the switch. */
  readonly config: C
  /** Null: nothing to switch, because root did not start this process, or KEEP_ROOT is set. */
  readonly account: RoleAccount | null
  /** Switches the user. @throws UserError if the system does not allow it. */
  readonly drop: () => void
}

const CHECKOUT = resolve(import.meta.dirname, '../..')
/** The checkout as a process whose working directory it is reaches it, although it may not enter the folders above. */
const CHECKOUT_BY_LINK = '/proc/self/cwd'
const LINK_OPTIONS = ['--preserve-symlinks', '--preserve-symlinks-main']
/** util-linux and busybox have it. */
const SETPRIV = ['setpriv', '--no-new-privs'] as const
const OTHERS_MAY_ENTER = 0o001

/** Prepares the switch of a process with these roles, with the rights of root: see above. */
export function openRoleRights<C extends Config>(roles: readonly KeyRole[], config: C): RoleRights<C> {
  if (!switchesUsers(config)) return { config, account: null, drop: () => undefined }
  const account = roleAccount(roles)
  if (roles.includes('outbound')) giveFolder(join(config.dataDir, 'journal'), account)
  if (roles.includes('submission')) giveFile(join(config.dataDir, 'run/submission-ports.json'), account)
  rememberSettingFiles(config, roles)
  const drop = (): void => {
    switchUser(account)
    if (process.send === undefined) warnOfUnreadable(config, roles)
    else acceptSettingFiles()
  }
  return { config: { ...config, dataDir: reachableFolder(config.dataDir, account) }, account, drop }
}

/** Makes a file of the role's user, so that it can be changed after the switch. */
function giveFile(file: string, account: SystemAccount): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '', { flag: 'a' })
  chownSync(file, account.uid, account.gid)
}

/** The program and arguments that run a command without a way to get more rights. */
export function withoutNewPrivileges(command: readonly [string, ...string[]]): readonly [string, ...string[]] {
  return canSetNoNewPrivileges() ? [...SETPRIV, ...command] : command
}

let hasSetpriv: boolean | null = null

/** Whether the system has the program for it. */
export function canSetNoNewPrivileges(): boolean {
  const [program, ...args] = SETPRIV
  return (hasSetpriv ??= spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status === 0)
}

/** How to start a role, whose user perhaps cannot enter the checkout. */
interface RoleLaunch {
  /** Options of Node. */
  readonly options: readonly string[]
  readonly program: string
  /** Undefined: that of the caller. */
  readonly cwd: string | undefined
  readonly env: NodeJS.ProcessEnv
}

/** How to start a process with these roles: it loads code after the switch too. */
export function roleLaunch(
  roles: readonly KeyRole[],
  settings: Pick<Config, 'keepRoot'>,
  { env, program = ownProgram() }: { readonly env: NodeJS.ProcessEnv; readonly program?: string },
): RoleLaunch {
  if (!switchesUsers(settings) || canEnter(CHECKOUT, roleAccount(roles)))
    return { options: [], program: join(CHECKOUT, program), cwd: undefined, env }
  const files = Object.entries(env).map(([name, value = '']): [string, string] => [
    name,
    name.endsWith('_FILE') && value !== '' ? resolve(value) : value,
  ])
  return {
    options: LINK_OPTIONS,
    program: join(CHECKOUT_BY_LINK, program),
    cwd: CHECKOUT,
    env: { ...Object.fromEntries(files), NODE_COMPILE_CACHE: join(CHECKOUT_BY_LINK, 'node_modules/.cache/node') },
  }
}

/**
 * If the user of the role cannot enter the checkout, replaces this process by one that reaches it in another way: a
 * role loads code after the switch too. A supervisor starts its roles so from the beginning.
 */
export function ensureReachableCode(roles: readonly KeyRole[], config: Pick<Config, 'keepRoot'>): void {
  if (!switchesUsers(config) || process.send !== undefined) return
  const { options, program, cwd, env } = roleLaunch(roles, config, { env: environment })
  if (cwd === undefined) return
  process.chdir(cwd)
  const args = [process.execPath, ...process.execArgv, ...options, program, ...process.argv.slice(2)]
  process.execve?.(process.execPath, args, env)
}

function switchUser({ name, uid, gid, storesGroup }: RoleAccount): void {
  try {
    process.setgroups?.([storesGroup])
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch (error) {
    throw new UserError(
      `The system does not allow root to switch to user ${name} (${reasonOf(error)}).`,
      'Start Mailstead as another user, allow the container CAP_SETUID and CAP_SETGID, or set KEEP_ROOT=true.',
    )
  }
}

/**
 * A folder that only the role's user can use. Files in it that belong to another user are handed over with it: an
 * earlier version wrote them as root, or the role had another user. `lchown` changes a link and not its target, and a
 * file with another name elsewhere stays as it is: the role could have placed both here.
 */
export function giveFolder(folder: string, { uid, gid }: SystemAccount): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (stats?.nlink === 1 && stats.uid !== uid) lchownSync(file, uid, gid)
  }
  lchownSync(folder, uid, gid)
  chmodSync(folder, 0o700)
}

/**
 * The folder, by a path that the account can use. If it cannot enter a folder above it, such as /root, that is an open
 * descriptor of this process.
 */
function reachableFolder(folder: string, account: SystemAccount): string {
  mkdirSync(folder, { recursive: true })
  const { mode, uid } = statSync(folder)
  if (uid === 0 && (mode & OTHERS_MAY_ENTER) === 0) chmodSync(folder, (mode & 0o777) | OTHERS_MAY_ENTER)
  return canEnter(folder, account) ? folder : `/proc/self/fd/${openSync(folder, 'r')}`
}

function warnOfUnreadable(config: Config, roles: readonly KeyRole[]): void {
  for (const file of unreadableFiles(config, roles))
    process.stderr.write(
      `mailstead: after a change of ${file}, restart this process: its user may not read the file.\n`,
    )
}
