import { assert } from 'chai'
import fc from 'fast-check'
import { findSpf, readSpf } from './spf-record.ts'

const READ: readonly [text: string, terms: string | null][] = [
  ['v=spf1', ''],
  ['v=spf1 -all', '-all'],
  ['v=spf1 a mx ~all', '+a +mx ~all'],
  ['v=spf1 A:Host.Example. ?all', '+a:host.example ?all'],
  ['v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all', '+ip4:192.0.2.0 +ip6:2001:db8:: -all'],
  ['v=spf1 a/24 mx:x.example/24//64 all', '+a +mx:x.example +all'],
  ['v=spf1 include:%{d}.x.example -all', '+include:%{d}.x.example -all'],
  ['v=spf1 redirect=x.example exp=y.example', '+redirect:x.example +exp:y.example'],
  ['v=spf1  include:_spf.x.example   -all', '+include:_spf.x.example -all'],
  ['v=spf1 future=1 -all', '+future:1 -all'],
  ['v=spf1 include -all', null],
  ['v=spf1 include: -all', null],
  ['v=spf1 a: -all', null],
  ['v=spf1 ip4 -all', null],
  ['v=spf1 redirect= -all', null],
  ['v=spf1 includ:x.example', null],
  ['v=spf1 +-all', null],
  ['v=spf1 host.example', null],
]

describe('SPF records', () => {
  for (const [text, terms] of READ) {
    it(text, () => {
      const record = readSpf(text)
      const formatted = record.ok
        ? record.terms
            .map(({ qualifier, name, domain }) => `${qualifier}${name}${domain === null ? '' : `:${domain}`}`)
            .join(' ')
        : null
      assert.strictEqual(formatted, terms)
    })
  }

  it('are distinguished from other TXT records', () => {
    assert.deepEqual(
      findSpf(['v=spf1', 'v=spf1 -all', 'V=SPF1 -all', 'v=spf10 -all', 'v=spf1-all', ' v=spf1', 'spf2.0/pra', '']),
      ['v=spf1', 'v=spf1 -all', 'V=SPF1 -all'],
    )
  })

  it('never throw, whatever the text', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('include:', 'a:%{i}', '-all', 'ip4:1', '=', ':', '//', '~mx:a/0//0'),
    )
    fc.assert(
      fc.property(fc.array(word), (words) => {
        readSpf(`v=spf1 ${words.join(' ')}`)
      }),
    )
  })
})
