/**
 * Reads and updates a row of each table again and again, as mail does, and reports how long PostgreSQL let it wait for
 * a lock. The waits are those that PostgreSQL logs, so a busy machine does not add to them; the longest statement as
 * the client saw it is reported beside them.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { FILLED } from './fill.ts'

const PAUSE_MS = 50
/** Waits that are shorter are not logged. */
export const LOG_WAITS = ["deadlock_timeout = '10ms'", 'log_lock_waits = on']
const WAIT = /process (\d+) acquired \w+ on .*? after ([\d.]+) ms/g

export interface Blocked {
  readonly table: string
  /** The longest wait for a lock, by PostgreSQL. */
  readonly waitMs: number
  /** The longest statement, by the client. */
  readonly statementMs: number
}

export interface Prober {
  /** Probes further tables, which have rows. */
  add(tables: readonly string[]): Promise<void>
  /** What was found since the last call. */
  report(): Blocked[]
  stop(): Promise<void>
}

interface Probe {
  readonly table: string
  readonly pid: number
  statementMs: number
}

export function createProber(url: string, logFile: string): Prober {
  const stop = new AbortController()
  const probes: Probe[] = []
  const ends: Promise<void>[] = []
  let read = 0
  return {
    add: async (tables) => {
      for (const { table, key, touch } of Object.values(FILLED).flat()) {
        if (!tables.includes(table)) continue
        const client = new pg.Client(url)
        await client.connect()
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        const probe: Probe = { table, pid: rows[0]?.pid ?? 0, statementMs: 0 }
        probes.push(probe)
        const where = `${key.includes(',') ? `(${key})` : key} = (SELECT ${key} FROM ${table} LIMIT 1)`
        const statements = [`SELECT * FROM ${table} LIMIT 1`, `UPDATE ${table} SET ${touch} WHERE ${where}`]
        ends.push(probeTable(client, probe, statements, stop.signal).finally(() => client.end()))
      }
    },
    report: () => {
      const log = readFileSync(logFile, 'utf8')
      const waits = [...log.slice(read).matchAll(WAIT)].map(([, pid, ms]) => ({ pid: Number(pid), ms: Number(ms) }))
      read = log.length
      return probes.map((probe) => {
        const { table, pid, statementMs } = probe
        probe.statementMs = 0
        const waitMs = Math.max(0, ...waits.filter((wait) => wait.pid === pid).map(({ ms }) => ms))
        return { table, waitMs, statementMs }
      })
    },
    stop: async () => {
      stop.abort()
      await Promise.all(ends)
    },
  }
}

async function probeTable(
  client: pg.Client,
  probe: Probe,
  statements: readonly string[],
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    for (const statement of statements) {
      const startedAt = performance.now()
      await client.query(statement)
      probe.statementMs = Math.max(probe.statementMs, performance.now() - startedAt)
    }
    await sleep(PAUSE_MS)
  }
}
