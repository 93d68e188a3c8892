/**
 * Challenges that the authority reads from any api process (RFC 8555 8.3, RFC 8737). They are public by nature: the
 * response proves who answers, and is no secret. A challenge that a dead process left behind expires.
 */
import type { Encryption } from '#src/crypto/encryption.ts'
import { newId } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const LIFE_MINUTES = 30
/** RFC 8555 8.3: the base64url alphabet. */
const TOKEN = /^[\w-]{16,200}$/

export interface PublishedChallenge {
  readonly kind: 'http-01' | 'tls-alpn-01'
  readonly name: string
  readonly token: string
  readonly response: string
  /** PEM; only of tls-alpn-01. */
  readonly privateKey: string | null
}

/** Returns its id, for `removeChallenge`. */
export async function publishChallenge(
  { db, encryption }: { readonly db: Queryable; readonly encryption: Pick<Encryption, 'encrypt'> },
  { kind, name, token, response, privateKey }: PublishedChallenge,
): Promise<string> {
  const id = newId()
  const sealed = privateKey === null ? null : encryption.encrypt('certificate-web', privateKey)
  await db.query(
    sql`
      INSERT INTO certificate_challenges (id, kind, name, token, response, private_key, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, now() + interval '${LIFE_MINUTES} minutes')
    `,
    [id, kind, name, token, response, sealed],
  )
  return id
}

export async function removeChallenge(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM certificate_challenges WHERE id = $1', [id])
}

/** The text that `/.well-known/acme-challenge/<token>` answers; null if the token is unknown. */
export async function findHttpResponse(db: Queryable, token: string): Promise<string | null> {
  if (!TOKEN.test(token)) return null
  const {
    rows: [found],
  } = await db.query<{ response: string }>(
    sql`
      SELECT response
      FROM certificate_challenges
      WHERE token = $1 AND kind = 'http-01' AND expires_at > now()
      LIMIT 1
    `,
    [token],
  )
  return found?.response ?? null
}

/** The certificate that proves the control of a name in a TLS handshake (RFC 8737 3), in PEM. */
export async function findTlsResponse(
  { db, encryption }: { readonly db: Queryable; readonly encryption: Pick<Encryption, 'decrypt'> },
  name: string,
): Promise<{ readonly cert: string; readonly key: string } | null> {
  const {
    rows: [found],
  } = await db.query<{ response: string; sealed: Buffer }>(
    sql`
      SELECT response, private_key AS sealed
      FROM certificate_challenges
      WHERE name = $1 AND kind = 'tls-alpn-01' AND expires_at > now()
      ORDER BY expires_at DESC
      LIMIT 1
    `,
    [name],
  )
  if (found === undefined) return null
  return { cert: found.response, key: encryption.decrypt('certificate-web', found.sealed).toString() }
}
