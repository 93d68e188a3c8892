/**
 * Opens and clicks at two api processes while processes are killed with -9 and PostgreSQL is down. Each hit whose
 * response was sent while PostgreSQL was up is stored exactly once, whatever is killed after the response. While
 * PostgreSQL is down, responses are not delayed and hits are buffered. FAULT_HITS and FAULT_KILLS enlarge the test.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createLinks } from '#src/tracking/links.ts'
import { RoleProcess } from '#test/support/child.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const HITS = Number(process.env['FAULT_HITS'] ?? 600)
const KILLS = Number(process.env['FAULT_KILLS'] ?? 5)
const CLIENTS = 20
const AT_ONCE_MS = 2500
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0' }

describe('opens and clicks under faults', function () {
  this.timeout(60_000 + HITS * 50 + KILLS * 10_000)
  let system: System
  let twin: RoleProcess
  let bases: readonly string[]

  before(async () => {
    // nobody judges: what was answered stays where it can be counted
    system = await startSystem({ isCrashable: true, env: { ROUTES: '*=smtp://127.0.0.1:9' } })
    await system.roles.worker.stop()
    const { databaseUrl, redisUrl, dataDir, masterKey, httpPort } = system.config
    const port = httpPort + 1000
    twin = new RoleProcess({
      args: ['api'],
      home: dataDir,
      logName: 'api2.log',
      env: {
        DATABASE_URL: databaseUrl ?? '',
        REDIS_URL: redisUrl ?? '',
        DATA_DIR: dataDir,
        MASTER_KEY: masterKey ?? '',
        HTTP_PORT: String(port),
        HTTP_HOST: '127.0.0.1',
      },
    })
    await twin.start()
    bases = [system.url, `http://127.0.0.1:${port}`]
  })
  after(async () => {
    await twin.stop()
    await system.stop()
  })
  beforeEach(() => system.db.query('DELETE FROM tracking_hits'))
  printLogsOnFailure(() => system)

  interface Asked {
    readonly key: string
    readonly path: string
  }
  /** Each hit is unique. The hits belong to few mails, so that both processes get hits of each, below the limit. */
  function hitsOf(count: number): Asked[] {
    const config = { bounceDomain: 'b.example', hostedMailUrl: null }
    const links = createLinks({ encryption: system.encryption, config })
    const mails = Array.from({ length: Math.ceil(count / 30) }, () => newId())
    return Array.from({ length: count }, (_, i): Asked => {
      const messageId = mails[i % mails.length] ?? ''
      const url = `https://shop.example/${i}`
      return {
        key: `${messageId} ${url}`,
        path: links.click(
          { base: '', messageId, n: 0, workspaceId: messageId, senderId: null, contactId: null, audienceId: null },
          url,
        ),
      }
    })
  }
  /** Asks for each once; those that were answered. */
  async function visit(
    hits: readonly Asked[],
    each: (done: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<string[]> {
    const answered: string[] = []
    let next = 0
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let hit = hits[next++]; hit !== undefined; hit = hits[next++]) {
          const answer = await fetch(`${bases[client % bases.length] ?? ''}${hit.path}`, {
            redirect: 'manual',
            headers: BROWSER,
          }).catch(() => null)
          if (answer?.status === 302) answered.push(hit.key)
          else await sleep(20)
          await each(next)
        }
      }),
    )
    return answered
  }
  async function stored(): Promise<Map<string, number>> {
    const { rows } = await system.db.query<{ key: string; count: number }>(
      `SELECT message_id || ' ' || url AS key, count(*)::int AS count FROM tracking_hits GROUP BY 1`,
    )
    return new Map(rows.map(({ key, count }) => [key, count]))
  }

  it(`${KILLS} kills of two processes at a time: each hit with a response is stored once`, async () => {
    let kills = 0
    let striking = Promise.resolve()
    const strike = async (): Promise<void> => {
      const isTwin = kills % 2 === 1
      const victim = isTwin ? twin : system.roles.api
      await victim.kill()
      await victim.start()
    }
    const answered = await visit(hitsOf(HITS), (done) => {
      if (done > (HITS * (kills + 1)) / (KILLS + 1) && kills < KILLS) {
        striking = striking.then(strike)
        kills++
      }
      return Promise.resolve()
    })
    await striking
    const found = await stored()
    assert.ok(answered.length > HITS / 4, `only ${answered.length} were answered`)
    assert.deepEqual(
      answered.filter((key) => found.get(key) !== 1),
      [],
    )
  })

  it('PostgreSQL is killed: responses are not delayed, and buffered hits are stored when it is back', async () => {
    const hits = hitsOf(100)
    const before = await visit(hits.slice(0, 40))
    await system.postgres.crash()
    const startedAt = performance.now()
    const without = await visit(hits.slice(40, 80))
    assert.ok(performance.now() - startedAt < AT_ONCE_MS, 'readers waited')
    assert.strictEqual(without.length, 40)
    await system.postgres.restart()
    await until(
      async () => (await stored().catch(() => new Map())).size >= before.length + without.length,
      () => 'what waited is not there',
    )
    const after = await visit(hits.slice(80))
    const found = await stored()
    assert.deepEqual(
      [...before, ...without, ...after].filter((key) => !found.has(key)),
      [],
    )
  })
})
