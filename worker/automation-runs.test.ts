/** Automations of an installation whose links lead nowhere stop, and the log says why. */
import { assert } from 'chai'
import { pino } from 'pino'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startAutomations } from './automation-runs.ts'

describe('automations without public URLs', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.sender.example' })
  })
  after(() => ctx.close())

  it('log once that they stop, and which setting is wrong', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const loop = startAutomations({ ...ctx, log }, ctx.redisUrl)
    await loop.stop()
    assert.strictEqual(lines.length, 1)
    assert.match(lines[0] ?? '', /automations.*PUBLIC_URL is http:/)
  })
})
