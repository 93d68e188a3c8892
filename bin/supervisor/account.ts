/**
 * Which user runs PostgreSQL and Redis. PostgreSQL refuses to run as root, so
 * a root supervisor hands both to an unprivileged user: the owner of the data
 * when there are data already, else `postgres`, else `nobody`. Any other user
 * runs them as himself, and then there is no account to switch to (null).
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'

export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const PREFERRED = ['postgres', 'nobody']

/** The user that the stores in `dir` (which need not exist yet) run as; null = the current one. */
export function chooseAccount(dir: string, passwd: string = readPasswd()): Account | null {
  if (process.getuid?.() !== 0) return null
  const users = parsePasswd(passwd)
  const owner = statSync(dir, { throwIfNoEntry: false })
  if (owner !== undefined && owner.uid !== 0) {
    const named = users.find((user) => user.uid === owner.uid)
    return named ?? { name: String(owner.uid), uid: owner.uid, gid: owner.gid }
  }
  for (const name of PREFERRED) {
    const found = users.find((user) => user.name === name && user.uid !== 0)
    if (found) return found
  }
  return { name: '65534', uid: 65534, gid: 65534 }
}

/** True when that account can enter `dir`. The kernel answers, so access lists and mounts count too. */
export function mayEnter(dir: string, account: Account | null): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', dir], { ...identity(account), cwd: '/', stdio: 'ignore' }).status === 0
  )
}

/** The part of spawn's options that switches the user. */
export function identity(account: Account | null): { uid?: number; gid?: number } {
  return account === null ? {} : { uid: account.uid, gid: account.gid }
}

function parsePasswd(text: string): Account[] {
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
