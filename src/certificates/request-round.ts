/**
 * Requests the certificates that are due, one after the other, in one process of the installation. A failure is stored
 * with the time of the next request and becomes a notice (worker/notices.ts). The certificate in use stays in use. If
 * this process dies, its challenges expire, its turn ends after a minute, and the certificate is still due.
 */
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import {
  type AccountKey,
  type Challenge,
  type ChallengePublisher,
  createAccountKey,
  requestCertificate,
} from './authority.ts'
import { publishChallenge, removeChallenge } from './challenge-store.ts'
import { type DueCertificate, findDue, storeFailure, storeIssued } from './certificate-store.ts'
import { publishRecord } from './dns-hook.ts'
import { renewalTime, retryDelayMs } from './renewal-schedule.ts'
import { withTurn } from './request-turn.ts'

/** The authority has forgotten the account (RFC 8555 6.7, accountDoesNotExist); the library passes its words on. */
const UNKNOWN_ACCOUNT = /account\b.*\b(?:not|no)\b.*\b(?:exist|found)|unable to find .*account/i
/** As much as fits into a notice. */
const MAX_ERROR = 1000

type RequestContext = Pick<Context, 'config' | 'db' | 'encryption' | 'log'>

/** True if a certificate was requested: another one may be due. */
export async function requestDueCertificate(ctx: RequestContext): Promise<boolean> {
  let isRequested = false
  await withTurn(ctx, async (holder) => {
    // another process may have requested it before this one had its turn
    const due = await findDue(ctx.db)
    if (due === null) return
    isRequested = true
    await requestOne(ctx, due, holder)
  })
  return isRequested
}

async function requestOne(ctx: RequestContext, due: DueCertificate, holder: string): Promise<void> {
  const { acmeChallenge } = ctx.config
  if (acmeChallenge === 'off') return
  const fields = { certificate: due.name, use: due.use }
  try {
    const issued = await requestCertificate({
      config: { ...ctx.config, acmeChallenge },
      account: await loadAccount(ctx),
      onRegistered: (url) => storeAccountUrl(ctx, url),
      publisher: createPublisher(ctx),
      names: [due.name, ...due.otherNames],
    })
    const renewAt = renewalTime(issued.validFrom, issued.expiresAt)
    const isStored = await storeIssued({ ...ctx, holder }, due, { ...issued, renewAt })
    if (isStored) ctx.log.info({ ...fields, expires: issued.expiresAt, renewal: renewAt }, 'a certificate was issued')
    else ctx.log.warn(fields, 'a certificate was issued too late: another process requests it')
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    if (UNKNOWN_ACCOUNT.test(text)) await storeAccountUrl(ctx, null) // the next request registers it again
    const retryMs = retryDelayMs(due.failures + 1, ctx.config.retryScale)
    ctx.log.warn({ ...fields, err: error, retryMs }, 'failed to request a certificate; it is repeated')
    await storeFailure({ ...ctx, holder }, due.id, { error: text.slice(0, MAX_ERROR), retryMs })
  }
}

/** The account of this installation at the authority. Its key is created once; two processes agree on one. */
async function loadAccount({ db, config, encryption }: RequestContext): Promise<AccountKey> {
  const directory = config.acmeDirectory
  const read = async (): Promise<AccountKey | null> => {
    const {
      rows: [row],
    } = await db.query<{ sealed: Buffer; url: string | null }>(
      'SELECT private_key AS sealed, url FROM acme_accounts WHERE directory = $1',
      [directory],
    )
    return row === undefined
      ? null
      : { privateKey: encryption.decrypt('acme-account', row.sealed).toString(), url: row.url }
  }
  const known = await read()
  if (known !== null) return known
  await db.query(
    sql`
      INSERT INTO acme_accounts (id, directory, private_key)
      VALUES ($1, $2, $3)
      ON CONFLICT (directory) DO NOTHING
    `,
    [newId(), directory, encryption.encrypt('acme-account', await createAccountKey())],
  )
  const made = await read()
  if (made === null) throw new Error('the key of the ACME account was removed while it was created')
  return made
}

async function storeAccountUrl({ db, config }: RequestContext, url: string | null): Promise<void> {
  await db.query('UPDATE acme_accounts SET url = $2 WHERE directory = $1', [config.acmeDirectory, url])
}

function createPublisher(ctx: RequestContext): ChallengePublisher {
  return {
    publish: async ({ kind, ...challenge }: Challenge) => {
      if (kind === 'dns-01') return publishRecord(ctx, challenge.name, challenge.response)
      const id = await publishChallenge(ctx, { ...challenge, kind })
      return () => removeChallenge(ctx.db, id)
    },
  }
}
