/**
 * One PostgreSQL connection that listens on a notification channel. It calls `onChange` for each notification, and
 * after every (re)connection, because notifications in between are lost. While it is not connected, nothing is
 * reported, so caches must also expire by age. A connection pooler without LISTEN has the same effect.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Log } from '#src/platform/log.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000
const CONNECT_MS = 5000

export interface NotificationListener {
  stop(): Promise<void>
}

/** `channel` is an identifier, not input. */
export function listenForNotifications(
  url: string,
  channel: string,
  log: Log,
  onChange: () => void,
): NotificationListener {
  const stopping = new AbortController()
  let current: Client | null = null
  let connecting: Promise<unknown> = Promise.resolve()
  let waitMs = FIRST_WAIT_MS

  async function connectAndListen(client: Client): Promise<void> {
    client.on('error', (error) =>
      log.warn({ err: error, channel }, 'PostgreSQL notification connection lost; it reconnects'),
    )
    client.on('notification', onChange)
    const ended = Promise.withResolvers<void>()
    client.once('end', ended.resolve)
    await (connecting = client.connect())
    if (stopping.signal.aborted) return
    await client.query(`LISTEN ${channel}`)
    waitMs = FIRST_WAIT_MS
    onChange()
    await ended.promise
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      current = new Client({
        connectionString: url,
        keepAlive: true,
        connectionTimeoutMillis: CONNECT_MS,
        application_name: channel,
      })
      await connectAndListen(current).catch((error: unknown) =>
        log.debug({ err: error, channel }, 'LISTEN failed; it is retried'),
      )
      current.end().catch(() => {}) // the connection is lost or was never made: only its socket is left to close
      await sleep(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
    }
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      await connecting.catch(() => {}) // a client that is ended while it connects never emits `end`
      await current?.end().catch(() => {})
      await running
    },
  }
}
