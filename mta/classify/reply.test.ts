import assert from 'node:assert/strict'
import type { Reply } from '#src/mail/reply.ts'
import { classifyReply, type Stage } from './reply.ts'

function reply(text: string): Reply {
  const parts = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(text)
  return { code: Number(parts?.[1]), enhanced: parts?.[2] ?? null, text: parts?.[3] ?? '', lines: [text] }
}

const CASES: readonly [stage: Stage, reply: string, kind: string, reason: string, scope: string, hard?: boolean][] = [
  ['rcpt', '550 5.1.1 The email account that you tried to reach does not exist', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 No such user here', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 5.1.10 RESOLVER.ADR.RecipientNotFound', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 5.7.1 Service unavailable, client host blocked using Spamhaus', 'bounced', 'policy', 'source', false],
  ['rcpt', '550 5.1.1 rejected: sender listed on a block list', 'bounced', 'policy', 'source', false],
  ['rcpt', '552 5.2.2 Over quota', 'bounced', 'mailbox-full', 'recipient', false],
  ['rcpt', '550 Requested action not taken', 'bounced', 'recipient-refused', 'recipient', false],
  ['mail', '550 5.1.1 unknown sender address', 'bounced', 'sender-refused', 'source', false],
  ['mail', '550 No such user', 'bounced', 'sender-refused', 'source', false],
  ['dot', '552 5.3.4 Message too big', 'bounced', 'too-large', 'message', false],
  ['dot', '554 5.6.0 Bad content', 'bounced', 'content', 'message', false],
  ['dot', '554 Transaction failed', 'bounced', 'message-refused', 'message', false],
  ['rcpt', '450 4.2.0 Greylisted, see you in five minutes', 'deferred', 'policy', 'source'],
  ['rcpt', '451 4.7.1 Please try again later', 'deferred', 'policy', 'source'],
  ['rcpt', '452 4.2.2 mailbox full', 'deferred', 'mailbox-full', 'recipient'],
  ['dot', '451 Internal error', 'deferred', 'message-refused', 'message'],
  ['mail', '421 4.7.0 Too many connections', 'deferred', 'policy', 'host'],
  ['rcpt', '421 Service not available', 'deferred', 'busy', 'host'],
  // the code decides, whatever the enhanced code says
  ['rcpt', '450 5.1.1 no such user', 'deferred', 'no-such-user', 'recipient'],
  ['rcpt', '550 4.1.1 no such user', 'bounced', 'no-such-user', 'recipient', true],
]

describe('what a reply means', () => {
  for (const [stage, text, kind, reason, scope, hard] of CASES) {
    it(`${stage}: ${text}`, () => {
      const outcome = classifyReply(stage, reply(text))
      assert.equal(outcome.kind, kind)
      assert.equal('reason' in outcome && outcome.reason, reason)
      assert.equal('scope' in outcome && outcome.scope, scope)
      if (outcome.kind === 'bounced') assert.equal(outcome.isHard, hard)
      if (outcome.kind === 'deferred') assert.equal(outcome.isCounted, reply(text).code !== 421)
    })
  }
})
