/**
 * Codes for somebody who has lost the second factor: ten, each of 80 random bits, and each works once. Only their
 * SHA-256 is stored; 80 random bits need no slow hash. Of two uses of one code at once, the first counts, since the row
 * is changed only where it still has the code.
 */
import { hash, randomBytes } from 'node:crypto'
import { newId } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const COUNT = 10
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'
const LENGTH = 16

/** In groups of four, without letters that look like digits. */
function newCode(): string {
  const letters = [...randomBytes(LENGTH)].map((byte) => LETTERS[byte % LETTERS.length])
  return letters.join('').replace(/(.{4})(?=.)/g, '$1-')
}

/** People type spaces, hyphens and capitals as they like. */
function hashOf(code: string): string {
  return hash('sha256', code.toLowerCase().replace(/[\s-]+/g, ''), 'hex')
}

/** Replaces all codes of the user. They are shown once. */
export async function renewRecoveryCodes(tx: Queryable, userId: string): Promise<readonly string[]> {
  const codes = Array.from({ length: COUNT }, newCode)
  await tx.query(`DELETE FROM login_methods WHERE user_id = $1 AND kind = 'recovery_codes'`, [userId])
  await tx.query(
    sql`
      INSERT INTO login_methods (id, user_id, kind, secret, details)
      VALUES ($1, $2, 'recovery_codes', '', jsonb_build_object('hashes', $3::jsonb))
    `,
    [newId(), userId, JSON.stringify(codes.map(hashOf))],
  )
  return codes
}

/** False if the code is wrong or was used. */
export async function consumeRecoveryCode(db: Queryable, userId: string, code: string): Promise<boolean> {
  const { rowCount } = await db.query(
    sql`
      UPDATE login_methods
      SET details = jsonb_set(details, '{hashes}', (details -> 'hashes') - $2::text), last_used_at = now()
      WHERE user_id = $1 AND kind = 'recovery_codes' AND details -> 'hashes' ? $2::text
    `,
    [userId, hashOf(code)],
  )
  return rowCount === 1
}
