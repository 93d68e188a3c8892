/**
 * What the first `start` makes and every `start` prints: the operator's workspace, an admin key, and in sandbox mode a sending domain
 * with its key. Secret keys are kept sealed in DATA_DIR/operator.json, because the database holds only their hashes; another database,
 * or another master key, and they are made anew. A key that the operator deactivated is not made again.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { pino } from 'pino'
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import type { Config } from '#config/load.ts'
import { hashKey } from '#src/auth/key-format.ts'
import { createKey, type NewKey } from '#src/auth/keys.ts'
import { findKeys } from '#src/auth/key-lookup.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { systemClock } from '#src/platform/clock.ts'
import type { Context } from '#src/context.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { addDomain, type Domain, trustDomain } from '#src/domains/domains.ts'
import { newId } from '#src/platform/id.ts'
import { loadMasterKey, createEncryption, type Encryption } from '#src/crypto/encryption.ts'
import { readPorts, type SubmissionPorts } from '#src/net/submission-ports.ts'
import { createWorkspace, findWorkspace } from '#src/workspaces/workspaces.ts'
import { bannerText } from './banner.ts'

export interface FirstRun {
  readonly address: string
  readonly isSandbox: boolean
  readonly workspaceId: string
  /** Null: it was deactivated, or the workspace has as many admin keys as it may. */
  readonly adminKey: string | null
  /** Only in sandbox mode; null: it was deactivated. */
  readonly sending: { readonly key: string; readonly domain: string } | null
  /** Where mail is handed in by SMTP; null: nowhere on this machine. */
  readonly submission: { readonly host: string; readonly ports: SubmissionPorts } | null
}

/** What operator.json remembers. */
interface Memory {
  readonly workspaceId: string
  readonly adminKey: string | null
  readonly sendingKey: string | null
  readonly domain: string | null
}

const WORKSPACE = 'Operator'
const SANDBOX_ZONE = 'mailstead.test'
const PURPOSE = 'operator'
// Two machines that start together on one database provision one after the other. "FIRS" in ASCII.
const LOCK = 0x46495253

/** Brings all that is there, and makes what is missing. */
export async function provision(config: Config & StoreUrls): Promise<FirstRun> {
  const db = openDb(config.databaseUrl, pino({ level: 'silent' }), 3)
  const encryption = createEncryption(loadMasterKey(config))
  const setting = { db, encryption, config, clock: systemClock }
  try {
    return await db.transaction(async (lock) => {
      await lock.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      const memory = await recall(setting)
      const done = await complete(setting, memory)
      if (JSON.stringify(done) !== JSON.stringify(memory)) remember(done, encryption, config)
      return presentable(db, done, config)
    })
  } finally {
    await db.close()
  }
}

/** Prints it on stdout, in bold where somebody looks at a terminal. */
export function printBanner(firstRun: FirstRun): void {
  process.stdout.write(bannerText(firstRun, (text) => styleText('bold', text, { stream: process.stdout })))
}

type Setting = Pick<Context, 'db' | 'encryption' | 'config' | 'clock'>

/** What an earlier start made in this database; else the operator's workspace, with no keys that we know. */
async function recall({ db, encryption, config }: Setting): Promise<Memory> {
  const memory = readMemory(encryption, config)
  if (memory !== null && (await findWorkspace(db, memory.workspaceId)).kind === 'found') return memory
  const found = await findWorkspace(db, WORKSPACE)
  const workspaceId =
    found.kind === 'found' ? found.workspace.id : (await createWorkspace(db, { name: WORKSPACE, plan: 'launch' })).id
  return { workspaceId, adminKey: null, sendingKey: null, domain: null }
}

async function complete(setting: Setting, memory: Memory): Promise<Memory> {
  const { db, config } = setting
  const common = { prefix: config.keyPrefix, workspaceId: memory.workspaceId }
  const adminKey =
    memory.adminKey ?? (await makeKey(db, { ...common, kind: 'admin', name: 'First admin key', scopes: ALL_SCOPES }))
  if (!config.isSandbox || memory.sendingKey !== null) return { ...memory, adminKey }
  const domain = await sandboxDomain(setting, memory.workspaceId)
  const sendingKey = await makeKey(db, { ...common, kind: 'regular', name: 'Sandbox sending key', domainId: domain.id })
  return { ...memory, adminKey, sendingKey, domain: domain.domain }
}

async function makeKey(db: Db, order: NewKey): Promise<string | null> {
  const key = await createKey(db, order)
  return key.kind === 'created' ? key.secretKey : null
}

/** hello.mailstead.test; another name where that is taken, or its DKIM keys were sealed with a master key that is gone. */
async function sandboxDomain(setting: Setting, workspaceId: string): Promise<Domain> {
  for (let name = 'hello'; ; name = `hello-${newId().slice(-8)}`) {
    const added = await addDomain(setting, { workspaceId, name: `${name}.${SANDBOX_ZONE}` })
    if (added.kind !== 'added' && added.kind !== 'exists')
      throw new Error(`the sandbox domain cannot be made: ${added.kind}`)
    if ((await canSign(setting, added.domain.id)) && (await trustDomain(setting.db, added.domain.id)) === 'verified')
      return added.domain
  }
}

async function canSign({ db, encryption }: Setting, domainId: string): Promise<boolean> {
  const { rows } = await db.query<{ sealed: Buffer }>(
    "SELECT private_key AS sealed FROM dkim_keys WHERE domain_id = $1 AND state = 'active'",
    [domainId],
  )
  try {
    for (const row of rows) encryption.decrypt('dkim', row.sealed)
    return rows.length > 0
  } catch {
    return false
  }
}

/** Keys that do not work (any more) are not shown. */
async function presentable(db: Db, memory: Memory, config: Config): Promise<FirstRun> {
  const works = async (key: string): Promise<boolean> => {
    const [row] = await findKeys(db, [hashKey(key)])
    return row !== null && row !== undefined && (row.expiresAt === null || row.expiresAt.getTime() > Date.now())
  }
  const { workspaceId, adminKey, sendingKey, domain } = memory
  const mayShow = config.isSandbox && sendingKey !== null && domain !== null && (await works(sendingKey))
  const ports = readPorts(config)
  return {
    submission: ports === null ? null : { host: config.isSandbox ? '127.0.0.1' : config.serverName, ports },
    address: config.publicUrl,
    isSandbox: config.isSandbox,
    workspaceId,
    adminKey: adminKey !== null && (await works(adminKey)) ? adminKey : null,
    sending: mayShow ? { key: sendingKey, domain } : null,
  }
}

function fileOf(config: Config): string {
  return join(config.dataDir, 'operator.json')
}

/** Null when there is none, or none that this master key opens. */
function readMemory(encryption: Encryption, config: Config): Memory | null {
  try {
    const { sealed } = JSON.parse(readFileSync(fileOf(config), 'utf8')) as { sealed: string }
    return JSON.parse(encryption.decrypt(PURPOSE, Buffer.from(sealed, 'base64')).toString()) as Memory
  } catch {
    return null
  }
}

/** Written whole or not at all. */
function remember(memory: Memory, encryption: Encryption, config: Config): void {
  const draft = `${fileOf(config)}.${process.pid}`
  const sealed = encryption.encrypt(PURPOSE, JSON.stringify(memory)).toString('base64')
  const file = { about: 'the keys that start prints, sealed with MASTER_KEY', sealed }
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, fileOf(config))
}
