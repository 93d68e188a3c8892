/** Dialogs of transactions, by what became of the message. */
import type { SmtpDialog } from '#test/support/smtp-dialogs.ts'

const SOON = 40
const PIPELINING = `
  S: 220 mx.in.test ESMTP
  C: EHLO out.test
  S: 250-mx.in.test
  S: 250 PIPELINING`
/** Offers nothing: one command at a time. */
const SIMPLE = `
  S: 220 mx.in.test ESMTP
  C: EHLO out.test
  S: 250 mx.in.test`
const ENVELOPE = `
  C: MAIL FROM:<a@out.test>
  C: RCPT TO:<b@in.test>
  C: DATA`
const MAIL = `
  C: MAIL FROM:<a@out.test>
  S: 250 Ok`
const RCPT = `${MAIL}
  C: RCPT TO:<b@in.test>
  S: 250 Ok`
const OPEN = `${ENVELOPE}
  S: 250 Ok
  S: 250 Ok
  S: 354 go`
const SENT = `${OPEN}
  C: [message]`
const TAKEN = `
  S: 250 2.0.0 taken
  = accepted: 250 2.0.0 taken`
const BYE = `
  C: QUIT
  S: 221 bye`
/** Commands that follow a refused transaction. */
const AGAIN = `
  C: RSET${ENVELOPE}
  S: 250 Ok
  S: 250 Ok
  S: 250 Ok
  S: 354 go
  C: [message]${TAKEN}`

const ACCEPTED: readonly SmtpDialog[] = [
  { n: 1, title: 'one group of commands where the server pipelines', text: `${PIPELINING}${SENT}${TAKEN}${BYE}` },
  {
    n: 2,
    title: 'one command at a time where it does not',
    text: `${SIMPLE}${RCPT}
    C: DATA
    S: 354 go
    C: [message]${TAKEN}${BYE}`,
  },
  {
    n: 3,
    title: 'three messages on one session, nothing in between',
    text: `${PIPELINING}${SENT}${TAKEN}${SENT}${TAKEN}${SENT}${TAKEN}${BYE}`,
  },
  {
    n: 4,
    title: 'the null sender',
    mail: { from: '' },
    text: `${PIPELINING}
    C: MAIL FROM:<>
    C: RCPT TO:<b@in.test>
    C: DATA
    S: 250 Ok
    S: 250 Ok
    S: 354 go
    C: [message]${TAKEN}${BYE}`,
  },
  {
    n: 5,
    title: 'answers of several lines, and other codes of success',
    text: `${PIPELINING}${ENVELOPE}
    S: 250-2.1.0 sender
    S: 250 2.1.0 ok
    S: 251 2.1.5 will forward
    S: 354-go
    S: 354 ahead
    C: [message]
    S: 250-2.0.0 taken
    S: 250 2.0.0 as 17
    = accepted: 250 2.0.0 taken as 17${BYE}`,
  },
  {
    n: 6,
    title: 'SIZE, 8BITMIME and SMTPUTF8 are named where they are offered and needed',
    mail: { to: 'bücher@in.test', data: Buffer.from('Subject: ü\r\n\r\n'), smtputf8: true },
    text: `
    S: 220 mx.in.test ESMTP
    C: EHLO out.test
    S: 250-mx.in.test
    S: 250-size 1000
    S: 250-8bitmime
    S: 250 SMTPUTF8
    C: MAIL FROM:<a@out.test> SIZE=15 BODY=8BITMIME SMTPUTF8
    S: 250 Ok
    C: RCPT TO:<bücher@in.test>
    S: 250 Ok
    C: DATA
    S: 354 go
    C: [message]${TAKEN}${BYE}`,
  },
  {
    n: 7,
    title: 'and are not named where they are not needed; SIZE may just be reached',
    text: `
    S: 220 mx.in.test ESMTP
    C: EHLO out.test
    S: 250-mx.in.test
    S: 250-8BITMIME
    S: 250-SMTPUTF8
    S: 250 SIZE 22
    C: MAIL FROM:<a@out.test> SIZE=22
    S: 250 Ok
    C: RCPT TO:<b@in.test>
    S: 250 Ok
    C: DATA
    S: 354 go
    C: [message]${TAKEN}${BYE}`,
  },
  {
    n: 8,
    title: 'a quoted address may hold what another may not',
    mail: { to: '"a b>\\"c"@in.test' },
    text: `${SIMPLE}${MAIL}
    C: RCPT TO:<"a b>\\"c"@in.test>
    S: 250 Ok
    C: DATA
    S: 354 go
    C: [message]${TAKEN}${BYE}`,
  },
]

