import { assert } from 'chai'
import { chooseTimeouts, TIMEOUTS } from './timeouts.ts'
import type { SmtpStep } from './timeouts.ts'

/** RFC 5321 4.5.3.2, in minutes: a client SHOULD wait at least this long. */
const FLOOR: readonly (readonly [step: SmtpStep, minutes: number])[] = [
  ['greeting', 5],
  ['mail', 5],
  ['rcpt', 5],
  ['data', 2],
  ['block', 3],
  ['dot', 10],
]

describe('time-outs', () => {
  for (const [step, minutes] of FLOOR)
    it(`${step}: at least as long as RFC 5321 recommends`, () => assert.ok(TIMEOUTS[step].ms >= minutes * 60_000))

  it('are those of the table unless the caller replaces them', () => {
    const table = Object.fromEntries(Object.entries(TIMEOUTS).map(([step, { ms }]) => [step, ms]))
    assert.deepEqual(chooseTimeouts(), table)
    assert.deepEqual(chooseTimeouts({ dot: 7 }), { ...table, dot: 7 })
  })
})
