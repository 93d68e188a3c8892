import { assert } from 'chai'
import { kindOf } from './threads.ts'
import { countIn } from './rate-sink.ts'
import { recipientOf, splitIntoBatches } from './smtp-load.ts'

describe('the output of smtp-sink', () => {
  const cases: readonly [output: string, count: number | null][] = [
    ['', null],
    ['sess=0 quit=0 mesg=1\r', 1],
    ['sess=0 quit=0 mesg=1\rsess=7 quit=7 mesg=12\r', 12],
    ['sess=7 quit=7 mesg=12\rsess=7 quit=7 mesg=1', 12],
    ['g=12\rsess=7 qu', null],
    ['sess=7 quit=7 mesg=1', null],
  ]
  for (const [output, count] of cases)
    it(`${JSON.stringify(output)} is ${count}`, () => assert.strictEqual(countIn(output), count))
})

describe('the batches of the SMTP sources', () => {
  const mail = Buffer.from('x')
  it('have consecutive numbers, all messages, and their share of the sessions', () => {
    const shares = [45, 40, 10, 5].map((share) => ({ share, mail }))
    const batches = splitIntoBatches(shares, 1001)
    assert.deepEqual(
      batches.map(({ from, count, sessions }) => [from, count, sessions]),
      [
        [1, 450, 14],
        [451, 400, 12],
        [851, 100, 3],
        [951, 51, 2],
      ],
    )
    assert.deepEqual(batches.map(recipientOf).at(-1), 'k950@site.example')
  })

  it('leave out a kind without a message', () => {
    const batches = splitIntoBatches(
      [90, 10].map((share) => ({ share, mail })),
      1,
    )
    assert.deepEqual(
      batches.map(({ from, count, sessions }) => [from, count, sessions]),
      [[1, 1, 1]],
    )
  })
})

describe('the kind of a thread', () => {
  const cases: readonly [name: string, isMain: boolean, kind: string][] = [
    ['node', true, 'main'],
    ['libuv-worker', false, 'pool'],
    ['V8Worker', false, 'v8'],
    ['node', false, 'other'],
  ]
  for (const [name, isMain, kind] of cases)
    it(`${name} is ${kind}`, () => assert.strictEqual(kindOf(name, isMain), kind))
})
