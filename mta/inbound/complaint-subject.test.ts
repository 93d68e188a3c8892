import { assert } from 'chai'
import { newId, hexOf } from '#src/platform/id.ts'
import { arfOf } from '#test/support/reports.ts'
import { findMessageIds, isFromOneOf } from './complaint-subject.ts'

const HEX = hexOf(newId())
const CHECK = { result: 'pass', domain: 'arf.yahoo.com' }
const NONE = { result: 'none', domain: null }

describe('complaints that quote no return-path', () => {
  it('are about a Message-ID of this server, and only feedback reports are read', () => {
    const report = arfOf('abuse', `Message-ID: <${HEX}@sender.example>\nTo: redacted@x.example`)
    assert.deepEqual(findMessageIds(Buffer.from(report)), [HEX])
    assert.deepEqual(findMessageIds(Buffer.from(`Message-ID: <${HEX}@sender.example>\r\n\r\nreport`)), [])
    assert.deepEqual(findMessageIds(Buffer.from(arfOf('abuse', 'Message-ID: <123@sender.example>'))), [])
  })
  const signed = (domain: string, result = 'pass'): Parameters<typeof isFromOneOf>[0] => ({
    spf: NONE,
    dkim: [{ result, domain, selector: null, is_aligned: false }],
  })
  const CASES: readonly (readonly [string, Parameters<typeof isFromOneOf>[0], boolean])[] = [
    ['SPF of a host below the domain', { spf: CHECK, dkim: [] }, true],
    ['DKIM of the domain', signed('yahoo.com'), true],
    ['DKIM that fails', signed('yahoo.com', 'fail'), false],
    ['another domain with the same end', signed('notyahoo.com'), false],
    ['a domain above', signed('com'), false],
    ['nothing', { spf: NONE, dkim: [] }, false],
  ]
  for (const [what, results, expected] of CASES)
    it(`authentic: ${what}`, () => assert.equal(isFromOneOf(results, ['x.example', 'yahoo.com']), expected))
})
