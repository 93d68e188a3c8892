import { assert } from 'chai'
import { findDkimProblem } from './dkim-record.ts'

const P = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1234'
const OURS = `v=DKIM1; k=rsa; p=${P}`

const CASES: readonly [texts: readonly string[], problem: RegExp | null][] = [
  [[OURS], null],
  [[`p=${P}`], null],
  [[`k=rsa;p=${P};v=DKIM1;`], null],
  [[`v=DKIM1;\tk=rsa ;  p = ${P.slice(0, 10)} \n ${P.slice(10)} `], null],
  [[`${OURS}; t=y; h=sha1:sha256; s=email`], null],
  [['v=spf1 -all', 'google-site-verification=x', OURS], null],
  [[], /^there is no TXT record$/],
  [['v=spf1 -all'], /it is not a DKIM key/],
  [[OURS, OURS], /there are 2 DKIM records/],
  [[OURS, 'v=DKIM1; p=abc'], /there are 2 DKIM records/],
  [[`"${OURS}"`], /quotation marks/],
  [['v=DKIM1; k=rsa; p='], /revoked/],
  [['v=DKIM1; k=rsa; p=; x=1'], /revoked/],
  [[OURS.slice(0, 40)], /cut off after 22 of 48 characters/],
  [['v=DKIM1; k=rsa; p=MIIBother'], /a different key/],
  [[`v=DKIM2; k=rsa; p=${P}`], /v=DKIM2/],
  [[`v=DKIM1; k=ed25519; p=${P}`], /k=ed25519 instead of k=rsa/],
  [[`${OURS}; h=sha1`], /h=sha1/],
  [[`${OURS}; s=other`], /s=other/],
]

describe('a published DKIM key', () => {
  for (const [texts, problem] of CASES) {
    it(JSON.stringify(texts), () => {
      const found = findDkimProblem(texts, OURS)
      if (problem === null) assert.strictEqual(found, null)
      else assert.match(found?.text ?? 'no problem', problem)
    })
  }

  it('an Ed25519 key must have k=ed25519', () => {
    assert.strictEqual(findDkimProblem(['v=DKIM1; k=ed25519; p=abcd'], 'v=DKIM1; k=ed25519; p=abcd'), null)
    assert.match(
      findDkimProblem(['v=DKIM1; p=abcd'], 'v=DKIM1; k=ed25519; p=abcd')?.text ?? '',
      /k=rsa instead of k=ed25519/,
    )
  })
})
