/**
 * Chooses the system user that runs the embedded PostgreSQL and Redis. PostgreSQL refuses to run as root, so a
 * supervisor that runs as root switches to the owner of existing data, else to `postgres`, else to `nobody`. Any other
 * user runs both itself, without switching (null).
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'

export interface SystemAccount {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const PREFERRED_USERS = ['postgres', 'nobody']

/** The user for the stores in `dir`, which need not exist yet; null = the current user. */
export function chooseAccount(dir: string, passwd: string = readPasswd()): SystemAccount | null {
  if (process.getuid?.() !== 0) return null
  const users = parsePasswd(passwd)
  const owner = statSync(dir, { throwIfNoEntry: false })
  if (owner !== undefined && owner.uid !== 0) {
    const named = users.find((user) => user.uid === owner.uid)
    return named ?? { name: String(owner.uid), uid: owner.uid, gid: owner.gid }
  }
  for (const name of PREFERRED_USERS) {
    const found = users.find((user) => user.name === name && user.uid !== 0)
    if (found) return found
  }
  return { name: '65534', uid: 65534, gid: 65534 }
}

/** Whether the account can enter `dir`. Tries it as that user, so access lists and mounts count too. */
export function canEnter(dir: string, account: SystemAccount | null): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', dir], { ...spawnIdentity(account), cwd: '/', stdio: 'ignore' })
      .status === 0
  )
}

/** The options of `spawn` that switch the user. */
export function spawnIdentity(account: SystemAccount | null): { uid?: number; gid?: number } {
  return account === null ? {} : { uid: account.uid, gid: account.gid }
}

/** The users in the text of /etc/passwd. */
export function parsePasswd(text: string): SystemAccount[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

function readPasswd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
