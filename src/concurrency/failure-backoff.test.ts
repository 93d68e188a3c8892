import { assert } from 'chai'
import { pino } from 'pino'
import { createFailureBackoff } from './failure-backoff.ts'

describe('backoff after failures', () => {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const backoff = createFailureBackoff(log, { message: 'it failed', firstMs: 100, longestMs: 1000 })

  it('doubles the pause up to the longest, and begins again after a success', () => {
    const pauses = Array.from({ length: 6 }, () => backoff.failed(new Error('away')))
    assert.deepEqual(pauses, [100, 200, 400, 800, 1000, 1000])
    backoff.succeeded()
    assert.strictEqual(backoff.failed(new Error('away')), 100)
    const quiet = createFailureBackoff(pino({ level: 'silent' }), { message: '', firstMs: 1, longestMs: 1000 })
    for (let i = 0; i < 2000; i++) quiet.failed(new Error('away'))
    assert.strictEqual(quiet.failed(new Error('away')), 1000, 'also after a very long outage')
  })
  it('logs the first failure of a row at warn, the others at debug, and the end once', () => {
    assert.deepEqual(
      lines.map(({ level, msg }) => `${level} ${msg}`),
      [
        '40 it failed',
        ...Array.from({ length: 5 }, () => '20 it failed'),
        '30 works again; before: it failed',
        '40 it failed',
      ],
    )
  })
})
