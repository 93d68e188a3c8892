import { assert } from 'chai'
import * as fc from 'fast-check'
import type { Attempt } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { ACCEPTED, attemptOf, claimedOf, silentContext } from '#test/support/delivery.ts'
import { formatLine, journaledResultOf, parseJournal, type JournaledResult } from './journal-format.ts'
import { resultOf } from './result-handler.ts'

function resultWith(attempt: Attempt): JournaledResult | null {
  return journaledResultOf(resultOf(silentContext(), claimedOf(), attempt))
}

/** Any text, also with line ends, NUL and half surrogate pairs. */
const anyText = fc.string({ unit: 'binary' })
const anyResult: fc.Arbitrary<JournaledResult> = fc
  .record({
    text: anyText,
    host: fc.option(anyText),
    conversation: anyText,
    lease: fc.nat(),
    n: fc.nat(1000),
    isUnknown: fc.boolean(),
  })
  .map(({ text, host, conversation, lease, n, isUnknown }) => {
    const attempt = attemptOf(
      isUnknown
        ? { kind: 'unknown', reason: 'lost-after-dot', detail: text }
        : { kind: 'delivered', reply: { code: 250, enhanced: null, text, lines: [] } },
      { host, conversation },
    )
    const claimed = claimedOf({ lease, n, campaignId: null })
    const transition = transitionFor(claimed, attempt, { scale: 1, lifetimeSeconds: null, nowMs: 1000 })
    const result = journaledResultOf({ claimed, transition })
    if (result === null) throw new Error('it must be in the journal')
    return result
  })
const anyJournal = fc.array(anyResult, { maxLength: 6 })

function contentOf(results: readonly JournaledResult[]): Buffer {
  return Buffer.from(results.map(formatLine).join(''))
}

describe('the format of a result journal', () => {
  it('returns every result as it was', () => {
    fc.assert(
      fc.property(anyJournal, (results) => {
        assert.deepEqual(parseJournal(contentOf(results)), { results, damaged: 0 })
      }),
    )
  })
  it('cut at any byte, returns every result whose line is complete, and no other', () => {
    fc.assert(
      fc.property(anyJournal, fc.nat(), (results, at) => {
        const content = contentOf(results)
        const end = content.length === 0 ? 0 : at % (content.length + 1)
        const parsed = parseJournal(content.subarray(0, end))
        // without its line end a line is complete, too
        const complete = results.filter((_, i) => contentOf(results.slice(0, i + 1)).length - 1 <= end)
        assert.deepEqual(parsed.results, complete)
        assert.ok(parsed.damaged <= 1)
      }),
    )
  })
  it('with any damaged byte, loses the results of at most two lines and changes none', () => {
    fc.assert(
      fc.property(fc.array(anyResult, { minLength: 1, maxLength: 6 }), fc.nat(), fc.nat(255), (results, at, byte) => {
        const content = contentOf(results)
        content[at % content.length] = byte
        const parsed = parseJournal(content)
        const known = new Set(results.map((result) => JSON.stringify(result)))
        assert.ok(parsed.results.every((result) => known.has(JSON.stringify(result))))
        assert.ok(parsed.results.length >= results.length - 2)
      }),
    )
  })
  it('skips anything between the lines', () => {
    fc.assert(
      fc.property(anyJournal, fc.uint8Array(), (results, rubbish) => {
        const content = Buffer.concat([Buffer.from(rubbish), Buffer.from('\n'), contentOf(results)])
        assert.deepEqual(parseJournal(content).results, results)
      }),
    )
  })
  it('skips a line with a correct checksum that lacks a field', () => {
    const result = resultWith(attemptOf())
    assert.ok(result !== null)
    for (const other of [{}, null, [], 7, { ...result, transition: {} }, { ...result, claimed: undefined }])
      assert.deepEqual(parseJournal(Buffer.from(formatLine(other as JournaledResult))), { results: [], damaged: 1 })
  })
  it('has only what must not be repeated', () => {
    const reply = { code: 250, enhanced: null, text: 'Ok', lines: ['250 Ok'] }
    const failure = { scope: 'recipient', reason: 'policy', detail: 'no', reply: null } as const
    assert.ok(resultWith(attemptOf(ACCEPTED)) !== null)
    assert.ok(resultWith(attemptOf({ kind: 'relayed', reply })) !== null)
    assert.ok(resultWith(attemptOf({ kind: 'unknown', reason: 'lost-after-dot', detail: 'lost' })) !== null)
    assert.strictEqual(resultWith(attemptOf({ kind: 'deferred', ...failure, isCounted: true })), null)
    assert.strictEqual(resultWith(attemptOf({ kind: 'bounced', ...failure, isHard: false })), null)
  })
  it('bounds the texts that a receiver sends', () => {
    const long = 'x'.repeat(60_000)
    const reply = { code: 250, enhanced: null, text: long, lines: [long] }
    const result = resultWith(attemptOf({ kind: 'delivered', reply }, { conversation: long }))
    assert.ok(result !== null && formatLine(result).length < 15_000)
  })
})
