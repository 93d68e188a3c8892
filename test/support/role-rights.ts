/** What the user of a role may do, tried as that user. Only root can try it. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { roleAccount } from '#bin/supervisor/role-accounts.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'

export interface ProcessRights {
  readonly uid: number
  readonly gid: number
  readonly groups: string
  /** Permitted, effective, inheritable and ambient capabilities. */
  readonly capabilities: bigint
  readonly hasNoNewPrivileges: boolean
}

/** The rights of each thread of a process; all the same, if there is one row. */
export function rightsOf(pid: number): ProcessRights[] {
  const rows = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')
    const field = (name: string): string => new RegExp(`^${name}:\\s*(.*?)\\s*$`, 'm').exec(status)?.[1] ?? ''
    const sets = ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].map((name) => BigInt(`0x${field(name)}`))
    return {
      // real, effective, saved and file system: the lowest of them
      uid: Math.min(...field('Uid').split(/\s+/).map(Number)),
      gid: Math.min(...field('Gid').split(/\s+/).map(Number)),
      groups: field('Groups'),
      capabilities: sets.reduce((all, one) => all | one),
      hasNoNewPrivileges: field('NoNewPrivs') === '1',
    }
  })
  return rows.filter((row, i) => rows.findIndex((other) => other.uid === row.uid && sameRights(row, other)) === i)
}

function sameRights(one: ProcessRights, other: ProcessRights): boolean {
  return one.capabilities === other.capabilities && one.hasNoNewPrivileges === other.hasNoNewPrivileges
}

/** Whether the user of a role can read a file, or list a folder. */
export function canRead(role: KeyRole, path: string): boolean {
  const { uid, gid } = roleAccount([role])
  const script = 'if [ -d "$1" ]; then ls "$1"; else head -c 1 "$1"; fi'
  return spawnSync('/bin/sh', ['-c', script, 'sh', path], { uid, gid, cwd: '/' }).status === 0
}

/** Connects as PostgreSQL's user `name` from a process of a role. Returns its answer: R accepts, E refuses. */
export function logIn(role: KeyRole, socket: string, name: string): string {
  const { uid, storesGroup } = roleAccount([role])
  return spawnSync(process.execPath, ['-e', LOGIN, socket, name], { uid, gid: storesGroup, cwd: '/' }).stdout.toString()
}

const LOGIN = `
const [socket, name] = process.argv.slice(1)
const text = Buffer.from('user\\0' + name + '\\0database\\0mailstead\\0\\0')
const head = Buffer.alloc(8)
head.writeUInt32BE(text.length + 8, 0)
head.writeUInt32BE(196608, 4)
const client = require('node:net').connect(socket, () => client.write(Buffer.concat([head, text])))
client.once('data', (answer) => { process.stdout.write(String.fromCharCode(answer[0])); client.destroy() })
client.once('error', (error) => process.stdout.write(error.code))
`
