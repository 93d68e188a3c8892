/**
 * Notices of a busy process, gathered: raising one costs an entry in a map, a flood of the same is one entry with a count, and what is
 * gathered is written every few seconds. PostgreSQL away: kept and tried again. More subjects than fit are told in the log and left out.
 * Dies in between: the notices of those seconds are lost; each was in the log too.
 */
import type { Context } from '#src/context.ts'
import { raiseNotices, type NewNotice } from './notices.ts'

const WRITE_MS = 2000
const MAX_BUFFERED = 1000

export interface NoticeBuffer {
  raise(notice: Pick<NewNotice, 'kind' | 'subject' | 'text'>): void
  /** Writes what is gathered. */
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
      ctx.log.debug({ err: error, notices: writing.size }, 'notices could not be written; they are with the next')
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
