/**
 * Buffers the operator notices of a busy process: a notice costs one map entry, repeated notices become one entry with
 * a count, and the buffer is written every few seconds. PostgreSQL unavailable: the notices stay in the buffer and are
 * retried. When the buffer is full, notices with new subjects are dropped. A crash loses the notices of these seconds;
 * each is also in the log.
 */
import type { Context } from '#src/context.ts'
import { raiseNotices, type NewNotice } from './notices.ts'

const WRITE_MS = 2000
const MAX_BUFFERED = 1000

export interface NoticeBuffer {
  raise(notice: Pick<NewNotice, 'kind' | 'subject' | 'text'>): void
  /** Writes the buffer and stops. */
  stop(): Promise<void>
}

export function createNoticeBuffer(ctx: Pick<Context, 'db' | 'clock' | 'log'>): NoticeBuffer {
  let buffered = new Map<string, NewNotice>()
  function add(notice: NewNotice): void {
    const name = `${notice.kind} ${notice.subject}`
    const known = buffered.get(name)
    if (known === undefined && buffered.size >= MAX_BUFFERED) return
    const latest = known === undefined || known.at <= notice.at ? notice : known
    buffered.set(name, { ...latest, count: notice.count + (known?.count ?? 0) })
  }
  async function write(): Promise<void> {
    const writing = buffered
    if (writing.size === 0) return
    buffered = new Map()
    await raiseNotices(ctx.db, 'happened', [...writing.values()]).catch((error: unknown) => {
      ctx.log.debug({ err: error, notices: writing.size }, 'failed to write operator notices; they are retried')
      for (const notice of writing.values()) add(notice)
    })
  }
  const timer = setInterval(() => void write(), WRITE_MS).unref()
  return {
    raise: (notice) => add({ ...notice, count: 1, at: new Date(ctx.clock.now()) }),
    stop: async () => {
      clearInterval(timer)
      await write()
    },
  }
}
