/**
 * Creates, at the first `start`, the operator's workspace, an admin key, and in sandbox mode a sending domain with its
 * key. The start that creates the keys prints them, except in a live installation; later `mailstead env` does.
 * DATA_DIR/operator.json stores the secret keys encrypted, because the database has only their hashes. With another
 * database or master key, new keys are created. A key that the operator has deactivated is not created again.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { pino } from 'pino'
import { commandActor } from '#bin/cli/context.ts'
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import type { Config } from '#config/load.ts'
import { hashKey } from '#src/auth/key-format.ts'
import { resolveKeyPrefix, storeKeyPrefix } from '#src/auth/key-prefix.ts'
import { createKey, type NewKey } from '#src/auth/keys.ts'
import { findKeys } from '#src/auth/key-lookup.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { systemClock } from '#src/platform/clock.ts'
import type { Context } from '#src/context.ts'
import { agreeOnMode } from '#src/installation-mode.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { addDomain, type Domain, trustDomain } from '#src/domains/domains.ts'
import { newId } from '#src/platform/id.ts'
import { createEncryption, keyIdOf, type Encryption } from '#src/crypto/encryption.ts'
import { loadMasterKeys } from '#src/crypto/master-key.ts'
import { readPorts, type SubmissionPorts } from '#src/net/submission-ports.ts'
import { createWorkspace, findWorkspace } from '#src/workspaces/workspaces.ts'
import { bannerText } from './banner.ts'

export interface FirstRun {
  readonly address: string
  readonly isSandbox: boolean
  /** Whether the banner shows the keys: they were made now, and this is not a live installation. */
  readonly showsKeys: boolean
  readonly workspaceId: string
  /** Null if it was deactivated, or the workspace has the maximum of admin keys. */
  readonly adminKey: string | null
  /** Only in sandbox mode; null if it was deactivated. */
  readonly sending: { readonly key: string; readonly domain: string } | null
  /** Where SMTP submission listens; null if it does not run on this machine. */
  readonly submission: { readonly host: string; readonly ports: SubmissionPorts } | null
}

/** The content of operator.json. */
interface FirstRunKeys {
  readonly workspaceId: string
  readonly adminKey: string | null
  readonly sendingKey: string | null
  readonly domain: string | null
}

const WORKSPACE_NAME = 'Operator'
const SANDBOX_ZONE = 'mailstead.test'
const ENCRYPTION_PURPOSE = 'operator'
// Serialises machines that start together on one database. "FIRS" in ASCII.
const ADVISORY_LOCK = 0x46495253

/**
 * Stores the prefix of API keys and the mode at the first start.
 * @throws ConfigError if KEY_PREFIX is not the stored one, or MODE is not set on the database of a live installation.
 */
export async function agreeOnInstallation(config: Config & Pick<StoreUrls, 'databaseUrl'>): Promise<void> {
  const log = pino({ level: 'silent' })
  const db = openDb(config.databaseUrl, log, 1)
  try {
    await agreeOnMode({ db, config })
    await storeKeyPrefix(db, config)
  } finally {
    await db.close()
  }
}

/** Returns what exists and creates what is missing. */
export async function provision(config: Config & StoreUrls): Promise<FirstRun> {
  const db = openDb(config.databaseUrl, pino({ level: 'silent' }), 3).attributedTo(commandActor('start'))
  const encryption = createEncryption(...loadMasterKeys(config))
  const setting = { db, encryption, config, clock: systemClock }
  try {
    return await db.transaction(async (lock) => {
      await lock.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
      const keys = await loadKeys(setting)
      const done = await createMissing(setting, keys)
      const areNew = JSON.stringify(done) !== JSON.stringify(keys)
      if (areNew) writeKeyFile(done, encryption, config)
      return describeFirstRun(db, done, config, areNew && !config.isLive)
    })
  } finally {
    await db.close()
  }
}

/** Prints the banner on stdout, with bold text on a terminal. */
export function printBanner(firstRun: FirstRun): void {
  process.stdout.write(bannerText(firstRun, (text) => styleText('bold', text, { stream: process.stdout })))
}

type FirstRunContext = Pick<Context, 'db' | 'encryption' | 'config' | 'clock'>

