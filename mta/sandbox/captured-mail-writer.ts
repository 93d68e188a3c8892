/**
 * Stores captured mail in batches: mails that arrive while a statement runs share the next one, so a burst needs one
 * connection to PostgreSQL and few commits. If PostgreSQL refuses a batch because of a value in one of its mails, each
 * of them is stored alone, so that only that mail fails. If PostgreSQL is unavailable, all of them fail; the senders
 * get 451 and retry. If the process dies, the mails of the batch were not acknowledged.
 */
import { createBatcher } from '#src/concurrency/batcher.ts'
import { isDatabaseAway, type Queryable } from '#src/stores/db.ts'
import { type ReceivedMail, storeCapturedMails } from '#src/sandbox/inbox.ts'

export interface CapturedMailWriter {
  /** Resolves with the ids of the rows, one for each recipient, when they are committed. */
  store(received: ReceivedMail): Promise<readonly string[]>
  /** Resolves when all mails so far are stored. */
  drain(): Promise<void>
}

/** A batch holds at most this much, or one mail. */
const BATCH_BYTES = 8 * 1024 * 1024
const MAX_ROWS = 256
const ROW_BYTES = BATCH_BYTES / MAX_ROWS

type StoredMail = { readonly ids: readonly string[] } | { readonly error: unknown }

export function createCapturedMailWriter(db: Queryable): CapturedMailWriter {
  const store = async (batch: readonly ReceivedMail[]): Promise<readonly StoredMail[]> => {
    try {
      return (await storeCapturedMails(db, batch)).map((ids) => ({ ids }))
    } catch (error) {
      if (batch.length === 1 || isDatabaseAway(error)) return batch.map(() => ({ error }))
      const alone: StoredMail[] = []
      for (const one of batch) alone.push(...(await store([one])))
      return alone
    }
  }
  const batcher = createBatcher(async (batch: ReceivedMail[]) => [...(await store(batch))], {
    max: MAX_ROWS,
    concurrency: 1,
    weightOf: ({ mail, recipients }) => Math.max(1, recipients.length, mail.raw.length / ROW_BYTES),
  })
  return {
    store: async (received) => {
      const stored = await batcher.add(received)
      if ('error' in stored) throw stored.error
      return stored.ids
    },
    drain: () => batcher.drain(),
  }
}
