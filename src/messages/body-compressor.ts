/**
 * Compresses the bodies of new messages, once all processes can read compressed ones: since the contract migration 062,
 * no process before 0.2.0 gets a lease. Until then, or if PostgreSQL does not answer, bodies are stored as they are.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { BODIES_ARE_APART, BODY_STORAGE } from './bodies.ts'
import { compressBody, isCompressible } from './body-compression.ts'
import type { Submission } from './submission.ts'

const CHECK_MS = 60_000

const READ_STORAGE = prepared('body-storage', sql`SELECT ${BODIES_ARE_APART} AS "isApart" FROM ${BODY_STORAGE}`)

/** Returns a function that adds the compressed body to a submission, if storing that costs less. It never rejects. */
export function createBodyCompressor({
  db,
  clock,
}: Pick<Context, 'db' | 'clock'>): (submission: Submission) => Promise<Submission> {
  let isReadByAll = false
  let checkAt = -Infinity
  let checking: Promise<void> | null = null

  async function mayCompress(): Promise<boolean> {
    if (!isReadByAll && clock.now() >= checkAt) await (checking ??= check())
    return isReadByAll
  }

  async function check(): Promise<void> {
    try {
      const { rows } = await db.query<{ isApart: boolean }>(READ_STORAGE)
      isReadByAll = rows[0]?.isApart === true
      checkAt = clock.now() + CHECK_MS
    } catch {
      // storing the message will say why
    } finally {
      checking = null
    }
  }

  return async (submission) => {
    if (!isCompressible(submission) || !(await mayCompress())) return submission
    const { html, text, smtp } = submission
    return { ...submission, compressed: compressBody({ html, text, raw: smtp?.raw ?? null }) }
  }
}
