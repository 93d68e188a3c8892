import { assert } from 'chai'
import type { Reply } from '#src/mail/reply.ts'
import { classifyReply, type ReplyStage } from './reply.ts'

function reply(text: string): Reply {
  const parts = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(text)
  return { code: Number(parts?.[1]), enhanced: parts?.[2] ?? null, text: parts?.[3] ?? '', lines: [text] }
}

const CASES: readonly [
  stage: ReplyStage,
  reply: string,
  kind: string,
  reason: string,
  scope: string,
  hard?: boolean,
][] = [
  // the address
  [
    'rcpt',
    '550 5.1.1 The email account that you tried to reach does not exist',
    'bounced',
    'no-such-user',
    'recipient',
    true,
  ],
  ['rcpt', '550 No such user here', 'bounced', 'no-such-user', 'recipient', true],
  [
    'rcpt',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found by SMTP address lookup',
    'bounced',
    'no-such-user',
    'recipient',
    true,
  ],
  ['rcpt', '550 5.4.1 Recipient address rejected: Access denied.', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 5.1.6 The recipient has moved', 'bounced', 'moved', 'recipient', true],
  ['rcpt', '553 5.1.3 strange', 'bounced', 'bad-address', 'recipient', true],
  ['rcpt', '550 5.1.2 strange', 'bounced', 'no-such-domain', 'recipient', true],
  ['rcpt', '550 5.2.1 The account is disabled', 'bounced', 'mailbox-disabled', 'recipient', false],
  ['rcpt', '550 5.2.1 strange', 'bounced', 'mailbox-disabled', 'recipient', false],
  ['rcpt', '552 Too many recipients', 'deferred', 'throttled', 'source', true],
  ['rcpt', '552 5.2.2 Over quota', 'bounced', 'mailbox-full', 'recipient', false],
  ['rcpt', '550 Requested action not taken', 'bounced', 'recipient-refused', 'recipient', false],
  ['dot', '554 5.1.1 No such user', 'bounced', 'no-such-user', 'recipient', true],
  ['dot', '554 delivery error: this user does not exist', 'bounced', 'no-such-user', 'recipient', false],
  ['mail', '452 4.3.1 Insufficient system storage', 'deferred', 'system', 'destination'],
  ['rcpt', '552 Mailbox limit exceeded', 'bounced', 'mailbox-full', 'recipient', false],
  // an address, or where to read more, may hold any word
  [
    'rcpt',
    '550 5.1.1 <spam@b.example>: Recipient address rejected: User unknown',
    'bounced',
    'no-such-user',
    'recipient',
    true,
  ],
  ['rcpt', '550 5.1.1 virus-info@blocked.example no such user', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 <nosuchuser@b.example>: Not today', 'bounced', 'recipient-refused', 'recipient', false],
  ['rcpt', '552 5.2.2 Mailbox full, see http://b.example/spam?virus', 'bounced', 'mailbox-full', 'recipient', false],
  // us
  ['rcpt', '550 5.7.1 Service unavailable, client host blocked using Spamhaus', 'bounced', 'blocked', 'source', false],
  ['rcpt', '550 5.1.1 rejected: sender listed on a block list', 'bounced', 'blocked', 'source', false],
  ['rcpt', '550 5.1.1 see https://www.spamhaus.org/query/ip/192.0.2.1', 'bounced', 'blocked', 'source', false],
  ['rcpt', '554 5.1.1 refused, see http://dnsbl.b.example/', 'bounced', 'blocked', 'source', false],
  ['rcpt', '550 5.1.1 192.0.2.1 via zen.dnsbl.b.example: user unknown', 'bounced', 'blocked', 'source', false],
  // Exim and OpenSMTPD refuse an unknown user in their own words
  ['rcpt', '550 Unrouteable address', 'bounced', 'no-such-user', 'recipient', true],
  ['dot', '550 Unrouteable address', 'bounced', 'no-such-domain', 'recipient', true],
  ['rcpt', '524 5.2.4 Mailing list expansion problem: <x@b.example>', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 5.2.4 Mailing list expansion problem', 'bounced', 'mailbox', 'recipient', false],
  ['rcpt', '550 5.0.0 No such user', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '554 5.5.0 No such user', 'bounced', 'no-such-user', 'recipient', true],
  ['rcpt', '550 5.7.1 No such user, says our policy', 'bounced', 'policy', 'source', false],
  ['rcpt', '550 5.7.1 strange', 'bounced', 'policy', 'source', false],
  ['mail', '550 5.1.1 unknown sender address', 'bounced', 'sender-refused', 'source', false],
  ['mail', '550 No such user', 'bounced', 'sender-refused', 'source', false],
  ['mail', '550 strange', 'bounced', 'sender-refused', 'source', false],
  [
    'dot',
    '550 5.7.26 Unauthenticated email is not accepted due to the DMARC policy',
    'bounced',
    'authentication',
    'source',
    false,
  ],
  ['rcpt', '554 5.7.1 Relay access denied', 'bounced', 'relay-denied', 'source', false],
  // the message
  ['dot', '552 5.3.4 Message too big', 'bounced', 'too-large', 'message', false],
  ['dot', '554 5.6.0 Bad content', 'bounced', 'message-refused', 'message', false],
  ['dot', '554 Transaction failed', 'bounced', 'message-refused', 'message', false],
  ['dot', '554 5.7.1 Message contains a virus', 'bounced', 'virus', 'message', false],
  [
    'mail',
    '550 5.6.7 The message requires SMTPUTF8, which the host does not offer',
    'bounced',
    'no-smtputf8',
    'message',
    false,
  ],
  ['rcpt', '553 5.6.7 Internationalized address not supported', 'bounced', 'no-smtputf8', 'message', false],
  ['dot', '554 5.6.9 strange', 'bounced', 'no-smtputf8', 'message', false],
  ['rcpt', '501 5.1.3 Bad recipient address syntax', 'bounced', 'bad-address', 'recipient', true],
  // for now
  ['rcpt', '450 4.2.0 Greylisted, see you in five minutes', 'deferred', 'greylisted', 'source'],
  // the whole reply text of rspamd's greylisting
  ['rcpt', '451 4.7.1 Please try again later', 'deferred', 'greylisted', 'source'],
  ['dot', '451 4.7.1 Try again later', 'deferred', 'greylisted', 'source'],
  ['rcpt', '450 4.7.1 Please come back in 00:05:00', 'deferred', 'greylisted', 'source'],
  ['rcpt', '451 4.7.1 Blocked by policy, try again later', 'deferred', 'blocked', 'source'],
  ['rcpt', '451 4.7.0 Not today', 'deferred', 'policy', 'source'],
  ['rcpt', '452 4.2.2 mailbox full', 'deferred', 'mailbox-full', 'recipient'],
  ['rcpt', '450 4.1.1 no such user', 'deferred', 'no-such-user', 'recipient'],
  ['dot', '451 Internal error', 'deferred', 'system', 'destination'],
  ['mail', '421 4.7.0 Too many connections', 'deferred', 'throttled', 'host'],
  ['rcpt', '421 Service not available', 'deferred', 'network', 'host'],
  // the reply code decides, even if the enhanced code differs
  ['rcpt', '450 5.1.1 no such user', 'deferred', 'no-such-user', 'recipient'],
  ['rcpt', '550 4.1.1 no such user', 'bounced', 'no-such-user', 'recipient', true],
]

describe('classification of SMTP replies', () => {
  for (const [stage, text, kind, reason, scope, hard] of CASES) {
    it(`${stage}: ${text}`, () => {
      const outcome = classifyReply(stage, reply(text))
      assert.strictEqual(outcome.kind, kind)
      assert.strictEqual('reason' in outcome && outcome.reason, reason)
      assert.strictEqual('scope' in outcome && outcome.scope, scope)
      if (outcome.kind === 'bounced') assert.strictEqual(outcome.isHard, hard)
      if (outcome.kind === 'deferred') assert.strictEqual(outcome.isCounted, reply(text).code !== 421)
    })
  }

  const ABOUT: readonly (readonly [text: string, reason: string])[] = [
    ['550 5.1.1 <list@b.example>: user unknown', 'no-such-user'],
    ['550 5.1.1 <nosuch@c.example>: user unknown', 'forward-broken'],
    ['524 5.2.4 Mailing list expansion problem: <nosuch@b.example>', 'forward-broken'],
    ['524 5.2.4 Mailing list expansion problem: <list@b.example>', 'no-such-user'],
    ['552 5.2.2 <nosuch@c.example>: mailbox full', 'mailbox-full'],
  ]
  for (const [text, reason] of ABOUT) {
    it(`to list@b.example, ${text}: ${reason}`, () => {
      const outcome = classifyReply('rcpt', reply(text), 'list@b.example')
      assert.strictEqual(outcome.kind === 'bounced' && outcome.reason, reason)
    })
  }

  it('ignores pattern words in the domain of the recipient', () => {
    const said = reply('550 5.1.1 The server of junk.example knows no such user')
    const reasonOf = (recipient: string | null): string => {
      const outcome = classifyReply('rcpt', said, recipient)
      return outcome.kind === 'bounced' ? outcome.reason : outcome.kind
    }
    assert.deepEqual([reasonOf(null), reasonOf('ann@junk.example')], ['spam', 'no-such-user'])
  })
})
