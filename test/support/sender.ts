/**
 * Creates the sender of a scenario: a workspace with a key of each kind and a verified domain with RSA and Ed25519
 * keys, made with the functions of the product.
 */
import { createKey } from '#src/auth/keys.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import type { Db } from '#src/stores/db.ts'
import { generateDkimKeys } from '#src/domains/dkim-key.ts'
import { newId } from '#src/platform/id.ts'
import type { Encryption } from '#src/crypto/encryption.ts'
import { sql } from '#src/stores/sql.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'

export interface Sender {
  readonly workspaceId: string
  readonly domainId: string
  readonly domain: string
  /** Keys as a client has them. */
  readonly regular: string
  readonly admin: string
  /** The TXT records that publish its DKIM keys, by name. */
  readonly dkimRecords: Readonly<Record<string, string>>
}

/** One pair for all senders of a test process: generating an RSA key takes 0.1 s of CPU. */
let dkimKeys: ReturnType<typeof generateDkimKeys> | null = null

type SenderContext = { readonly db: Db; readonly encryption: Encryption; readonly keyPrefix: string }

export async function createSender(
  ctx: SenderContext,
  options: { readonly domain: string; readonly plan?: string },
): Promise<Sender> {
  const { db, keyPrefix: prefix } = ctx
  const { id: workspaceId } = await createWorkspace(db, { name: options.domain, plan: options.plan ?? 'enterprise' })
  const domainId = newId()
  await db.query(
    sql`
      INSERT INTO domains (id, workspace_id, domain, verification_status, verified_at)
      VALUES ($1, $2, $3, 'verified', now())
    `,
    [domainId, workspaceId, options.domain],
  )
  const dkimRecords = await addDkimKeys(ctx, domainId, options.domain)
  const regular = await createKey(db, { kind: 'regular', prefix, workspaceId, name: 'regular', domainId })
  const admin = await createKey(db, { kind: 'admin', prefix, workspaceId, name: 'admin', scopes: ALL_SCOPES })
  if (regular.kind !== 'created' || admin.kind !== 'created') throw new Error(`no key: ${regular.kind}, ${admin.kind}`)
  return {
    workspaceId,
    domainId,
    domain: options.domain,
    regular: regular.secretKey,
    admin: admin.secretKey,
    dkimRecords,
  }
}

async function addDkimKeys(
  { db, encryption }: SenderContext,
  domainId: string,
  domain: string,
): Promise<Record<string, string>> {
  const records: Record<string, string> = {}
  for (const [i, { algorithm, privateKey, dnsValue }] of (await (dkimKeys ??= generateDkimKeys())).entries()) {
    await db.query(
      sql`
        INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value)
        VALUES ($1, $2, $3, $4, $5, $6)
      `,
      [newId(), domainId, `s${i + 1}`, algorithm, encryption.encrypt('dkim', privateKey), dnsValue],
    )
    records[`s${i + 1}._domainkey.${domain}`] = dnsValue
  }
  return records
}
