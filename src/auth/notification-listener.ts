/**
 * One PostgreSQL connection that listens on a notification channel. It calls `onChange` for each notification, and
 * after every (re)connection, because notifications in between are lost. While it is not connected, nothing is
 * reported, so caches must also expire by age. A connection on which a probe is not answered, or whose server is no
 * longer the primary, is replaced.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#src/platform/log.ts'
import { CONNECTION, PostgresClient } from '#src/stores/postgres-client.ts'
import { statementTimeout } from '#src/stores/postgres-pool.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

/** How often the connection is probed, and how long the reply may take. */
export interface ProbeTimes {
  readonly everyMs: number
  readonly withinMs: number
}

const PROBE_TIMES: ProbeTimes = { everyMs: 15_000, withinMs: 5000 }

export interface NotificationListener {
  stop(): Promise<void>
}

export interface NotificationListenerOptions {
  readonly url: string
  /** An identifier, not input. */
  readonly channel: string
  readonly log: Log
  readonly onChange: () => void
}

export function listenForNotifications(
  { url, channel, log, onChange }: NotificationListenerOptions,
  { everyMs, withinMs }: ProbeTimes = PROBE_TIMES,
): NotificationListener {
  const stopping = new AbortController()
  let current: PostgresClient | null = null
  let waitMs = FIRST_WAIT_MS

  async function connectAndListen(client: PostgresClient): Promise<void> {
    client.on('error', (error) => {
      // a stop closes the connection itself
      if (stopping.signal.aborted) return
      log.warn({ err: error, channel }, 'PostgreSQL notification connection lost; it reconnects')
    })
    client.on('notification', onChange)
    const ended = Promise.withResolvers<false>()
    client.once('end', () => ended.resolve(false))
    await client.connect()
    await client.openSession(withinMs)
    await client.within(withinMs, () => client.query(`LISTEN ${channel}`))
    waitMs = FIRST_WAIT_MS
    onChange()
    while (await isOpenAfter(ended.promise)) await client.checkServer(withinMs)
  }

  /** Waits until the next probe; false when the connection ended before. */
  function isOpenAfter(ended: Promise<false>): Promise<boolean> {
    return Promise.race([ended, sleep(everyMs, true, { signal: stopping.signal, ref: false })])
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      current = new PostgresClient({
        ...CONNECTION,
        connectionString: url,
        application_name: channel,
        settings: statementTimeout(withinMs),
      })
      await connectAndListen(current).catch((error: unknown) =>
        log.debug({ err: error, channel }, 'LISTEN failed; it is retried'),
      )
      current.destroy()
      await sleep(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
    }
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      current?.destroy()
      await running
    },
  }
}
