import { assert } from 'chai'
import { createLookupCache } from './lookup-cache.ts'
import type { TimedDnsAnswer } from '#src/net/dns-answer.ts'

const found = (ttlSeconds: number | null): TimedDnsAnswer<string> => ({
  kind: 'found',
  records: ['192.0.2.1'],
  ttlSeconds,
})
const FAILED: TimedDnsAnswer<string> = { kind: 'failed', text: 'SERVFAIL' }

/** For how many whole seconds an answer is seconds, by trying. */
async function secondsKept(answers: readonly TimedDnsAnswer<string>[]): Promise<number[]> {
  let now = 0
  let asked = 0
  const look = createLookupCache({
    clock: { now: () => now },
    fixedSeconds: 300,
    ask: () => Promise.resolve(answers[asked++] ?? FAILED),
  })
  const seconds: number[] = []
  for (let since = 0; seconds.length < answers.length; now += 1000) {
    const before = asked
    await look('a.example')
    if (asked > before && before > 0) seconds.push((now - since) / 1000)
    if (asked > before) since = now
  }
  return seconds
}

describe('lookup cache', () => {
  const ROWS: readonly (readonly [what: string, answer: TimedDnsAnswer<string>, seconds: number])[] = [
    ['as long as the TTL says', found(600), 600],
    ['30 s at least', found(0), 30],
    ['an hour at most', found(86_400), 3600],
    ['the setting where there is no TTL', found(null), 300],
    ['a minute where there is no record', { kind: 'nothing', isName: true }, 60],
    ['a minute where there is no name', { kind: 'nothing', isName: false }, 60],
    ['5 s after a failure', FAILED, 5],
  ]
  for (const [what, answer, seconds] of ROWS) {
    it(`caches an answer: ${what}`, async () => assert.deepEqual(await secondsKept([answer]), [seconds]))
  }

  it('caches each failure in a row longer, 30 s at most, and restarts after an answer', async () => {
    assert.deepEqual(
      await secondsKept([FAILED, FAILED, FAILED, FAILED, FAILED, found(30), FAILED]),
      [5, 10, 20, 30, 30, 30, 5],
    )
  })

  it('concurrent lookups of a name share one query', async () => {
    let asked = 0
    const gate = Promise.withResolvers<TimedDnsAnswer<string>>()
    const look = createLookupCache({ clock: { now: () => 0 }, fixedSeconds: 1, ask: () => (asked++, gate.promise) })
    const all = Promise.all([look('a.example'), look('a.example'), look('b.example')])
    gate.resolve(found(60))
    const [one, other] = await all
    assert.strictEqual(asked, 2)
    assert.strictEqual(one, other)
  })

  it('recovers after a query that throws', async () => {
    let asked = 0
    const look = createLookupCache({
      clock: { now: () => 0 },
      fixedSeconds: 1,
      ask: () => (asked++ === 0 ? Promise.reject(new Error('bug')) : Promise.resolve(found(60))),
    })
    await assert.isRejected(look('a.example'), /bug/)
    assert.strictEqual((await look('a.example')).kind, 'found')
  })

  it('evicts the least recently used entry when it is full', async () => {
    const asked: string[] = []
    const look = createLookupCache({
      clock: { now: () => 0 },
      fixedSeconds: 1,
      max: 2,
      ask: (name) => (asked.push(name), Promise.resolve(found(60))),
    })
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await look(name)
    assert.deepEqual(asked, ['a', 'b', 'c', 'b'])
  })
})