/** The keys that an earlier start created in this database; else the operator's workspace without known keys. */
async function loadKeys({ db, encryption, config }: FirstRunContext): Promise<FirstRunKeys> {
  const memory = readKeyFile(encryption, config)
  if (memory !== null && (await findWorkspace(db, memory.workspaceId)).kind === 'found') return memory
  const found = await findWorkspace(db, WORKSPACE_NAME)
  const workspaceId =
    found.kind === 'found'
      ? found.workspace.id
      : (await createWorkspace(db, { name: WORKSPACE_NAME, plan: 'launch' })).id
  return { workspaceId, adminKey: null, sendingKey: null, domain: null }
}

async function createMissing(ctx: FirstRunContext, keys: FirstRunKeys): Promise<FirstRunKeys> {
  const { db, config } = ctx
  const common = { prefix: await resolveKeyPrefix(db, config), workspaceId: keys.workspaceId }
  const adminKey =
    keys.adminKey ??
    (await createKeyOnce(db, { ...common, kind: 'admin', name: 'First admin key', scopes: ALL_SCOPES }))
  if (!config.isSandbox || keys.sendingKey !== null) return { ...keys, adminKey }
  const domain = await sandboxDomain(ctx, keys.workspaceId)
  const sendingKey = await createKeyOnce(db, {
    ...common,
    kind: 'regular',
    name: 'Sandbox sending key',
    domainId: domain.id,
  })
  return { ...keys, adminKey, sendingKey, domain: domain.domain }
}

async function createKeyOnce(db: Db, key: NewKey): Promise<string | null> {
  const created = await createKey(db, key)
  return created.kind === 'created' ? created.secretKey : null
}

/** hello.mailstead.test; another name if that is in use, or its DKIM keys are encrypted with a lost master key. */
async function sandboxDomain(ctx: FirstRunContext, workspaceId: string): Promise<Domain> {
  for (let name = 'hello'; ; name = `hello-${newId().slice(-8)}`) {
    const added = await addDomain(ctx, { workspaceId, name: `${name}.${SANDBOX_ZONE}` })
    if (added.kind !== 'added' && added.kind !== 'exists')
      throw new Error(`failed to create the sandbox domain: ${added.kind}`)
    if ((await canSign(ctx, added.domain.id)) && (await trustDomain(ctx.db, added.domain.id)) === 'verified')
      return added.domain
  }
}

async function canSign({ db, encryption }: FirstRunContext, domainId: string): Promise<boolean> {
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

/** Keys that do not work any more are left out. */
async function describeFirstRun(db: Db, keys: FirstRunKeys, config: Config, showsKeys: boolean): Promise<FirstRun> {
  const works = async (key: string): Promise<boolean> => {
    const [row] = await findKeys(db, [hashKey(key)])
    return row !== null && row !== undefined && (row.expiresAt === null || row.expiresAt.getTime() > Date.now())
  }
  const { workspaceId, adminKey, sendingKey, domain } = keys
  const mayShow = config.isSandbox && sendingKey !== null && domain !== null && (await works(sendingKey))
  const ports = readPorts(config)
  return {
    submission: ports === null ? null : { host: config.isSandbox ? '127.0.0.1' : config.serverName, ports },
    address: config.publicUrl,
    isSandbox: config.isSandbox,
    showsKeys,
    workspaceId,
    adminKey: adminKey !== null && (await works(adminKey)) ? adminKey : null,
    sending: mayShow ? { key: sendingKey, domain } : null,
  }
}

function keyFile(config: Config): string {
  return join(config.dataDir, 'operator.json')
}

/** Null if the file does not exist, or this master key cannot decrypt it. */
function readKeyFile(encryption: Encryption, config: Config): FirstRunKeys | null {
  try {
    const { sealed } = JSON.parse(readFileSync(keyFile(config), 'utf8')) as { sealed: string }
    const bytes = Buffer.from(sealed, 'base64')
    const keys = JSON.parse(encryption.decrypt(ENCRYPTION_PURPOSE, bytes).toString()) as FirstRunKeys
    if (keyIdOf(bytes) !== encryption.keyId.toString('hex')) writeKeyFile(keys, encryption, config)
    return keys
  } catch {
    return null
  }
}

/** Writes the file atomically. */
function writeKeyFile(keys: FirstRunKeys, encryption: Encryption, config: Config): void {
  const draft = `${keyFile(config)}.${process.pid}`
  const sealed = encryption.encrypt(ENCRYPTION_PURPOSE, JSON.stringify(keys)).toString('base64')
  const file = { about: 'the keys that `mailstead env` prints, sealed with MASTER_KEY', sealed }
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, keyFile(config))
}
