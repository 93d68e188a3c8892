import { assert } from 'chai'
import type { Authentication } from './received-content.ts'
import { arcChainOf, buildForward, findForwardObstacle } from './forwarding.ts'

const PASS: Authentication = {
  spf: { result: 'pass', domain: 'a.example' },
  dkim: [{ result: 'pass', domain: 'a.example', selector: 's', is_aligned: true }],
  dmarc: { result: 'pass', domain: 'a.example', policy: 'reject' },
  arc: { result: 'none', domain: null },
}
const MAIL = 'From: a@a.example\r\nSubject: x\r\n\r\nHello\r\n'
const ROUTE = '01a20312-32ea-7000-a5c8-f32bae550b29'
const contentWith = (verdict: 'clean' | 'spam'): never =>
  ({ spam: { verdict, score: 0, reasons: [], filter: null }, authentication: PASS }) as never
const obstacleOf = (raw: string, content: unknown = contentWith('clean'), forwardsSpam = false): string | null =>
  findForwardObstacle(
    { routeId: ROUTE, raw: Buffer.from(raw, 'latin1'), content: content as never },
    { forwardsSpam, maxOctets: 10_000 },
  )
const TRACE = {
  id: 'x1',
  routeId: ROUTE,
  helo: 'mail (evil)\r\nX: y',
  peer: '2001:db8::1',
  isTls: true,
  serverName: 'mx.example',
  receivedAt: new Date(0),
}

describe('forwarding', () => {
  const CASES: readonly (readonly [what: string, obstacle: string | null, expected: string | null])[] = [
    ['ordinary mail', obstacleOf(MAIL), null],
    ['mail that could not be parsed', obstacleOf(MAIL, null), 'unreadable'],
    ['spam', obstacleOf(MAIL, contentWith('spam')), 'spam'],
    ['spam at a route that forwards it', obstacleOf(MAIL, contentWith('spam'), true), null],
    ['a large mail', obstacleOf(MAIL + 'x'.repeat(10_000)), 'too-large'],
    ['a bare LF', obstacleOf(`${MAIL}.\nMAIL FROM:<x>`), 'malformed'],
    ['a bare CR', obstacleOf(`${MAIL}a\rb`), 'malformed'],
    ['NUL', obstacleOf(`${MAIL}\0`), 'malformed'],
    ['a first line that would continue our field', obstacleOf(` folded\r\n${MAIL}`), 'malformed'],
    ['nothing', obstacleOf(''), 'malformed'],
    ['mail of this route', obstacleOf(`X-Mailstead-Route: ${ROUTE}\r\n${MAIL}`), 'loop'],
    ['mail of another route', obstacleOf(`X-Mailstead-Route: 01a20312-0000\r\n${MAIL}`), null],
    ['50 servers', obstacleOf('Received: x\r\n'.repeat(50) + MAIL), null],
    ['51 servers', obstacleOf('Received: x\r\n'.repeat(51) + MAIL), 'loop'],
  ]
  for (const [what, obstacle, expected] of CASES)
    it(`${what}: ${expected ?? 'forwarded'}`, () => assert.equal(obstacle, expected))

  it('two fields are above the octets that arrived, and the next round is a loop', () => {
    const forward = buildForward(Buffer.from(MAIL), TRACE).toString('latin1')
    assert.equal(
      forward,
      'Received: from mail??evil???X:?y ([IPv6:2001:db8::1])\r\n\tby mx.example with ESMTPS id x1;\r\n' +
        `\tThu, 01 Jan 1970 00:00:00 +0000\r\nX-Mailstead-Route: ${ROUTE}\r\n${MAIL}`,
    )
    assert.equal(obstacleOf(forward), 'loop')
  })

  const chainOf = (head: string, arc: string, mailFrom = 'a@a.example'): ReturnType<typeof arcChainOf> =>
    arcChainOf({
      raw: Buffer.from(head + MAIL),
      mailFrom,
      authentication: { ...PASS, arc: { result: arc, domain: null } },
      serverName: 'mx.example',
    })
  const SET = 'ARC-Seal: i=1; a=x\r\nARC-Message-Signature: i=1; a=x\r\nARC-Authentication-Results: i=1; mx\r\n'
  it('an ARC chain begins, continues if it is valid, and is not continued otherwise', () => {
    assert.deepInclude(chainOf('', 'none'), { instance: 1, validation: 'none' })
    assert.deepInclude(chainOf(SET, 'pass'), { instance: 2, validation: 'pass' })
    for (const arc of ['fail', 'none', 'temperror']) assert.isNull(chainOf(SET, arc).instance, arc)
    assert.isNull(chainOf(SET.replaceAll('i=1', 'i=50'), 'pass').instance)
    assert.isNull(chainOf('ARC-Seal: nonsense\r\n', 'none').instance)
  })
  it('the results are those of the check, without characters that could end the field', () => {
    assert.equal(
      chainOf('', 'none').results,
      'spf=pass smtp.mailfrom=a.example; dkim=pass header.d=a.example header.s=s; dmarc=pass header.from=a.example',
    )
    assert.match(chainOf(SET, 'pass', 'x@a;\r\n b').results, /^spf=pass smtp.mailfrom=a\?\?\?\?b;.*; arc=pass$/)
  })
})
