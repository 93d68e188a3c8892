/**
 * The users of the roles. A role that root starts switches to a user of its own, so that it can read neither the
 * memory, keys and files of another role, nor those of the stores. This is the user `mailstead-<role>` if the system
 * has one; else a number that has no entry in passwd, which the kernel does not need. A group of all roles may connect
 * to the sockets of the embedded stores. A number that belongs to somebody else is an error, never shared.
 */
import { readFileSync } from 'node:fs'
import { KEY_ROLES, type KeyRole } from '#src/crypto/purposes.ts'
import { parsePasswd, type SystemAccount } from './account.ts'
import { UserError } from './user-error.ts'

export interface RoleAccount extends SystemAccount {
  /** The group that may connect to the stores. */
  readonly storesGroup: number
}

const NAME = 'mailstead'
/** The group, and then one user with a group of its own for each role. No distribution assigns 60706 to 61183. */
const FIRST_ID = 61_100

/** Whether a role that this process starts gets a user of its own. */
export function switchesUsers({ keepRoot }: { readonly keepRoot: boolean }): boolean {
  return process.getuid?.() === 0 && !keepRoot
}

/** The user of a process with these roles: that of the first one. @throws UserError if another user has its number. */
export function roleAccount(
  roles: readonly KeyRole[],
  passwd: string = readList('/etc/passwd'),
  group: string = readList('/etc/group'),
): RoleAccount {
  const index = KEY_ROLES.findIndex((role) => roles.includes(role))
  const role = KEY_ROLES[index]
  if (role === undefined) throw new Error(`no user for ${JSON.stringify(roles)}`)
  const name = `${NAME}-${role}`
  const users = parsePasswd(passwd)
  const storesGroup = storesGroupId(group)
  const found = users.find((user) => user.name === name && user.uid !== 0 && user.gid !== 0)
  if (found !== undefined) return { ...found, storesGroup }
  const id = FIRST_ID + 1 + index
  const owner = users.find(({ uid }) => uid === id) ?? parseGroups(group).find(({ gid }) => gid === id)
  if (owner === undefined) return { name: String(id), uid: id, gid: id, storesGroup }
  throw new UserError(
    `Number ${id}, which the ${role} role runs as, belongs to ${owner.name}.`,
    `Create a user of its own for each role: useradd --system ${name} (roles: ${KEY_ROLES.join(', ')}).`,
  )
}

/** The group that may connect to the embedded stores. @throws UserError if another group has its number. */
export function storesGroupId(group: string = readList('/etc/group')): number {
  const groups = parseGroups(group)
  const named = groups.find(({ name, gid }) => name === NAME && gid !== 0)
  if (named !== undefined) return named.gid
  const owner = groups.find(({ gid }) => gid === FIRST_ID)
  if (owner === undefined) return FIRST_ID
  throw new UserError(
    `Group ${FIRST_ID}, with which the roles connect to the embedded stores, belongs to ${owner.name}.`,
    `Create a group of its own: groupadd --system ${NAME}`,
  )
}

function parseGroups(text: string): { readonly name: string; readonly gid: number }[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , gid] = line.split(':')
    return gid ? [{ name, gid: Number(gid) }] : []
  })
}

function readList(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
