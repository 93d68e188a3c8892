/**
 * Compile threads under attack: a tenant submits templates that never end. Others must not wait for them, and they end
 * by themselves.
 */
import { assert } from 'chai'
import { createCompileBudget } from './compile-budget.ts'
import { createCompileThreads, type CompileThreads } from './compile-threads.ts'

const LIMIT_MS = 300
/** On which MJML computes for seconds. */
const BOMB =
  '<mjml><mj-body>' +
  '<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>'.repeat(14_000) +
  '</mj-body></mjml>'
const KILLED = /^(?:compiling it takes longer than 300 ms|it needs too much memory)$/
const REFUSED = /^the templates of this workspace needed too much time; retry after \d+ s$/

describe('compile threads', () => {
  let threads: CompileThreads
  beforeEach(() => {
    const clock = { now: () => 1_000_000 }
    const limits = { compile: LIMIT_MS, render: LIMIT_MS }
    threads = createCompileThreads({ limits, threads: 2, clock, budget: createCompileBudget(clock, 4 * LIMIT_MS) })
  })
  afterEach(() => threads.stop())

  async function compile(workspaceId: string, body: string): Promise<string> {
    const result = await threads.compile(workspaceId, { subject: 's', body, text: null, format: null }, {})
    return result.ok ? 'compiled' : result.reason
  }

  it('a flood of MJML bombs delays nobody else, and is charged until it is refused', async () => {
    const order: string[] = []
    const bombs = Array.from({ length: 15 }, () => compile('attacker', BOMB).finally(() => order.push('bomb')))
    const others = ['b', 'c', 'd'].map((owner) => compile(owner, '<p>fine</p>').finally(() => order.push('other')))
    assert.deepEqual(await Promise.all(others), ['compiled', 'compiled', 'compiled'])
    const reasons = await Promise.all(bombs)
    const killed = reasons.filter((reason) => KILLED.test(reason))
    const refused = reasons.filter((reason) => REFUSED.test(reason))
    assert.deepEqual([killed.length, refused.length], [2, 13], JSON.stringify(reasons))
    assert.isBelow(order.lastIndexOf('other'), order.lastIndexOf('bomb'), 'the others did not wait for all bombs')
    assert.isAtLeast(threads.wait('attacker') ?? 0, 1)
    assert.match(await compile('attacker', '<p>fine</p>'), REFUSED)
    assert.strictEqual(threads.wait('b'), null)
  })
  it('a workspace has only so many jobs waiting', async () => {
    const results = await Promise.all(Array.from({ length: 40 }, () => compile('eager', '<p>fine</p>')))
    const refused = results.filter((result) => REFUSED.test(result)).length
    assert.isAtLeast(refused, 15)
    assert.isAtLeast(results.filter((result) => result === 'compiled').length, 1)
  })
})
