import { assert } from 'chai'
import type { RecordCheck } from './inspect-records.ts'
import { recommendationsOf } from './recommendations.ts'

const dmarc = (status: RecordCheck['status']): RecordCheck[] => [
  { purpose: 'dmarc', type: 'TXT', name: '_dmarc.shop.example', isRequired: false, status, message: '' },
]
type Rated = Parameters<typeof recommendationsOf>[0]
const DOMAIN: Rated = {
  domain: 'shop.example',
  status: 'verified',
  isTrusted: false,
  mailFromStatus: 'verified',
  checks: dmarc('ok'),
}

describe('recommendations for a domain', () => {
  const cases: readonly (readonly [what: string, change: Partial<Rated>, advice: readonly RegExp[]])[] = [
    ['everything is published', {}, []],
    [
      'the return-path is not its own',
      { mailFromStatus: 'pending' },
      [/records of bounce\.shop\.example \(MAIL FROM\)/],
    ],
    [
      'it lost those records, and has no DMARC record',
      { mailFromStatus: 'failed', checks: dmarc('missing') },
      [/bounce\.shop\.example/, /_dmarc\.shop\.example/],
    ],
    ['DNS does not answer', { checks: dmarc('unknown') }, []],
    ['it was not checked yet', { checks: null }, []],
    ['it is not verified', { status: 'pending', mailFromStatus: 'pending' }, []],
    ['the operator trusts it', { isTrusted: true, mailFromStatus: 'pending' }, []],
  ]
  for (const [what, change, advice] of cases)
    it(`where ${what}`, () => {
      const found = recommendationsOf({ ...DOMAIN, ...change })
      assert.lengthOf(found, advice.length)
      for (const [i, one] of advice.entries()) assert.match(found[i]?.text ?? '', one)
    })
})
