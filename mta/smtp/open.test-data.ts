/** Dialogs of the opening of a session, from the greeting to the answer to STARTTLS. */
import type { SmtpDialog } from '#test/support/smtp-dialogs.ts'

const SOON = 40
const HELLO = `
  S: 220 mx.in.test ESMTP
  C: EHLO out.test`
const STARTTLS = `${HELLO}
  S: 250-mx.in.test
  S: 250 STARTTLS
  C: STARTTLS`
const DELIVER = `
  C: MAIL FROM:<a@out.test>
  S: 250 Ok
  C: RCPT TO:<b@in.test>
  S: 250 Ok
  C: DATA
  S: 354 go
  C: [message]
  S: 250 taken
  = accepted: 250 taken
  C: QUIT
  S: 221 bye`

export const OPENING_DIALOGS: readonly SmtpDialog[] = [
  {
    n: 1,
    title: 'a greeting of several lines',
    text: `
    S: 220-mx.in.test ESMTP
    S: 220-no spam
    S: 220
    C: EHLO out.test
    S: 250 mx.in.test${DELIVER}`,
  },
  {
    n: 2,
    title: 'a greeting with bare line feeds',
    text: `
    S" 220-mx.in.test\\n220 ESMTP\\n"
    C: EHLO out.test
    S: 250 mx.in.test${DELIVER}`,
  },
  {
    n: 3,
    title: 'refused in the greeting',
    text: `
    S: 554-5.7.1 mx.in.test
    S: 554 5.7.1 your address is listed
    C: QUIT
    S: 221 bye
    = not opened, greeting: 554 5.7.1 mx.in.test your address is listed`,
  },
  {
    n: 4,
    title: 'deferred in the greeting, and hung up',
    text: `
    S: 421 4.7.0 too busy
    S# close
    = not opened, greeting: 421 4.7.0 too busy`,
  },
  {
    n: 5,
    title: 'closed without a greeting',
    text: `
    S# close
    = not opened, greeting: closed`,
  },
  {
    n: 6,
    title: 'reset instead of an answer',
    text: `${HELLO}
    S# reset
    = not opened, ehlo: network`,
  },
  {
    n: 7,
    title: 'no greeting in time',
    timeouts: { greeting: SOON },
    text: `
    S# silence
    C# gone
    = not opened, greeting: timeout`,
  },
  {
    n: 8,
    title: 'half a greeting is no greeting',
    timeouts: { greeting: SOON },
    text: `
    S" 220-mx.in.test\\r\\n220 ESMT"
    C# gone
    = not opened, greeting: timeout`,
  },
  {
    n: 9,
    title: 'a web server',
    text: `
    S: HTTP/1.1 400 Bad Request
    C# gone
    = not opened, greeting: protocol`,
  },
  {
    n: 10,
    title: 'a greeting that never ends',
    text: `
    S: 220-${'x'.repeat(2_200_000)}
    S: 220-${'x'.repeat(2_200_000)}
    C# gone
    = not opened, greeting: protocol`,
  },
  {
    n: 11,
    title: 'a greeting with a code of no greeting',
    text: `
    S: 250 mx.in.test
    C# gone
    = not opened, greeting: protocol`,
  },
  {
    n: 12,
    title: 'a second greeting is out of turn',
    text: `
    S" 220 mx.in.test\\r\\n220 mx.in.test\\r\\n"
    C# gone
    = not opened, ehlo: protocol`,
  },
  {
    n: 13,
    title: 'a greeting, and the reason for hanging up with it',
    text: `
    S" 220 mx.in.test\\r\\n421 4.7.0 too many connections\\r\\n"
    C# gone
    = not opened, ehlo: 421 4.7.0 too many connections`,
  },
  {
    n: 14,
    title: 'HELO where EHLO is not known',
    text: `${HELLO}
    S: 502 5.5.1 what?
    C: HELO out.test
    S: 250 mx.in.test${DELIVER}`,
  },
  {
    n: 15,
    title: 'EHLO and HELO refused',
    text: `${HELLO}
    S: 550 5.7.1 no
    C: HELO out.test
    S: 550 5.7.1 still no
    C: QUIT
    S: 221 bye
    = not opened, ehlo: 550 5.7.1 still no`,
  },
  {
    n: 16,
    title: 'EHLO refused, then hung up: the refusal counts',
    text: `${HELLO}
    S: 550 5.7.1 blocked
    C: HELO out.test
    S# close
    = not opened, ehlo: 550 5.7.1 blocked`,
  },
  {
    n: 17,
    title: 'EHLO deferred',
    text: `${HELLO}
    S: 451 4.3.2 later
    C: QUIT
    S: 221 bye
    = not opened, ehlo: 451 4.3.2 later`,
  },
  {
    n: 18,
    title: 'hung up at EHLO',
    text: `${HELLO}
    S# close
    = not opened, ehlo: closed`,
  },
  {
    n: 19,
    title: 'hung up in the middle of the answer to EHLO',
    text: `${HELLO}
    S: 250-mx.in.test
    S# close
    = not opened, ehlo: closed`,
  },
  {
    n: 20,
    title: 'no answer to EHLO in time',
    timeouts: { ehlo: SOON },
    text: `${HELLO}
    S# silence
    C# gone
    = not opened, ehlo: timeout`,
  },
  {
    n: 21,
    title: 'an answer to EHLO that changes its mind',
    text: `${HELLO}
    S: 250-mx.in.test
    S: 550 no
    C# gone
    = not opened, ehlo: protocol`,
  },
  {
    n: 22,
    title: 'STARTTLS is offered and switched off',
    tls: 'never',
    text: `${HELLO}
    S: 250-mx.in.test
    S: 250 STARTTLS${DELIVER}`,
  },
  {
    n: 23,
    title: 'STARTTLS is not offered and not needed',
    tls: 'opportunistic',
    text: `${HELLO}
    S: 250 mx.in.test${DELIVER}`,
  },
  {
    n: 24,
    title: 'STARTTLS is not offered and required',
    tls: 'required',
    text: `${HELLO}
    S: 250-mx.in.test
    S: 250 PIPELINING
    C# gone
    = not opened, starttls: protocol`,
  },
  {
    n: 25,
    title: 'STARTTLS refused, opportunistic: on in plain text',
    tls: 'opportunistic',
    text: `${STARTTLS}
    S: 454 4.7.0 TLS not available${DELIVER}`,
  },
  {
    n: 26,
    title: 'STARTTLS refused, required',
    tls: 'required',
    text: `${STARTTLS}
    S: 454 4.7.0 TLS not available
    C: QUIT
    S: 221 bye
    = not opened, starttls: 454 4.7.0 TLS not available`,
  },
  {
    n: 27,
    title: 'STARTTLS answered by the end of the session',
    tls: 'opportunistic',
    text: `${STARTTLS}
    S: 421 4.3.2 shutting down
    S# close
    = not opened, starttls: 421 4.3.2 shutting down`,
  },
  {
    n: 28,
    title: 'no answer to STARTTLS in time',
    tls: 'opportunistic',
    timeouts: { starttls: SOON },
    text: `${STARTTLS}
    S# silence
    C# gone
    = not opened, starttls: timeout`,
  },
  {
    n: 29,
    title: 'hung up at STARTTLS',
    tls: 'opportunistic',
    text: `${STARTTLS}
    S# close
    = not opened, starttls: closed`,
  },
  {
    n: 30,
    title: 'a reply put in behind the answer to STARTTLS',
    tls: 'opportunistic',
    text: `${STARTTLS}
    S" 220 go\\r\\n250-mx.in.test\\r\\n250 SIZE 1\\r\\n"
    C# gone
    = not opened, starttls: protocol`,
  },
  {
    n: 31,
    title: 'half a reply put in behind the answer to STARTTLS',
    tls: 'required',
    text: `${STARTTLS}
    S" 220 go\\r\\n250 mx"
    C# gone
    = not opened, starttls: protocol`,
  },
  {
    n: 32,
    title: 'a refusal put in behind the answer to STARTTLS is not believed',
    tls: 'required',
    text: `${STARTTLS}
    S" 220 go\\r\\n550 5.1.1 no such user\\r\\n"
    C# gone
    = not opened, starttls: closed`,
  },
  {
    n: 33,
    title: 'STARTTLS answered with 250',
    tls: 'opportunistic',
    text: `${STARTTLS}
    S: 250 ok
    C# gone
    = not opened, starttls: protocol`,
  },
]
