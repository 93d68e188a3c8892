import { assert } from 'chai'
import { showWarnings } from './warnings.ts'

const line = (level: number, msg: string, more: object = {}): string => `${JSON.stringify({ level, msg, ...more })}\n`

describe('the log lines that the console shows', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['no information', line(30, 'delivered'), []],
    ['a warning', line(40, 'Redis is away'), ['api: warning: Redis is away']],
    [
      'an error with its cause',
      line(50, 'no claim', { err: { message: 'connect ENOENT' } }),
      ['api: error: no claim (connect ENOENT)'],
    ],
    [
      'no steering of the terminal',
      `${line(50, 'x', { err: { message: 'no \u001b[2J\u009b1m\nsecond' } })}at \u001b[31mplace\n`,
      ['api: error: x (no ?[2J?1m?second)', 'api: at ?[31mplace'],
    ],
    ['the end of a process', line(60, 'bug'), ['api: fatal: bug']],
    ['no word about a level in a message', line(30, 'a subject: {"level":50}'), []],
    ['what is no JSON', '"level":50 but broken\n', ['api: "level":50 but broken']],
    ['no broken JSON', '{"level":50,\n', []],
  ]
  for (const [what, text, shown] of cases) {
    it(what, () => {
      const said: string[] = []
      showWarnings('api', 'api.log', (one) => said.push(one))(Buffer.from(text))
      assert.deepEqual(said, shown)
    })
  }

  it('shows a line that arrives in pieces whole and once', () => {
    const said: string[] = []
    const show = showWarnings('mta', 'mta.log', (one) => said.push(one))
    for (const byte of Buffer.from(line(30, 'x') + line(40, 'slow') + line(30, 'y'))) show(Buffer.from([byte]))
    assert.deepEqual(said, ['mta: warning: slow'])
  })

  it('shows ten lines of a flood, then the path of the log, then lines again after a pause', () => {
    const said: string[] = []
    let now = 0
    const show = showWarnings(
      'mta',
      'data/log/mta.log',
      (one) => said.push(one),
      () => now,
    )
    show(Buffer.from(Array.from({ length: 500 }, (_, n) => line(40, `w${n}`)).join('')))
    assert.strictEqual(said.length, 11)
    assert.strictEqual(said.at(-1), 'mta: further messages are in data/log/mta.log')
    now = 20_000
    show(Buffer.from(line(40, 'later')))
    assert.deepEqual(said.slice(11), ['mta: 490 more, see data/log/mta.log', 'mta: warning: later'])
  })

  it('shows everything that a process prints before it dies, without empty lines', () => {
    const said: string[] = []
    showWarnings('worker', 'w.log', (one) => said.push(one))(Buffer.from('Error: x\n\n    at y\n'))
    assert.deepEqual(said, ['worker: Error: x', 'worker:     at y'])
  })
})
