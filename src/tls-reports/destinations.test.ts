import { assert } from 'chai'
import fc from 'fast-check'
import { parseDestinations } from './destinations.ts'

const ROWS: readonly (readonly [records: string[], expected: string[]])[] = [
  [['v=TLSRPTv1; rua=mailto:reports@in.example'], ['reports@in.example']],
  [
    ['v=TLSRPTv1;rua=mailto:a@in.example,https://in.example/v1/tlsrpt;'],
    ['a@in.example', 'https://in.example/v1/tlsrpt'],
  ],
  [['v=TLSRPTv1; rua = mailto:tls%2Bx@in.example?subject=hi'], ['tls+x@in.example']],
  [['other', 'v=TLSRPTv1; rua=mailto:a@in.example'], ['a@in.example']],
  [['v=TLSRPTv1; rua=mailto:a@in.example', 'v=TLSRPTv1; rua=mailto:b@in.example'], []],
  [['v=TLSRPTv1;'], []],
  [['v=TLSRPTv2; rua=mailto:a@in.example'], []],
  [['v=TLSRPTv1; rua=http://in.example/plain'], []],
  [['v=TLSRPTv1; rua=file:///etc/passwd,mailto:nobody,mailto:%ff'], []],
  [['v=TLSRPTv1; rua=mailto:"a b"@in.example,mailto:b\u00fc@in.example'], []],
  [['v=TLSRPTv1; rua=mailto:a@in.example%0d%0aBcc:b@in.example'], []],
  [
    [`v=TLSRPTv1; rua=${Array.from({ length: 9 }, (_, i) => `mailto:a${i}@in.example`).join(',')}`],
    ['a0@in.example', 'a1@in.example', 'a2@in.example', 'a3@in.example'],
  ],
]

describe('TLS report destinations', () => {
  for (const [records, expected] of ROWS) {
    it(JSON.stringify(records).slice(0, 90), () => {
      assert.deepEqual(
        parseDestinations(records).map((one) => (one.kind === 'mail' ? one.address : one.url)),
        expected,
      )
    })
  }
  it('any text is parsed, and a destination never has a line break', () => {
    fc.assert(
      fc.property(fc.string(), (text) =>
        assert.notMatch(JSON.stringify(parseDestinations([`v=TLSRPTv1; rua=mailto:${text}`])), /\\[rn]/),
      ),
    )
  })
})