const REFUSED: readonly SmtpDialog[] = [
  {
    n: 20,
    title: 'MAIL refused, one at a time',
    text: `${SIMPLE}
    C: MAIL FROM:<a@out.test>
    S: 550 5.7.1 not you
    = rejected, mail: 550 5.7.1 not you${BYE}`,
  },
  {
    n: 21,
    title: 'RCPT refused, one at a time',
    text: `${SIMPLE}${MAIL}
    C: RCPT TO:<b@in.test>
    S: 550 5.1.1 no such user
    = rejected, rcpt: 550 5.1.1 no such user${BYE}`,
  },
  {
    n: 22,
    title: 'DATA refused, one at a time',
    text: `${SIMPLE}${RCPT}
    C: DATA
    S: 451 4.3.0 later
    = rejected, data: 451 4.3.0 later${BYE}`,
  },
  {
    n: 23,
    title: 'the dot refused, one at a time; RSET before the next message',
    text: `${SIMPLE}${RCPT}
    C: DATA
    S: 354 go
    C: [message]
    S: 554 5.6.0 spam
    = rejected, dot: 554 5.6.0 spam
    C: RSET
    S: 250 Ok${RCPT}
    C: DATA
    S: 354 go
    C: [message]${TAKEN}${BYE}`,
  },
  {
    n: 24,
    title: 'MAIL refused, pipelined: all replies are read, the first counts',
    text: `${PIPELINING}${ENVELOPE}
    S: 452 4.3.1 no room
    S: 503 5.5.1 need MAIL
    S: 503 5.5.1 need RCPT
    = rejected, mail: 452 4.3.1 no room${AGAIN}${BYE}`,
  },
  {
    n: 25,
    title: 'RCPT refused, pipelined',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 550-5.1.1 no such
    S: 550 5.1.1 user
    S: 503 5.5.1 no valid recipients
    = rejected, rcpt: 550 5.1.1 no such user${AGAIN}${BYE}`,
  },
  {
    n: 26,
    title: 'RCPT refused, DATA accepted all the same: a lone dot, and no delivery',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 550 5.1.1 no such user
    S: 354 go
    C: .
    S: 554 5.5.1 no valid recipients
    = rejected, rcpt: 550 5.1.1 no such user${AGAIN}${BYE}`,
  },
  {
    n: 27,
    title: 'the lone dot accepted is still no delivery',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 450 4.2.1 greylisted
    S: 354 go
    C: .
    S: 250 2.0.0 taken
    = rejected, rcpt: 450 4.2.1 greylisted${AGAIN}${BYE}`,
  },
  {
    n: 28,
    title: 'MAIL refused, the rest accepted: a lone dot',
    text: `${PIPELINING}${ENVELOPE}
    S: 550 5.7.1 not you
    S: 250 Ok
    S: 354 go
    C: .
    S: 250 Ok
    = rejected, mail: 550 5.7.1 not you${AGAIN}${BYE}`,
  },
  {
    n: 29,
    title: 'hung up after the lone dot: the refusal stays',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 550 5.1.1 no such user
    S: 354 go
    C: .
    S# close
    = rejected, rcpt: 550 5.1.1 no such user
    = lost, mail: closed`,
  },
  {
    n: 30,
    title: 'no answer to the lone dot: the refusal stays',
    timeouts: { data: 500 },
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 550 5.1.1 no such user
    S: 354 go
    C: .
    S# silence
    C# gone
    = rejected, rcpt: 550 5.1.1 no such user
    = lost, mail: timeout`,
  },
  {
    n: 31,
    title: 'DATA refused, pipelined',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 250 Ok
    S: 554 5.5.1 no
    = rejected, data: 554 5.5.1 no${AGAIN}${BYE}`,
  },
  {
    n: 32,
    title: 'the dot refused, pipelined',
    text: `${PIPELINING}${SENT}
    S: 552 5.2.2 full
    = rejected, dot: 552 5.2.2 full${AGAIN}${BYE}`,
  },
  {
    n: 33,
    title: 'refused at RCPT and hung up: the refusal stays',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 550 5.7.1 blocked
    S# close
    = rejected, rcpt: 550 5.7.1 blocked
    = lost, mail: closed`,
  },
  {
    n: 34,
    title: '421 at MAIL ends the session',
    text: `${PIPELINING}${ENVELOPE}
    S: 421 4.7.0 too many messages
    C# gone
    = rejected, mail: 421 4.7.0 too many messages
    = lost, mail: closed`,
  },
  {
    n: 35,
    title: '421 at RCPT ends the session',
    text: `${SIMPLE}${MAIL}
    C: RCPT TO:<b@in.test>
    S: 421 4.7.0 slow down
    C# gone
    = rejected, rcpt: 421 4.7.0 slow down
    = lost, mail: closed`,
  },
  {
    n: 36,
    title: '421 at DATA ends the session',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 250 Ok
    S: 421 4.3.2 going down
    C# gone
    = rejected, data: 421 4.3.2 going down`,
  },
  {
    n: 37,
    title: '421 at the dot ends the session',
    text: `${PIPELINING}${SENT}
    S: 421 4.3.2 going down
    C# gone
    = rejected, dot: 421 4.3.2 going down
    = lost, mail: closed`,
  },
  {
    n: 38,
    title: '421 to the lone dot ends the session',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 550 5.1.1 no such user
    S: 354 go
    C: .
    S: 421 4.7.0 too many errors
    C# gone
    = rejected, rcpt: 550 5.1.1 no such user
    = lost, mail: closed`,
  },
]

const LOST: readonly SmtpDialog[] = [
  {
    n: 40,
    title: 'hung up at MAIL',
    text: `${SIMPLE}
    C: MAIL FROM:<a@out.test>
    S# close
    = lost, mail: closed`,
  },
  {
    n: 41,
    title: 'hung up at RCPT',
    text: `${SIMPLE}${MAIL}
    C: RCPT TO:<b@in.test>
    S# close
    = lost, rcpt: closed`,
  },
  {
    n: 42,
    title: 'hung up at DATA',
    text: `${SIMPLE}${RCPT}
    C: DATA
    S# close
    = lost, data: closed`,
  },
  {
    n: 43,
    title: 'hung up after the dot: nobody knows',
    text: `${PIPELINING}${SENT}
    S# close
    = lost after the dot, dot: closed
    = lost, mail: closed`,
  },
  {
    n: 44,
    title: 'reset after the dot: nobody knows',
    text: `${PIPELINING}${SENT}
    S# reset
    = lost after the dot, dot: network`,
  },
  {
    n: 45,
    title: 'hung up in the middle of the answer to the dot',
    text: `${PIPELINING}${SENT}
    S" 250 2.0.0 tak"
    S# close
    = lost after the dot, dot: closed`,
  },
  {
    n: 46,
    title: 'hung up within a group',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S# close
    = lost, rcpt: closed`,
  },
  {
    n: 47,
    title: 'no answer to MAIL in time',
    timeouts: { mail: SOON },
    text: `${PIPELINING}${ENVELOPE}
    S# silence
    C# gone
    = lost, mail: timeout
    = lost, mail: timeout`,
  },
  {
    n: 48,
    title: 'no answer to RCPT in time',
    timeouts: { rcpt: SOON },
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    C# gone
    = lost, rcpt: timeout`,
  },
  {
    n: 49,
    title: 'no answer to DATA in time',
    timeouts: { data: SOON },
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 250 Ok
    C# gone
    = lost, data: timeout`,
  },
  {
    n: 50,
    title: 'no answer to the dot in time: nobody knows',
    timeouts: { dot: SOON },
    text: `${PIPELINING}${SENT}
    S# silence
    C# gone
    = lost after the dot, dot: timeout`,
  },
  {
    n: 51,
    title: 'half an answer to the dot in time: nobody knows',
    timeouts: { dot: SOON },
    text: `${PIPELINING}${SENT}
    S: 250-2.0.0 wait
    C# gone
    = lost after the dot, dot: timeout`,
  },
  {
    n: 52,
    title: 'no answer to RSET in time',
    timeouts: { rset: SOON },
    text: `${SIMPLE}
    C: MAIL FROM:<a@out.test>
    S: 450 4.7.1 later
    = rejected, mail: 450 4.7.1 later
    C: RSET
    S# silence
    C# gone
    = lost, rset: timeout`,
  },
  {
    n: 53,
    title: 'RSET refused',
    text: `${SIMPLE}
    C: MAIL FROM:<a@out.test>
    S: 450 4.7.1 later
    = rejected, mail: 450 4.7.1 later
    C: RSET
    S: 421 4.3.2 going down
    C# gone
    = lost, rset: protocol`,
  },
  {
    n: 54,
    title: 'rubbish for an answer to MAIL',
    text: `${SIMPLE}
    C: MAIL FROM:<a@out.test>
    S: OK
    C# gone
    = lost, mail: protocol`,
  },
  {
    n: 55,
    title: 'rubbish for an answer to RCPT',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 999 Ok
    C# gone
    = lost, rcpt: protocol`,
  },
  {
    n: 56,
    title: 'rubbish for an answer to DATA',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 250 Ok
    S: 35
    C# gone
    = lost, data: protocol`,
  },
  {
    n: 57,
    title: 'rubbish for an answer to the dot: nobody knows',
    text: `${PIPELINING}${SENT}
    S: Ok: queued
    C# gone
    = lost after the dot, dot: protocol`,
  },
  {
    n: 58,
    title: 'an endless answer to the dot: nobody knows',
    text: `${PIPELINING}${SENT}
    S: 250-${'x'.repeat(2_200_000)}
    S: 250-${'x'.repeat(2_200_000)}
    C# gone
    = lost after the dot, dot: protocol`,
  },
  {
    n: 59,
    title: '354 is no answer to MAIL',
    text: `${SIMPLE}
    C: MAIL FROM:<a@out.test>
    S: 354 go
    C# gone
    = lost, mail: protocol`,
  },
  {
    n: 60,
    title: '250 is no answer to DATA',
    text: `${PIPELINING}${ENVELOPE}
    S: 250 Ok
    S: 250 Ok
    S: 250 Ok
    C# gone
    = lost, data: protocol`,
  },
  {
    n: 61,
    title: '354 is no answer to the dot: nobody knows',
    text: `${PIPELINING}${SENT}
    S: 354 more
    C# gone
    = lost after the dot, dot: protocol`,
  },
  {
    n: 62,
    title: 'success before anything was sent is not believed',
    text: `${PIPELINING}${ENVELOPE}
    S" 250 Ok\\r\\n250 Ok\\r\\n354 go\\r\\n250 2.0.0 taken\\r\\n"
    C# gone
    = lost, body: protocol`,
  },
  {
    n: 63,
    title: 'a refusal before anything was sent is',
    text: `${PIPELINING}${ENVELOPE}
    S" 250 Ok\\r\\n250 Ok\\r\\n354 go\\r\\n552 5.3.4 too big\\r\\n"
    C# gone
    = rejected, dot: 552 5.3.4 too big
    = lost, mail: closed`,
  },
  {
    n: 64,
    title: 'success for the next message before it was sent',
    text: `${PIPELINING}${SENT}
    S" 250 taken\\r\\n250 Ok\\r\\n"
    = accepted: 250 taken
    C# gone
    = lost, mail: protocol`,
  },
  {
    n: 65,
    title: 'once out of turn, nothing more is believed',
    text: `${PIPELINING}${ENVELOPE}
    S" 250 Ok\\r\\n250 Ok\\r\\n354 go\\r\\n250 2.0.0 taken\\r\\n552 5.3.4 too big\\r\\n"
    C# gone
    = lost, body: protocol`,
  },
]

