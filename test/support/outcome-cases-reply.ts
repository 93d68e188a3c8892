/** Outcomes of replies to MAIL, RCPT, DATA, the message and QUIT. */
import { outcomeCase, receiver, replies, type OutcomeCase } from './outcome-case.ts'

const STAGES = [
  ['mail', 'MAIL'],
  ['rcpt', 'RCPT'],
  ['data', 'DATA'],
  ['dot', 'the final dot'],
] as const

export const REPLY_CASES: readonly OutcomeCase[] = [
  ...STAGES.flatMap(([stage, name]): OutcomeCase[] => [
    outcomeCase(`421 to ${name}`, 'deferred, not counted: system', replies(stage, '421 4.3.2 Shutting down', 'close')),
    outcomeCase(`451 to ${name}`, 'deferred, counted: system', replies(stage, '451 4.3.0 Later')),
    outcomeCase(
      `The connection is closed at ${name}`,
      stage === 'dot' ? 'unknown: lost-after-dot' : 'deferred, not counted: link-lost',
      receiver({ on: { [stage]: { end: 'close' } } }),
    ),
    outcomeCase(
      `A reply without a code to ${name}`,
      stage === 'dot' ? 'unknown: lost-after-dot' : 'deferred, not counted: link-lost',
      replies(stage, 'all is well'),
    ),
    outcomeCase(
      `A reply with an invalid code to ${name}`,
      stage === 'dot' ? 'unknown: lost-after-dot' : 'deferred, not counted: link-lost',
      replies(stage, '299-what\r\n999 now'),
    ),
  ]),
  outcomeCase('550 5.1.1 to RCPT', 'bounced, hard: no-such-user', replies('rcpt', '550 5.1.1 No such user')),
  outcomeCase(
    '550 without an enhanced status code, on several lines',
    'bounced, hard: no-such-user',
    replies('rcpt', '550-No such user here,\r\n550-and there never was.\r\n550 Sorry'),
  ),
  outcomeCase(
    '550 in Latin-1, with control characters',
    'bounced, hard: no-such-user',
    receiver({ on: { rcpt: { raw: Buffer.from('550 5.1.1 Empf\xe4nger unbekannt \x1b[31m\x00\r\n', 'latin1') } } }),
  ),
  outcomeCase(
    'A 550 reply of 60 KB',
    'bounced, hard: no-such-user',
    replies(
      'rcpt',
      Array.from({ length: 60 }, (_, i) => `550${i === 59 ? ' ' : '-'}5.1.1 ${'x'.repeat(990)}`).join('\r\n'),
    ),
  ),
  outcomeCase(
    'A reply of 100 KB',
    'bounced, soft: recipient-refused',
    replies('rcpt', `550-${'x'.repeat(100_000)}\r\n550 5.1.1 No`),
  ),
  outcomeCase(
    'A reply whose lines have different codes',
    'deferred, not counted: link-lost',
    replies('rcpt', '550-5.1.1 No\r\n250 Yes'),
  ),
  outcomeCase(
    '421 to QUIT, after the message was accepted',
    'delivered',
    replies('quit', '421 4.3.2 Shutting down', 'close'),
  ),
  outcomeCase(
    'No reply to QUIT, after the message was accepted',
    'delivered',
    receiver({ on: { quit: { end: 'silence' } } }),
  ),
  outcomeCase(
    '552 too many recipients, from old servers (RFC 5321 section 4.5.3.1.10)',
    'deferred, counted: throttled',
    replies('rcpt', '552 Too many recipients'),
  ),
  outcomeCase(
    '452 too many recipients',
    'deferred, counted: throttled',
    replies('rcpt', '452 4.5.3 Too many recipients'),
  ),
  outcomeCase('452 mailbox full', 'deferred, counted: mailbox-full', replies('rcpt', '452 4.2.2 Mailbox full')),
  outcomeCase('552 5.2.2 mailbox full', 'bounced, soft: mailbox-full', replies('rcpt', '552 5.2.2 Mailbox full')),
  outcomeCase('550 5.7.1 policy', 'bounced, soft: policy', replies('rcpt', '550 5.7.1 Not from you')),
  outcomeCase(
    '250 with a 5.x.x status to the final dot; the reply code decides',
    'delivered',
    replies('dot', '250 5.0.0 Taken'),
  ),
  outcomeCase(
    '550 with a 4.x.x status; the reply code decides',
    'bounced, soft: mailbox-disabled',
    replies('rcpt', '550 4.2.1 Come again'),
  ),
  outcomeCase('554 to the final dot', 'bounced, soft: spam', replies('dot', '554 5.7.1 Looks like spam')),
  outcomeCase('552 5.3.4 message too big', 'bounced, soft: too-large', replies('dot', '552 5.3.4 Too big')),
  outcomeCase('250 to DATA', 'deferred, not counted: link-lost', replies('data', '250 Ok')),
  outcomeCase('354 to the final dot', 'unknown: lost-after-dot', replies('dot', '354 more')),
  outcomeCase(
    'Unsolicited replies after the 250 to RCPT',
    'deferred, not counted: link-lost',
    receiver({ offers: { pipelining: false }, on: { rcpt: { raw: '250 Ok\r\n250 Ok\r\n250 Ok\r\n250 Ok\r\n' } } }),
  ),
  outcomeCase(
    'The connection is reset during the message (a short message is sent together with its final dot)',
    'unknown: lost-after-dot',
    receiver({ on: { body: { end: 'reset' } } }),
  ),
  outcomeCase('No reply to the final dot', 'unknown: lost-after-dot', receiver({ on: { dot: { end: 'silence' } } })),
]
