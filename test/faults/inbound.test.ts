/**
 * Bounces and complaints during faults: the inbound process is killed after it stored a report and before it applied
 * it, PostgreSQL is down, a thousand reports arrive at the same time, and a flood contains hostile reports and forged
 * tokens. INBOUND_REPORTS enlarges the flood (the target is 20000 a minute).
 */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { systemClock } from '#src/platform/clock.ts'
import type { Context } from '#src/context.ts'
import { openDb } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { openRedis } from '#src/stores/redis.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { RoleProcess } from '#test/support/child.ts'
import { deliverMessages, type DeliveredMessage } from '#test/support/delivered-messages.ts'
import { hostileReportOf, dsnOf } from '#test/support/reports.ts'
import { submitMessage, connectSmtp, type SmtpConnection } from '#test/support/smtp-connection.ts'
import { startPostgres, startRedis, type TestServer } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'

const FLOOD = Number(process.env['INBOUND_REPORTS'] ?? 1000)
const MOST_MEMORY_MB = 400

describe('inbound faults', function () {
  this.timeout(60_000 + FLOOD * 10)
  let postgres: TestServer
  let redis: TestServer
  let ctx: Context
  let child: RoleProcess
  let dir: string
  let port: number
  let workspaceId: string

  before(async () => {
    ;[postgres, redis, port] = [await startPostgres(), await startRedis(), await freePort()]
    dir = mkdtempSync('/tmp/mailstead-test-')
    const env = {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      DATA_DIR: dir,
      MASTER_KEY: '5a'.repeat(32),
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mta.sender.example',
      INBOUND_PORT: String(port),
      LOG_LEVEL: 'warn',
      NODE_OPTIONS: '--max-semi-space-size=8',
      MALLOC_ARENA_MAX: '2', // as bin/mailstead starts it
    }
    const log = openLog({ logLevel: 'silent' }, 'test')
    ctx = {
      config: loadConfig(env),
      log,
      db: openDb(postgres.url, log, 4),
      redis: openRedis(redis.url, log),
      clock: systemClock,
      encryption: createEncryption(Buffer.alloc(32, 0x5a)),
      tracer: null,
    }
    workspaceId = newId()
    await ctx.db.query('INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, $3, $4)', [
      workspaceId,
      workspaceId.replaceAll('-', ''),
      'test',
      'enterprise',
    ])
    child = new RoleProcess({ args: ['mta', '--roles', 'inbound'], env, home: dir, logName: 'inbound.log' })
    await child.start()
  })
  after(async () => {
    await child.stop()
    ctx.redis.disconnect()
    await ctx.db.close()
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(dir, { recursive: true, force: true })
  })

  let batch = 0
  const handOverMany = async (count: number): Promise<Awaited<ReturnType<typeof deliverMessages>>> => {
    batch++
    const addresses = Array.from({ length: count }, (_, i) => `r${i}@f${batch}.example`)
    const sent = []
    for (const chunk of chunksOf(addresses, 500)) sent.push(...(await deliverMessages(ctx, workspaceId, chunk)))
    return sent
  }
  const isApplied = async (): Promise<boolean> => {
    const {
      rows: [row],
    } = await ctx.db.query<{ due: number }>('SELECT count(*) AS due FROM inbound_reports WHERE due_at IS NOT NULL')
    return row?.due === 0
  }

  /** Events of these messages that a bounce raised. */
  async function bounces(ids: readonly string[]): Promise<number> {
    const { rows } = await ctx.db.query<{ n: number }>(
      `SELECT count(*) AS n FROM events WHERE type = 'email.bounced' AND message_id = ANY ($1::uuid[])`,
      [ids],
    )
    return rows[0]?.n ?? 0
  }

  it('killed again and again while reports come in: what was answered with 250 is applied, and once', async () => {
    const sent = await handOverMany(300)
    const taken = new Set<string>()
    const bring = async ({ returnPath, address, messageId }: (typeof sent)[number]): Promise<void> => {
      while (!taken.has(messageId)) {
        const replies = await submitMessage(port, {
          from: '',
          to: returnPath,
          content: dsnOf({ recipient: address }),
        }).catch(() => [])
        if (replies.at(-1)?.startsWith('250') === true && replies.length === 4) taken.add(messageId)
        else await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const bringing = forEachConcurrently(sent, 20, bring)
    for (const share of [0.2, 0.5, 0.8]) {
      await until(() => taken.size >= sent.length * share)
      await child.kill()
      await child.start()
    }
    await bringing
    await until(isApplied, () => 'not all was applied')
    assert.strictEqual(await bounces(sent.map(({ messageId }) => messageId)), sent.length)
    const { rows } = await ctx.db.query<{ n: number }>(
      `SELECT count(*) AS n FROM recipients WHERE state = 'bounced' AND message_id = ANY ($1::uuid[])`,
      [sent.map(({ messageId }) => messageId)],
    )
    assert.strictEqual(rows[0]?.n, sent.length)
  })

  it('PostgreSQL away: 451, and taken when it is back', async () => {
    const [one] = await handOverMany(1)
    assert.ok(one !== undefined)
    const mail = { from: '', to: one.returnPath, content: dsnOf({ recipient: one.address }) }
    await postgres.crash()
    assert.match((await submitMessage(port, mail)).at(-1) ?? '', /^451 4\.3\.0 /)
    await postgres.restart()
    await until(
      async () => (await submitMessage(port, mail)).at(-1)?.startsWith('250') ?? false,
      () => 'it is not taken',
    )
    await until(
      async () => isApplied().catch(() => false),
      () => 'not applied',
    )
    assert.strictEqual(await bounces([one.messageId]), 1)
  })

  it('a thousand connections at once: each is answered', async () => {
    const sent = await handOverMany(1000)
    const replies = await Promise.all(
      sent.map(async ({ returnPath, address }) =>
        submitMessage(port, { from: '', to: returnPath, content: dsnOf({ recipient: address }) }),
      ),
    )
    assert.deepEqual([...new Set(replies.map((all) => all.at(-1)?.slice(0, 3)))], ['250'])
    await until(isApplied, () => 'not all was applied')
    assert.strictEqual(await bounces(sent.map(({ messageId }) => messageId)), 1000)
  })

  it(`${FLOOD} reports, a tenth hostile, a tenth forged: each is recorded once, memory stays small`, async () => {
    const sent = await handOverMany(FLOOD)
    let [refused, peakMb] = [0, 0]
    const watching = setInterval(() => {
      peakMb = Math.max(peakMb, memoryOf(dir))
    }, 200)
    const begunAt = performance.now()
    const [ours, theirs] = [cpuOf([pidOf(dir)]), cpuOf(await databasePids())]
    await forEachConcurrently(
      chunksOf(
        sent.map((one, i) => ({ ...one, i })),
        100,
      ),
      20,
      async (chunk) => {
        const connection = await connectSmtp(port)
        await connection.command('EHLO client.example')
        for (const one of chunk) if (!(await bringOn(connection, one))) refused++
        connection.disconnect()
      },
    )
    await until(isApplied, () => 'not all was applied', 120_000)
    clearInterval(watching)
    const seconds = [
      (performance.now() - begunAt) / 1000,
      cpuOf([pidOf(dir)]) - ours,
      cpuOf(await databasePids()) - theirs,
    ]
    const [took, process_, postgresql] = seconds.map((one) => one.toFixed(1))
    process.stdout.write(
      `    ${FLOOD} reports in ${took} s, at most ${peakMb} MB,` +
        ` CPU: process ${process_} s, PostgreSQL ${postgresql} s\n`,
    )
    assert.strictEqual(refused, FLOOD / 10)
    assert.ok(peakMb < MOST_MEMORY_MB, `${peakMb} MB`)
    const honest = sent.filter((_, i) => i % 10 > 1)
    assert.strictEqual(await bounces(honest.map(({ messageId }) => messageId)), honest.length)
    const { rows } = await ctx.db.query(
      `SELECT 1 FROM events WHERE type = 'email.bounced' GROUP BY message_id, n HAVING count(*) > 1`,
    )
    assert.strictEqual(rows.length, 0)
  })

  /** Its processes, and the one that they are children of, which keeps the account of those that have ended. */
  async function databasePids(): Promise<(number | string)[]> {
    const pids = (await ctx.db.query<{ pid: number }>('SELECT pid FROM pg_stat_activity')).rows.map(({ pid }) => pid)
    return [...pids, readStat(pids[0] ?? 0)[1] ?? 0]
  }

  /** False when it was refused, as it is right for a forged one. */
  async function bringOn(
    connection: SmtpConnection,
    { i, returnPath, address }: DeliveredMessage & { readonly i: number },
  ): Promise<boolean> {
    const isForged = i % 10 === 1
    await connection.command('MAIL FROM:<>')
    const rcpt = await connection.command(
      `RCPT TO:<${isForged ? returnPath.replace(/^b-..../, 'b-aaaa') : returnPath}>`,
    )
    assert.strictEqual(rcpt.slice(0, 3), isForged ? '550' : '250')
    if (isForged) await connection.command('RSET')
    if (isForged) return false
    await connection.command('DATA')
    connection.send(`${i % 10 === 0 ? hostileReportOf(i / 10) : dsnOf({ recipient: address })}\r\n.\r\n`)
    assert.match(await connection.readReply(), /^250 /)
    return true
  }
})

async function forEachConcurrently<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items]
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
    }),
  )
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}

/** MB that the process has in memory now. */
function memoryOf(home: string): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readProc(pidOf(home), 'status'))?.[1] ?? 0) / 1024)
}

function pidOf(home: string): string {
  return readFileSync(join(home, 'run/mta-inbound.pid'), 'utf8').trim()
}

/** '' where there is no /proc, or the process is gone. */
function readProc(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** What proc(5) has of a process behind its name. */
function readStat(pid: number | string): string[] {
  return readProc(pid, 'stat').split(') ').at(-1)?.split(' ') ?? []
}

const TICKS_IN_A_SECOND = 100

/** Seconds of CPU that these processes have used, all their threads together, and their children that have ended. */
function cpuOf(pids: readonly (number | string)[]): number {
  const ticks = pids.flatMap((pid) => readStat(pid).slice(11, 15).map(Number))
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_IN_A_SECOND
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