const OURSELVES: readonly SmtpDialog[] = [
  {
    n: 70,
    title: 'too large for the SIZE that is offered',
    text: `
    S: 220 mx.in.test ESMTP
    C: EHLO out.test
    S: 250-mx.in.test
    S: 250 SIZE 21${BYE}
    = rejected by ourselves, mail: 552 5.3.4 Message size 22 exceeds the limit 21 of the host`,
  },
  {
    n: 71,
    title: 'SMTPUTF8 is needed and not offered',
    mail: { smtputf8: true },
    text: `${SIMPLE}${BYE}
    = rejected by ourselves, mail: 550 5.6.7 The message requires SMTPUTF8, which the host does not offer`,
  },
  {
    n: 72,
    title: 'the address alone needs SMTPUTF8',
    mail: { to: 'bücher@in.test' },
    text: `${SIMPLE}${BYE}
    = rejected by ourselves, mail: 550 5.6.7 The message requires SMTPUTF8, which the host does not offer`,
  },
  ...[
    'b@in.test>\r\nDATA',
    'b\rc@in.test',
    'b\nc@in.test',
    'b\0c@in.test',
    'b c@in.test',
    'b@in.test> SIZE=1',
    '<b@in.test',
    '',
    '"b@in.test',
    '"b\r\n"@in.test',
    '"b\\\r\n"@in.test',
    '"b" @in.test',
    '"b""@in.test',
    'b\tc@in.test',
    'b\u0085c@in.test',
    'b\u{d800}@in.test',
    'b\u007f@in.test',
  ].map((to, i): SmtpDialog => ({
    n: 73 + i,
    title: `nothing is said of the recipient ${JSON.stringify(to)}`,
    mail: { to },
    text: `${SIMPLE}${BYE}
    = rejected by ourselves, rcpt: 553 5.1.3 Bad recipient address syntax`,
  })),
  {
    n: 90,
    title: 'nothing is said of a sender with a line break',
    mail: { from: 'a@out.test>\r\nRCPT TO:<c@in.test' },
    text: `${SIMPLE}${BYE}
    = rejected by ourselves, mail: 553 5.1.7 Bad sender address syntax`,
  },
  {
    n: 91,
    title: 'U+010A does not become a line feed',
    mail: { to: 'b\u010ac@in.test', smtputf8: true },
    text: `
    S: 220 mx.in.test ESMTP
    C: EHLO out.test
    S: 250-mx.in.test
    S: 250 SMTPUTF8
    C: MAIL FROM:<a@out.test> SMTPUTF8
    S: 250 Ok
    C: RCPT TO:<b\u010ac@in.test>
    S: 550 5.1.1 no such user
    = rejected, rcpt: 550 5.1.1 no such user${BYE}`,
  },
]

export const TRANSACTION_DIALOGS = {
  accepted: ACCEPTED,
  refused: REFUSED,
  lost: LOST,
  'refused by ourselves': OURSELVES,
}
