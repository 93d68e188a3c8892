import { assert } from 'chai'
import fc from 'fast-check'
import { isSampled, type SamplingSettings } from './sampling.ts'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const VALID = `00-${TRACE}-${SPAN}-01`

describe('traceparent', () => {
  const parsed = { traceId: TRACE, spanId: SPAN, isSampled: true }
  const cases: readonly (readonly [name: string, text: string, result: ReturnType<typeof parseTraceparent>])[] = [
    ['sampled', VALID, parsed],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, { ...parsed, isSampled: false }],
    ['unknown flags', `00-${TRACE}-${SPAN}-fe`, { ...parsed, isSampled: false }],
    ['a later version', `cc-${TRACE}-${SPAN}-01-more`, parsed],
    ['more fields in version 00', `${VALID}-more`, null],
    ['version ff', `ff-${TRACE}-${SPAN}-01`, null],
    ['an empty trace id', `00-${'0'.repeat(32)}-${SPAN}-01`, null],
    ['an empty span id', `00-${TRACE}-${'0'.repeat(16)}-01`, null],
    ['upper case', VALID.toUpperCase(), null],
    ['two headers', `${VALID}, ${VALID}`, null],
    ['a line break', `${VALID}\n`, null],
    ['spaces', ` ${VALID}`, null],
    ['nothing', '', null],
    ['other letters', VALID.replace('0a', 'xa'), null],
    ['a very long later version', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(100_000)}`, null],
  ]
  for (const [name, text, result] of cases)
    it(`${name}: ${result === null ? 'is refused' : 'is read'}`, () => assert.deepEqual(parseTraceparent(text), result))
  it('that is written is read again', () =>
    assert.deepEqual(parseTraceparent(formatTraceparent({ traceId: TRACE, spanId: SPAN })), parsed))
  it('never throws', () => fc.assert(fc.property(fc.string(), (text) => void parseTraceparent(text))))
})

describe('the decision to record a trace', () => {
  const caller = (sampled: boolean): ReturnType<typeof parseTraceparent> => ({
    traceId: TRACE,
    spanId: SPAN,
    isSampled: sampled,
  })
  const settings = (tracesSampler: SamplingSettings['tracesSampler'], traceRatio: number): SamplingSettings => ({
    tracesSampler,
    traceRatio,
  })
  const ratio = settings('traceidratio', 0.1)
  const parent = settings('parentbased_traceidratio', 0.1)
  const cases: readonly (readonly [string, SamplingSettings, ReturnType<typeof parseTraceparent>, number, boolean])[] =
    [
      ['without a caller, within the ratio', ratio, null, 0.09, true],
      ['without a caller, beyond the ratio', ratio, null, 0.1, false],
      ['a flag cannot force it', ratio, caller(true), 0.5, false],
      ['a flag within the ratio', ratio, caller(true), 0.05, true],
      ['a flag can prevent it', ratio, caller(false), 0, false],
      ['trusted callers force it', parent, caller(true), 0.99, true],
      ['trusted callers prevent it', parent, caller(false), 0, false],
      ['trusted callers without a flag', parent, null, 0.5, false],
      ['a ratio of 0', settings('traceidratio', 0), null, 0, false],
      ['a ratio of 1', settings('traceidratio', 1), null, 0.999, true],
    ]
  for (const [name, given, from, chance, expected] of cases)
    it(`${name}: ${expected ? 'recorded' : 'not recorded'}`, () =>
      assert.strictEqual(isSampled(given, from, chance), expected))
})
